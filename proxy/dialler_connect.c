/*
 * Overlapping connects, see dialler_connect.h. One timer serves both the next
 * try and the deadline. A descriptor leaves the event loop before it is handed
 * on: epoll watches the connection, not our number for it, and would go on
 * telling us of one that the gate holds.
 */
#include "proxy/dialler_connect.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/fd.h"

struct attempt {
	struct dialler_connect *connect;
	struct address address;
	int fd; /* -1: not begun, or failed */
	struct event *event;
};

struct dialler_connect {
	struct event_base *base;
	uint16_t port;
	uint64_t deadline_ms; /* clock_mono_ms() */
	unsigned int count;
	unsigned int begun;
	unsigned int open;
	int last_err;
	struct address last_address;
	struct attempt *winner; /* connected, not handed on yet; or NULL */
	struct event *timer;
	dialler_connected *done;
	void *arg;
	struct attempt attempts[DIALLER_CONNECT_TRIES_MAX];
};

union any_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

static socklen_t
fill_sockaddr(const struct address *a, uint16_t port, union any_address *ret)
{
	*ret = (union any_address){ .ipv6 = { .sin6_family = AF_UNSPEC } };
	if (a->family == ADDRESS_IPV4) {
		ret->ipv4.sin_family = AF_INET;
		ret->ipv4.sin_port = htons(port);
		memcpy(&ret->ipv4.sin_addr, a->bytes, 4);
		return sizeof(ret->ipv4);
	}
	ret->ipv6.sin6_family = AF_INET6;
	ret->ipv6.sin6_port = htons(port);
	memcpy(&ret->ipv6.sin6_addr, a->bytes, 16);
	return sizeof(ret->ipv6);
}

static void
attempt_unwatch(struct attempt *t)
{
	if (t->event != NULL)
		event_free(t->event);
	t->event = NULL;
}

static void
attempt_drop(struct attempt *t)
{
	if (t->fd == -1)
		return;
	attempt_unwatch(t);
	fd_close(&t->fd);
	t->connect->open--;
}

void
dialler_connect_cancel(struct dialler_connect *c)
{
	if (c == NULL)
		return;
	for (unsigned int i = 0; i < c->begun; i++)
		attempt_drop(&c->attempts[i]);
	event_free(c->timer);
	free(c);
}

/* The end, with a connection or without. */
static void
connect_finish(struct dialler_connect *c, int fd, int err,
    const struct address *a)
{
	const struct address address = *a;
	dialler_connected *done = c->done;
	void *arg = c->arg;

	dialler_connect_cancel(c);
	done(fd, err, &address, arg);
}

static void
note_failure(struct attempt *t, int err)
{
	t->connect->last_err = err;
	t->connect->last_address = t->address;
}

static void
attempt_failed(struct attempt *t, int err)
{
	note_failure(t, err);
	attempt_drop(t);
}

static void connect_go_on(struct dialler_connect *c);

static void
attempt_won(struct attempt *t)
{
	attempt_unwatch(t);
	t->connect->open--;
	connect_finish(t->connect, steal_fd(&t->fd), 0, &t->address);
}

/*
 * What came of the connect(): 0, EALREADY when it is still on its way, or why
 * it failed. It is a second connect() that tells, since only that tells the
 * socket, too: until then the kernel takes it for one that is on its way, and
 * lets whoever holds it make it anew, to elsewhere, once the connection has
 * ended (a send with MSG_FASTOPEN).
 */
static int
attempt_result(const struct attempt *t)
{
	union any_address sa;
	const socklen_t len = fill_sockaddr(&t->address, t->connect->port, &sa);

	if (connect(t->fd, &sa.any, len) == 0 || errno == EISCONN)
		return 0;
	return errno;
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct attempt *t = arg;
	struct dialler_connect *c = t->connect;
	const int err = attempt_result(t);

	(void)fd;
	(void)what;
	if (err == 0) {
		attempt_won(t);
		return;
	}
	attempt_failed(t, err);
	connect_go_on(c);
}

