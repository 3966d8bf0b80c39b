/*
 * A tunnel through a forward proxy: CONNECT on a connection to it, and its
 * answer read to the end of its head and not a byte further (wire/
 * proxy_answer.h), so that the descriptor then carries what the origin sends
 * from its first byte on.
 */
#ifndef TAPWARD_PROXY_DIALLER_TUNNEL_H
#define TAPWARD_PROXY_DIALLER_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct event_base;
struct dialler_tunnel;

enum dialler_tunnel_end {
	DIALLER_TUNNEL_OPEN,
	DIALLER_TUNNEL_REFUSED, /* the proxy's status says why */
	/* No answer of HTTP/1, a huge one, or bytes behind it out of turn. */
	DIALLER_TUNNEL_BAD,
	DIALLER_TUNNEL_CLOSED, /* before the answer had ended */
	DIALLER_TUNNEL_LATE,
	DIALLER_TUNNEL_LOCAL, /* memory, or a send buffer that is too small */
};

/*
 * fd is taken by the callee: the tunnel, or -1. status is the proxy's, 0
 * without one. Comes from the event loop; the object is gone then.
 */
typedef void dialler_tunneled(int fd, enum dialler_tunnel_end end,
    unsigned int status, void *arg);

struct dialler_tunnel_ask {
	int fd;           /* connected to the proxy, non-blocking */
	const char *host; /* canonical */
	uint16_t port;
	struct span login; /* value of Proxy-Authorization; ptr NULL: none */
	/*
	 * The origin may speak first. If not, what comes with the head is out
	 * of turn, for nothing was said yet that it could answer.
	 */
	bool may_speak_first;
	uint32_t timeout_ms;
	dialler_tunneled *done;
	void *arg;
};

/*
 * All of ask is borrowed until it returns, but ask->fd, which is taken. NULL
 * when memory is short.
 */
struct dialler_tunnel *dialler_tunnel_start(struct event_base *base,
    const struct dialler_tunnel_ask *ask);
void dialler_tunnel_cancel(struct dialler_tunnel *t); /* NULL is fine */

#endif
