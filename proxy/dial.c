/*
 * The gate's side of the dialler. Every question has the same time-out, so
 * the line of open ones is ordered by its end, and one timer serves all.
 */
#include "proxy/dial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"

#define AREA "dial"

struct dial {
	TAILQ_ENTRY(dial) link;
	struct dial_port *port;
	uint32_t id;        /* 0: never sent */
	uint64_t until_ms;  /* clock_mono_ms() */
	enum reason failed; /* in port->failed if not REASON_NONE */
	dial_done *done;
	void *arg;
};

TAILQ_HEAD(dial_line, dial);

struct dial_port {
	struct gate *gate;
	struct chan *chan; /* NULL while the dialler is away */
	struct event *timer;
	struct dial_line open;   /* asked, by until_ms */
	struct dial_line failed; /* to be told on the next turn */
};

static void
arm(struct dial_port *p)
{
	struct timeval delay = { 0, 0 };
	const struct dial *first = TAILQ_FIRST(&p->open);
	uint64_t now_ms = clock_mono_ms();

	if (TAILQ_EMPTY(&p->failed)) {
		if (first == NULL) {
			(void)event_del(p->timer);
			return;
		}
		if (first->until_ms > now_ms) {
			uint64_t left_ms = first->until_ms - now_ms;

			delay.tv_sec = (time_t)(left_ms / 1000);
			delay.tv_usec = (suseconds_t)(left_ms % 1000 * 1000);
		}
	}
	(void)event_add(p->timer, &delay);
}

static void
fail_later(struct dial *d, enum reason reason)
{
	d->failed = reason;
	TAILQ_INSERT_TAIL(&d->port->failed, d, link);
}

static void
tell(struct dial *d, const struct message_dialed *m, int fd)
{
	dial_done *done = d->done;
	void *arg = d->arg;

	free(d);
	done(m, fd, arg);
}

static void
send_cancel(struct dial *d)
{
	if (d->id != 0 && d->port->chan != NULL)
		(void)chan_send(d->port->chan, MSG_DIAL_CANCEL, d->id, NULL,
		    NULL, 0);
}

static void
expire(struct dial_port *p)
{
	uint64_t now_ms = clock_mono_ms();
	struct dial *d;

	while ((d = TAILQ_FIRST(&p->open)) != NULL && d->until_ms <= now_ms) {
		TAILQ_REMOVE(&p->open, d, link);
		send_cancel(d);
		fail_later(d, REASON_TIMEOUT);
	}
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dial_port *p = arg;
	struct dial *d;

	(void)fd;
	(void)what;
	expire(p);
	while ((d = TAILQ_FIRST(&p->failed)) != NULL) {
		struct message_dialed m = { .reason = d->failed };

		TAILQ_REMOVE(&p->failed, d, link);
		tell(d, &m, -1);
	}
	arm(p);
}

/* True when it was sent. */
static bool
ask(struct dial *d, const struct dial_to *to)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct message_dial m = { .port = to->port,
		.scheme = (uint8_t)to->scheme,
		.is_redirect = to->is_redirect };
	size_t len = strlen(to->host);

	if (d->port->chan == NULL || len >= sizeof(m.host))
		return false;
	memcpy(m.host, to->host, len);
	message_dial_encode(&w, &m);
	d->id = chan_next_id(d->port->chan);
	return chan_send(d->port->chan, MSG_DIAL, d->id, &w, NULL, 0) == 0;
}

struct dial *
dial_start(struct gate *g, const struct dial_to *to, dial_done *done, void *arg)
{
	struct dial *d = calloc(1, sizeof(*d));

	if (d == NULL || g->dialler == NULL) {
		free(d);
		return NULL;
	}
	d->port = g->dialler;
	d->done = done;
	d->arg = arg;
	d->until_ms = clock_mono_ms() + g->limits.connect_timeout_ms;
	if (ask(d, to))
		TAILQ_INSERT_TAIL(&d->port->open, d, link);
	else
		fail_later(d, REASON_ORIGIN_UNREACHABLE);
	if (d->failed != REASON_NONE || TAILQ_FIRST(&d->port->open) == d)
		arm(d->port);
	return d;
}

void
dial_cancel(struct dial *d)
{
	if (d == NULL)
		return;
	if (d->failed != REASON_NONE) {
		TAILQ_REMOVE(&d->port->failed, d, link);
	} else {
		TAILQ_REMOVE(&d->port->open, d, link);
		send_cancel(d);
	}
	free(d);
}

static struct dial *
find(struct dial_port *p, uint32_t id)
{
	struct dial *d;

	TAILQ_FOREACH(d, &p->open, link)
	if (d->id == id)
		return d;
	return NULL;
}

static int
on_dialed(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct dial_port *p = arg;
	struct message_dialed m;
	struct dial *d;
	int rc = message_dialed_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	if (!rd_done(&msg->body) ||
	    msg->fd_count != (m.reason == REASON_NONE ? 1 : 0))
		return -EBADMSG;
	d = find(p, msg->id);
	/* It was cancelled or timed out while the answer was on its way. */
	if (d == NULL)
		return 0;
	TAILQ_REMOVE(&p->open, d, link);
	tell(d, &m, m.reason == REASON_NONE ? steal_fd(&msg->fds[0]) : -1);
	return 0;
}

static const struct chan_rule rules[] = {
	{ MSG_DIALED, MESSAGE_SMALL_BYTES, 0, 1, on_dialed },
};

static void
fail_all(struct dial_port *p)
{
	struct dial *d;

	while ((d = TAILQ_FIRST(&p->open)) != NULL) {
		TAILQ_REMOVE(&p->open, d, link);
		fail_later(d, REASON_ORIGIN_UNREACHABLE);
	}
	arm(p);
}

static void
on_closed(struct chan *c, void *arg)
{
	struct dial_port *p = arg;

	log_warn(AREA, "dialler=gone");
	chan_free(c);
	p->chan = NULL;
	fail_all(p);
}

static struct dial_port *
port_new(struct gate *g)
{
	struct dial_port *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->gate = g;
	TAILQ_INIT(&p->open);
	TAILQ_INIT(&p->failed);
	p->timer = evtimer_new(g->base, on_timer, p);
	if (p->timer == NULL) {
		free(p);
		return NULL;
	}
	g->dialler = p;
	return p;
}

int
dial_port_set(struct gate *g, int fd)
{
	struct dial_port *p = g->dialler != NULL ? g->dialler : port_new(g);
	int rc;

	if (p == NULL) {
		fd_close(&fd);
		return -ENOMEM;
	}
	rc = chan_replace(&p->chan,
	    chan_new(g->base, fd, rules, sizeof(rules) / sizeof(rules[0]),
		on_closed, p));
	if (rc != 0)
		return rc;
	fail_all(p);
	return 0;
}

static void
line_free(struct dial_line *line)
{
	struct dial *d;

	while ((d = TAILQ_FIRST(line)) != NULL) {
		TAILQ_REMOVE(line, d, link);
		free(d);
	}
}

void
dial_port_free(struct gate *g)
{
	struct dial_port *p = g->dialler;

	if (p == NULL)
		return;
	line_free(&p->open);
	line_free(&p->failed);
	chan_free(p->chan);
	event_free(p->timer);
	free(p);
	g->dialler = NULL;
}
