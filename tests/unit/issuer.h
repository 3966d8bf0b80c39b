/*
 * An issuer of tokens on the test's own event loop, in plain HTTP: it answers
 * each request with the next text of a script (the last one again and again)
 * and keeps what it was asked.
 */
#ifndef TAPWARD_TESTS_UNIT_ISSUER_H
#define TAPWARD_TESTS_UNIT_ISSUER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#define ISSUER_REQUEST_BYTES 8192
#define ISSUER_KEPT_MAX 64 /* of its first requests */

struct issuer_peer {
	LIST_ENTRY(issuer_peer) link;
	struct issuer *issuer;
	int fd;
	struct event *event;
	size_t len;
	bool is_asked; /* its request has come whole */
	char request[ISSUER_REQUEST_BYTES];
};

struct issuer {
	struct event_base *base;
	int fd;
	uint16_t port;
	struct event *event;
	const char *const *script; /* whole answers, NULL after the last */
	bool is_silent;            /* it takes requests and answers none */
	unsigned int count;        /* requests so far */
	char last[ISSUER_REQUEST_BYTES];
	char *kept[ISSUER_KEPT_MAX];
	LIST_HEAD(issuer_peers, issuer_peer) peers;
};

static inline void
issuer_peer_free(struct issuer_peer *p)
{
	LIST_REMOVE(p, link);
	event_free(p->event);
	(void)close(p->fd);
	free(p);
}

static inline bool
issuer_is_whole(const struct issuer_peer *p)
{
	const char *end = strstr(p->request, "\r\n\r\n");
	const char *length = strstr(p->request, "Content-Length: ");
	size_t want = 0;

	if (end == NULL)
		return false;
	if (length != NULL && length < end)
		want = (size_t)strtoul(length + 16, NULL, 10);
	return p->len >= (size_t)(end - p->request) + 4 + want;
}

static inline void
issuer_answer(struct issuer_peer *p)
{
	struct issuer *s = p->issuer;
	const char *text = *s->script;
	size_t len = strlen(text), done = 0;

	if (s->script[1] != NULL)
		s->script++;
	while (done < len) {
		const ssize_t n =
		    send(p->fd, text + done, len - done, MSG_NOSIGNAL);

		/* It may have had enough of us. */
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	issuer_peer_free(p);
}

static inline void
issuer_on_peer(evutil_socket_t fd, short what, void *arg)
{
	struct issuer_peer *p = arg;
	ssize_t n;

	(void)what;
	n = recv(fd, p->request + p->len, sizeof(p->request) - 1 - p->len, 0);
	if (n <= 0) {
		issuer_peer_free(p);
		return;
	}
	p->len += (size_t)n;
	p->request[p->len] = '\0';
	if (p->is_asked || !issuer_is_whole(p))
		return;
	p->is_asked = true;
	if (p->issuer->count < ISSUER_KEPT_MAX)
		p->issuer->kept[p->issuer->count] = strdup(p->request);
	p->issuer->count++;
	memcpy(p->issuer->last, p->request, p->len + 1);
	if (!p->issuer->is_silent)
		issuer_answer(p);
}

static inline void
issuer_on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct issuer *s = arg;
	struct issuer_peer *p = calloc(1, sizeof(*p));

	(void)what;
	assert_non_null(p);
	p->issuer = s;
	p->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(p->fd != -1);
	p->event =
	    event_new(s->base, p->fd, EV_READ | EV_PERSIST, issuer_on_peer, p);
	assert_int_equal(event_add(p->event, NULL), 0);
	LIST_INSERT_HEAD(&s->peers, p, link);
}

static inline void
issuer_init(struct issuer *s, struct event_base *base,
    const char *const *script)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);

	*s = (struct issuer){ .base = base, .script = script };
	LIST_INIT(&s->peers);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->fd != -1);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(s->fd, 64), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&in, &len), 0);
	s->port = ntohs(in.sin_port);
	s->event =
	    event_new(base, s->fd, EV_READ | EV_PERSIST, issuer_on_accept, s);
	assert_int_equal(event_add(s->event, NULL), 0);
}

static inline void
issuer_done(struct issuer *s)
{
	while (!LIST_EMPTY(&s->peers))
		issuer_peer_free(LIST_FIRST(&s->peers));
	for (unsigned int i = 0; i < ISSUER_KEPT_MAX; i++)
		free(s->kept[i]);
	event_free(s->event);
	(void)close(s->fd);
}

#endif
