/*
 * DNS by TCP (RFC 7766): questions one after another on a connection, each
 * answered before the next is read, so that a guest that does not read its
 * answers costs one of them. Few connections, each with an end.
 */
#include "proxy/dns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/fd.h"
#include "proxy/listen.h"
#include "wire/dns.h"

#define STREAMS_MAX 16
/* Without a whole question, or with an answer that is not read. */
#define IDLE_S 10
#define QUESTION_MAX_BYTES 2048

struct dns_stream {
	TAILQ_ENTRY(dns_stream) link;
	struct dns_tcp *owner;
	int fd;
	struct event *readable;
	struct event *writable;
	size_t in_len;
	size_t out_len; /* still to be sent */
	uint8_t in[2 + QUESTION_MAX_BYTES];
	uint8_t out[2 + DNS_ANSWER_MAX_BYTES];
};

struct dns_tcp {
	struct gate *gate;
	struct listener *listener;
	TAILQ_HEAD(, dns_stream) streams;
	size_t count;
};

static const struct timeval idle = { IDLE_S, 0 };

static void
stream_free(struct dns_stream *s)
{
	TAILQ_REMOVE(&s->owner->streams, s, link);
	s->owner->count--;
	if (s->readable != NULL)
		event_free(s->readable);
	if (s->writable != NULL)
		event_free(s->writable);
	fd_close(&s->fd);
	free(s);
}

/* False when the stream has to end. */
static bool
flush(struct dns_stream *s)
{
	ssize_t n = send(s->fd, s->out, s->out_len, MSG_NOSIGNAL);

	if (n == -1 && errno != EAGAIN)
		return false;
	if (n > 0) {
		s->out_len -= (size_t)n;
		memmove(s->out, s->out + n, s->out_len);
	}
	return true;
}

/* Answers the first question of s->in. 1, 0 if there is none, -1 to end. */
static int
answer_first(struct dns_stream *s)
{
	struct span so_far = { s->in, s->in_len };
	struct wr w = wr_init(s->out, sizeof(s->out));
	struct span msg;
	size_t used;

	if (!dns_frame_next(so_far, &msg, &used))
		/* A full buffer will never hold the whole of it. */
		return s->in_len == sizeof(s->in) ? -1 : 0;
	wr_u16(&w, 0);
	if (!dns_answer(s->owner->gate, msg, false, &w))
		return -1;
	wr_patch_u16(&w, 0, (uint16_t)(w.len - 2));
	s->out_len = w.len;
	s->in_len -= used;
	memmove(s->in, s->in + used, s->in_len);
	return 1;
}

/* Goes on as far as it can without waiting. False when it has to end. */
static bool
stream_step(struct dns_stream *s)
{
	int rc = 1;

	while (rc == 1 && s->out_len == 0) {
		rc = answer_first(s);
		if (rc == 1 && !flush(s))
			return false;
	}
	if (rc == -1)
		return false;
	if (s->out_len > 0) {
		(void)event_del(s->readable);
		return event_add(s->writable, &idle) == 0;
	}
	return event_add(s->readable, &idle) == 0;
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct dns_stream *s = arg;

	(void)fd;
	if ((what & EV_TIMEOUT) != 0 || !flush(s) || !stream_step(s))
		stream_free(s);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct dns_stream *s = arg;
	ssize_t n;

	if ((what & EV_TIMEOUT) != 0) {
		stream_free(s);
		return;
	}
	n = recv(fd, s->in + s->in_len, sizeof(s->in) - s->in_len, 0);
	if (n == -1 && errno == EAGAIN)
		return;
	if (n > 0)
		s->in_len += (size_t)n;
	if (n <= 0 || !stream_step(s))
		stream_free(s);
}

/* Takes fd. */
static void
stream_new(struct dns_tcp *t, int fd)
{
	struct event_base *base = t->gate->base;
	struct dns_stream *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		fd_close(&fd);
		return;
	}
	s->owner = t;
	s->fd = fd;
	TAILQ_INSERT_TAIL(&t->streams, s, link);
	t->count++;
	s->readable = event_new(base, fd, EV_READ, on_readable, s);
	s->writable = event_new(base, fd, EV_WRITE, on_writable, s);
	if (s->readable == NULL || s->writable == NULL || !stream_step(s))
		stream_free(s);
}

static void
on_accepted(int fd, void *arg)
{
	struct dns_tcp *t = arg;

	/* The oldest has had its time. */
	if (t->count >= STREAMS_MAX)
		stream_free(TAILQ_FIRST(&t->streams));
	stream_new(t, fd);
}

struct dns_tcp *
dns_tcp_start(struct gate *g, int fd)
{
	struct dns_tcp *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->gate = g;
	TAILQ_INIT(&t->streams);
	t->listener = listener_new(g->base, fd, on_accepted, t);
	if (t->listener == NULL) {
		dns_tcp_stop(t);
		return NULL;
	}
	return t;
}

void
dns_tcp_stop(struct dns_tcp *t)
{
	if (t == NULL)
		return;
	while (!TAILQ_EMPTY(&t->streams))
		stream_free(TAILQ_FIRST(&t->streams));
	listener_free(t->listener);
	free(t);
}
