/*
 * Which streams of a connection were used of late, and which of them the peer
 * has ended itself: a frame of the peer on one of those, or on one that was
 * passed over, is its fault (RFC 9113 5.1, 5.1.1), while one on a stream that
 * we have reset may have been on its way. libnghttp2 forgets the difference.
 *
 * Zeroed: none was used. The last H2_PAST_SLOTS streams are known.
 */
#ifndef TAPWARD_PROXY_H2_PAST_H
#define TAPWARD_PROXY_H2_PAST_H

#include <stdint.h>

/* More than may be open at once, and those just closed. */
#define H2_PAST_SLOTS 256

struct h2_past {
	int32_t last;
	uint8_t state[H2_PAST_SLOTS]; /* enum h2_past_state */
};

enum h2_past_state {
	H2_PAST_UNKNOWN, /* was not used yet, or long ago */
	H2_PAST_SKIPPED, /* a later one was used before it */
	H2_PAST_OPEN,    /* used; the peer may send on it */
	H2_PAST_ENDED,   /* by END_STREAM or RST_STREAM of the peer */
};

/*
 * A stream is begun by the end that opens streams. What is even, 0, or no later
 * than the last is passed over.
 */
void h2_past_open(struct h2_past *p, int32_t id);
/* The peer has ended it. */
void h2_past_end(struct h2_past *p, int32_t id);
enum h2_past_state h2_past_find(const struct h2_past *p, int32_t id);

#endif
