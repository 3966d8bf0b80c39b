/*
 * The inspected path of one guest connection, see inspect.h: the TLS handshake
 * with the guest, then its requests, in HTTP/1.1 (h1_guest.c) or HTTP/2
 * (h2_guest.c) by what the handshake agreed on.
 */
#include "proxy/inspect.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proxy/h1_guest.h"
#include "proxy/h2_guest.h"
#include "proxy/pool.h"
#include "proxy/stream.h"
#include "proxy/tls.h"

struct inspect {
	struct grave grave; /* first: a grave is its inspect */
	struct conn *conn;
	struct gate *gate;
	bool has_stream;
	struct stream stream;
	struct tls_guest tls;
	char host[HOST_NAME_SIZE]; /* the SNI, for as long as TLS needs it */
	bool is_in_handshake;
	struct h1_guest *h1;
	struct h2_guest *h2;
};

static void
on_done(void *arg)
{
	struct inspect *i = arg;
	struct conn *c = i->conn;

	/* Some clients compare the certificate with one that they know. */
	if (c->front == CONN_FRONT_TLS && !c->is_recorded)
		c->detail =
		    "no request after the handshake: a client that pins "
		    "its certificate needs tls = passthrough";
	/* Whatever there was to say has been said, or nobody is there. */
	c->is_answered = true;
	conn_close(c, REASON_NONE);
}

static void
on_connect(void *arg, const struct h1_connect *connect)
{
	struct inspect *i = arg;

	/* Takes the events off the descriptor by inspect_free(). */
	conn_restart_as_tls(i->conn, connect->host, connect->port);
}

static void
start_http(struct inspect *i)
{
	struct conn *c = i->conn;
	bool is_tls = i->stream.ssl != NULL;
	struct h1_guest_spec spec = {
		.front = {
			.gate = i->gate,
			.scheme = is_tls ? SCHEME_HTTPS : SCHEME_HTTP,
			.host = i->host,
			.port = c->port,
			.is_recorded = &c->is_recorded,
		},
		.stream = &i->stream,
		.is_explicit = c->front == CONN_FRONT_EXPLICIT,
		.on_connect = on_connect,
		.on_done = on_done,
		.arg = i,
	};

	i->h1 = h1_guest_new(&spec);
	if (i->h1 == NULL) {
		conn_close(c, REASON_LIMIT_CONNECTIONS);
		return;
	}
	h1_guest_run(i->h1);
}

static void
start_http2(struct inspect *i)
{
	struct conn *c = i->conn;
	struct h2_guest_spec spec = {
		.front = {
			.gate = i->gate,
			.scheme = SCHEME_HTTPS,
			.host = i->host,
			.port = c->port,
			.is_h2 = true,
			.is_recorded = &c->is_recorded,
		},
		.stream = &i->stream,
		.on_done = on_done,
		.arg = i,
	};

	i->h2 = h2_guest_new(&spec);
	if (i->h2 == NULL) {
		conn_close(c, REASON_LIMIT_CONNECTIONS);
		return;
	}
	h2_guest_run(i->h2);
}

/* The record of the connection says why: an alert of the guest, mostly. */
static void
handshake_failed(struct inspect *i)
{
	struct tls_failure f = tls_guest_failure(&i->tls);
	struct conn *c = i->conn;

	c->detail = f.text;
	c->is_answered = true; /* by an alert, one way or the other */
	conn_close(c, f.reason);
}

static void
handshake(struct inspect *i)
{
	switch (stream_handshake(&i->stream)) {
	case STREAM_AGAIN:
		return;
	case STREAM_OK:
		break;
	case STREAM_END:
	case STREAM_CUT:
	case STREAM_FAILED:
		handshake_failed(i);
		return;
	}
	i->is_in_handshake = false;
	(void)event_del(&i->conn->timer);
	if (tls_guest_http(i->stream.ssl) == TLS_HTTP_2)
		start_http2(i);
	else
		start_http(i);
}

static void
on_ready(struct stream *s, void *arg)
{
	struct inspect *i = arg;

	(void)s;
	if (i->is_in_handshake)
		handshake(i);
	else if (i->h2 != NULL)
		h2_guest_on_ready(i->h2);
	else
		h1_guest_on_ready(i->h1);
}

static void
start_tls(struct inspect *i)
{
	struct conn *c = i->conn;
	struct verdict v;
	SSL *ssl;

	memcpy(i->host, c->sni, sizeof(i->host));
	ssl = tls_guest_new(i->gate, i->host, &i->tls);
	if (ssl == NULL) {
		conn_close(c, REASON_LIMIT_CONNECTIONS);
		return;
	}
	v = policy_judge_connect(&i->gate->pair, i->host, c->port);
	/*
	 * libcurl 7.88 on GnuTLS, as git of Debian 12 has it, sends part of an
	 * upload twice over HTTP/2 when its socket is full. What a client is
	 * shows in its ClientHello only by what GnuTLS asks for.
	 */
	i->tls.prefers_http11 =
	    v.action == ACTION_DENY || v.is_git || c->has_record_size_limit;
	stream_init(&i->stream, i->gate->base, c->fd, ssl, on_ready, i);
	i->has_stream = true;
	i->is_in_handshake = true;
	conn_set_timeout(c, i->gate->limits.tls_timeout_ms, REASON_GUEST_TLS);
	handshake(i);
}

static void
start_plain(struct inspect *i)
{
	struct conn *c = i->conn;

	stream_init(&i->stream, i->gate->base, c->fd, NULL, on_ready, i);
	i->has_stream = true;
	(void)event_del(&c->timer);
	start_http(i);
}

void
inspect_start(struct conn *c)
{
	struct inspect *i = calloc(1, sizeof(*i));

	if (i == NULL) {
		conn_close(c, REASON_LIMIT_CONNECTIONS);
		return;
	}
	i->conn = c;
	i->gate = c->gate;
	c->inspect = i;
	switch (c->front) {
	case CONN_FRONT_TLS:
		start_tls(i);
		return;
	case CONN_FRONT_HTTP:
	case CONN_FRONT_EXPLICIT:
		start_plain(i);
		return;
	case CONN_FRONT_TCP:
		break;
	}
	assert(false);
}

void
inspect_policy_changed(struct conn *c)
{
	c->policy_generation = c->gate->policy_generation;
	/* What was dialled under the old policy serves no more requests. */
	pool_flush(c->gate);
	if (c->inspect->h1 != NULL)
		h1_guest_policy_changed(c->inspect->h1);
	if (c->inspect->h2 != NULL)
		h2_guest_policy_changed(c->inspect->h2);
}

static void
on_buried(struct grave *grave)
{
	free(grave); /* the first member of its inspect */
}

void
inspect_free(struct inspect *i)
{
	if (i == NULL)
		return;
	h1_guest_free(i->h1);
	i->h1 = NULL;
	h2_guest_free(i->h2);
	i->h2 = NULL;
	if (i->has_stream)
		stream_done(&i->stream);
	pool_bury(i->gate, &i->grave, on_buried);
}
