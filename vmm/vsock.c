/* See vsock.h. */
#include "vmm/vsock.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

/* Between two attempts: a guest boots in some hundred milliseconds. */
#define RETRY_MS 20
#define ANSWER_MAX 32

struct vsock_dial {
	struct event_base *base;
	struct sockaddr_un to;
	uint32_t port;
	vsock_connected *on_connected;
	void *arg;
	int fd;
	struct event *answer, *retry;
	char text[ANSWER_MAX];
	size_t len;
};

static void
again_later(struct vsock_dial *d)
{
	const struct timeval tv = { .tv_usec = (suseconds_t)RETRY_MS * 1000 };

	if (d->answer != NULL)
		event_free(d->answer);
	d->answer = NULL;
	fd_close(&d->fd);
	(void)event_add(d->retry, &tv);
}

/* One byte after another: what follows the line is the agent's. */
static void
on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct vsock_dial *d = arg;

	(void)what;
	while (d->len < ANSWER_MAX) {
		ssize_t n = recv(fd, &d->text[d->len], 1, MSG_DONTWAIT);

		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0)
			break;
		if (d->text[d->len++] != '\n')
			continue;
		if (strncmp(d->text, "OK ", 3) != 0)
			break;
		event_free(d->answer);
		d->answer = NULL;
		d->on_connected(steal_fd(&d->fd), d->arg);
		return;
	}
	again_later(d);
}

static int
ask(struct vsock_dial *d)
{
	char text[ANSWER_MAX];
	int n = snprintf(text, sizeof(text), "CONNECT %u\n", d->port);

	d->len = 0;
	d->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd == -1 ||
	    connect(d->fd, (const struct sockaddr *)&d->to, sizeof(d->to)) ==
		-1 ||
	    send(d->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		return -errno;
	d->answer =
	    event_new(d->base, d->fd, EV_READ | EV_PERSIST, on_answer, d);
	return d->answer == NULL || event_add(d->answer, NULL) == -1 ? -ENOMEM
								     : 0;
}

static void
on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct vsock_dial *d = arg;

	(void)fd;
	(void)what;
	if (ask(d) != 0)
		again_later(d);
}

struct vsock_dial *
vsock_dial_new(struct event_base *base, const char *path, uint32_t port,
    vsock_connected *on_connected, void *arg)
{
	struct vsock_dial *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->base = base;
	d->port = port;
	d->on_connected = on_connected;
	d->arg = arg;
	d->fd = -1;
	d->to.sun_family = AF_UNIX;
	(void)snprintf(d->to.sun_path, sizeof(d->to.sun_path), "%s", path);
	d->retry = evtimer_new(base, on_retry, d);
	if (d->retry == NULL) {
		free(d);
		return NULL;
	}
	again_later(d);
	return d;
}

void
vsock_dial_free(struct vsock_dial *d)
{
	if (d == NULL)
		return;
	if (d->answer != NULL)
		event_free(d->answer);
	event_free(d->retry);
	fd_close(&d->fd);
	free(d);
}
