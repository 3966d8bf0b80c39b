/*
 * Guest connections: their states, how TLS is judged, and the one way out.
 *
 * The guest's descriptor has one edge-triggered event from PEEK to RELAY:
 * bytes that were peeked at stay in the socket, and a level-triggered event
 * would come again and again for them.
 */
#include "proxy/conn.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "proxy/audit.h"
#include "proxy/conn_peek.h"
#include "proxy/conn_private.h"
#include "proxy/inspect.h"
#include "proxy/relay.h"

#define AREA "conn"
static void peek_start(struct conn *c);
static void dial_begin(struct conn *c);
static void relay_start(struct conn *c);
static void inspect_begin(struct conn *c);
static void closing_start(struct conn *c);

#define TO(state) (1u << (state))

static const struct conn_step {
	const char *name;
	void (*start)(struct conn *c);
	unsigned int next;
} steps[] = {
	[CONN_PEEK] = { "peek", peek_start,
	    TO(CONN_PEEK) | TO(CONN_DIAL) | TO(CONN_INSPECT) |
		TO(CONN_CLOSING) },
	[CONN_DIAL] = { "dial", dial_begin, TO(CONN_RELAY) | TO(CONN_CLOSING) },
	[CONN_RELAY] = { "relay", relay_start, TO(CONN_CLOSING) },
	[CONN_INSPECT] = { "inspect", inspect_begin,
	    TO(CONN_PEEK) | TO(CONN_DIAL) | TO(CONN_CLOSING) },
	[CONN_CLOSING] = { "closing", closing_start, 0 },
};

static_assert(sizeof(steps) / sizeof(steps[0]) == CONN_STATES,
    "each state has a step");

void
conn_enter(struct conn *c, enum conn_state next)
{
	assert((steps[c->state].next & TO(next)) != 0);
	log_debug(AREA, "id=%llu from=%s to=%s", (unsigned long long)c->id,
	    steps[c->state].name, steps[next].name);
	c->state = next;
	steps[next].start(c);
}

const char *
conn_host(const struct conn *c)
{
	if (c->sni[0] != '\0' || c->connect_host == NULL)
		return c->sni;
	return c->connect_host;
}

/* --- the end --- */

struct verdict
conn_verdict(const struct conn *c)
{
	if (conn_host(c)[0] == '\0')
		return (struct verdict){ .reason = REASON_NO_SNI,
			.rule = "-",
			.file = "",
			.say = "",
			.credential = "" };
	return policy_judge_connect(&c->gate->pair, conn_host(c), c->port);
}

/*
 * HTTP and the explicit proxy are judged by request: a connection without one
 * has asked for nothing.
 */
static bool
conn_was_judged(const struct conn *c, enum reason reason)
{
	return reason != REASON_NONE || c->front == CONN_FRONT_TLS ||
	    c->front == CONN_FRONT_TCP;
}

/* The rule whose budget has ended it, else the one that decided. */
static struct verdict
verdict_to_tell(const struct conn *c)
{
	struct verdict v = conn_verdict(c);
	bool by_ceiling = c->spent.file == VERDICT_CEILING;
	const struct policy *p =
	    by_ceiling ? c->gate->pair.ceiling : c->gate->pair.policy;
	struct policy_budget b;

	if (!c->spent.is_set || p == NULL ||
	    !policy_budget_at(p, c->spent.i, &b))
		return v;
	v.rule = b.rule;
	v.file = b.file;
	v.line = b.line;
	v.by_ceiling = by_ceiling;
	return v;
}

/* A tunnel is one when somebody was dialled for it. */
static enum audit_scheme
scheme_of(const struct conn *c)
{
	if (c->front == CONN_FRONT_TCP)
		return AUDIT_SCHEME_TCP;
	if (c->relay != NULL)
		return AUDIT_SCHEME_PASSTHROUGH;
	return c->front == CONN_FRONT_TLS ? AUDIT_SCHEME_HTTPS
					  : AUDIT_SCHEME_NONE;
}

