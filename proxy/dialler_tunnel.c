/*
 * CONNECT, see dialler_tunnel.h. What lies in the socket is looked at before it
 * is taken: a part of a head is taken whole, the end of one to its last byte,
 * and the rest is left where it is.
 */
#include "proxy/dialler_tunnel.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <event2/event.h>

#include "base/fd.h"
#include "base/names.h"
#include "wire/proxy_answer.h"

/* "CONNECT HOST:PORT HTTP/1.1", Host, and the name of the field. */
#define HEAD_SIZE (2 * (HOST_NAME_SIZE + 8) + 96)

struct dialler_tunnel {
	int fd;
	struct event *event;
	struct event *timer;
	bool could_not_send;
	bool may_speak_first;
	dialler_tunneled *done;
	void *arg;
	struct proxy_answer answer;
	size_t have;
	uint8_t bytes[PROXY_ANSWER_MAX_BYTES];
};

void
dialler_tunnel_cancel(struct dialler_tunnel *t)
{
	if (t == NULL)
		return;
	if (t->event != NULL)
		event_free(t->event);
	if (t->timer != NULL)
		event_free(t->timer);
	fd_close(&t->fd);
	free(t);
}

/*
 * The end. The event goes first: epoll watches the connection, which the gate
 * will hold, and not our number for it.
 */
static void
tunnel_finish(struct dialler_tunnel *t, enum dialler_tunnel_end end)
{
	dialler_tunneled *done = t->done;
	void *arg = t->arg;
	const unsigned int status = t->answer.status;
	int fd = -1;

	event_free(t->event);
	t->event = NULL;
	if (end == DIALLER_TUNNEL_OPEN)
		fd = steal_fd(&t->fd);
	dialler_tunnel_cancel(t);
	done(fd, end, status, arg);
}

/* Takes len bytes that were seen there. */
static bool
take(struct dialler_tunnel *t, size_t len)
{
	assert(t->have + len <= sizeof(t->bytes));
	if (recv(t->fd, t->bytes + t->have, len, 0) != (ssize_t)len)
		return false;
	t->have += len;
	return true;
}

static enum dialler_tunnel_end
on_open(struct dialler_tunnel *t, size_t seen)
{
	uint8_t one;

	if (!take(t, t->answer.head_len - t->have))
		return DIALLER_TUNNEL_LOCAL;
	if (t->may_speak_first)
		return DIALLER_TUNNEL_OPEN;
	/* The peek may have been cut by the buffer's end. */
	if (seen > t->answer.head_len ||
	    recv(t->fd, &one, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
		return DIALLER_TUNNEL_BAD;
	return DIALLER_TUNNEL_OPEN;
}

static void
on_bytes(struct dialler_tunnel *t)
{
	const ssize_t n = recv(t->fd, t->bytes + t->have,
	    sizeof(t->bytes) - t->have, MSG_PEEK | MSG_DONTWAIT);
	size_t seen;

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		tunnel_finish(t, DIALLER_TUNNEL_CLOSED);
		return;
	}
	seen = t->have + (size_t)n;
	switch (
	    proxy_answer_read(&t->answer, (struct span){ t->bytes, seen })) {
	case PROXY_ANSWER_MORE:
		/* Else it would wake us again, and again. */
		if (!take(t, (size_t)n))
			tunnel_finish(t, DIALLER_TUNNEL_LOCAL);
		return;
	case PROXY_ANSWER_OPEN:
		tunnel_finish(t, on_open(t, seen));
		return;
	case PROXY_ANSWER_REFUSED:
		tunnel_finish(t, DIALLER_TUNNEL_REFUSED);
		return;
	case PROXY_ANSWER_BAD:
		tunnel_finish(t, DIALLER_TUNNEL_BAD);
		return;
	}
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	on_bytes(arg);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dialler_tunnel *t = arg;

	(void)fd;
	(void)what;
	tunnel_finish(t,
	    t->could_not_send ? DIALLER_TUNNEL_CLOSED : DIALLER_TUNNEL_LATE);
}

/*
 * In one call: a send buffer holds 4 KiB at the least (tcp(7), tcp_wmem), all
 * this has less than 2, and nothing is in it yet. The login is sent from where
 * it lies; no copy of it is made.
 */
static bool
send_head(const struct dialler_tunnel_ask *ask)
{
	static const char name[] = "Proxy-Authorization: ", end[] = "\r\n";
	char head[HEAD_SIZE];
	const int n = snprintf(head, sizeof(head),
	    "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n", ask->host, ask->port,
	    ask->host, ask->port);
	struct iovec parts[5] = { { head, (size_t)n } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 1 };
	size_t len = 0;

	assert(n > 0 && (size_t)n < sizeof(head));
	if (ask->login.ptr != NULL) {
		parts[1] =
		    (struct iovec){ (void *)(uintptr_t)name, sizeof(name) - 1 };
		parts[2] = (struct iovec){ (void *)(uintptr_t)ask->login.ptr,
			ask->login.len };
		parts[3] =
		    (struct iovec){ (void *)(uintptr_t)end, sizeof(end) - 1 };
		m.msg_iovlen = 4;
	}
	parts[m.msg_iovlen++] =
	    (struct iovec){ (void *)(uintptr_t)end, sizeof(end) - 1 };
	for (size_t i = 0; i < m.msg_iovlen; i++)
		len += parts[i].iov_len;
	return sendmsg(ask->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	    (ssize_t)len;
}

/*
 * The timer is one of its own: what is put on an event that persists begins
 * anew with each byte.
 */
static bool
watch(struct dialler_tunnel *t, struct event_base *base, uint32_t ms)
{
	const struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	t->event = event_new(base, t->fd, EV_READ | EV_PERSIST, on_readable, t);
	t->timer = evtimer_new(base, on_timer, t);
	return t->event != NULL && t->timer != NULL &&
	    event_add(t->event, NULL) == 0 && evtimer_add(t->timer, &tv) == 0;
}

struct dialler_tunnel *
dialler_tunnel_start(struct event_base *base,
    const struct dialler_tunnel_ask *ask)
{
	AUTO_CLOSE int fd = ask->fd;
	struct dialler_tunnel *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->fd = steal_fd(&fd);
	t->may_speak_first = ask->may_speak_first;
	t->done = ask->done;
	t->arg = ask->arg;
	if (!watch(t, base, ask->timeout_ms)) {
		dialler_tunnel_cancel(t);
		return NULL;
	}
	/* It is told from the loop, as all that comes of it. */
	if (!send_head(ask)) {
		t->could_not_send = true;
		event_active(t->timer, EV_TIMEOUT, 0);
	}
	return t;
}
