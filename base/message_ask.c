/* Bodies of the questions of [ask] and of their answers. */
#include "base/message_ask.h"

#include <string.h>

#include "base/message_field.h"

/* enum scheme of conf/verdict.h: https, http. */
#define SCHEMES 2

bool
ask_subject_equals(const struct message_ask_subject *a,
    const struct message_ask_subject *b)
{
	return a->scheme == b->scheme && a->port == b->port &&
	    a->is_websocket == b->is_websocket &&
	    strcmp(a->host, b->host) == 0 &&
	    strcmp(a->method, b->method) == 0 &&
	    strcmp(a->target, b->target) == 0 &&
	    strcmp(a->credential, b->credential) == 0;
}

static void
subject_encode(struct wr *w, const struct message_ask_subject *m)
{
	wr_u8(w, m->scheme);
	wr_u16(w, m->port);
	wr_str16(w, m->host);
	wr_str16(w, m->method);
	wr_str16(w, m->target);
	field_bool_write(w, m->is_websocket);
	wr_str16(w, m->credential);
}

static void
subject_decode(struct rd *r, struct message_ask_subject *m)
{
	m->scheme = field_enum(r, SCHEMES);
	m->port = rd_u16(r);
	field_printable(r, m->host, sizeof(m->host));
	field_printable(r, m->method, sizeof(m->method));
	field_printable(r, m->target, sizeof(m->target));
	m->is_websocket = field_bool(r);
	field_printable(r, m->credential, sizeof(m->credential));
	/* Each of them is somewhere, and is asked for something. */
	if (m->port == 0 || m->host[0] == '\0' || m->method[0] == '\0' ||
	    m->target[0] == '\0')
		rd_fail(r);
}

void
message_ask_encode(struct wr *w, const struct message_ask *m)
{
	subject_encode(w, &m->subject);
	field_bool_write(w, m->by_ceiling);
	wr_str16(w, m->rule);
	wr_str16(w, m->file);
	wr_u32(w, m->line);
	wr_u64(w, m->body_bytes);
}

int
message_ask_decode(struct rd *r, struct message_ask *ret)
{
	struct message_ask m = { .line = 0 };

	subject_decode(r, &m.subject);
	m.by_ceiling = field_bool(r);
	field_printable(r, m.rule, sizeof(m.rule));
	field_printable(r, m.file, sizeof(m.file));
	m.line = rd_u32(r);
	m.body_bytes = rd_u64(r);
	/* It is shown in JSON, as other numbers are. */
	if (m.body_bytes != ASK_BODY_UNKNOWN && m.body_bytes >> 53 != 0)
		rd_fail(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_asked_encode(struct wr *w, const struct message_asked *m)
{
	wr_u8(w, m->outcome);
	wr_str16(w, m->by);
}

int
message_asked_decode(struct rd *r, struct message_asked *ret)
{
	struct message_asked m = { .outcome = field_enum(r, ASK_OUTCOMES) };

	field_printable(r, m.by, sizeof(m.by));
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_ask_allowed_encode(struct wr *w, const struct message_ask_allowed *m)
{
	wr_str16(w, m->sandbox);
	wr_u64(w, m->generation);
	subject_encode(w, &m->subject);
	field_bool_write(w, m->by_host);
	wr_u32(w, m->seconds);
}

int
message_ask_allowed_decode(struct rd *r, struct message_ask_allowed *ret)
{
	struct message_ask_allowed m = { .seconds = 0 };

	field_sandbox(r, m.sandbox, false);
	m.generation = rd_u64(r);
	subject_decode(r, &m.subject);
	m.by_host = field_bool(r);
	m.seconds = rd_u32(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}
