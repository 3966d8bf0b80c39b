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
#include "base/log.h"
#include "base/message.h"
#include "base/message_broker.h"
#include "proxy/pool.h"

#define AREA "lease"
/* Each takes locked pages; a policy that names more asks anew each time. */
#define KEPT_MAX 64
/* A look at the ends of kept leases: none lies in memory longer than this. */
#define SWEEP_MS 1000

/* What a kept lease is for. */
struct lease_key {
	char credential[CREDENTIAL_NAME_SIZE];
	char host[HOST_NAME_SIZE];
	uint16_t port;
	uint8_t scheme;
	char region[LEASE_WORD_SIZE]; /* a key to sign with is of one each */
	char service[LEASE_WORD_SIZE];
};

struct kept {
	TAILQ_ENTRY(kept) link;
	struct lease_key key;
	struct injection *lease; /* a reference */
};

TAILQ_HEAD(kept_line, kept);

struct lease_wait {
	TAILQ_ENTRY(lease_wait) link;
	struct lease_port *port;
	uint32_t id;       /* 0: never sent, or it waits for the grants */
	uint64_t until_ms; /* clock_mono_ms() */
	bool has_failed;   /* in port->failed */
	uint64_t forgets;  /* port->forgets when it was asked */
	struct lease_key key;
	lease_done *done;
	void *arg;
};

TAILQ_HEAD(wait_line, lease_wait);

struct lease_port {
	struct gate *gate;
	struct chan *chan; /* NULL while the broker is away */
	struct event *timer;
	struct event *sweep;
	struct wait_line open;   /* asked, by until_ms */
	struct wait_line failed; /* to be told on the next turn */
	struct kept_line kept;   /* oldest first */
	size_t kept_count;
	uint64_t forgets; /* how often something was to be forgotten */
	struct grants *grants;
	const char *detail; /* of the refusal that is being told; "" */
};

static bool
key_equals(const struct lease_key *a, const struct lease_key *b)
{
	return strcmp(a->credential, b->credential) == 0 &&
	    strcmp(a->host, b->host) == 0 && a->port == b->port &&
	    a->scheme == b->scheme && strcmp(a->region, b->region) == 0 &&
	    strcmp(a->service, b->service) == 0;
}

static void
kept_drop(struct lease_port *p, struct kept *k)
{
	TAILQ_REMOVE(&p->kept, k, link);
	p->kept_count--;
	injection_unref(k->lease);
	free(k);
}

/* What the callee does in there cannot pull the lease away from it. */
static void
lend(struct injection *lease, lease_done *done, void *arg)
{
	(void)injection_ref(lease);
	done(REASON_NONE, lease, arg);
	injection_unref(lease);
}

/* Wipes what has ended, and what is of this credential (NULL: nothing more). */
static void
kept_prune(struct lease_port *p, const char *credential)
{
	uint64_t now_ms = clock_boot_ms();
	struct kept *k, *next;

	for (k = TAILQ_FIRST(&p->kept); k != NULL; k = next) {
		next = TAILQ_NEXT(k, link);
		if (k->lease->lease.expires_boot_ms <= now_ms ||
		    (credential != NULL &&
			strcmp(k->key.credential, credential) == 0))
			kept_drop(p, k);
	}
}

static struct kept *
kept_find(struct lease_port *p, const struct lease_key *key)
{
	struct kept *k;

	kept_prune(p, NULL);
	TAILQ_FOREACH(k, &p->kept, link)
	if (key_equals(&k->key, key))
		return k;
	return NULL;
}

static void
sweep_later(struct lease_port *p)
{
	static const struct timeval delay = { SWEEP_MS / 1000, 0 };

	if (p->kept_count > 0)
		(void)event_add(p->sweep, &delay);
}

static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct lease_port *p = arg;

	(void)fd;
	(void)what;
	kept_prune(p, NULL);
	sweep_later(p);
}

static void
keep(struct lease_port *p, const struct lease_key *key, struct injection *lease)
{
	struct kept *k = kept_find(p, key);

	if (k != NULL)
		kept_drop(p, k);
	if (p->kept_count >= KEPT_MAX)
		kept_drop(p, TAILQ_FIRST(&p->kept));
	k = malloc(sizeof(*k));
	if (k == NULL)
		return;
	*k = (struct kept){ .key = *key, .lease = injection_ref(lease) };
	TAILQ_INSERT_TAIL(&p->kept, k, link);
	p->kept_count++;
	sweep_later(p);
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

/* True when it was sent. */
static bool
ask(struct lease_wait *w, const struct message_lease_request *req)
{
	uint8_t buf[LEASE_REQUEST_BODY_MAX_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));

	if (w->port->chan == NULL || req->path.len > LEASE_PATH_MAX_BYTES ||
	    req->query.len > LEASE_QUERY_MAX_BYTES)
		return false;
	message_lease_request_encode(&body, req);
	w->id = chan_next_id(w->port->chan);
	return chan_send(w->port->chan, MSG_LEASE_REQUEST, w->id, &body, NULL,
		   0) == 0;
}

