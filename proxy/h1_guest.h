/*
 * The guest's half in HTTP/1.1: requests one after another on a stream that
 * is ready (TLS done). Pipelined requests wait in the buffer or the socket:
 * each is parsed, judged and given its credential anew.
 *
 * States: HEAD, LOOK (at a chunked body, before the request goes on), BODY (of
 * the request, while the answer may have begun), WAIT (for the answer), TUNNEL
 * (a WebSocket is open), DRAIN (refused: reads and drops), CLOSE (writes the
 * rest), LINGER (closed our direction, waits for the guest to), DEAD.
 */
#ifndef TAPWARD_PROXY_H1_GUEST_H
#define TAPWARD_PROXY_H1_GUEST_H

#include <stdbool.h>

#include "proxy/exchange.h"
#include "proxy/stream.h"

struct h1_guest;

/* CONNECT, of the explicit proxy only. */
struct h1_connect {
	char host[HOST_NAME_SIZE];
	uint16_t port;
};

struct h1_guest_spec {
	struct exchange_front front; /* copied; its host is borrowed */
	struct stream *stream;       /* borrowed */
	bool is_explicit;            /* absolute-form and CONNECT only */
	/*
	 * A CONNECT was granted and its 200 is written: no byte past its head
	 * has been read, and the h1_guest is finished.
	 */
	void (*on_connect)(void *arg, const struct h1_connect *c);
	/* It is finished with the stream; the connection can be closed. */
	void (*on_done)(void *arg);
	void *arg;
};

/* NULL when memory is short. Call h1_guest_run() to begin. */
struct h1_guest *h1_guest_new(const struct h1_guest_spec *spec);
/* Ends a running exchange. Tells nobody. NULL is fine. */
void h1_guest_free(struct h1_guest *h);
/*
 * Does all that needs no wait. Tells on_done or on_connect, as its last act.
 */
void h1_guest_run(struct h1_guest *h);
/* The stream is ready; runs. */
void h1_guest_on_ready(struct h1_guest *h);
void h1_guest_policy_changed(struct h1_guest *h);

#endif
