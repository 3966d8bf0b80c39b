/*
 * The listeners, and who is connected.
 */
#include "daemon/api.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/api_conn.h"
#include "daemon/api_json.h"
#include "daemon/api_route.h"

/* Connections taken in one turn of the loop. */
#define API_ACCEPTS_PER_TURN 16
/* Between two lines about callers that were refused. */
#define API_REFUSED_MS 1000

void
api_init(struct api *a, struct event_base *base)
{
	*a = (struct api){ .base = base };
}

void
api_done(struct api *a)
{
	while (a->conns != NULL)
		api_conn_free(a->conns);
	for (int i = 0; i < 2; i++) {
		struct event **e = i == 0 ? &a->listener : &a->metrics;

		if (*e == NULL)
			continue;
		(void)close(event_get_fd(*e));
		event_free(*e);
		*e = NULL;
	}
}

static unsigned int
api_conns_of(const struct api *a, uint32_t uid)
{
	unsigned int n = 0;

	for (const struct api_conn *c = a->conns; c != NULL; c = c->next)
		n += c->uid == uid ? 1 : 0;
	return n;
}

/* A caller can do this by the thousand: counted, told once a second. */
static void
api_tell_refused(struct api *a, uint32_t uid)
{
	uint64_t now_ms = clock_mono_ms();

	a->refused++;
	if (a->refused_ms != 0 && now_ms - a->refused_ms < API_REFUSED_MS)
		return;
	log_warn("api", "refused=%u uid=%u connections=%u", a->refused, uid,
	    a->conn_count);
	a->refused = 0;
	a->refused_ms = now_ms;
}

static bool
api_has_room(const struct api *a, uint32_t uid)
{
	unsigned int max = API_CONNS_MAX - (uid == 0 ? 0 : API_CONNS_ROOT);

	return a->conn_count < max &&
	    (uid == 0 || api_conns_of(a, uid) < API_CONNS_PER_USER);
}

/* False when there is nobody more to take. */
static bool
api_accept(struct api *a, int listener, bool is_metrics)
{
	struct ucred peer = { 0, UINT32_MAX, UINT32_MAX };
	socklen_t len = sizeof(peer);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd == -1)
		return false;
	if (!is_metrics &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == -1) {
		log_warn("api", "peer: %s", strerror(errno));
		(void)close(fd);
		return true;
	}
	if (!api_has_room(a, peer.uid)) {
		api_tell_refused(a, peer.uid);
		(void)close(fd);
		return true;
	}
	(void)api_conn_new(a, fd, peer.uid, peer.gid, is_metrics);
	return true;
}

static void
on_api_accept(evutil_socket_t fd, short what, void *arg)
{
	struct api *a = arg;
	bool is_metrics = a->metrics != NULL && event_get_fd(a->metrics) == fd;

	(void)what;
	for (int i = 0; i < API_ACCEPTS_PER_TURN; i++)
		if (!api_accept(a, (int)fd, is_metrics))
			return;
}

static int
api_listen_on(struct api *a, int fd, struct event **ret)
{
	int rc = fd_set_nonblock(fd, true);

	if (rc == 0)
		*ret = event_new(a->base, fd, EV_READ | EV_PERSIST,
		    on_api_accept, a);
	if (*ret == NULL || event_add(*ret, NULL) == -1) {
		(void)close(fd);
		return rc == 0 ? -ENOMEM : rc;
	}
	return 0;
}

int
api_listen(struct api *a, int control_fd, int metrics_fd)
{
	int rc = api_listen_on(a, control_fd, &a->listener);

	if (metrics_fd == -1)
		return rc;
	if (rc != 0) {
		(void)close(metrics_fd);
		return rc;
	}
	return api_listen_on(a, metrics_fd, &a->metrics);
}

static struct api_conn *
api_find_waiting(struct api *a, uint32_t id)
{
	for (struct api_conn *c = a->conns; c != NULL; c = c->next)
		if (c->state == API_CONN_WAIT && c->request_id == id)
			return c;
	return NULL;
}

/* All that one answer can bring, on the heap: a page is 256 entries. */
struct api_answer_room {
	struct message_api_answer answer;
	struct message_api_sandbox sandbox;
	struct message_api_page page;
	struct message_api_status status;
	struct message_api_asks asks;
	struct message_top top;
	struct message_api_entry entries[API_PAGE_MAX];
	char text[API_TEXT_SIZE];
};

int
api_on_answer(struct api *a, uint32_t id, struct rd *body, int *fds,
    unsigned int fd_count)
{
	AUTO_FREE struct api_answer_room *room = calloc(1, sizeof(*room));
	struct api_conn *c = api_find_waiting(a, id);
	int rc;

	if (room == NULL)
		return -ENOMEM;
	room->page.entries = room->entries;
	room->answer.sandbox = &room->sandbox;
	room->answer.page = &room->page;
	room->answer.status = &room->status;
	room->answer.asks = &room->asks;
	room->answer.top = &room->top;
	rc = message_api_answer_decode(body, room->text, &room->answer);
	if (rc != 0 || c == NULL)
		return rc; /* the caller went away meanwhile */
	api_route_answer(c, &room->answer,
	    fd_count > 0 ? steal_fd(&fds[0]) : -1);
	return 0;
}

void
api_on_event(struct api *a, const struct message_api_event *event)
{
	json_t *json = api_json_event(event);
	char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
	char line[1024];
	struct wr w = wr_init(line, sizeof(line));

	json_decref(json);
	if (text == NULL)
		return;
	wr_text(&w, text);
	wr_text(&w, "\n");
	free(text);
	for (struct api_conn *c = a->conns; wr_ok(&w) && c != NULL; c = c->next)
		if (c->follows_events && c->state == API_CONN_STREAM &&
		    (c->uid == 0 || c->uid == event->owner_uid))
			api_conn_stream_add(c,
			    (struct span){ (uint8_t *)line, w.len });
}