static void
conn_record(struct conn *c, enum reason reason)
{
	struct verdict v = verdict_to_tell(c);
	struct audit_record r = audit_record_of(AUDIT_CONNECT, &v);
	struct relay_account a = { .address = "", .how = "" };

	if (c->relay != NULL)
		a = relay_account(c->relay);
	if (reason != REASON_NONE) {
		r.by_ceiling = reason == v.reason || c->spent.is_set
		    ? v.by_ceiling
		    : a.by_ceiling;
		r.reason = reason;
		/* One that was allowed and joined stays allowed. */
		if (a.up + a.down == 0)
			r.verdict = ACTION_DENY;
	}
	r.scheme = scheme_of(c);
	r.host = span_of(conn_host(c));
	r.port = c->port;
	r.up = a.up;
	r.down = a.down;
	r.ms = (uint32_t)(clock_mono_ms() - c->opened_ms);
	r.address = a.address;
	r.detail = span_of(c->detail != NULL ? c->detail : a.how);
	if (r.verdict != ACTION_ALLOW)
		c->gate->status.denied++;
	c->gate->status.up += a.up;
	c->gate->status.down += a.down;
	audit_send(c->gate, &r);
}

static void
conn_free_all(struct conn_line *line)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(line)) != NULL) {
		TAILQ_REMOVE(line, c, link);
		free(c->connect_host);
		free(c);
	}
}

static void
on_reap(evutil_socket_t fd, short what, void *arg)
{
	struct conns *cs = arg;

	(void)fd;
	(void)what;
	conn_free_all(&cs->closed);
}

static void
closing_start(struct conn *c)
{
	struct conns *cs = c->gate->conns;
	bool is_broken = c->relay != NULL && relay_is_broken(c->relay);

	(void)event_del(&c->event);
	(void)event_del(&c->timer);
	inspect_free(c->inspect);
	c->inspect = NULL;
	relay_free(c->relay);
	c->relay = NULL;
	if (is_broken)
		fd_reset(&c->fd);
	else
		fd_close(&c->fd);
	TAILQ_REMOVE(&cs->open, c, link);
	c->gate->conn_count--;
	TAILQ_INSERT_TAIL(&cs->closed, c, link);
	event_active(cs->reaper, EV_TIMEOUT, 0);
}

void
conn_close(struct conn *c, enum reason reason)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (c->state == CONN_CLOSING)
		return;
	if (!c->is_recorded && conn_was_judged(c, reason))
		conn_record(c, reason);
	if (reason != REASON_NONE && !c->is_answered)
		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now,
		    sizeof(now));
	conn_enter(c, CONN_CLOSING);
}

void
conn_spend(struct conn *c, enum reason reason, struct meter_bit budget)
{
	c->spent = budget;
	conn_close(c, reason);
}

/* A denial that fits into a TLS handshake. */
static void
conn_refuse(struct conn *c, enum reason reason, uint8_t alert,
    const char *detail)
{
	if (alert != 0) {
		conn_send_alert(c->fd, alert, c->gate->scratch,
		    GATE_SCRATCH_BYTES);
		c->is_answered = true;
	}
	c->detail = detail;
	conn_close(c, reason);
}

/* --- time --- */

static void
on_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	conn_close(c, c->timeout_reason);
}

void
conn_set_timeout(struct conn *c, uint32_t timeout_ms, enum reason why)
{
	struct timeval delay = { .tv_sec = (time_t)(timeout_ms / 1000),
		.tv_usec = (suseconds_t)(timeout_ms % 1000 * 1000) };

	c->timeout_reason = why;
	(void)event_add(&c->timer, &delay);
}

/* --- peek --- */

