/*
 * A queue of bytes in blocks, for what may wait for long and be large: the
 * body of a stream whose window is a MiB. It holds its bytes and part of two
 * blocks beside them. struct buf, which is one piece for whoever parses it,
 * doubles and copies as it grows.
 */
#ifndef TAPWARD_PROXY_BLOCKS_H
#define TAPWARD_PROXY_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

struct block;

/* Zeroed: empty. */
struct blocks {
	struct block *first, *last;
	size_t len;
	/* As struct buf has it: whatever leaves is wiped. */
	bool is_secret;
};

/* 0, or -ENOMEM with some of s in it. */
int blocks_append(struct blocks *b, struct span s);
/* The first bytes that lie in one piece; borrows until b is changed. */
struct span blocks_front(const struct blocks *b);
/* Takes len bytes, no more than blocks_front() has, off the front. */
void blocks_consume(struct blocks *b, size_t len);
/* Frees (and wipes, if is_secret) and leaves it empty. */
void blocks_done(struct blocks *b);

#endif
