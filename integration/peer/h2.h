/*
 * What the h2*.c files share.
 */
#ifndef TAPWARD_PEER_H2_H
#define TAPWARD_PEER_H2_H

#include <nghttp2/nghttp2.h>

#include "peer.h"

#define STREAMS_MAX 256

struct h2_turn {
	struct turn *t; /* NULL: free */
	int32_t id;
	size_t held; /* bytes that came and are not taken yet */
	bool is_deferred;
	bool is_head_method;
};

struct h2 {
	struct link *l;
	nghttp2_session *session;
	struct shape shape; /* the guest's */
	struct h2_turn turns[STREAMS_MAX];
	size_t count; /* of turns that were used */
	bool is_asked;
	bool closes;      /* the connection, as it was told */
	bool is_released; /* the stalled ones are */
};

void h2_finish(struct h2 *h, struct h2_turn *p, enum turn_end end);
void h2_put_interims(struct h2 *h, struct h2_turn *p);
/* What the library tells of what comes in; user data is the struct h2. */
nghttp2_session_callbacks *h2_callbacks(void);

#endif
