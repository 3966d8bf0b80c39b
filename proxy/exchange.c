/*
 * One request and its answer, see exchange.h: the states and their ends.
 */
#include "proxy/exchange_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define TO(state) (1u << (state))

static const struct exchange_step {
	const char *name;
	unsigned int next;
} steps[] = {
	[EXCHANGE_JUDGE] = { "judge",
	    TO(EXCHANGE_ASK) | TO(EXCHANGE_PUSH) | TO(EXCHANGE_GRANTS) |
		TO(EXCHANGE_LEASE) | TO(EXCHANGE_CONNECT) | TO(EXCHANGE_OPEN) |
		TO(EXCHANGE_OVER) },
	[EXCHANGE_ASK] = { "ask",
	    TO(EXCHANGE_PUSH) | TO(EXCHANGE_GRANTS) | TO(EXCHANGE_LEASE) |
		TO(EXCHANGE_CONNECT) | TO(EXCHANGE_OPEN) | TO(EXCHANGE_OVER) },
	[EXCHANGE_PUSH] = { "push",
	    TO(EXCHANGE_GRANTS) | TO(EXCHANGE_LEASE) | TO(EXCHANGE_CONNECT) |
		TO(EXCHANGE_OPEN) | TO(EXCHANGE_OVER) },
	[EXCHANGE_GRANTS] = { "grants",
	    TO(EXCHANGE_LEASE) | TO(EXCHANGE_CONNECT) | TO(EXCHANGE_OPEN) |
		TO(EXCHANGE_OVER) },
	[EXCHANGE_LEASE] = { "lease",
	    TO(EXCHANGE_SIGN) | TO(EXCHANGE_CONNECT) | TO(EXCHANGE_OPEN) |
		TO(EXCHANGE_OVER) },
	[EXCHANGE_SIGN] = { "sign",
	    TO(EXCHANGE_CONNECT) | TO(EXCHANGE_OPEN) | TO(EXCHANGE_OVER) },
	[EXCHANGE_CONNECT] = { "connect",
	    TO(EXCHANGE_OPEN) | TO(EXCHANGE_OVER) },
	/*
	 * Back, when a pooled connection turned out to be closed, or a push
	 * to be larger than it may.
	 */
	[EXCHANGE_OPEN] = { "open",
	    TO(EXCHANGE_PUSH) | TO(EXCHANGE_LEASE) | TO(EXCHANGE_CONNECT) |
		TO(EXCHANGE_OVER) },
	[EXCHANGE_OVER] = { "over", 0 },
};

static_assert(sizeof(steps) / sizeof(steps[0]) == EXCHANGE_STATES,
    "each state has a row");

void
exchange_enter(struct exchange *x, enum exchange_state next)
{
	assert(steps[x->state].next & TO(next));
	log_debug("exchange", "state=%s next=%s", steps[x->state].name,
	    steps[next].name);
	x->state = next;
}

static void
on_buried(struct grave *grave)
{
	struct exchange *x = (struct exchange *)grave; /* its first member */

	buf_done(&x->head);
	buf_done(&x->authorization);
	exchange_sign_free(x);
	exchange_tunnel_free(x->tunnel);
	exchange_push_free(x->push);
	sieve_done(&x->sieve);
	secret_done(&x->pair_line);
	injection_unref(x->injection);
	free(x->granted);
	free(x->target);
	free(x);
}

/* Nothing of the origin or the broker is heard any more. */
static void
leave(struct exchange *x)
{
	struct origin *o = x->origin;

	exchange_enter(x, EXCHANGE_OVER);
	(void)event_del(&x->timer);
	(void)event_del(&x->kick);
	exchange_stop_waiting(x);
	exchange_tunnel_close(x);
	exchange_push_close(x);
	lease_cancel(x->lease);
	hold_cancel(x->hold);
	x->lease = NULL;
	x->hold = NULL;
	x->origin = NULL;
	if (o != NULL)
		origin_release(o);
	meter_end(x->gate, &x->meter);
	pool_note_freed(x->gate, x->up + x->down);
	pool_bury(x->gate, &x->grave, on_buried);
	x->ops->over(x->arg);
}

void
exchange_finish(struct exchange *x)
{
	exchange_audit(x, REASON_NONE, false,
	    x->note != NULL ? x->note : exchange_push_text(x));
	if (!x->is_end_told)
		x->ops->end(x->arg);
	leave(x);
}

static void
complete(struct exchange *x, struct deny *d)
{
	d->method = span_of(x->method);
	d->scheme = x->front.scheme;
	d->host = x->host;
	d->port = x->port;
	d->path = x->path;
	d->form = x->form;
}

/* As the guest sees it; 0: it sees none. */
static unsigned int
status_of(const struct deny *d)
{
	return d->is_unseen ? 0 : deny_status(d);
}

void
exchange_refuse(struct exchange *x, struct deny *d)
{
	if (!x->has_answered) {
		complete(x, d);
		x->status = status_of(d);
		x->ops->refuse(x->arg, d);
	} else {
		x->ops->cut(x->arg);
	}
	exchange_audit(x, d->reason, d->by_ceiling, d->detail);
	leave(x);
}

