/*
 * What is told to the recorder, see message_audit.h. The sender cuts guest
 * bytes to one byte more than the recorder shows, so that the recorder can
 * tell a cut field from a whole one and no record outgrows a message.
 */
#include "base/message_audit.h"

#include <assert.h>
#include <string.h>

#include "base/message_field.h"

static const char *const event_names[] = {
	[AUDIT_DNS] = "dns",
	[AUDIT_CONNECT] = "connect",
	[AUDIT_REQUEST] = "request",
	[AUDIT_PACKET] = "packet",
	[AUDIT_LEASE] = "lease",
	[AUDIT_LIFECYCLE] = "lifecycle",
	[AUDIT_ASK] = "ask",
	[AUDIT_RUN] = "run",
};

static_assert(sizeof(event_names) / sizeof(event_names[0]) == AUDIT_EVENT_COUNT,
    "each event has a name");

/* enum action of conf/verdict.h: deny, ask, allow. */
#define ACTION_COUNT 3

struct audit_record
audit_record_init(enum audit_event event)
{
	return (struct audit_record){
		.event = event,
		.rule = "-",
		.file = "",
		.learned = { .rule = "", .file = "" },
		.credential = "",
		.address = "",
	};
}

const char *
audit_event_name(enum audit_event e)
{
	assert((unsigned int)e < AUDIT_EVENT_COUNT);
	return event_names[e];
}

const char *
audit_scheme_name(enum audit_scheme s)
{
	static const char *const names[AUDIT_SCHEME_COUNT] = {
		[AUDIT_SCHEME_NONE] = "",
		[AUDIT_SCHEME_HTTPS] = "https",
		[AUDIT_SCHEME_HTTP] = "http",
		[AUDIT_SCHEME_WSS] = "wss",
		[AUDIT_SCHEME_WS] = "ws",
		[AUDIT_SCHEME_TCP] = "tcp",
		[AUDIT_SCHEME_PASSTHROUGH] = "passthrough",
	};

	assert((unsigned int)s < AUDIT_SCHEME_COUNT);
	return names[s];
}

/* Our own text, which is printable; one that is not must not end us. */
static void
put_text(struct wr *w, const char *s, size_t size)
{
	struct span rest = { (const uint8_t *)s, strnlen(s, size - 1) };

	wr_u16(w, (uint16_t)rest.len);
	while (rest.len > 0) {
		size_t shown = span_printable(rest);

		wr_bytes(w, rest.ptr, shown);
		if (shown < rest.len) {
			wr_u8(w, '?');
			shown++;
		}
		rest.ptr += shown;
		rest.len -= shown;
	}
}

static void
put_guest(struct wr *w, struct span s, size_t max)
{
	if (s.len > max + 1)
		s.len = max + 1;
	wr_span16(w, s);
}

void
message_audit_encode(struct wr *w, const struct audit_record *m)
{
	wr_u8(w, (uint8_t)m->event);
	wr_u8(w, m->verdict);
	wr_u8(w, (uint8_t)m->reason);
	field_bool_write(w, m->by_ceiling);
	put_text(w, m->rule, sizeof(((struct audit_text *)0)->rule));
	put_text(w, m->file, sizeof(((struct audit_text *)0)->file));
	wr_u32(w, m->line);
	wr_u8(w, (uint8_t)m->learned.reason);
	put_text(w, m->learned.rule, sizeof(((struct audit_text *)0)->rule));
	put_text(w, m->learned.file, sizeof(((struct audit_text *)0)->file));
	wr_u32(w, m->learned.line);
	wr_u8(w, (uint8_t)m->scheme);
	put_guest(w, m->host, AUDIT_HOST_MAX);
	wr_u16(w, m->port);
	put_guest(w, m->method, METHOD_NAME_SIZE);
	put_guest(w, m->path, AUDIT_PATH_MAX);
	wr_u16(w, m->status);
	wr_u64(w, m->up);
	wr_u64(w, m->down);
	wr_u32(w, m->ms);
	put_text(w, m->credential, CREDENTIAL_NAME_SIZE);
	wr_u64(w, m->lease);
	put_text(w, m->address, ADDRESS_TEXT_SIZE);
	put_guest(w, m->detail, AUDIT_DETAIL_MAX);
}

int
message_audit_decode(struct rd *r, struct audit_text *text,
    struct audit_record *ret)
{
	struct audit_record m = audit_record_init(AUDIT_DNS);

	m.event = (enum audit_event)field_enum(r, AUDIT_EVENT_COUNT);
	m.verdict = field_enum(r, ACTION_COUNT);
	m.reason = (enum reason)field_enum(r, REASON_COUNT);
	m.by_ceiling = field_bool(r);
	field_printable(r, text->rule, sizeof(text->rule));
	field_printable(r, text->file, sizeof(text->file));
	m.line = rd_u32(r);
	m.learned.reason = (enum reason)field_enum(r, REASON_COUNT);
	field_printable(r, text->learned_rule, sizeof(text->learned_rule));
	field_printable(r, text->learned_file, sizeof(text->learned_file));
	m.learned.line = rd_u32(r);
	m.scheme = (enum audit_scheme)field_enum(r, AUDIT_SCHEME_COUNT);
	m.host = rd_str16(r, AUDIT_HOST_MAX + 1);
	m.port = rd_u16(r);
	m.method = rd_str16(r, METHOD_NAME_SIZE + 1);
	m.path = rd_str16(r, AUDIT_PATH_MAX + 1);
	m.status = rd_u16(r);
	m.up = field_number(r);
	m.down = field_number(r);
	m.ms = rd_u32(r);
	field_printable(r, text->credential, sizeof(text->credential));
	m.lease = field_number(r);
	field_printable(r, text->address, sizeof(text->address));
	m.detail = rd_str16(r, AUDIT_DETAIL_MAX + 1);
	m.rule = text->rule;
	m.file = text->file;
	m.learned.rule = text->learned_rule;
	m.learned.file = text->learned_file;
	m.credential = text->credential;
	m.address = text->address;
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_audit_state_encode(struct wr *w, bool can_write)
{
	field_bool_write(w, can_write);
}

int
message_audit_state_decode(struct rd *r, bool *ret_can_write)
{
	bool can_write = field_bool(r);

	if (rd_ok(r))
		*ret_can_write = can_write;
	return field_result(r);
}
