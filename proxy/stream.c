/*
 * A non-blocking stream, see stream.h.
 */
#include "proxy/stream.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/stream_bio.h"

/*
 * Records that one read of a kept buffer takes: as many as TCP brings at once.
 */
#define READ_BUFFER_BYTES ((size_t)3 * (16384 + 256 + 5))

static void
wait_to_write(struct stream *s)
{
	(void)event_add(&s->write_event, NULL);
}

static enum stream_result
fail(struct stream *s)
{
	s->is_failed = true;
	return STREAM_FAILED;
}

/*
 * A call that fails reports any older error in the library's queue as its own.
 * Nearly always there is none, which is quicker to see than to clear it.
 */
static void
forget_errors(void)
{
	if (ERR_peek_error() != 0)
		ERR_clear_error();
}

/* Of what the library wrote: waits for the rest to be sent. */
static enum stream_result
note_sent(struct stream *s, enum stream_result r)
{
	if (r == STREAM_AGAIN)
		wait_to_write(s);
	return r == STREAM_FAILED ? fail(s) : r;
}

bool
stream_has_unsent(const struct stream *s)
{
	return s->unsent.len > 0 && !s->is_held;
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	struct stream *s = arg;

	(void)fd;
	if ((what & EV_WRITE) != 0)
		(void)note_sent(s, stream_bio_retry(s));
	s->on_ready(s, s->arg);
}

void
stream_init(struct stream *s, struct event_base *base, int fd, SSL *ssl,
    stream_ready *on_ready, void *arg)
{
	int rc;

	*s = (struct stream){ .fd = fd,
		.ssl = ssl,
		.on_ready = on_ready,
		.arg = arg };
	rc = event_assign(&s->read_event, base, fd, EV_READ | EV_PERSIST,
	    on_event, s);
	assert(rc == 0);
	rc = event_assign(&s->write_event, base, fd, EV_WRITE, on_event, s);
	assert(rc == 0);
	/* Without memory for it the handshake fails. */
	if (ssl != NULL && SSL_get_rbio(ssl) == NULL)
		(void)stream_bio_attach(s);
	stream_set_reading(s, true);
}

void
stream_done(struct stream *s)
{
	(void)event_del(&s->read_event);
	(void)event_del(&s->write_event);
	SSL_free(s->ssl);
	s->ssl = NULL;
	buf_done(&s->unsent);
	s->is_reading = false;
}

void
stream_move(struct stream *to, struct stream *from, stream_ready *on_ready,
    void *arg)
{
	struct event_base *base = event_get_base(&from->read_event);
	SSL *ssl = from->ssl;

	stream_init(to, base, from->fd, ssl, on_ready, arg);
	to->has_more = from->has_more;
	to->ended = from->ended;
	if (ssl != NULL)
		stream_bio_move(to, from);
	if (stream_has_unsent(to))
		wait_to_write(to);
	from->ssl = NULL;
	stream_done(from);
}

void
stream_set_owner(struct stream *s, stream_ready *on_ready, void *arg)
{
	s->on_ready = on_ready;
	s->arg = arg;
}

void
stream_set_reading(struct stream *s, bool on)
{
	if (s->is_reading == on)
		return;
	/* A failure leaves the time-out to end the connection. */
	if (on)
		(void)event_add(&s->read_event, NULL);
	else
		(void)event_del(&s->read_event);
	s->is_reading = on;
}

