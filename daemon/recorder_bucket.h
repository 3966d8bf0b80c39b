/*
 * A token bucket that counts what it refuses. Pure.
 */
#ifndef TAPWARD_DAEMON_RECORDER_BUCKET_H
#define TAPWARD_DAEMON_RECORDER_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	uint32_t rate_per_s;
	uint32_t burst;
	uint64_t tokens_milli; /* thousandths */
	uint64_t last_ms;
	uint64_t refused; /* since bucket_take_refused() */
};

static inline void
bucket_init(struct bucket *b, uint32_t rate_per_s, uint32_t burst, uint64_t now)
{
	*b = (struct bucket){ .rate_per_s = rate_per_s,
		.burst = burst,
		.tokens_milli = (uint64_t)burst * 1000,
		.last_ms = now };
}

/* One token, if there is one at now_ms; else counts. */
static inline bool
bucket_take(struct bucket *b, uint64_t now_ms)
{
	const uint64_t full = (uint64_t)b->burst * 1000;
	uint64_t passed = now_ms > b->last_ms ? now_ms - b->last_ms : 0;

	b->last_ms = now_ms;
	if (passed > full)
		passed = full;
	b->tokens_milli += passed * b->rate_per_s;
	if (b->tokens_milli > full)
		b->tokens_milli = full;
	if (b->tokens_milli < 1000) {
		b->refused++;
		return false;
	}
	b->tokens_milli -= 1000;
	return true;
}

static inline uint64_t
bucket_take_refused(struct bucket *b)
{
	uint64_t refused = b->refused;

	b->refused = 0;
	return refused;
}

#endif
