/*
 * libcurl's multi interface on libevent, and the circuits of issuers.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "credential-broker/fetch_private.h"

/* So many failures in a row, and it rests; twice as long each time. */
#define CIRCUIT_FAILURES 5
#define CIRCUIT_REST_MS 2000
#define CIRCUIT_REST_MAX_MS 60000
#define CONNECTIONS_MAX 32

struct watched {
	struct fetcher *fetcher;
	struct event *event;
};

/* What has ended is told, one after the other: callees may begin others. */
static void
tell_ended(struct fetcher *f)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(f->multi, &left)) != NULL) {
		const CURLcode code = msg->data.result;
		char *t = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &t);
		fetch_finished((struct fetch *)(void *)t, code);
	}
}

static void
on_ready(evutil_socket_t fd, short what, void *arg)
{
	struct watched *w = arg;
	struct fetcher *f = w->fetcher;
	const int action = ((what & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
	    ((what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0);
	int running;

	/* w may be gone after this. */
	(void)curl_multi_socket_action(f->multi, fd, action, &running);
	tell_ended(f);
}

static void
watched_free(struct watched *w)
{
	if (w == NULL)
		return;
	if (w->event != NULL)
		event_free(w->event);
	free(w);
}

/* A socket that could not be watched ends by its time-out. */
static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct fetcher *f = arg;
	struct watched *w;
	const short events =
	    (short)(((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
		((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0) | EV_PERSIST);

	(void)easy;
	watched_free(socket_arg);
	(void)curl_multi_assign(f->multi, fd, NULL);
	if (what == CURL_POLL_REMOVE)
		return 0;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return 0;
	w->fetcher = f;
	w->event = event_new(f->base, fd, events, on_ready, w);
	if (w->event == NULL || event_add(w->event, NULL) == -1 ||
	    curl_multi_assign(f->multi, fd, w) != CURLM_OK)
		watched_free(w);
	return 0;
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct fetcher *f = arg;
	int running;

	(void)fd;
	(void)what;
	(void)curl_multi_socket_action(f->multi, CURL_SOCKET_TIMEOUT, 0,
	    &running);
	tell_ended(f);
}

static int
on_wanted_timer(CURLM *multi, long ms, void *arg)
{
	struct fetcher *f = arg;
	const struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	(void)multi;
	if (ms < 0)
		(void)evtimer_del(f->timer);
	else
		(void)evtimer_add(f->timer, &tv);
	return 0;
}

int
fetch_loop_new(struct fetcher *f)
{
	CURLM *m = curl_multi_init();

	f->multi = m;
	f->timer = evtimer_new(f->base, on_timer, f);
	if (m == NULL || f->timer == NULL)
		return -ENOMEM;
	if (curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, on_socket) != 0 ||
	    curl_multi_setopt(m, CURLMOPT_SOCKETDATA, f) != 0 ||
	    curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, on_wanted_timer) !=
		0 ||
	    curl_multi_setopt(m, CURLMOPT_TIMERDATA, f) != 0 ||
	    curl_multi_setopt(m, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING) !=
		0 ||
	    curl_multi_setopt(m, CURLMOPT_MAX_HOST_CONNECTIONS,
		(long)FETCH_HOST_MAX) != 0 ||
	    curl_multi_setopt(m, CURLMOPT_MAX_TOTAL_CONNECTIONS,
		(long)CONNECTIONS_MAX) != 0)
		return -EINVAL;
	return 0;
}

void
fetch_loop_free(struct fetcher *f)
{
	if (f->multi != NULL)
		(void)curl_multi_cleanup(f->multi);
	if (f->timer != NULL)
		event_free(f->timer);
}

int
fetch_loop_add(struct fetch *t)
{
	if (curl_multi_add_handle(t->fetcher->multi, t->easy) != CURLM_OK)
		return -ENOMEM;
	t->is_running = true;
	return 0;
}

void
fetch_loop_remove(struct fetch *t)
{
	if (t->is_running)
		(void)curl_multi_remove_handle(t->fetcher->multi, t->easy);
	t->is_running = false;
}

struct circuit *
fetch_circuit(struct fetcher *f, const char *host, uint16_t port)
{
	struct circuit *c;

	for (unsigned int i = 0; i < f->circuit_count; i++) {
		c = &f->circuits[i];
		if (c->port == port && strcmp(c->host, host) == 0)
			return c;
	}
	if (f->circuit_count == CIRCUITS_MAX)
		return NULL;
	c = &f->circuits[f->circuit_count++];
	assert(strlen(host) < sizeof(c->host));
	memcpy(c->host, host, strlen(host) + 1);
	c->port = port;
	return c;
}

bool
fetch_circuit_rests(const struct circuit *c)
{
	return c != NULL && clock_boot_ms() < c->rests_until_boot_ms;
}

void
fetch_circuit_note(struct circuit *c, enum mint_fault fault)
{
	unsigned int over;
	uint64_t rest_ms = CIRCUIT_REST_MS;

	if (c == NULL)
		return;
	if (fault != MINT_UNREACHABLE && fault != MINT_TIMEOUT &&
	    fault != MINT_ISSUER) {
		c->failures = 0;
		return;
	}
	c->failures++;
	if (c->failures < CIRCUIT_FAILURES)
		return;
	over = c->failures - CIRCUIT_FAILURES;
	rest_ms = over < 5 ? rest_ms << over : CIRCUIT_REST_MAX_MS;
	c->rests_until_boot_ms = clock_boot_ms() + rest_ms;
}
