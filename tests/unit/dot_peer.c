/*
 * The resolver by TLS, see dot_peer.h.
 */
#include "tests/unit/dot_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "proxy/stream.h"
#include "wire/dns_ask.h"

struct dot_conn {
	TAILQ_ENTRY(dot_conn) link;
	struct dot_peer *peer;
	struct stream stream;
	bool is_shaken;
	bool is_over; /* as soon as what is written has gone */
	struct buf in, out;
	struct buf held; /* an answer that waits for the next */
};

static void
conn_free(struct dot_conn *c)
{
	const int fd = c->stream.fd;

	TAILQ_REMOVE(&c->peer->conns, c, link);
	c->peer->open--;
	if (c->is_shaken)
		stream_shutdown(&c->stream);
	stream_done(&c->stream);
	(void)close(fd);
	buf_done(&c->in);
	buf_done(&c->out);
	buf_done(&c->held);
	free(c);
}

static void
put(struct buf *to, const void *bytes, size_t len)
{
	assert_int_equal(buf_append(to,
			     (struct span){ (const uint8_t *)bytes, len }),
	    0);
}

/* The answer that the nameserver gives, in its frame. */
static size_t
make_answer(struct dot_conn *c, const struct dns_query *q, uint8_t *buf,
    size_t size)
{
	struct wr w = wr_init(buf, size);

	wr_u16(&w, 0);
	nameserver_answer(c->peer->ns, q, &w);
	assert_true(wr_ok(&w));
	wr_patch_u16(&w, 0, (uint16_t)(w.len - 2));
	return w.len;
}

static void
hold_until_two(struct dot_conn *c, const uint8_t *answer, size_t len)
{
	struct span first = buf_span(&c->held);

	if (first.len == 0) {
		put(&c->held, answer, len);
		return;
	}
	put(&c->out, answer, len);
	put(&c->out, first.ptr, first.len);
	buf_consume(&c->held, first.len);
}

static void
answer(struct dot_conn *c, const struct dns_query *q)
{
	uint8_t buf[4096];
	size_t len;

	if (c->peer->way == DOT_SILENT)
		return;
	len = make_answer(c, q, buf, sizeof(buf));
	switch (c->peer->way) {
	case DOT_OTHER_ID:
		buf[3] ^= 0x55;
		break;
	case DOT_OTHER_NAME:
		buf[15] ^= 1;
		break;
	case DOT_HALF:
		len = 9;
		break;
	case DOT_HUGE:
		memset(buf, 0xff, 2);
		break;
	case DOT_SHORT:
		memcpy(buf, "\0\x0b", 2);
		break;
	case DOT_BACKWARDS:
		hold_until_two(c, buf, len);
		return;
	case DOT_CLOSES_FIRST:
		len = 0;
		c->is_over = true;
		break;
	case DOT_CLOSES_EACH:
		c->is_over = true;
		break;
	case DOT_STRAYS:
		buf[2] ^= 0x55;
		for (int i = 0; i < 200; i++)
			put(&c->out, buf, len);
		return;
	case DOT_PLAIN:
	case DOT_SILENT:
	case DOT_DEAF:
	case DOT_NO_TLS:
	case DOT_OLD_TLS:
	case DOT_BYTES:
		break;
	}
	put(&c->out, buf, len);
}

static void
take_questions(struct dot_conn *c)
{
	struct span msg;
	struct dns_query q;
	size_t used;

	while (!c->is_over && dns_frame_next(buf_span(&c->in), &msg, &used)) {
		assert_int_equal(dns_query_parse(msg, &q), DNS_OK);
		c->peer->questions++;
		if (msg.len % DNS_ASK_BLOCK_BYTES != 0)
			c->peer->unpadded++;
		answer(c, &q);
		buf_consume(&c->in, used);
	}
}

