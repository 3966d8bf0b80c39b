/*
 * A token bucket: so many a second, and at most that many saved up.
 */
#ifndef TAPWARD_PROXY_BUCKET_H
#define TAPWARD_PROXY_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	uint32_t per_second;
	uint64_t tokens_milli; /* thousandths of one */
	uint64_t at_ms;        /* clock_mono_ms() when last looked at */
};

/* Full. */
static inline struct bucket
bucket_init(uint32_t per_second, uint64_t now_ms)
{
	return (struct bucket){ .per_second = per_second,
		.tokens_milli = (uint64_t)per_second * 1000,
		.at_ms = now_ms };
}

/* False: there was none to take. */
static inline bool
bucket_take(struct bucket *b, uint64_t now_ms)
{
	uint64_t full_milli = (uint64_t)b->per_second * 1000;
	uint64_t passed_ms = now_ms > b->at_ms ? now_ms - b->at_ms : 0;

	/* A second fills it; a longer wait could overflow the product. */
	if (passed_ms > 1000)
		passed_ms = 1000;
	b->at_ms = now_ms;
	b->tokens_milli += passed_ms * b->per_second;
	if (b->tokens_milli > full_milli)
		b->tokens_milli = full_milli;
	if (b->tokens_milli < 1000)
		return false;
	b->tokens_milli -= 1000;
	return true;
}

#endif
