/*
 * A queue of bytes, see buf.h.
 */
#include "proxy/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"

/* First allocation: a head, or a small answer with its body. */
#define BUF_FIRST_BYTES 4096

struct span
buf_span(const struct buf *b)
{
	if (b->len == 0)
		return (struct span){ NULL, 0 };
	return (struct span){ b->ptr + b->at, b->len };
}

static void
forget(struct buf *b, size_t at, size_t len)
{
	if (b->is_secret && len > 0)
		secret_wipe(b->ptr + at, len);
}

/* Moves what is left to the front of the same memory. */
static void
compact(struct buf *b)
{
	size_t at = b->at;

	if (at == 0)
		return;
	memmove(b->ptr, b->ptr + at, b->len);
	b->at = 0;
	/* What moved left a copy behind it. */
	forget(b, b->len, at);
}

static bool
grow(struct buf *b, size_t want)
{
	size_t size = b->size == 0 ? BUF_FIRST_BYTES : b->size;
	uint8_t *ptr;

	while (size < want)
		size *= 2;
	/* Not realloc(): it may leave a copy where we cannot wipe it. */
	ptr = malloc(size);
	if (ptr == NULL)
		return false;
	if (b->len > 0)
		memcpy(ptr, b->ptr + b->at, b->len);
	forget(b, 0, b->size);
	free(b->ptr);
	b->ptr = ptr;
	b->at = 0;
	b->size = size;
	return true;
}

uint8_t *
buf_reserve(struct buf *b, size_t len)
{
	if (b->size - b->at - b->len < len) {
		if (b->size - b->len >= len)
			compact(b);
		else if (!grow(b, b->len + len))
			return NULL;
	}
	return b->ptr + b->at + b->len;
}

void
buf_commit(struct buf *b, size_t len)
{
	assert(len <= b->size - b->at - b->len);
	b->len += len;
}

int
buf_append(struct buf *b, struct span s)
{
	uint8_t *room;

	if (s.len == 0)
		return 0;
	room = buf_reserve(b, s.len);
	if (room == NULL)
		return -ENOMEM;
	memcpy(room, s.ptr, s.len);
	buf_commit(b, s.len);
	return 0;
}

void
buf_consume(struct buf *b, size_t len)
{
	assert(len <= b->len);
	forget(b, b->at, len);
	b->len -= len;
	b->at = b->len == 0 ? 0 : b->at + len;
}

void
buf_done(struct buf *b)
{
	forget(b, 0, b->size);
	free(b->ptr);
	*b = (struct buf){ .ptr = NULL };
}

struct wr
buf_write(struct buf *b, size_t room)
{
	uint8_t *ptr = buf_reserve(b, room);

	return wr_init(ptr, ptr == NULL ? 0 : room);
}

int
buf_write_end(struct buf *b, const struct wr *w)
{
	if (w->size == 0)
		return -ENOMEM;
	if (!wr_ok(w))
		return -EMSGSIZE;
	buf_commit(b, w->len);
	return 0;
}
