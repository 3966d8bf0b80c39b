/*
 * The one record that an exchange leaves.
 */
#include "proxy/exchange_private.h"

#include <stdio.h>

#include "base/clock.h"
#include "proxy/audit.h"

/* Room for two clauses of our own words; and with what was masked. */
#define SAID_SIZE 256
#define DETAIL_SIZE (SAID_SIZE + EXCHANGE_LEAK_SIZE + 2)

/* Two clauses, of which either may be empty. */
static void
join(char *buf, size_t size, const char *first, const char *second)
{
	if (first[0] == '\0' || second[0] == '\0')
		text_copy(buf, size, first[0] == '\0' ? second : first);
	else
		(void)snprintf(buf, size, "%s; %s", first, second);
}

/*
 * A credential that came back was masked, and the answer went on: that is the
 * reason of a record that else has none, and in it beside any other.
 */
static void
note_masked(const struct exchange *x, struct audit_record *r,
    const char *detail, char buf[DETAIL_SIZE])
{
	char masked[EXCHANGE_LEAK_SIZE];

	if (x->sieve.found.form == SCAN_NONE ||
	    r->reason == REASON_CREDENTIAL_LEAK) {
		text_copy(buf, DETAIL_SIZE, detail);
		return;
	}
	if (r->reason == REASON_NONE)
		r->reason = REASON_CREDENTIAL_LEAK;
	exchange_leak_text(x, "masked in its body", masked);
	join(buf, DETAIL_SIZE, masked, detail);
}

static enum audit_scheme
scheme_of(const struct exchange *x)
{
	if (x->front.scheme == SCHEME_HTTP)
		return x->is_websocket ? AUDIT_SCHEME_WS : AUDIT_SCHEME_HTTP;
	return x->is_websocket ? AUDIT_SCHEME_WSS : AUDIT_SCHEME_HTTPS;
}

void
exchange_audit(struct exchange *x, enum reason reason, bool by_ceiling,
    const char *detail)
{
	struct audit_record r = audit_record_init(AUDIT_REQUEST);
	char text[DETAIL_SIZE], said[SAID_SIZE];

	join(said, sizeof(said), x->asked, detail);
	r.verdict = reason == REASON_NONE ? ACTION_ALLOW : ACTION_DENY;
	r.reason = reason;
	note_masked(x, &r, said, text);
	r.by_ceiling = by_ceiling;
	r.rule = x->verdict.rule[0] == '\0' ? "-" : x->verdict.rule;
	r.file = x->verdict.file;
	r.line = x->verdict.line;
	if (x->verdict.learned != REASON_NONE)
		r.learned = (struct audit_learned){ x->verdict.learned,
			x->verdict.learned_rule, x->verdict.learned_file,
			x->verdict.learned_line };
	r.scheme = scheme_of(x);
	r.host = span_of(x->host);
	r.port = x->port;
	r.method = span_of(x->method);
	r.path = (struct span){ (const uint8_t *)x->target,
		x->path.len + x->query.len + (x->has_query ? 1 : 0) };
	r.status = (uint16_t)x->status;
	r.up = x->up;
	r.down = x->down;
	r.ms = (uint32_t)(clock_mono_ms() - x->started_ms);
	r.credential = x->has_credential ? x->verdict.credential : "";
	r.lease = x->injection == NULL ? 0 : x->injection->lease.lease_id;
	r.address = x->address;
	r.detail = span_of(text);
	audit_send(x->gate, &r);
	*x->front.is_recorded = true;
}