/* What a call of OpenSSL that did not succeed means. */
static enum stream_result
tls_result(struct stream *s, int rc)
{
	unsigned long e;

	switch (SSL_get_error(s->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
		return STREAM_AGAIN;
	case SSL_ERROR_WANT_WRITE:
		wait_to_write(s);
		return STREAM_AGAIN;
	case SSL_ERROR_WANT_ASYNC: /* of a signature (client_key.h) */
		return STREAM_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return STREAM_END;
	case SSL_ERROR_SSL:
		e = ERR_peek_error();
		if (ERR_GET_REASON(e) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
			forget_errors();
			s->is_failed = true;
			return STREAM_CUT;
		}
		return fail(s);
	default: /* SSL_ERROR_SYSCALL, and what OpenSSL may yet invent */
		return fail(s);
	}
}

/*
 * What is left to send once the handshake is done: of TLS 1.3 a guest's
 * session ticket, or our Finished to an origin. It goes with what is written
 * first. In TLS 1.2 a guest waits for it.
 */
static enum stream_result
handshake_is_done(struct stream *s)
{
	return note_sent(s,
	    SSL_version(s->ssl) < TLS1_3_VERSION ? stream_bio_end(s)
						 : stream_bio_hold(s));
}

enum stream_result
stream_handshake(struct stream *s)
{
	enum stream_result r, sent;
	int rc;

	forget_errors();
	stream_bio_begin(s);
	rc = SSL_do_handshake(s->ssl);
	if (rc == 1) {
		r = handshake_is_done(s);
		return r == STREAM_AGAIN ? STREAM_OK : r;
	}
	r = tls_result(s, rc);
	sent = note_sent(s, stream_bio_end(s));
	return sent == STREAM_FAILED ? sent : r;
}

/* Fills buf as far as that needs no wait. */
static enum stream_result
tls_read(struct stream *s, void *buf, size_t size, size_t *ret_len)
{
	enum stream_result r = s->ended;
	size_t total = 0;

	if (r != STREAM_OK)
		return r;
	forget_errors();
	stream_bio_begin(s);
	do {
		size_t len = 0;
		int rc = SSL_read_ex(s->ssl, (uint8_t *)buf + total,
		    size - total, &len);

		s->has_more = rc == 1 && SSL_has_pending(s->ssl) == 1;
		if (rc != 1)
			r = tls_result(s, rc);
		total += len;
	} while (s->has_more && total < size);
	/* The library may have answered: with an alert, a KeyUpdate. */
	(void)note_sent(s, stream_bio_end(s));
	if (r != STREAM_OK && r != STREAM_AGAIN)
		s->ended = r;
	if (total == 0)
		return r;
	s->has_more = s->has_more || s->ended != STREAM_OK;
	*ret_len = total;
	return STREAM_OK;
}

void
stream_keep_buffers(struct stream *s)
{
	if (s->ssl == NULL)
		return;
	SSL_set_default_read_buffer_len(s->ssl, READ_BUFFER_BYTES);
	(void)SSL_clear_mode(s->ssl, SSL_MODE_RELEASE_BUFFERS);
	/* The next will be of that size. Not if it holds something. */
	(void)SSL_free_buffers(s->ssl);
}

void
stream_rest(struct stream *s)
{
	if (s->ssl != NULL)
		(void)SSL_free_buffers(s->ssl);
}

static enum stream_result
plain_result(struct stream *s, ssize_t n)
{
	if (n == 0)
		return STREAM_END;
	if (errno == EAGAIN || errno == EINTR)
		return STREAM_AGAIN;
	return fail(s);
}

enum stream_result
stream_read(struct stream *s, void *buf, size_t size, size_t *ret_len)
{
	ssize_t n;

	assert(size > 0);
	if (s->ssl != NULL)
		return tls_read(s, buf, size, ret_len);
	n = recv(s->fd, buf, size, MSG_DONTWAIT);
	s->has_more = n == (ssize_t)size;
	if (n <= 0)
		return plain_result(s, n);
	*ret_len = (size_t)n;
	return STREAM_OK;
}

bool
stream_has_more(const struct stream *s)
{
	return s->has_more;
}

bool
stream_is_silent(const struct stream *s)
{
	uint8_t byte;

	return !(s->ssl != NULL && SSL_has_pending(s->ssl) == 1) &&
	    recv(s->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == -1 &&
	    errno == EAGAIN;
}

/* Of as much as goes out in one piece. */
static enum stream_result
tls_write_some(struct stream *s, struct span data, size_t *ret_len)
{
	enum stream_result r = STREAM_OK;

	*ret_len = 0;
	forget_errors();
	stream_bio_begin(s);
	while (r == STREAM_OK && *ret_len < data.len && stream_bio_has_room()) {
		size_t len = 0;
		int rc = SSL_write_ex(s->ssl, data.ptr + *ret_len,
		    data.len - *ret_len, &len);

		if (rc != 1)
			r = tls_result(s, rc);
		*ret_len += len;
	}
	if (note_sent(s, stream_bio_end(s)) == STREAM_FAILED)
		return STREAM_FAILED;
	return r;
}

static enum stream_result
tls_write(struct stream *s, struct span data, size_t *ret_len)
{
	enum stream_result r = STREAM_OK;
	size_t len = 0;

	if (s->is_failed)
		return STREAM_FAILED;
	if (stream_has_unsent(s))
		r = note_sent(s, stream_bio_retry(s));
	if (r == STREAM_OK)
		r = tls_write_some(s, data, &len);
	if (len == 0 || r == STREAM_FAILED)
		return r;
	*ret_len = len;
	return STREAM_OK;
}

enum stream_result
stream_write(struct stream *s, struct span data, size_t *ret_len)
{
	ssize_t n;

	assert(data.len > 0);
	if (s->ssl != NULL)
		return tls_write(s, data, ret_len);
	n = send(s->fd, data.ptr, data.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0) {
		*ret_len = (size_t)n;
		return STREAM_OK;
	}
	if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
		wait_to_write(s);
		return STREAM_AGAIN;
	}
	return fail(s);
}

void
stream_say_end(struct stream *s)
{
	if (s->is_shut)
		return;
	s->is_shut = true;
	if (s->ssl != NULL && !s->is_failed && SSL_is_init_finished(s->ssl)) {
		forget_errors();
		stream_bio_begin(s);
		/* 0: sent, the peer's is not there yet. It need not come. */
		(void)SSL_shutdown(s->ssl);
		(void)note_sent(s, stream_bio_end(s));
		forget_errors();
	}
}

void
stream_shutdown(struct stream *s)
{
	if (s->is_shut)
		return;
	stream_say_end(s);
	/* ENOTCONN: the peer reset it. */
	(void)shutdown(s->fd, SHUT_WR);
}

/* How many bytes of CRLF CRLF are matched once c has come, too. */
static size_t
match_end(size_t matched, uint8_t c)
{
	static const uint8_t end[] = { '\r', '\n', '\r', '\n' };

	if (c == end[matched])
		return matched + 1;
	return c == '\r' ? 1 : 0;
}

/* Length of what may be taken: to the end of the head, if it is there. */
static size_t
head_part(struct span so_far, struct span peeked)
{
	size_t matched = 0;

	for (size_t i = so_far.len < 3 ? 0 : so_far.len - 3; i < so_far.len;
	     i++)
		matched = match_end(matched, so_far.ptr[i]);
	for (size_t i = 0; i < peeked.len; i++) {
		matched = match_end(matched, peeked.ptr[i]);
		if (matched == 4)
			return i + 1;
	}
	return peeked.len;
}

enum stream_result
stream_read_head(struct stream *s, struct span so_far, void *buf, size_t size,
    size_t *ret_len)
{
	ssize_t n;
	size_t want;

	assert(s->ssl == NULL && size > 0);
	n = recv(s->fd, buf, size, MSG_PEEK | MSG_DONTWAIT);
	s->has_more = false;
	if (n <= 0)
		return plain_result(s, n);
	want = head_part(so_far, (struct span){ buf, (size_t)n });
	n = recv(s->fd, buf, want, MSG_DONTWAIT);
	if (n <= 0)
		return plain_result(s, n);
	*ret_len = (size_t)n;
	return STREAM_OK;
}
