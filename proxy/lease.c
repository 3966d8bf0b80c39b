/*
 * The gate's side of the broker. Kept leases are the only secrets this
 * process holds beside its CA: few, in locked memory, gone at their end.
 */
#include "proxy/lease.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "base/message_broker.h"
#include "base/message_sign.h"
#include "proxy/kept.h"
#include "proxy/pool.h"

#define AREA "lease"
struct lease_wait {
	TAILQ_ENTRY(lease_wait) link;
	struct lease_port *port;
	bool is_for_grants;
	/* of its question; 0: it waits for a broker to ask, or for grants */
	uint32_t id;
	uint64_t until_ms; /* clock_mono_ms() */
	bool has_failed;   /* in port->failed */
	uint64_t forgets;  /* port->forgets when it was asked */
	struct kept_key key;
	/* borrows path and query from who asks, as long as it waits */
	struct message_lease_request req;
	lease_done *done;
	void *arg;
};

TAILQ_HEAD(wait_line, lease_wait);

/* Of a handshake, whose own time-out ends it. */
struct sign_wait {
	LIST_ENTRY(sign_wait) link;
	uint32_t id;
	sign_done *done;
	void *arg;
};

struct lease_port {
	struct gate *gate;
	struct chan *chan; /* NULL while the broker is away */
	struct event *timer;
	struct wait_line open;   /* asked, or to be asked; by until_ms */
	struct wait_line failed; /* to be told on the next turn */
	LIST_HEAD(, sign_wait) signs;
	struct kept_leases kept;
	uint64_t forgets; /* how often something was to be forgotten */
	struct grants *grants;
	const char *detail; /* of the refusal that is being told; "" */
};

/* What the callee does in there cannot pull the lease away from it. */
static void
lend(struct injection *lease, lease_done *done, void *arg)
{
	(void)injection_ref(lease);
	done(REASON_NONE, lease, arg);
	injection_unref(lease);
}

static void
arm(struct lease_port *p)
{
	struct timeval delay = { 0, 0 };
	const struct lease_wait *first = TAILQ_FIRST(&p->open);
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
fail_later(struct lease_wait *w)
{
	w->has_failed = true;
	TAILQ_INSERT_TAIL(&w->port->failed, w, link);
}

/* Without an injection: of what is granted, or that there is none. */
static void
tell(struct lease_wait *w, enum reason reason)
{
	lease_done *done = w->done;
	void *arg = w->arg;

	free(w);
	done(reason, NULL, arg);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct lease_port *p = arg;
	uint64_t now_ms = clock_mono_ms();
	struct lease_wait *w;

	(void)fd;
	(void)what;
	while ((w = TAILQ_FIRST(&p->open)) != NULL && w->until_ms <= now_ms) {
		TAILQ_REMOVE(&p->open, w, link);
		fail_later(w);
	}
	while ((w = TAILQ_FIRST(&p->failed)) != NULL) {
		TAILQ_REMOVE(&p->failed, w, link);
		tell(w, REASON_CREDENTIAL_UNAVAILABLE);
	}
	arm(p);
}

/* Now, or of the broker that comes next: one that cannot be sent waits. */
static void
ask(struct lease_wait *w)
{
	uint8_t buf[LEASE_REQUEST_BODY_MAX_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));
	struct chan *chan = w->port->chan;

	w->id = 0;
	w->forgets = w->port->forgets;
	if (chan == NULL)
		return;
	message_lease_request_encode(&body, &w->req);
	w->id = chan_next_id(chan);
	/* A channel that breaks tells so itself. */
	if (chan_send(chan, MSG_LEASE_REQUEST, w->id, &body, NULL, 0) != 0)
		w->id = 0;
}

static struct kept_key
key_of(const struct message_lease_request *req)
{
	struct kept_key key = { .port = req->port, .scheme = req->scheme };

	memcpy(key.credential, req->credential, sizeof(key.credential));
	memcpy(key.host, req->host, sizeof(key.host));
	memcpy(key.region, req->region, sizeof(key.region));
	memcpy(key.service, req->service, sizeof(key.service));
	return key;
}

struct lease_wait *
lease_get(struct gate *g, const struct message_lease_request *req,
    lease_done *done, void *arg, bool *ret_is_done)
{
	struct lease_port *p = g->broker;
	struct kept_key key = key_of(req);
	struct injection *in = p == NULL ? NULL : kept_find(&p->kept, &key);
	struct lease_wait *w = NULL;

	*ret_is_done = false;
	if (in == NULL && p != NULL)
		w = calloc(1, sizeof(*w));
	if (w == NULL) {
		*ret_is_done = true;
		if (in != NULL)
			lend(in, done, arg);
		else
			done(REASON_CREDENTIAL_UNAVAILABLE, NULL, arg);
		return NULL;
	}
	*w = (struct lease_wait){ .port = p,
		.until_ms = clock_mono_ms() + g->limits.connect_timeout_ms,
		.key = key,
		.req = *req,
		.done = done,
		.arg = arg };
	if (req->path.len > LEASE_PATH_MAX_BYTES ||
	    req->query.len > LEASE_QUERY_MAX_BYTES) {
		fail_later(w);
	} else {
		ask(w);
		TAILQ_INSERT_TAIL(&p->open, w, link);
	}
	arm(p);
	return w;
}

