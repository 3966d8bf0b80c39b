/*
 * A connection: TLS on a descriptor that does not block, and the loop.
 */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* After our direction has ended: for the other end to end its own. */
#define LINGER_MS 5000

size_t
link_room(const struct link *l)
{
	return sizeof(l->out) - l->out_len;
}

void
link_put(struct link *l, const void *ptr, size_t len)
{
	if (len > link_room(l))
		len = link_room(l);
	memcpy(l->out + l->out_len, ptr, len);
	l->out_len += len;
}

/* True: it goes on. */
static bool
flush(struct link *l)
{
	if (l->is_shut)
		l->out_at = l->out_len = 0;
	while (l->out_at < l->out_len) {
		size_t len = 0;

		ERR_clear_error();
		if (SSL_write_ex(l->ssl, l->out + l->out_at,
			l->out_len - l->out_at, &len) != 1) {
			int e = SSL_get_error(l->ssl, -1);

			return e == SSL_ERROR_WANT_READ ||
			    e == SSL_ERROR_WANT_WRITE;
		}
		l->out_at += len;
	}
	l->out_at = l->out_len = 0;
	if (l->ends && !l->is_shut) {
		l->is_shut = true;
		(void)SSL_shutdown(l->ssl);
		(void)shutdown(l->fd, SHUT_WR);
	}
	return true;
}

enum got {
	GOT_NOTHING,
	GOT_BYTES,
	GOT_OVER,
};

static enum got
ended(struct link *l, const struct version *v, void *state, bool is_reset)
{
	l->is_ended = true;
	return v->ended(state, is_reset) ? GOT_NOTHING : GOT_OVER;
}

static enum got
read_some(struct link *l, const struct version *v, void *state)
{
	static uint8_t bytes[PEER_PIECE];
	size_t most = l->is_ended ? 0 : v->room(state), len = 0;
	int e;

	if (most == 0)
		return GOT_NOTHING;
	if (most > sizeof(bytes))
		most = sizeof(bytes);
	ERR_clear_error();
	if (SSL_read_ex(l->ssl, bytes, most, &len) == 1)
		return v->input(state, bytes, len) ? GOT_BYTES : GOT_OVER;
	e = SSL_get_error(l->ssl, -1);
	if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE)
		return GOT_NOTHING;
	return ended(l, v, state, e != SSL_ERROR_ZERO_RETURN);
}

static int
timeout_of(const struct link *l, uint64_t next_ms)
{
	uint64_t now = peer_now_ms();

	if (l->deadline_ms < next_ms)
		next_ms = l->deadline_ms;
	if (next_ms <= now)
		return 0;
	return next_ms - now > 1000 ? 1000 : (int)(next_ms - now);
}

/* False: it is over. */
static bool
await(struct link *l, const struct version *v, void *state)
{
	struct pollfd p[2] = { { .fd = l->fd },
		{ .fd = v->wait_fd(state), .events = POLLIN } };
	/*
	 * Whoever does not read sees a reset all the same, and an origin the
	 * end, too: to a guest it comes behind what is still to be read.
	 */
	short over = l->is_origin ? POLLERR | POLLHUP | POLLRDHUP : POLLERR;

	if (!l->is_ended && v->room(state) > 0)
		p[0].events |= POLLIN;
	if (l->out_at < l->out_len)
		p[0].events |= POLLOUT;
	if (l->is_origin && !l->is_ended)
		p[0].events |= POLLRDHUP;
	if (poll(p, 2, timeout_of(l, v->next_ms(state))) <= 0 ||
	    (p[0].events & POLLIN) != 0)
		return true;
	if (!l->is_ended && (p[0].revents & over) != 0)
		return ended(l, v, state, true) != GOT_OVER;
	/* A half-open end would be told again and again. */
	if ((p[0].revents & POLLHUP) != 0)
		(void)poll(NULL, 0, 5);
	return true;
}

static bool
shake(struct link *l)
{
	for (;;) {
		struct pollfd p = { .fd = l->fd };
		int rc, e;

		ERR_clear_error();
		rc = l->is_origin ? SSL_accept(l->ssl) : SSL_connect(l->ssl);
		if (rc == 1)
			return true;
		e = SSL_get_error(l->ssl, rc);
		p.events = e == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
		if ((e != SSL_ERROR_WANT_READ && e != SSL_ERROR_WANT_WRITE) ||
		    peer_now_ms() > l->deadline_ms)
			return false;
		(void)poll(&p, 1, timeout_of(l, UINT64_MAX));
	}
}

static void
speak(struct link *l, const struct version *v, void *state)
{
	while (peer_now_ms() < l->deadline_ms) {
		enum got got;
		bool has_put;

		if (!v->output(state))
			return;
		has_put = l->out_len > 0;
		if (!flush(l)) {
			/* What the other end said is still read. */
			l->ends = l->is_shut = true;
		}
		got = read_some(l, v, state);
		if (got == GOT_OVER)
			return;
		/* All that was put is out: there may be more. */
		if (got == GOT_NOTHING && (!has_put || l->out_len > 0) &&
		    !await(l, v, state))
			return;
	}
}

/* The end: in order, so that what was written arrives, or not at all. */
static void
leave(struct link *l)
{
	uint64_t until = peer_now_ms() + LINGER_MS;
	char bytes[4096];

	if (l->resets) {
		const struct linger hard = { .l_onoff = 1 };

		(void)setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &hard,
		    sizeof(hard));
		return;
	}
	if (l->goes)
		return;
	l->ends = true;
	while (flush(l) && !l->is_shut && peer_now_ms() < until) {
		struct pollfd p = { .fd = l->fd, .events = POLLOUT };

		(void)poll(&p, 1, 100);
	}
	(void)shutdown(l->fd, SHUT_WR);
	while (peer_now_ms() < until) {
		struct pollfd p = { .fd = l->fd, .events = POLLIN };

		if (poll(&p, 1, 100) > 0 &&
		    recv(l->fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
			return;
	}
}

void
link_run(int fd, SSL *ssl, const struct version *v, const struct shape *s)
{
	static struct link l;
	void *state;

	memset(&l, 0, sizeof(l));
	l.fd = fd;
	l.ssl = ssl;
	l.version = v;
	l.is_origin = s == NULL;
	/* An origin's connections are kept for as long as it lives. */
	l.deadline_ms = s == NULL ? UINT64_MAX
				  : peer_now_ms() + (uint64_t)s->seconds * 1000;
	if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && shake(&l)) {
		state = v->start(&l, s);
		speak(&l, v, state);
		v->stop(state);
		leave(&l);
	}
	SSL_free(ssl);
	(void)close(fd);
}
