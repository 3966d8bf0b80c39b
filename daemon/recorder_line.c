/*
 * The form of a line. Its first fields are fixed in order, since
 * base/audit_verify.c reads them by position.
 */
#include "daemon/recorder_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "conf/verdict.h"

static void
write_head(struct json *j, const struct recorder_line *line)
{
	char time[CLOCK_TEXT_SIZE];

	json_u64(j, "seq", line->head.seq);
	json_str(j, "time", clock_text(line->wall_ms, time));
	json_str(j, "prev", line->head.prev);
	json_str(j, "sandbox", line->about->sandbox);
	json_u64(j, "generation", line->about->generation);
	json_str(j, "policy", line->about->policy);
}

static const char *
verdict_name(uint8_t verdict)
{
	switch (verdict) {
	case ACTION_ALLOW:
		return action_name(ACTION_ALLOW);
	case ACTION_ASK:
		return action_name(ACTION_ASK);
	default:
		return action_name(ACTION_DENY);
	}
}

static void
write_reason(struct json *j, const struct audit_record *r)
{
	const struct verdict v = {
		.reason = r->reason,
		.by_ceiling = r->by_ceiling,
	};
	char code[48];

	json_str(j, "reason",
	    r->reason == REASON_NONE ? "" : verdict_code(&v, code));
}

static void
write_at(struct json *j, const char *key, const char *file, uint32_t line)
{
	char at[192];
	struct wr w = wr_init(at, sizeof(at));

	if (file[0] == '\0') {
		json_str(j, key, "-");
		return;
	}
	wr_text(&w, file);
	wr_u8(&w, ':');
	wr_decimal(&w, line);
	json_bytes(j, key, (struct span){ w.buf, w.len }, sizeof(at));
}

/* What the policy said, beside what the ceiling has decided. */
static void
write_learned(struct json *j, const struct audit_learned *l)
{
	if (l->reason == REASON_NONE)
		return;
	json_str(j, "learned", reason_code(l->reason));
	json_str(j, "learned_rule", l->rule);
	write_at(j, "learned_at", l->file, l->line);
}

static void
write_where(struct json *j, const struct audit_record *r)
{
	if (r->scheme != AUDIT_SCHEME_NONE)
		json_str(j, "scheme", audit_scheme_name(r->scheme));
	if (r->host.len != 0)
		json_bytes(j, "host", r->host, AUDIT_HOST_MAX);
	if (r->port != 0)
		json_u64(j, "port", r->port);
	if (r->address[0] != '\0')
		json_str(j, "address", r->address);
	if (r->method.len != 0)
		json_bytes(j, "method", r->method, METHOD_NAME_SIZE);
	if (r->path.len != 0)
		json_bytes(j, "path", r->path, AUDIT_PATH_MAX);
}

static void
write_traffic(struct json *j, const struct audit_record *r)
{
	bool counts = r->event == AUDIT_CONNECT || r->event == AUDIT_REQUEST ||
	    r->event == AUDIT_RUN;

	if (r->status != 0)
		json_u64(j, "status", r->status);
	if (counts || r->up != 0)
		json_u64(j, "up", r->up);
	if (counts || r->down != 0)
		json_u64(j, "down", r->down);
	if (counts || r->ms != 0)
		json_u64(j, "ms", r->ms);
}

void
recorder_line_write(struct wr *w, const struct recorder_line *line,
    const struct audit_record *record)
{
	struct json j = json_init(w);

	json_open_object(&j, NULL);
	write_head(&j, line);
	json_str(&j, "event", audit_event_name(record->event));
	json_str(&j, "verdict", verdict_name(record->verdict));
	write_reason(&j, record);
	json_str(&j, "rule", record->rule);
	write_at(&j, "at", record->file, record->line);
	write_learned(&j, &record->learned);
	write_where(&j, record);
	write_traffic(&j, record);
	if (record->credential[0] != '\0')
		json_str(&j, "credential", record->credential);
	if (record->lease != 0)
		json_u64(&j, "lease", record->lease);
	if (record->detail.len != 0)
		json_bytes(&j, "detail", record->detail, AUDIT_DETAIL_MAX);
	json_close_object(&j);
}

static bool
contains(struct span line, const char *text)
{
	return memmem(line.ptr, line.len, text, strlen(text)) != NULL;
}

bool
recorder_line_matches(struct span line,
    const struct message_recorder_read *wanted)
{
	char field[SANDBOX_NAME_SIZE + 64];

	/* A quote inside a value is escaped: what matches is a field. */
	if (wanted->denied_only && !contains(line, ",\"verdict\":\"deny\","))
		return false;
	if (wanted->sandbox[0] == '\0')
		return true;
	if (wanted->generation == 0)
		(void)snprintf(field, sizeof(field), ",\"sandbox\":\"%s\",",
		    wanted->sandbox);
	else
		(void)snprintf(field, sizeof(field),
		    ",\"sandbox\":\"%s\",\"generation\":%" PRIu64 ",",
		    wanted->sandbox, wanted->generation);
	return contains(line, field);
}