/* False: it is over. */
static bool
send_out(struct dot_conn *c)
{
	while (c->out.len > 0) {
		struct span s = buf_span(&c->out);
		size_t len;
		enum stream_result r;

		if (c->peer->way == DOT_BYTES)
			s.len = 1;
		r = stream_write(&c->stream, s, &len);
		if (r == STREAM_AGAIN)
			return true;
		if (r != STREAM_OK)
			return false;
		buf_consume(&c->out, len);
	}
	return !c->is_over;
}

static bool
read_in(struct dot_conn *c)
{
	do {
		uint8_t *to = buf_reserve(&c->in, 4096);
		size_t len;
		enum stream_result r;

		assert_non_null(to);
		r = stream_read(&c->stream, to, 4096, &len);
		if (r == STREAM_AGAIN)
			return true;
		if (r != STREAM_OK)
			return false;
		buf_commit(&c->in, len);
		take_questions(c);
	} while (stream_has_more(&c->stream));
	return true;
}

static bool
go_on(struct dot_conn *c)
{
	if (c->peer->way == DOT_DEAF || c->stream.ssl == NULL) {
		stream_set_reading(&c->stream, false);
		return true;
	}
	if (!c->is_shaken) {
		const enum stream_result r = stream_handshake(&c->stream);

		if (r != STREAM_OK)
			return r == STREAM_AGAIN;
		c->is_shaken = true;
		c->peer->handshakes++;
	}
	return read_in(c) && send_out(c);
}

static void
on_ready(struct stream *s, void *arg)
{
	(void)s;
	if (!go_on(arg))
		conn_free(arg);
}

static SSL *
make_ssl(const struct dot_peer *p)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	SSL *ssl;
	EVP_PKEY *key;
	X509 *x = fix_make_cert(p->ca, p->host, p->cert, &key);

	assert_non_null(ctx);
	assert_int_equal(SSL_CTX_use_certificate(ctx, x), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
	(void)SSL_CTX_set_mode(ctx,
	    SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (p->way == DOT_OLD_TLS) {
		SSL_CTX_set_security_level(ctx, 0);
		assert_int_equal(SSL_CTX_set_max_proto_version(ctx,
				     TLS1_1_VERSION),
		    1);
	}
	X509_free(x);
	EVP_PKEY_free(key);
	ssl = SSL_new(ctx);
	SSL_CTX_free(ctx);
	assert_non_null(ssl);
	SSL_set_accept_state(ssl);
	return ssl;
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	static const char text[] = "220 mail.example ESMTP\r\n";
	struct dot_peer *p = arg;
	const int conn = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct dot_conn *c = calloc(1, sizeof(*c));

	(void)what;
	assert_true(conn != -1);
	assert_non_null(c);
	c->peer = p;
	p->accepted++;
	p->open++;
	TAILQ_INSERT_TAIL(&p->conns, c, link);
	stream_init(&c->stream, p->base, conn,
	    p->way == DOT_NO_TLS ? NULL : make_ssl(p), on_ready, c);
	if (p->way == DOT_NO_TLS)
		assert_int_equal(send(conn, text, sizeof(text) - 1,
				     MSG_NOSIGNAL),
		    sizeof(text) - 1);
}

void
dot_peer_init(struct dot_peer *p, const char *address)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);

	TAILQ_INIT(&p->conns);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(p->fd != -1);
	assert_int_equal(inet_pton(AF_INET, address, &sa.sin_addr), 1);
	assert_int_equal(bind(p->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(p->fd, 16), 0);
	assert_int_equal(getsockname(p->fd, (struct sockaddr *)&sa, &len), 0);
	p->port = ntohs(sa.sin_port);
	p->event =
	    event_new(p->base, p->fd, EV_READ | EV_PERSIST, on_accept, p);
	assert_non_null(p->event);
	assert_int_equal(event_add(p->event, NULL), 0);
}

void
dot_peer_hang_up(struct dot_peer *p)
{
	while (!TAILQ_EMPTY(&p->conns))
		conn_free(TAILQ_FIRST(&p->conns));
}

void
dot_peer_done(struct dot_peer *p)
{
	dot_peer_hang_up(p);
	event_free(p->event);
	(void)close(p->fd);
}