/* A socket on its way to the address, or -errno. */
static int
socket_towards(const struct address *a, uint16_t port, int *ret_fd)
{
	union any_address sa;
	const socklen_t len = fill_sockaddr(a, port, &sa);
	AUTO_CLOSE int fd = socket(sa.any.sa_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (fd == -1)
		return -errno;
	/* Before it is there, so that nobody has to do it on the way. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == -1)
		return -errno;
	if (connect(fd, &sa.any, len) == -1 && errno != EINPROGRESS)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* 0 or ENOMEM. */
static int
attempt_watch(struct attempt *t)
{
	t->event = event_new(t->connect->base, t->fd, EV_WRITE, on_writable, t);
	if (t->event == NULL || event_add(t->event, NULL) == -1)
		return ENOMEM;
	return 0;
}

/*
 * A connection to an address of this machine, or of a namespace of it, is
 * there when connect() returns: then there is nothing to wait for. For others
 * the question costs a tenth of what the wait does.
 */
static void
attempt_start(struct attempt *t)
{
	const int rc = socket_towards(&t->address, t->connect->port, &t->fd);
	int err;

	if (rc != 0) {
		note_failure(t, -rc);
		return;
	}
	t->connect->open++;
	err = attempt_result(t);
	if (err == 0) {
		t->connect->winner = t;
		event_active(t->connect->timer, EV_TIMEOUT, 0);
		return;
	}
	if (err == EALREADY)
		err = attempt_watch(t);
	if (err != 0)
		attempt_failed(t, err);
}

static void
set_timer(struct dialler_connect *c)
{
	const uint64_t now = clock_mono_ms();
	uint64_t ms = c->deadline_ms > now ? c->deadline_ms - now : 0;
	struct timeval tv;

	if (c->begun < c->count && ms > DIALLER_CONNECT_STAGGER_MS)
		ms = DIALLER_CONNECT_STAGGER_MS;
	tv = (struct timeval){ .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };
	(void)evtimer_add(c->timer, &tv);
}

/* Begins the next try that can be begun; without one left, waits or ends. */
static void
connect_go_on(struct dialler_connect *c)
{
	const unsigned int open = c->open;

	while (c->begun < c->count && c->open == open)
		attempt_start(&c->attempts[c->begun++]);
	if (c->winner != NULL)
		return; /* the timer's callback is on its way */
	if (c->open == 0)
		connect_finish(c, -1, c->last_err, &c->last_address);
	else
		set_timer(c);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dialler_connect *c = arg;

	(void)fd;
	(void)what;
	if (c->winner != NULL)
		attempt_won(c->winner);
	else if (clock_mono_ms() >= c->deadline_ms)
		connect_finish(c, -1, ETIMEDOUT, &c->attempts[0].address);
	else
		connect_go_on(c);
}

struct dialler_connect *
dialler_connect_start(struct event_base *base,
    const struct dialler_connect_ask *ask)
{
	struct dialler_connect *c = calloc(1, sizeof(*c));

	assert(ask->count > 0);
	if (c == NULL)
		return NULL;
	c->timer = evtimer_new(base, on_timer, c);
	if (c->timer == NULL) {
		free(c);
		return NULL;
	}
	c->base = base;
	c->port = ask->port;
	c->deadline_ms = clock_mono_ms() + ask->timeout_ms;
	c->done = ask->done;
	c->arg = ask->arg;
	while (c->count < ask->count && c->count < DIALLER_CONNECT_TRIES_MAX) {
		c->attempts[c->count] = (struct attempt){ .connect = c,
			.address = ask->addresses[c->count],
			.fd = -1 };
		c->count++;
	}
	attempt_start(&c->attempts[c->begun++]);
	if (c->open == 0)
		event_active(c->timer, EV_TIMEOUT, 0);
	else if (c->winner == NULL)
		set_timer(c);
	return c;
}

/* The index of the next address of this family at or after i; count: none. */
static unsigned int
next_of(const struct address *addresses, unsigned int count, unsigned int i,
    enum address_family family)
{
	while (i < count && addresses[i].family != family)
		i++;
	return i;
}

unsigned int
dialler_connect_order(const struct address *addresses, unsigned int count,
    bool ipv6_first, struct address *ret)
{
	enum address_family family = ipv6_first ? ADDRESS_IPV6 : ADDRESS_IPV4;
	unsigned int at4 = 0, at6 = 0, n = 0;

	while (n < DIALLER_CONNECT_TRIES_MAX) {
		unsigned int *at = family == ADDRESS_IPV4 ? &at4 : &at6;
		const unsigned int i = next_of(addresses, count, *at, family);

		*at = i + 1;
		if (i < count)
			ret[n++] = addresses[i];
		else if (at4 > count && at6 > count)
			break;
		family = family == ADDRESS_IPV4 ? ADDRESS_IPV6 : ADDRESS_IPV4;
	}
	return n;
}
