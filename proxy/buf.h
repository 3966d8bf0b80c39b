/*
 * A queue of bytes between a descriptor and a parser. It grows as it is
 * written and holds no memory while it is empty and was released, so that an
 * idle connection costs little. Who fills it keeps it bounded.
 */
#ifndef TAPWARD_PROXY_BUF_H
#define TAPWARD_PROXY_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Zeroed: empty. */
struct buf {
	uint8_t *ptr;
	size_t at;   /* offset of the first byte that is not consumed */
	size_t len;  /* bytes from there on */
	size_t size; /* allocated */
	/*
	 * Bytes in it may be part of a secret: whatever leaves it is wiped,
	 * also when it moves. Set before such bytes are put in.
	 */
	bool is_secret;
};

/* What is in it; borrows until the next call that changes b. */
struct span buf_span(const struct buf *b);
/*
 * Where len more bytes can be written; NULL when memory is short. Follow with
 * buf_commit() of what was written.
 */
uint8_t *buf_reserve(struct buf *b, size_t len);
void buf_commit(struct buf *b, size_t len);
/* 0 or -ENOMEM. */
int buf_append(struct buf *b, struct span s);
/* Takes len bytes off the front. */
void buf_consume(struct buf *b, size_t len);
/* Frees (and wipes, if is_secret) and leaves it empty. */
void buf_done(struct buf *b);

/*
 * A writer into room that buf_reserve() makes: write, then
 * buf_write_end(). A writer that failed leaves b as it was and gives
 * -EMSGSIZE; -ENOMEM when there was no room.
 */
struct wr buf_write(struct buf *b, size_t room);
int buf_write_end(struct buf *b, const struct wr *w);

#endif
