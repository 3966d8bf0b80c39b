/* A connection to a resolver, see dialler_tls_conn.h. */
#include "proxy/dialler_tls_conn.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <openssl/err.h>

#include "base/fd.h"
#include "proxy/dialler_connect.h"
#include "proxy/stream.h"
#include "proxy/tls_context.h"
#include "wire/dns_ask.h"

#define READ_BYTES 4096
#define TEXT_SIZE 96

struct dialler_tls_conn {
	struct event_base *base;
	SSL_CTX *ctx;
	const struct message_resolver *at;
	const struct dialler_tls_owner *owner;
	struct dialler_connect *connect; /* while it is on its way */
	int fd;
	struct stream stream; /* from then on */
	bool has_stream;
	bool is_open;
	struct event *timer; /* connection and handshake, in all */
	struct event *turn;  /* what is to go in this turn of the loop */
	struct buf in, out;
};

void
dialler_tls_conn_free(struct dialler_tls_conn *c)
{
	if (c == NULL)
		return;
	dialler_connect_cancel(c->connect);
	if (c->has_stream) {
		if (c->is_open)
			stream_shutdown(&c->stream);
		stream_done(&c->stream);
	}
	if (c->timer != NULL)
		event_free(c->timer);
	if (c->turn != NULL)
		event_free(c->turn);
	fd_close(&c->fd);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
}

/* c is gone after this. */
static void
end(struct dialler_tls_conn *c, enum dialler_fault fault, const char *text)
{
	c->owner->on_end(fault, text, c->owner->arg);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dialler_tls_conn *c = arg;

	(void)fd;
	(void)what;
	end(c, DIALLER_FAULT_TIMEOUT,
	    c->has_stream ? "no end of the handshake" : "no connection");
}

/* False: it is over, and c is gone. */
static bool
send_out(struct dialler_tls_conn *c)
{
	while (c->out.len > 0) {
		size_t len;

		switch (stream_write(&c->stream, buf_span(&c->out), &len)) {
		case STREAM_OK:
			buf_consume(&c->out, len);
			break;
		case STREAM_AGAIN:
			return true;
		case STREAM_END:
		case STREAM_CUT:
		case STREAM_FAILED:
			end(c, DIALLER_FAULT_CLOSED, "closed");
			return false;
		}
	}
	return true;
}

/* The answers that are whole. False as above. */
static bool
take_messages(struct dialler_tls_conn *c)
{
	for (;;) {
		struct span message;
		size_t used;

		switch (dns_ask_frame(buf_span(&c->in), &message, &used)) {
		case DNS_FRAME_MORE:
			return true;
		case DNS_FRAME_BAD:
			end(c, DIALLER_FAULT_BAD_ANSWER,
			    "a length that no answer has");
			return false;
		case DNS_FRAME_WHOLE:
			break;
		}
		if (!c->owner->on_message(message, c->owner->arg)) {
			end(c, DIALLER_FAULT_BAD_ANSWER,
			    "answers to what was not asked");
			return false;
		}
		buf_consume(&c->in, used);
	}
}

/* One read; *ret_more: another may give bytes at once. False as above. */
static bool
read_some(struct dialler_tls_conn *c, bool *ret_more)
{
	uint8_t *to = buf_reserve(&c->in, READ_BYTES);
	size_t len;

	*ret_more = false;
	if (to == NULL) {
		end(c, DIALLER_FAULT_TOO_MANY, "no memory");
		return false;
	}
	switch (stream_read(&c->stream, to, READ_BYTES, &len)) {
	case STREAM_AGAIN:
		return true;
	case STREAM_OK:
		buf_commit(&c->in, len);
		*ret_more = stream_has_more(&c->stream);
		return take_messages(c);
	case STREAM_END:
	case STREAM_CUT:
	case STREAM_FAILED:
		end(c, DIALLER_FAULT_CLOSED, "closed");
		return false;
	}
	return true;
}

static void
read_all(struct dialler_tls_conn *c)
{
	bool has_more = true;

	while (has_more && read_some(c, &has_more))
		;
}

