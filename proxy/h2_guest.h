/*
 * The guest's half in HTTP/2, on a stream whose TLS agreed on it: each request
 * is a stream of its own, parsed, judged and given its credential by itself,
 * by the name that the connection was made for.
 *
 * The connection's window opens as bytes come in and a stream's only as the
 * exchange takes them: a stream that waits holds at most its own window, and
 * never stops another.
 */
#ifndef TAPWARD_PROXY_H2_GUEST_H
#define TAPWARD_PROXY_H2_GUEST_H

#include "proxy/exchange.h"
#include "proxy/stream.h"

struct h2_guest;

struct h2_guest_spec {
	struct exchange_front front; /* copied; its host is borrowed */
	struct stream *stream;       /* borrowed */
	/* It is finished with the stream; the connection can be closed. */
	void (*on_done)(void *arg);
	void *arg;
};

/* NULL when memory is short. Call h2_guest_run() to begin. */
struct h2_guest *h2_guest_new(const struct h2_guest_spec *spec);
/* Ends running exchanges. Tells nobody. NULL is fine. */
void h2_guest_free(struct h2_guest *h);
/* Does all that needs no wait. Tells on_done, as its last act. */
void h2_guest_run(struct h2_guest *h);
/* The stream is ready; runs. */
void h2_guest_on_ready(struct h2_guest *h);
void h2_guest_policy_changed(struct h2_guest *h);

#endif