const char *
lease_detail(const struct gate *g)
{
	return g->broker == NULL ? "" : g->broker->detail;
}

const struct grants *
lease_grants(const struct gate *g)
{
	const struct lease_port *p = g->broker;

	return p != NULL && grants_are_known(p->grants) ? p->grants : NULL;
}

struct lease_wait *
lease_await_grants(struct gate *g, lease_done *done, void *arg)
{
	struct lease_port *p = g->broker;
	struct lease_wait *w = p == NULL ? NULL : calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	*w = (struct lease_wait){ .port = p,
		.is_for_grants = true,
		.until_ms = clock_mono_ms() + g->limits.connect_timeout_ms,
		.done = done,
		.arg = arg };
	TAILQ_INSERT_TAIL(&p->open, w, link);
	arm(p);
	return w;
}

void
lease_rejected(struct gate *g, uint64_t lease_id)
{
	const struct message_lease_rejected m = { .lease_id = lease_id };
	struct lease_port *p = g->broker;
	uint8_t buf[16];
	struct wr w = wr_init(buf, sizeof(buf));

	if (p != NULL)
		kept_reject(&p->kept, lease_id);
	if (p == NULL || p->chan == NULL)
		return;
	message_lease_rejected_encode(&w, &m);
	/* A channel that breaks ends all leases anyhow. */
	(void)chan_send(p->chan, MSG_LEASE_REJECTED, 0, &w, NULL, 0);
}

struct sign_wait *
lease_sign(struct gate *g, uint64_t lease_id, uint16_t scheme, struct span text,
    sign_done *done, void *arg)
{
	const struct message_sign m = { lease_id, scheme, text };
	struct lease_port *p = g->broker;
	AUTO_FREE uint8_t *buf = NULL;
	struct sign_wait *w;
	struct wr body;

	if (p == NULL || p->chan == NULL || text.len > SIGN_TEXT_MAX)
		return NULL;
	buf = malloc(text.len + 16);
	w = calloc(1, sizeof(*w));
	if (buf == NULL || w == NULL) {
		free(w);
		return NULL;
	}
	body = wr_init(buf, text.len + 16);
	message_sign_encode(&body, &m);
	*w = (struct sign_wait){ .id = chan_next_id(p->chan),
		.done = done,
		.arg = arg };
	if (chan_send(p->chan, MSG_SIGN, w->id, &body, NULL, 0) != 0) {
		free(w);
		return NULL;
	}
	LIST_INSERT_HEAD(&p->signs, w, link);
	return w;
}

void
lease_sign_cancel(struct sign_wait *w)
{
	if (w == NULL)
		return;
	LIST_REMOVE(w, link);
	free(w);
}

static void
tell_signed(struct sign_wait *w, struct span signature)
{
	sign_done *done = w->done;
	void *arg = w->arg;

	lease_sign_cancel(w);
	done(signature, arg);
}

/* An answer that nobody waits for any more is passed over. */
static int
on_signed(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct lease_port *p = arg;
	struct message_signed m;
	struct sign_wait *w;
	int rc = message_signed_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	LIST_FOREACH(w, &p->signs, link)
	if (w->id == msg->id)
		break;
	if (w != NULL)
		tell_signed(w, m.signature);
	return 0;
}

/* Their broker is gone; a callee may cancel another. */
static void
fail_signs(struct lease_port *p)
{
	struct sign_wait *w;

	while ((w = LIST_FIRST(&p->signs)) != NULL)
		tell_signed(w, (struct span){ NULL, 0 });
}

void
lease_cancel(struct lease_wait *w)
{
	if (w == NULL)
		return;
	TAILQ_REMOVE(w->has_failed ? &w->port->failed : &w->port->open, w,
	    link);
	free(w);
}

static void
forget(struct lease_port *p, const char *credential)
{
	/* An answer on its way may be what is to be forgotten: not kept. */
	p->forgets++;
	kept_forget(&p->kept, credential);
	pool_revoke(p->gate, credential);
}

void
lease_forget_all(struct gate *g)
{
	if (g->broker != NULL)
		forget(g->broker, NULL);
}

static struct lease_wait *
find(struct lease_port *p, uint32_t id)
{
	struct lease_wait *w;

	TAILQ_FOREACH(w, &p->open, link)
	if (w->id == id && !w->is_for_grants)
		return w;
	return NULL;
}

static struct lease_wait *
find_for_grants(struct lease_port *p)
{
	struct lease_wait *w;

	TAILQ_FOREACH(w, &p->open, link)
	if (w->is_for_grants)
		return w;
	return NULL;
}

/* Of what the broker sent. NULL: as good as none, and *reason says why. */
static struct injection *
take(struct lease_port *p, struct message_lease *m, enum reason *reason)
{
	struct injection *lease = NULL;
	int rc;

	*reason = m->reason;
	if (*reason != REASON_NONE)
		return NULL;
	rc = m->expires_boot_ms <= clock_boot_ms()
	    ? -ETIME
	    : injection_get(&p->gate->leases, m, &lease);
	if (rc == 0)
		return lease;
	log_warn(AREA, "lease=%" PRIu64 " unusable=%s", m->lease_id,
	    strerror(-rc));
	*reason = REASON_CREDENTIAL_UNAVAILABLE;
	return NULL;
}