/* The name says where, the policy says how. */
static void
judge_tls(struct conn *c, const struct tls_hello *hello)
{
	struct verdict v =
	    policy_judge_connect(&c->gate->pair, c->sni, c->port);

	c->policy_generation = c->gate->policy_generation;
	/* A denied name is not passed through: it gets a 403 to read. */
	if (v.action != ACTION_ALLOW || v.scheme != SCHEME_HTTPS ||
	    v.tls != TLS_MODE_PASSTHROUGH) {
		conn_enter(c, CONN_INSPECT);
		return;
	}
	/*
	 * With ECH the origin may serve a name that nobody here has seen
	 * (RFC 9849 7.1: it need not compare the outer one). GREASE cannot be
	 * told from it, so the host's setting decides about both.
	 */
	if (hello->ech != TLS_ECH_NONE && !c->gate->passthrough_ech) {
		conn_refuse(c, REASON_ECH, ALERT_HANDSHAKE_FAILURE,
		    "encrypted ClientHello on a passthrough host");
		return;
	}
	if (!audit_is_ready(c->gate)) {
		conn_refuse(c, REASON_AUDIT_UNAVAILABLE, ALERT_INTERNAL_ERROR,
		    NULL);
		return;
	}
	conn_enter(c, CONN_DIAL);
}

static void
on_hello(struct conn *c, const struct tls_hello *hello)
{
	if (hello->sni_status != HOST_NAME) {
		conn_refuse(c, REASON_NO_SNI, ALERT_UNRECOGNIZED_NAME,
		    host_status_text(hello->sni_status));
		return;
	}
	memcpy(c->sni, hello->sni, sizeof(c->sni));
	c->has_record_size_limit = hello->has_record_size_limit;
	if (c->connect_host != NULL && strcmp(c->connect_host, c->sni) != 0) {
		conn_refuse(c, REASON_HOST_MISMATCH, ALERT_UNRECOGNIZED_NAME,
		    "SNI differs from the name of the CONNECT");
		return;
	}
	judge_tls(c, hello);
}

static void peek(struct conn *c);

static void
on_guest(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	if ((what & EV_CLOSED) != 0)
		c->is_closing = true;
	if (c->state == CONN_PEEK)
		peek(c);
	else if (c->relay != NULL)
		relay_on_guest(c->relay, what);
}

void
conn_assign_events(struct conn *c)
{
	int rc = event_assign(&c->event, c->gate->base, c->fd,
	    EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, on_guest, c);

	assert(rc == 0);
	rc = event_assign(&c->timer, c->gate->base, -1, 0, on_timeout, c);
	assert(rc == 0);
}

/* False: no memory. */
static bool
watch_guest(struct conn *c)
{
	return event_pending(&c->event, EV_READ, NULL) != 0 ||
	    event_add(&c->event, NULL) == 0;
}

/* Waits for more of the hello. */
static void
peek_on(struct conn *c)
{
	/* No more will come, and what came is not whole. */
	if (c->is_closing) {
		conn_refuse(c, REASON_NO_SNI, 0, "closed in the hello");
		return;
	}
	if (!watch_guest(c)) {
		conn_refuse(c, REASON_LIMIT_CONNECTIONS, 0, "no memory");
		return;
	}
	/* Of the whole hello, not of each piece. */
	if (!evtimer_pending(&c->timer, NULL))
		conn_set_timeout(c, c->gate->limits.tls_timeout_ms,
		    REASON_TIMEOUT);
}

static void
peek(struct conn *c)
{
	struct peek p = conn_peek(c->fd, c->gate->scratch, GATE_SCRATCH_BYTES,
	    c->gate->conns->gather);

	switch (p.outcome) {
	case PEEK_HELLO:
		on_hello(c, &p.hello);
		break;
	case PEEK_MORE:
		peek_on(c);
		break;
	case PEEK_GONE:
		conn_refuse(c, REASON_NO_SNI, 0, "closed before the hello");
		break;
	case PEEK_REFUSE:
		conn_refuse(c, p.reason, p.alert, p.detail);
		break;
	}
}

/* Often all of it is there already, see gate.c on deferred accepts. */
static void
peek_start(struct conn *c)
{
	peek(c);
}

/* --- relay --- */

static void
dial_begin(struct conn *c)
{
	struct verdict v = conn_verdict(c);
	struct meter_refusal why;
	int rc;

	/* The question to the dialler has a time-out of its own. */
	(void)event_del(&c->timer);
	rc = relay_dial(c, &v, &why);
	if (rc == -EDQUOT) {
		c->spent = why.bit;
		conn_refuse(c, why.verdict.reason,
		    c->front == CONN_FRONT_TLS ? ALERT_ACCESS_DENIED : 0, NULL);
	} else if (rc != 0) {
		conn_refuse(c, REASON_LIMIT_CONNECTIONS, 0, "no memory");
	}
}