/* False: it is not done, or c is gone. */
static bool
handshake(struct dialler_tls_conn *c)
{
	const SSL *ssl = c->stream.ssl;
	char text[TEXT_SIZE];
	enum dialler_fault fault = DIALLER_FAULT_TLS;
	const enum stream_result r = stream_handshake(&c->stream);

	if (r == STREAM_AGAIN)
		return false;
	/* VERIFY_PEER has ended the handshake before this. */
	if (r == STREAM_OK && SSL_get_verify_result(ssl) == X509_V_OK) {
		(void)evtimer_del(c->timer);
		c->is_open = true;
		c->owner->on_open(c->owner->arg);
		return true;
	}
	/* A reset leaves nothing in the library's queue. */
	if (SSL_get_verify_result(ssl) != X509_V_OK)
		fault = DIALLER_FAULT_CERTIFICATE;
	else if (r != STREAM_FAILED || ERR_peek_error() == 0)
		fault = DIALLER_FAULT_CLOSED;
	tls_context_failure(ssl, text, sizeof(text));
	end(c, fault, text);
	return false;
}

static void
on_ready(struct stream *s, void *arg)
{
	struct dialler_tls_conn *c = arg;

	(void)s;
	if (!c->is_open && !handshake(c))
		return;
	if (send_out(c))
		read_all(c);
}

static void
on_turn(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)send_out(arg);
}

/* Takes fd. */
static void
on_connected(int fd, int err, const struct address *a, void *arg)
{
	struct dialler_tls_conn *c = arg;
	SSL *ssl;

	(void)a;
	c->connect = NULL;
	c->fd = fd;
	if (fd == -1) {
		end(c,
		    err == ECONNREFUSED    ? DIALLER_FAULT_REFUSED
			: err == ETIMEDOUT ? DIALLER_FAULT_TIMEOUT
					   : DIALLER_FAULT_UNREACHABLE,
		    strerrordesc_np(err));
		return;
	}
	ssl = SSL_new(c->ctx);
	if (ssl == NULL || !tls_context_expect(ssl, c->at->tls_name)) {
		SSL_free(ssl);
		end(c, DIALLER_FAULT_TOO_MANY, "no memory");
		return;
	}
	SSL_set_connect_state(ssl);
	stream_init(&c->stream, c->base, fd, ssl, on_ready, c);
	c->has_stream = true;
	on_ready(&c->stream, c);
}

static bool
start(struct dialler_tls_conn *c, uint32_t timeout_ms)
{
	const struct timeval tv = { .tv_sec = timeout_ms / 1000,
		.tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000 };
	struct address a = { .family = c->at->address.family == 4
		    ? ADDRESS_IPV4
		    : ADDRESS_IPV6 };
	const struct dialler_connect_ask ask = { .addresses = &a,
		.count = 1,
		.port = c->at->port,
		.timeout_ms = timeout_ms,
		.done = on_connected,
		.arg = c };

	memcpy(a.bytes, c->at->address.bytes, sizeof(a.bytes));
	c->timer = evtimer_new(c->base, on_timer, c);
	c->turn = evtimer_new(c->base, on_turn, c);
	if (c->timer == NULL || c->turn == NULL ||
	    evtimer_add(c->timer, &tv) == -1)
		return false;
	c->connect = dialler_connect_start(c->base, &ask);
	return c->connect != NULL;
}

struct dialler_tls_conn *
dialler_tls_conn_new(struct event_base *base, SSL_CTX *ctx,
    const struct message_resolver *at, uint32_t timeout_ms,
    const struct dialler_tls_owner *owner)
{
	struct dialler_tls_conn *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->base = base;
	c->ctx = ctx;
	c->at = at;
	c->owner = owner;
	c->fd = -1;
	if (start(c, timeout_ms))
		return c;
	dialler_tls_conn_free(c);
	return NULL;
}

bool
dialler_tls_conn_is_open(const struct dialler_tls_conn *c)
{
	return c->is_open;
}

const char *
dialler_tls_conn_version(const struct dialler_tls_conn *c)
{
	return SSL_get_version(c->stream.ssl);
}

void
dialler_tls_conn_ask(struct dialler_tls_conn *c, const struct dialler_query *q)
{
	struct wr w = buf_write(&c->out, DNS_ASK_MAX_BYTES);

	assert(c->is_open);
	dns_ask_write(&w, q->id, q->host, q->type);
	/* Without memory it is as one that got lost. */
	if (buf_write_end(&c->out, &w) == 0)
		event_active(c->turn, EV_TIMEOUT, 0);
}