static struct lease_key
key_of(const struct message_lease_request *req)
{
	struct lease_key key = { .port = req->port, .scheme = req->scheme };

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
	struct lease_key key = key_of(req);
	struct kept *k = p == NULL ? NULL : kept_find(p, &key);
	struct lease_wait *w = NULL;

	*ret_is_done = false;
	if (k == NULL && p != NULL)
		w = calloc(1, sizeof(*w));
	if (w == NULL) {
		*ret_is_done = true;
		if (k != NULL)
			lend(k->lease, done, arg);
		else
			done(REASON_CREDENTIAL_UNAVAILABLE, NULL, arg);
		return NULL;
	}
	*w = (struct lease_wait){ .port = p,
		.until_ms = clock_mono_ms() + g->limits.connect_timeout_ms,
		.forgets = p->forgets,
		.key = key,
		.done = done,
		.arg = arg };
	if (ask(w, req))
		TAILQ_INSERT_TAIL(&p->open, w, link);
	else
		fail_later(w);
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
		.until_ms = clock_mono_ms() + g->limits.connect_timeout_ms,
		.done = done,
		.arg = arg };
	if (p->chan != NULL)
		TAILQ_INSERT_TAIL(&p->open, w, link);
	else
		fail_later(w);
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

	if (p == NULL || p->chan == NULL)
		return;
	message_lease_rejected_encode(&w, &m);
	/* A channel that breaks ends all leases anyhow. */
	(void)chan_send(p->chan, MSG_LEASE_REJECTED, 0, &w, NULL, 0);
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
	if (credential != NULL)
		kept_prune(p, credential);
	else
		while (!TAILQ_EMPTY(&p->kept))
			kept_drop(p, TAILQ_FIRST(&p->kept));
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
	if (w->id == id)
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
		keep(p, &w->key, lease);
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
	/* 0 is no question's: those wait for the grants. */
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
	while ((w = find(p, 0)) != NULL) {
		TAILQ_REMOVE(&p->open, w, link);
		tell(w, REASON_NONE);
	}
	return 0;
}

static const struct chan_rule rules[] = {
	{ MSG_LEASE, LEASE_BODY_MAX_BYTES, 0, 0, on_lease },
	{ MSG_LEASE_REVOKED, MESSAGE_SMALL_BYTES, 0, 0, on_revoked },
	{ MSG_GRANT, GRANT_BODY_MAX_BYTES, 0, 0, on_grant },
	{ MSG_GRANTS_WHOLE, MESSAGE_SMALL_BYTES, 0, 0, on_grants_whole },
};

static void
fail_all(struct lease_port *p)
{
	struct lease_wait *w;

	while ((w = TAILQ_FIRST(&p->open)) != NULL) {
		TAILQ_REMOVE(&p->open, w, link);
		fail_later(w);
	}
	/* A broker that is gone cannot say that a lease was revoked. */
	forget(p, NULL);
	grants_forget_next(p->grants);
	arm(p);
}

static void
on_closed(struct chan *c, void *arg)
{
	struct lease_port *p = arg;

	log_warn(AREA, "broker=gone");
	chan_free(c);
	p->chan = NULL;
	fail_all(p);
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
	TAILQ_INIT(&p->kept);
	p->timer = evtimer_new(g->base, on_timer, p);
	p->sweep = evtimer_new(g->base, on_sweep, p);
	p->grants = grants_new();
	g->broker = p;
	if (p->timer == NULL || p->sweep == NULL || p->grants == NULL) {
		lease_port_free(g);
		return NULL;
	}
	return p;
}

int
lease_port_set(struct gate *g, int fd)
{
	struct lease_port *p = g->broker != NULL ? g->broker : port_new(g);
	struct chan *chan;

	chan = chan_new(g->base, fd, rules, sizeof(rules) / sizeof(rules[0]),
	    on_closed, p);
	if (chan == NULL)
		return -ENOMEM;
	if (p == NULL) {
		chan_free(chan);
		return -ENOMEM;
	}
	chan_free(p->chan);
	p->chan = chan;
	fail_all(p);
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
	while (!TAILQ_EMPTY(&p->kept))
		kept_drop(p, TAILQ_FIRST(&p->kept));
	chan_free(p->chan);
	if (p->timer != NULL)
		event_free(p->timer);
	if (p->sweep != NULL)
		event_free(p->sweep);
	grants_free(p->grants);
	free(p);
	g->broker = NULL;
}
