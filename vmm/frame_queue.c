/*
 * See frame_queue.h.
 */
#include "vmm/frame_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A queue begins with a page, for the usual few lines. */
#define QUEUE_SIZE_MIN 4096

void
frame_queue_done(struct frame_queue *q)
{
	free(q->ptr);
	*q = (struct frame_queue){ .ptr = NULL };
}

int
frame_queue_append(struct frame_queue *q, struct span s)
{
	size_t size = q->size == 0 ? QUEUE_SIZE_MIN : q->size;
	uint8_t *ptr;

	while (size - q->len < s.len)
		size *= 2;
	if (size > q->size) {
		ptr = realloc(q->ptr, size);
		if (ptr == NULL)
			return -ENOMEM;
		q->ptr = ptr;
		q->size = size;
	}
	if (q->size - q->at - q->len < s.len) {
		memmove(q->ptr, q->ptr + q->at, q->len);
		q->at = 0;
	}
	memcpy(q->ptr + q->at + q->len, s.ptr, s.len);
	q->len += s.len;
	return 0;
}

struct span
frame_queue_span(const struct frame_queue *q)
{
	if (q->len == 0)
		return (struct span){ NULL, 0 };
	return (struct span){ q->ptr + q->at, q->len };
}

void
frame_queue_consume(struct frame_queue *q, size_t len)
{
	q->at += len;
	q->len -= len;
	if (q->len == 0)
		frame_queue_done(q);
}