void
exchange_refuse_for(struct exchange *x, enum reason reason, const char *detail)
{
	struct deny d = deny_init(reason);

	d.rule = x->verdict.rule;
	d.file = x->verdict.file;
	d.line = x->verdict.line;
	d.detail = detail;
	if (reason == REASON_CREDENTIAL_UNAVAILABLE ||
	    reason == REASON_CREDENTIAL_MISUSE || reason == REASON_WEBSOCKET)
		d.credential = x->verdict.credential;
	exchange_refuse(x, &d);
}

/* --- the time-out of an exchange in which nothing moves --- */

void
exchange_alive(struct exchange *x)
{
	x->alive_ms = clock_mono_ms();
}

static void
set_timer(struct exchange *x, uint64_t ms)
{
	struct timeval tv = { .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	(void)event_add(&x->timer, &tv);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct exchange *x = arg;
	uint64_t quiet = clock_mono_ms() - x->alive_ms;
	uint64_t most = x->gate->limits.relay_idle_timeout_ms;

	(void)fd;
	(void)what;
	/* How long it may be held is its hold's business. */
	if (x->hold != NULL)
		quiet = 0;
	/* Set once for an exchange: bytes only note when they came. */
	if (quiet < most)
		set_timer(x, most - quiet);
	else
		exchange_refuse_for(x, REASON_TIMEOUT, "");
}

static void
on_kick(evutil_socket_t fd, short what, void *arg)
{
	struct exchange *x = arg;

	if (!exchange_meter_kick(x))
		return;
	if (x->state == EXCHANGE_SIGN || x->up_fault != NULL)
		exchange_sign_on_kick(x);
	else
		exchange_search_on_kick(fd, what, arg);
}

/* --- from the request to the origin --- */

static int
keep_target(struct exchange *x, const struct http_request *req)
{
	size_t len = req->path.len + 1 + req->query.len;
	struct wr w;

	x->target = malloc(len + 1);
	if (x->target == NULL)
		return -ENOMEM;
	w = wr_init(x->target, len + 1);
	wr_bytes(&w, req->path.ptr, req->path.len);
	wr_u8(&w, '?');
	wr_bytes(&w, req->query.ptr, req->query.len);
	wr_u8(&w, 0);
	x->path = (struct span){ (uint8_t *)x->target, req->path.len };
	x->query =
	    (struct span){ x->path.ptr + req->path.len + 1, req->query.len };
	x->has_query = req->has_query;
	return 0;
}

static struct exchange *
make(const struct exchange_front *front, const struct http_request *req,
    const struct exchange_guest_ops *ops, void *arg)
{
	struct exchange *x = calloc(1, sizeof(*x));
	struct wr w;
	int rc;

	if (x == NULL)
		return NULL;
	x->front = *front;
	x->gate = front->gate;
	x->ops = ops;
	x->arg = arg;
	x->started_ms = x->alive_ms = clock_mono_ms();
	rc = event_assign(&x->timer, x->gate->base, -1, 0, on_timer, x);
	assert(rc == 0);
	rc = event_assign(&x->kick, x->gate->base, -1, 0, on_kick, x);
	assert(rc == 0);
	w = wr_init(x->method, sizeof(x->method) - 1);
	wr_bytes(&w, req->method.ptr,
	    req->method.len < METHOD_NAME_SIZE ? req->method.len
					       : METHOD_NAME_SIZE - 1);
	x->known_method = req->known_method;
	x->is_websocket = req->is_websocket;
	x->up_max = UINT64_MAX;
	x->framing = req->framing;
	x->length = req->length;
	x->takes_trailers =
	    !req->is_websocket && http_takes_trailers(&req->fields);
	x->is_up_whole = req->framing == HTTP_FRAMING_NONE ||
	    (req->framing == HTTP_FRAMING_LENGTH && req->length == 0);
	if (keep_target(x, req) != 0) {
		free(x);
		return NULL;
	}
	x->form = deny_form_of(&req->fields, x->path);
	return x;
}

static enum reason
check_verdict(const struct exchange *x, const struct verdict *v)
{
	if (v->action == ACTION_DENY)
		return v->reason;
	/* One method is read: there must not be two. */
	if ((v->reads_push || v->reads_lfs) && x->as_method[0] != '\0')
		return REASON_BAD_REQUEST;
	/* Of the broker one method is asked for: there must not be two. */
	if (v->credential[0] != '\0' &&
	    (x->front.scheme != SCHEME_HTTPS || x->as_method[0] != '\0'))
		return REASON_CREDENTIAL_MISUSE;
	return REASON_NONE;
}

void
exchange_release(struct exchange *x)
{
	if (x->push != NULL)
		exchange_push_begin(x);
	else
		exchange_proceed(x);
}

static void
begin(struct exchange *x, const struct http_request *req)
{
	const char *detail = "";
	enum reason r = exchange_check(x, req, &detail);
	struct verdict v;
	struct deny d;
	int rc;

	if (r != REASON_NONE) {
		exchange_refuse_for(x, r, detail);
		return;
	}
	/* No origin is behind it, and no rule is about it: a grant is. */
	if (exchange_is_metadata(x)) {
		exchange_metadata(x, req);
		return;
	}
	v = exchange_lfs_find(x, exchange_judge_all(x, &x->is_redirect));
	exchange_keep_verdict(x, &v);
	r = check_verdict(x, &v);
	if (r != REASON_NONE) {
		d = deny_of(&v);
		d.reason = r;
		exchange_refuse(x, &d);
		return;
	}
	x->has_credential = v.credential[0] != '\0' &&
	    inject_method_may_carry(req->known_method);
	rc = exchange_sign_begin(x, req);
	if (rc == 0 && (v.reads_push || v.reads_lfs) &&
	    !exchange_push_new(x, req, v.reads_lfs))
		rc = -ENOMEM;
	if (rc == 0)
		rc = exchange_write_head(x, req);
	if (rc != 0) {
		exchange_refuse_for(x, REASON_BAD_REQUEST,
		    rc == -ENOMEM ? "out of memory" : "it cannot be rewritten");
		return;
	}
	if (!exchange_meter_begin(x, &v))
		return;
	set_timer(x, x->gate->limits.relay_idle_timeout_ms);
	if (v.action == ACTION_ASK)
		exchange_ask(x);
	else
		exchange_release(x);
}

int
exchange_start(const struct exchange_front *front,
    const struct http_request *req, const struct exchange_guest_ops *ops,
    void *arg, struct exchange **slot)
{
	struct exchange *x = make(front, req, ops, arg);

	if (x == NULL)
		return -ENOMEM;
	*slot = x;
	begin(x, req);
	return 0;
}

struct injection *
exchange_injection(const struct exchange *x)
{
	return x == NULL ? NULL : x->injection;
}

/* False: the lease has ended while the way to the origin was made. */
static bool
put_in(const struct exchange *x, struct origin_request *r)
{
	const struct secret *line = &x->injection->line;

	r->credential_line =
	    secret_span(x->pair_line.len > 0 ? &x->pair_line : line);
	r->credential = x->injection;
	return clock_boot_ms() < x->injection->lease.expires_boot_ms;
}

void
exchange_open(struct exchange *x)
{
	struct origin_request r = {
		.head = buf_span(&x->head),
		.method = x->known_method,
		.framing = x->framing,
		.length = x->length,
		.takes_trailers = x->takes_trailers,
		.is_websocket = x->is_websocket,
		.is_target_secret = x->head.is_secret,
	};

	if (x->has_credential && !put_in(x, &r)) {
		exchange_refuse_for(x, REASON_CREDENTIAL_UNAVAILABLE,
		    "its lease has ended");
		return;
	}
	memcpy(x->address, origin_address(x->origin), sizeof(x->address));
	if (origin_send_head(x->origin, &r) != 0) {
		exchange_refuse_for(x, REASON_ORIGIN_UNREACHABLE,
		    "out of memory");
		return;
	}
	exchange_enter(x, EXCHANGE_OPEN);
	exchange_alive(x);
	if (x->push != NULL)
		exchange_push_open(x);
	else if (exchange_holds_body(x))
		exchange_sign_open(x);
	else if (x->is_up_whole)
		origin_send_end(x->origin);
	else
		x->ops->want_body(x->arg);
}

/* --- bodies and ends --- */

bool
exchange_wants_body(const struct exchange *x)
{
	if (x->hold != NULL)
		return false;
	if (x->push != NULL)
		return exchange_push_wants(x);
	return (x->state == EXCHANGE_OPEN || x->state == EXCHANGE_SIGN) &&
	    !x->is_up_whole;
}

void
exchange_reject(struct exchange *x, enum reason reason, const char *detail)
{
	exchange_refuse_for(x, reason, detail);
}

void
exchange_abort(struct exchange *x, enum reason reason, const char *detail)
{
	struct origin *o = x->origin;

	/* It is not the guest that has gone. */
	if (x->gate->is_stopping && reason == REASON_NONE) {
		reason = REASON_GATE_RESTART;
		detail = "";
	}
	exchange_stop_waiting(x);
	x->origin = NULL;
	exchange_audit(x, reason, false, detail);
	/* In the middle of something: never to be used again. */
	origin_free(o);
	leave(x);
}

void
exchange_policy_changed(struct exchange *x)
{
	struct verdict v = exchange_lfs_granted(x, exchange_judge(x));
	bool is_same = strcmp(v.credential, x->verdict.credential) == 0;

	if (x->hold != NULL) {
		exchange_ask_policy_changed(x, &v);
		return;
	}
	if (v.action == ACTION_ALLOW && is_same &&
	    (x->push != NULL ? exchange_push_still(x)
			     : !v.reads_push && !v.reads_lfs)) {
		meter_rejoin(x->gate, &x->meter, &v);
		return;
	}
	exchange_refuse_for(x, REASON_POLICY_RELOADED, "");
}
