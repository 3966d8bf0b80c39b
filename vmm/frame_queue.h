/*
 * Bytes of one channel that wait: for a session that has not read them, for a
 * command that has not. Whoever fills it keeps to FRAME_WINDOW; it has no
 * memory while it is empty.
 */
#ifndef TAPWARD_VMM_FRAME_QUEUE_H
#define TAPWARD_VMM_FRAME_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Zeroed: empty. */
struct frame_queue {
	uint8_t *ptr;
	size_t at, len; /* offset of the first byte, bytes from there on */
	size_t size;    /* allocated */
};

/* 0 or -ENOMEM. */
int frame_queue_append(struct frame_queue *q, struct span s);
/* What is in it; borrows until the next call that changes q. */
struct span frame_queue_span(const struct frame_queue *q);
/* Takes len bytes, no more than there are, off the front. */
void frame_queue_consume(struct frame_queue *q, size_t len);
void frame_queue_done(struct frame_queue *q);

#endif
