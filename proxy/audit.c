/*
 * The gate's side of the recorder. Records are never dropped for being many:
 * what the channel does not take waits in a line, and while the line is long
 * nothing new is begun, so it is bounded by what was begun before.
 */
#include "proxy/audit.h"

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

#define AREA "audit"
/*
 * Records that may wait. More are lost and counted: only a recorder that has
 * stood still, under more open connections than this, gets that far.
 */
#define WAITING_MAX 1024
/*
 * A recorder that had no turn for some milliseconds is no reason to refuse;
 * the other half of the line is for what has begun by then.
 */
#define WAITING_READY_MAX 512
/* From here on many streams of one connection are not read for a moment. */
#define WAITING_BEHIND 64
#define RETRY_MS 5

struct waiting {
	STAILQ_ENTRY(waiting) link;
	size_t len;
	uint8_t bytes[];
};

struct audit_port {
	struct gate *gate;
	struct chan *chan;
	bool can_write; /* as the recorder last said */
	struct event *retry;
	STAILQ_HEAD(, waiting) line;
	size_t line_len;
	uint64_t lost;    /* and not told yet */
	uint64_t told_ms; /* clock_mono_ms() */
};

bool
audit_is_ready(const struct gate *g)
{
	const struct audit_port *p = g->audit;

	return p != NULL && p->chan != NULL && p->can_write &&
	    p->line_len < WAITING_READY_MAX;
}

bool
audit_is_behind(const struct gate *g)
{
	return audit_is_ready(g) && g->audit->line_len >= WAITING_BEHIND;
}

bool
audit_is_told(const struct gate *g)
{
	return g->audit == NULL || g->audit->line_len == 0;
}

static void
retry_later(struct audit_port *p)
{
	static const struct timeval delay = { 0, RETRY_MS * 1000L };

	/* Set anew for each record it would never come in a flood of them. */
	if (!evtimer_pending(p->retry, NULL))
		(void)event_add(p->retry, &delay);
}

static void
line_push(struct audit_port *p, const struct wr *body)
{
	struct waiting *w = NULL;

	if (p->line_len < WAITING_MAX)
		w = malloc(sizeof(*w) + body->len);
	if (w == NULL) {
		p->lost++;
		return;
	}
	w->len = body->len;
	memcpy(w->bytes, body->buf, body->len);
	STAILQ_INSERT_TAIL(&p->line, w, link);
	p->line_len++;
	retry_later(p);
}

static void
line_pop(struct audit_port *p)
{
	struct waiting *w = STAILQ_FIRST(&p->line);

	STAILQ_REMOVE_HEAD(&p->line, link);
	p->line_len--;
	free(w);
}

static int
send_bytes(struct audit_port *p, uint8_t *bytes, size_t len)
{
	struct wr body = { .buf = bytes, .size = len, .len = len };

	if (p->chan == NULL)
		return -EAGAIN;
	return chan_try_send(p->chan, MSG_AUDIT, 0, &body);
}

/*
 * A gap is itself a record. One at a time, since the recorder takes only so
 * many of them.
 */
static void
tell_lost(struct audit_port *p)
{
	uint64_t now_ms = clock_mono_ms();
	struct audit_record r = audit_record_init(AUDIT_LIFECYCLE);
	char text[64];
	struct wr w = wr_init(text, sizeof(text));

	if (p->lost == 0)
		return;
	if (p->told_ms != 0 && now_ms - p->told_ms < AUDIT_GAP_MS) {
		retry_later(p);
		return;
	}
	p->told_ms = now_ms;
	wr_fmt(&w, "gate lost %llu records", (unsigned long long)p->lost);
	r.reason = REASON_AUDIT_UNAVAILABLE;
	r.detail = (struct span){ w.buf, w.len };
	p->lost = 0;
	audit_send(p->gate, &r);
}

static void
on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct audit_port *p = arg;

	(void)fd;
	(void)what;
	while (!STAILQ_EMPTY(&p->line)) {
		struct waiting *w = STAILQ_FIRST(&p->line);

		if (send_bytes(p, w->bytes, w->len) != 0) {
			if (p->chan != NULL)
				retry_later(p);
			return;
		}
		line_pop(p);
	}
	tell_lost(p);
}

/* A gap that we own up to is no refusal of anything. */
static void
note(struct gate *g, const struct audit_record *r)
{
	if (r->event == AUDIT_REQUEST)
		g->status.requests++;
	if (r->event != AUDIT_LIFECYCLE && r->reason != REASON_NONE &&
	    r->verdict == ACTION_DENY)
		g->status.denied++;
}

void
audit_send(struct gate *g, const struct audit_record *r)
{
	uint8_t buf[AUDIT_BODY_MAX_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));
	struct audit_port *p = g->audit;

	note(g, r);
	if (p == NULL)
		return;
	message_audit_encode(&body, r);
	/* In order: nothing goes past what waits. */
	if (STAILQ_EMPTY(&p->line) && send_bytes(p, buf, body.len) == 0)
		return;
	line_push(p, &body);
}

static int
on_state(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct audit_port *p = arg;
	bool can_write;
	int rc = message_audit_state_decode(&msg->body, &can_write);

	(void)c;
	if (rc != 0)
		return rc;
	if (can_write != p->can_write)
		log_warn(AREA, "recorder=%s", can_write ? "writes" : "full");
	p->can_write = can_write;
	return 0;
}

static const struct chan_rule rules[] = {
	{ MSG_AUDIT_STATE, MESSAGE_SMALL_BYTES, 0, 0, on_state },
};

/* What waits goes to the next recorder. */
static void
on_closed(struct chan *c, void *arg)
{
	struct audit_port *p = arg;

	log_warn(AREA, "recorder=gone");
	chan_free(c);
	p->chan = NULL;
}

static struct audit_port *
port_new(struct gate *g)
{
	struct audit_port *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->gate = g;
	STAILQ_INIT(&p->line);
	p->retry = evtimer_new(g->base, on_retry, p);
	if (p->retry == NULL) {
		free(p);
		return NULL;
	}
	g->audit = p;
	return p;
}

int
audit_port_set(struct gate *g, int fd)
{
	struct audit_port *p = g->audit != NULL ? g->audit : port_new(g);
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
	/* It says so at once if its sink cannot. */
	p->can_write = true;
	if (!STAILQ_EMPTY(&p->line))
		retry_later(p);
	return 0;
}

void
audit_port_free(struct gate *g)
{
	struct audit_port *p = g->audit;

	if (p == NULL)
		return;
	chan_free(p->chan);
	while (!STAILQ_EMPTY(&p->line))
		line_pop(p);
	event_free(p->retry);
	free(p);
	g->audit = NULL;
}
