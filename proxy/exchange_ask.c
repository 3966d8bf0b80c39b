/*
 * A request that an [ask] rule holds: its head is kept, its body is not read,
 * and nothing is looked up, minted or dialled for it until somebody said yes.
 * What is asked is what will be sent, byte for byte; what could be read in
 * another way cannot be asked about.
 */
#include "proxy/exchange_private.h"

#include <stdio.h>
#include <string.h>

static void
refuse(struct exchange *x, enum reason reason, const char *detail)
{
	struct deny d = deny_init(reason);

	d.by_ceiling = x->verdict.by_ceiling;
	d.rule = x->verdict.rule;
	d.file = x->verdict.file;
	d.line = x->verdict.line;
	d.detail = detail;
	exchange_refuse(x, &d);
}

static bool
is_plain(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] <= ' ' || s.ptr[i] >= 0x7f)
			return false;
	return true;
}

/* "/path?query" of the request. */
static struct span
target_of(const struct exchange *x)
{
	return (struct span){ (const uint8_t *)x->target,
		x->path.len + (x->has_query ? 1 + x->query.len : 0) };
}

/* NULL, or why it cannot be asked about. */
static const char *
fill_subject(const struct exchange *x, struct message_ask_subject *s)
{
	struct span target = target_of(x);

	if (x->as_method[0] != '\0')
		return "it asks for another method beside its own";
	if (!is_plain(target) || !is_plain(span_of(x->method)))
		return "it cannot be shown as it is";
	if (target.len == 0 || target.len >= sizeof(s->target))
		return "its target is too long to be asked about";
	s->scheme = (uint8_t)x->front.scheme;
	s->port = x->port;
	s->is_websocket = x->is_websocket;
	memcpy(s->target, target.ptr, target.len);
	s->target[target.len] = '\0';
	(void)snprintf(s->host, sizeof(s->host), "%s", x->host);
	(void)snprintf(s->method, sizeof(s->method), "%s", x->method);
	(void)snprintf(s->credential, sizeof(s->credential), "%s",
	    x->verdict.credential);
	return NULL;
}

static uint64_t
body_bytes(const struct exchange *x)
{
	if (x->framing == HTTP_FRAMING_NONE)
		return 0;
	return x->framing == HTTP_FRAMING_LENGTH && x->length >> 53 == 0
	    ? x->length
	    : ASK_BODY_UNKNOWN;
}

bool
exchange_is_held(const struct exchange *x)
{
	return x->hold != NULL;
}

struct verdict
exchange_answered(const struct exchange *x, struct verdict v)
{
	/* An answer for the policy is none for the ceiling. */
	if (v.action == ACTION_ASK && x->is_answered &&
	    (!v.by_ceiling || x->verdict.by_ceiling))
		v.action = ACTION_ALLOW;
	return v;
}

static void
go_on(struct exchange *x)
{
	struct verdict v;

	x->is_answered = true;
	v = exchange_judge(x);
	/* Its time may be up meanwhile. */
	if (v.action != ACTION_ALLOW) {
		struct deny d = deny_of(&v);

		exchange_keep_verdict(x, &v);
		exchange_refuse(x, &d);
		return;
	}
	exchange_alive(x);
	exchange_release(x);
}

static void
on_answer(enum hold_end how, const char *by, void *arg)
{
	struct exchange *x = arg;

	x->hold = NULL;
	switch (how) {
	case HOLD_ALLOWED:
		(void)snprintf(x->asked, sizeof(x->asked), "allowed by %s", by);
		go_on(x);
		return;
	case HOLD_DENIED:
		(void)snprintf(x->asked, sizeof(x->asked), "denied by %s", by);
		refuse(x, REASON_ASK_DENIED, "");
		return;
	case HOLD_UNHEARD:
		refuse(x, REASON_ASK_TIMEOUT, "tapwardd cannot ask any more");
		return;
	case HOLD_LATE:
		refuse(x, REASON_ASK_TIMEOUT, "");
		return;
	}
}

void
exchange_ask(struct exchange *x)
{
	struct message_ask m = { .by_ceiling = x->verdict.by_ceiling,
		.line = x->verdict.line,
		.body_bytes = body_bytes(x) };
	const char *fault = fill_subject(x, &m.subject);

	(void)snprintf(m.rule, sizeof(m.rule), "%s", x->verdict.rule);
	(void)snprintf(m.file, sizeof(m.file), "%s", x->verdict.file);
	if (fault == NULL) {
		exchange_enter(x, EXCHANGE_ASK);
		x->hold = hold_new(x->gate, &m,
		    x->head.len + x->path.len + x->query.len, on_answer, x,
		    &fault);
	}
	if (x->hold == NULL)
		refuse(x, REASON_ASK_TIMEOUT, fault);
}

void
exchange_ask_policy_changed(struct exchange *x, const struct verdict *v)
{
	const bool is_same =
	    strcmp(v->credential, x->verdict.credential) == 0 &&
	    (v->reads_push || v->reads_lfs) == (x->push != NULL);

	if (v->action == ACTION_DENY || !is_same ||
	    (v->action == ACTION_ASK && v->by_ceiling &&
		!x->verdict.by_ceiling)) {
		exchange_refuse_for(x, REASON_POLICY_RELOADED, "");
		return;
	}
	meter_rejoin(x->gate, &x->meter, v);
	if (v->action == ACTION_ALLOW)
		hold_release(x->hold, "the policy that was loaded");
}
