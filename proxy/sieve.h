/*
 * Lets a body through as far as it holds no form of a secret (scan.h). Of a
 * body as it is what is found is overwritten; one that is coded cannot be
 * mended: it is decoded to be looked at, its own bytes go on unchanged, and
 * what is found ends it. Nothing goes on before what it says was searched.
 *
 * The same bytes split in another way come out the same.
 */
#ifndef TAPWARD_PROXY_SIEVE_H
#define TAPWARD_PROXY_SIEVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "proxy/buf.h"
#include "proxy/decode.h"
#include "proxy/scan.h"

/* Bytes that wait to be taken, beside what may be the start of a form. */
#define SIEVE_HELD_MAX_BYTES 65536
/*
 * Of a coded body, beside what they may say: a block of zstd is 128 KiB, and
 * says nothing before it is whole. Counted with the decoder's memory.
 */
#define SIEVE_CODED_MAX_BYTES 262144
/* Decoded in one turn of the loop, a few ms: others want their turns, too. */
#define SIEVE_TURN_BYTES (1u << 20)

enum sieve_status {
	SIEVE_GOES_ON,
	SIEVE_TURN,   /* sieve_run() is to be called in the next turn */
	SIEVE_LEAK,   /* it is coded and holds the secret */
	SIEVE_BROKEN, /* it is not what its coding says */
	SIEVE_LARGE,  /* it would take too much to look into */
	SIEVE_MEMORY,
};

/* Zeroed: lets nothing in. */
struct sieve {
	const struct scan_forms *forms; /* borrowed */
	struct decode_budget *budget;
	struct decoder *decoder; /* NULL: it is not coded */
	struct buf held;
	size_t clean;   /* bytes at its front that may go on */
	size_t skimmed; /* bytes that come next and were searched already */
	bool is_ending; /* nothing comes behind held */
	enum sieve_status status;
	struct scan_found found; /* the first */

	/* a coded one */
	size_t searched;  /* bytes of held that are no form as they are */
	size_t fed;       /* and that went into the decoder */
	bool has_more;    /* the decoder has not given all of them */
	struct buf plain; /* what they say and what could begin a form */
};

/* forms is borrowed until sieve_done(). */
void sieve_init(struct sieve *s, const struct scan_forms *forms);
/* The body is coded. False when memory is short, or over the budget. */
bool sieve_decode(struct sieve *s, enum coding coding,
    struct decode_budget *budget);
void sieve_done(struct sieve *s); /* wipes; zeroed is fine */

/*
 * How many bytes at the front of data, which come next, may go on as they are.
 * What of them does, sieve_skimmed() is told of; the rest is offered again.
 */
size_t sieve_skim(struct sieve *s, struct span data);
void sieve_skimmed(struct sieve *s, size_t len);
/* How many bytes it takes now; none before its next turn. */
size_t sieve_room(const struct sieve *s);
/* Takes data, no longer than sieve_room(). */
enum sieve_status sieve_put(struct sieve *s, struct span data);
/* Goes on after SIEVE_TURN. */
enum sieve_status sieve_run(struct sieve *s);
/* Nothing comes any more: all may go on, if it is whole. */
enum sieve_status sieve_end(struct sieve *s);

/* What may go on; borrows. What did is taken. */
struct span sieve_ready(const struct sieve *s);
void sieve_take(struct sieve *s, size_t len);
bool sieve_is_empty(const struct sieve *s);

#endif
