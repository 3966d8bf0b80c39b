/*
 * The gate's side of the dialler: ask for a connection, get a descriptor.
 */
#ifndef TAPWARD_PROXY_DIAL_H
#define TAPWARD_PROXY_DIAL_H

#include "base/message_dial.h"
#include "proxy/gate.h"

struct dial;

/*
 * fd is taken by the callee, -1 unless d->reason is REASON_NONE; connected
 * and non-blocking. Not called after dial_cancel().
 */
typedef void dial_done(const struct message_dialed *d, int fd, void *arg);

struct dial_to {
	const char *host; /* borrowed for the call */
	uint16_t port;
	enum scheme scheme;
	bool is_redirect; /* by a grant (proxy/redirect.h) */
};

/*
 * The answer comes from the event loop, never from inside this call; after
 * limits.connect_timeout_ms it is REASON_TIMEOUT. While the dialler is away it
 * is REASON_ORIGIN_UNREACHABLE. NULL when memory is short.
 */
struct dial *dial_start(struct gate *g, const struct dial_to *to,
    dial_done *done, void *arg);
void dial_cancel(struct dial *d); /* NULL is fine */

/* A (new) channel to the dialler; takes fd. Open questions are failed. */
int dial_port_set(struct gate *g, int fd);
void dial_port_free(struct gate *g);

#endif