static void
serve(struct lease_port *p, struct lease_wait *w, struct message_lease *m)
{
	enum reason reason;
	struct injection *lease = take(p, m, &reason);

	if (lease == NULL) {
		p->detail = m->detail;
		tell(w, reason);
		p->detail = "";
		return;
	}
	if (m->any_request && p->forgets == w->forgets)
		kept_add(&p->kept, &w->key, lease);
	lend(lease, w->done, w->arg);
	injection_unref(lease);
	free(w);
}

static int
on_lease(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct lease_port *p = arg;
	struct message_lease lease;
	struct lease_wait *w;
	int rc = message_lease_decode(&msg->body, &lease);

	(void)c;
	if (rc == -EBADMSG)
		return rc;
	/* No locked memory for the value: as good as no lease. */
	if (rc != 0)
		lease =
		    (struct message_lease){ .reason =
						REASON_CREDENTIAL_UNAVAILABLE };
	/* 0 is no question's: those were not sent. */
	w = rd_done(&msg->body) && msg->id != 0 ? find(p, msg->id) : NULL;
	if (w != NULL) {
		TAILQ_REMOVE(&p->open, w, link);
		serve(p, w, &lease);
	}
	secret_done(&lease.value);
	return 0;
}

static int
on_revoked(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct lease_port *p = arg;
	struct message_lease_revoked m;
	int rc = message_lease_revoked_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	forget(p, m.credential[0] == '\0' ? NULL : m.credential);
	return 0;
}

static int
on_grant(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct lease_port *p = arg;

	(void)c;
	return grants_on_grant(p->grants, &msg->body);
}

/* A callee may cancel the wait of another: looked for anew each time. */
static int
on_grants_whole(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct lease_port *p = arg;
	struct lease_wait *w;
	int rc = grants_on_whole(p->grants, &msg->body);

	(void)c;
	if (rc != 0)
		return rc;
	while ((w = find_for_grants(p)) != NULL) {
		TAILQ_REMOVE(&p->open, w, link);
		tell(w, REASON_NONE);
	}
	return 0;
}

static const struct chan_rule rules[] = {
	{ MSG_LEASE, LEASE_BODY_MAX_BYTES, 0, 0, on_lease },
	{ MSG_LEASE_REVOKED, MESSAGE_SMALL_BYTES, 0, 0, on_revoked },
	{ MSG_SIGNED, SIGNED_BODY_MAX_BYTES, 0, 0, on_signed },
	{ MSG_GRANT, GRANT_BODY_MAX_BYTES, 0, 0, on_grant },
	{ MSG_GRANTS_WHOLE, MESSAGE_SMALL_BYTES, 0, 0, on_grants_whole },
};

/*
 * One broker is gone, or another is there. Whoever waits goes on waiting and
 * is asked for anew: the supervisor starts a broker again within a moment.
 */
static void
turn_over(struct lease_port *p)
{
	struct lease_wait *w;

	/* A broker that is gone cannot say that a lease was revoked. */
	forget(p, NULL);
	fail_signs(p);
	grants_forget_next(p->grants);
	TAILQ_FOREACH(w, &p->open, link)
	if (!w->is_for_grants)
		ask(w);
}

static void
on_closed(struct chan *c, void *arg)
{
	struct lease_port *p = arg;

	log_warn(AREA, "broker=gone");
	chan_free(c);
	p->chan = NULL;
	turn_over(p);
}

static struct lease_port *
port_new(struct gate *g)
{
	struct lease_port *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->gate = g;
	p->detail = "";
	TAILQ_INIT(&p->open);
	TAILQ_INIT(&p->failed);
	p->timer = evtimer_new(g->base, on_timer, p);
	p->grants = grants_new();
	g->broker = p;
	if (kept_init(&p->kept, g->base) != 0 || p->timer == NULL ||
	    p->grants == NULL) {
		lease_port_free(g);
		return NULL;
	}
	return p;
}

int
lease_port_set(struct gate *g, int fd)
{
	struct lease_port *p = g->broker != NULL ? g->broker : port_new(g);
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
	turn_over(p);
	return 0;
}

static void
line_free(struct wait_line *line)
{
	struct lease_wait *w;

	while ((w = TAILQ_FIRST(line)) != NULL) {
		TAILQ_REMOVE(line, w, link);
		free(w);
	}
}

void
lease_port_free(struct gate *g)
{
	struct lease_port *p = g->broker;

	if (p == NULL)
		return;
	line_free(&p->open);
	line_free(&p->failed);
	while (!LIST_EMPTY(&p->signs))
		lease_sign_cancel(LIST_FIRST(&p->signs));
	kept_done(&p->kept);
	chan_free(p->chan);
	if (p->timer != NULL)
		event_free(p->timer);
	grants_free(p->grants);
	free(p);
	g->broker = NULL;
}
