/*
 * A queue of bytes in blocks, see blocks.h.
 */
#include "proxy/blocks.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"

/* A DATA frame fits, and a stream that waits with its first bytes is small. */
#define BLOCK_BYTES 16384

struct block {
	struct block *next;
	size_t at, len; /* of what is in it */
	uint8_t bytes[];
};

#define ROOM_BYTES (BLOCK_BYTES - sizeof(struct block))

static struct block *
add(struct blocks *b)
{
	struct block *fresh = malloc(BLOCK_BYTES);

	if (fresh == NULL)
		return NULL;
	fresh->next = NULL;
	fresh->at = fresh->len = 0;
	if (b->last != NULL)
		b->last->next = fresh;
	else
		b->first = fresh;
	b->last = fresh;
	return fresh;
}

int
blocks_append(struct blocks *b, struct span s)
{
	struct rd r = rd_span(s);

	while (rd_left(&r) > 0) {
		struct block *last = b->last;
		size_t used = last == NULL ? ROOM_BYTES : last->at + last->len;
		struct span part;

		if (used == ROOM_BYTES) {
			last = add(b);
			used = 0;
		}
		if (last == NULL)
			return -ENOMEM;
		part = rd_take(&r,
		    rd_left(&r) < ROOM_BYTES - used ? rd_left(&r)
						    : ROOM_BYTES - used);
		memcpy(last->bytes + used, part.ptr, part.len);
		last->len += part.len;
		b->len += part.len;
	}
	return 0;
}

struct span
blocks_front(const struct blocks *b)
{
	if (b->first == NULL)
		return (struct span){ NULL, 0 };
	return (struct span){ b->first->bytes + b->first->at, b->first->len };
}

static void
drop_first(struct blocks *b)
{
	struct block *first = b->first;

	b->first = first->next;
	if (b->first == NULL)
		b->last = NULL;
	free(first);
}

void
blocks_consume(struct blocks *b, size_t len)
{
	struct block *first = b->first;

	if (len == 0)
		return;
	assert(first != NULL && len <= first->len);
	if (b->is_secret)
		secret_wipe(first->bytes + first->at, len);
	first->at += len;
	first->len -= len;
	b->len -= len;
	/* An empty one is nobody's front. */
	if (first->len == 0)
		drop_first(b);
}

void
blocks_done(struct blocks *b)
{
	while (b->first != NULL)
		blocks_consume(b, b->first->len);
}
