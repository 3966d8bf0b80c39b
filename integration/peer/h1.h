/*
 * What the h1*.c files share.
 */
#ifndef TAPWARD_PEER_H1_H
#define TAPWARD_PEER_H1_H

#include "peer.h"

enum h1_read {
	H1_READ_HEAD,
	H1_READ_LENGTH,
	H1_READ_SIZE, /* of a chunk */
	H1_READ_CHUNK,
	H1_READ_CHUNK_END,
	H1_READ_TRAILERS,
	H1_READ_CLOSE,
	H1_READ_DONE,
};

struct h1 {
	struct link *l;
	struct shape shape; /* the guest's */
	unsigned int count; /* exchanges that are over */
	struct turn *t;
	bool has_interims, is_out_done, is_head_method;
	enum h1_read state;
	char text[PEER_HEAD_MAX]; /* a head or a line that is not whole */
	size_t head_len;
	uint64_t left; /* of the body, or of a chunk */
};

/* Another exchange. */
void h1_begin(struct h1 *h);
void h1_finish(struct h1 *h, enum turn_end end);
/* Bytes that came in; false: they are no HTTP. */
bool h1_input(void *state, const uint8_t *ptr, size_t len);

#endif
