/*
 * Content codings, decoded to be looked at: what a guest gets stays coded.
 *
 * Strict where readers differ: one coding and no other, nothing behind its
 * end, no dictionary, no window beyond what the coding's own paper wants
 * everybody to have. gzip may have further members and zstd further frames.
 */
#ifndef TAPWARD_PROXY_DECODE_H
#define TAPWARD_PROXY_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/http.h"

enum coding {
	CODING_NONE,
	CODING_GZIP,    /* RFC 1952 */
	CODING_DEFLATE, /* RFC 1950, or without its frame, as some send it */
	CODING_BR,      /* RFC 7932 */
	CODING_ZSTD,    /* RFC 8878, window of RFC 9659 */
	CODING_OTHER,   /* unknown, or one on another */
};

/*
 * Of all Content-Encoding fields together (RFC 9110 8.4), and of what codes
 * the messages within a body.
 */
enum coding coding_of(const struct http_fields *f);

/* Memory of all decoders of one gate. */
struct decode_budget {
	size_t max_bytes; /* limits.decode_memory_bytes */
	size_t used;
	/* limits.decode_ratio: what a coded byte may make, beside the free */
	uint32_t ratio;
};

/* Memory beside a decoder's own that is held for it. False: over the budget. */
bool decode_budget_take(struct decode_budget *b, size_t size);
void decode_budget_give(struct decode_budget *b, size_t size);

/*
 * Of any body: the largest window, so that the first copy out of it is not
 * taken for a bomb.
 */
#define DECODE_FREE_BYTES ((uint64_t)16 << 20)

enum decode_status {
	DECODE_MORE,   /* all input was taken, all output given */
	DECODE_ROOM,   /* there is more to give; the room is full */
	DECODE_BROKEN, /* it is not what its coding says */
	DECODE_LARGE,  /* more memory or more output than it may have */
};

struct decoder;

/*
 * coding is one of the four. budget is borrowed until decoder_free(). NULL
 * when memory is short, or over the budget.
 */
struct decoder *decoder_new(enum coding coding, struct decode_budget *budget);
void decoder_free(struct decoder *d); /* wipes; NULL is fine */
/*
 * Takes from *in, which it moves on, and writes to room. *ret_len is written
 * in any case. After BROKEN or LARGE it is of no use but to be freed.
 */
enum decode_status decoder_run(struct decoder *d, struct span *in,
    uint8_t *room, size_t size, size_t *ret_len);
/*
 * After MORE: nothing that it took could be read further by anybody, however
 * eager. (zstd keeps a block until it is whole.)
 */
bool decoder_is_settled(const struct decoder *d);
/* The body may end here. */
bool decoder_is_whole(const struct decoder *d);

#endif