static void
relay_start(struct conn *c)
{
	/* Relays are watched over together, see relay.c. */
	relay_begin(c->relay);
	/*
	 * Only now: for the bytes that were peeked at, and are taken by now,
	 * there would have been an event of no use.
	 */
	if (c->state == CONN_RELAY && !watch_guest(c))
		conn_refuse(c, REASON_LIMIT_CONNECTIONS, 0, "no memory");
}

void
conn_relay_begins(struct conn *c)
{
	conn_enter(c, CONN_RELAY);
}

void
conn_relay_failed(struct conn *c, enum reason reason)
{
	uint8_t alert = 0;

	if (c->front == CONN_FRONT_TLS)
		alert = reason == REASON_PRIVATE_ADDRESS ? ALERT_ACCESS_DENIED
							 : ALERT_INTERNAL_ERROR;
	conn_refuse(c, reason, alert, NULL);
}

/* --- inspect --- */

static void
inspect_begin(struct conn *c)
{
	(void)event_del(&c->event);
	inspect_start(c);
}

void
conn_restart_as_tls(struct conn *c, const char *host, uint16_t port)
{
	struct verdict v;

	/* host may be a part of what is freed next. */
	c->connect_host = strdup(host);
	c->port = port;
	inspect_free(c->inspect);
	c->inspect = NULL;
	if (c->connect_host == NULL) {
		conn_refuse(c, REASON_LIMIT_CONNECTIONS, 0, "no memory");
		return;
	}
	v = conn_verdict(c);
	if (v.action == ACTION_ALLOW && v.scheme == SCHEME_TCP) {
		c->front = CONN_FRONT_TCP;
		conn_judge_tcp(c);
		return;
	}
	c->front = CONN_FRONT_TLS;
	conn_enter(c, CONN_PEEK);
}

/* --- all of them --- */

/* A relay carries on only while the policy would begin it again. */
static void
rejudge_relay(struct conn *c)
{
	struct verdict v = conn_verdict(c);
	bool may_stay = v.action == ACTION_ALLOW &&
	    (c->front == CONN_FRONT_TCP ? v.scheme == SCHEME_TCP
					: v.scheme == SCHEME_HTTPS &&
			v.tls == TLS_MODE_PASSTHROUGH);

	if (may_stay)
		relay_rejoin(c->relay, &v);
	else
		conn_close(c, REASON_POLICY_RELOADED);
}

void
conns_policy_changed(struct gate *g)
{
	struct conn *c, *next;

	for (c = TAILQ_FIRST(&g->conns->open); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		switch (c->state) {
		case CONN_DIAL:
		case CONN_RELAY:
			c->policy_generation = g->policy_generation;
			rejudge_relay(c);
			break;
		case CONN_INSPECT:
			inspect_policy_changed(c);
			break;
		case CONN_PEEK: /* is judged when its hello is whole */
		case CONN_CLOSING:
		case CONN_STATES:
			break;
		}
	}
}

int
conns_init(struct gate *g)
{
	struct conns *cs = calloc(1, sizeof(*cs));

	if (cs == NULL)
		return -ENOMEM;
	TAILQ_INIT(&cs->open);
	TAILQ_INIT(&cs->closed);
	cs->reaper = event_new(g->base, -1, 0, on_reap, cs);
	if (cs->reaper == NULL) {
		free(cs);
		return -ENOMEM;
	}
	g->conns = cs;
	return 0;
}

void
conns_end(struct gate *g)
{
	struct conn *c, *next;

	g->is_stopping = true;
	for (c = TAILQ_FIRST(&g->conns->open); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		/* What is inspected leaves a record for each exchange. */
		if (c->state == CONN_INSPECT)
			c->is_recorded = true;
		conn_close(c, REASON_GATE_RESTART);
	}
}

void
conns_done(struct gate *g)
{
	struct conns *cs = g->conns;

	if (cs == NULL)
		return;
	conns_end(g);
	conn_free_all(&cs->closed);
	event_free(cs->reaper);
	free(cs);
	g->conns = NULL;
}
