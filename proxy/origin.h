/*
 * The origin's half of an exchange: one request and its answer, on a
 * connection to (host, port), dialled, TLS verified. HTTP/1.1 carries one at a
 * time; if the origin's TLS agrees on HTTP/2 it is a stream of a connection
 * that others share (h2_origin.h). What it tells the exchange names no version.
 */
#ifndef TAPWARD_PROXY_ORIGIN_H
#define TAPWARD_PROXY_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"
#include "proxy/gate.h"
#include "wire/http.h"

struct exchange;
struct origin;

/* What a connection may be used for; also the pool's key. */
struct origin_key {
	char host[HOST_NAME_SIZE]; /* canonical */
	uint16_t port;
	enum scheme scheme;                    /* SCHEME_HTTPS or SCHEME_HTTP */
	char credential[CREDENTIAL_NAME_SIZE]; /* "" without one */
	/* For one WebSocket: HTTP/1.1 only, and never in the pool. */
	bool is_websocket;
	bool is_redirect; /* dialled by a grant (proxy/redirect.h) */
};

/* NULL when memory is short. Nothing is dialled yet. */
struct origin *origin_new(struct gate *g, const struct origin_key *key);
/* Closes the connection; NULL is fine. Nothing is told any more. */
void origin_free(struct origin *o);
const struct origin_key *origin_key(const struct origin *o);
/* Under which gate_origin_generation() it was dialled. */
uint64_t origin_generation(const struct origin *o);
/* "192.0.2.1:443"; "" until connected, and where a proxy hides it. */
const char *origin_address(const struct origin *o);
/* Of the pool, and not adopted yet: it is connected. */
bool origin_is_idle(const struct origin *o);
/* How long it has been idle in the pool. */
uint64_t origin_idle_ms(const struct origin *o);
/*
 * Of an idle one: false when it has ended, or has said what nobody asked for.
 * A session ticket is neither.
 */
bool origin_is_quiet(struct origin *o);
/* The pool's links. */
struct origin **origin_next(struct origin *o);
struct origin **origin_prev(struct origin *o);

/*
 * Dials, and does the TLS handshake; then exchange_origin_ready(), or
 * exchange_origin_failed(). Never from inside. 0 or -ENOMEM.
 */
int origin_connect(struct origin *o, struct exchange *x);
/* How many with o's key are connecting; ret_all: with any. */
size_t origin_connecting(const struct origin *o, size_t *ret_all);
/* An idle one that the pool gave is x's now. */
void origin_adopt(struct origin *o, struct exchange *x);

/*
 * Sends the head: head is the canonical one without framing and final empty
 * line; lines of the credential, if any, go behind it, and are wiped when they
 * have gone. framing and length say what follows. What is sent in one turn of
 * the loop goes out together at its end. 0 or -ENOMEM.
 */
struct origin_request {
	struct span head;
	struct span credential_line;  /* with CRLF; empty: none */
	struct injection *credential; /* that the line is of; or NULL */
	enum http_method method;
	enum http_framing framing;
	uint64_t length;
	bool takes_trailers;   /* the guest said so, and the origin is told */
	bool is_websocket;     /* asks for a tunnel */
	bool is_target_secret; /* something of it is in the request line */
};
int origin_send_head(struct origin *o, const struct origin_request *r);
/* Body bytes; returns how many were taken. */
size_t origin_send_body(struct origin *o, struct span data);
/* Fields behind the body; HTTP/1.1 drops them. */
void origin_send_trailers(struct origin *o, const struct http_fields *f);
/*
 * The body is whole. Of a tunnel: our direction is closed once all is written,
 * and exchange_origin_sent() tells.
 */
void origin_send_end(struct origin *o);
/* The guest's half takes answer bytes again. */
void origin_resume(struct origin *o);
/*
 * The exchange is over. Into the pool if the answer ended cleanly and the
 * origin keeps the connection, else closed. o is gone for the caller.
 */
void origin_release(struct origin *o);

#endif
