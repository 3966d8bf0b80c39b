/* Bodies of the messages between supervisor and recorder. */
#include "base/message_recorder.h"

#include "base/message_field.h"

void
message_recorder_sandbox_encode(struct wr *w,
    const struct message_recorder_sandbox *m)
{
	wr_str16(w, m->sandbox);
	wr_u64(w, m->generation);
	wr_str16(w, m->policy);
}

int
message_recorder_sandbox_decode(struct rd *r, bool is_daemon_ok,
    struct message_recorder_sandbox *ret)
{
	struct message_recorder_sandbox m = { 0 };

	field_sandbox(r, m.sandbox, is_daemon_ok);
	m.generation = rd_u64(r);
	field_digest(r, m.policy);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_recorder_event_encode(struct wr *w,
    const struct message_recorder_event *m)
{
	message_recorder_sandbox_encode(w, &m->about);
	message_audit_encode(w, &m->record);
}

int
message_recorder_event_decode(struct rd *r, struct audit_text *text,
    struct message_recorder_event *ret)
{
	int rc = message_recorder_sandbox_decode(r, true, &ret->about);

	if (rc != 0)
		return rc;
	return message_audit_decode(r, text, &ret->record);
}

void
message_recorder_counters_encode(struct wr *w,
    const struct message_recorder_counters *m)
{
	message_recorder_sandbox_encode(w, &m->about);
	wr_u8(w, m->kind);
	for (size_t i = 0; i < REASON_PACKET_COUNT; i++)
		wr_u64(w, m->packets[i]);
}

int
message_recorder_counters_decode(struct rd *r,
    struct message_recorder_counters *ret)
{
	struct message_recorder_counters m;
	int rc = message_recorder_sandbox_decode(r, false, &m.about);

	if (rc != 0)
		return rc;
	m.kind = field_enum(r, RECORDER_COUNTERS_COUNT);
	for (size_t i = 0; i < REASON_PACKET_COUNT; i++)
		m.packets[i] = rd_u64(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_recorder_read_encode(struct wr *w,
    const struct message_recorder_read *m)
{
	wr_str16(w, m->sandbox);
	wr_u64(w, m->generation);
	field_bool_write(w, m->denied_only);
	field_bool_write(w, m->follow);
	field_bool_write(w, m->has_more);
	wr_str16(w, m->last);
}

int
message_recorder_read_decode(struct rd *r, struct message_recorder_read *ret)
{
	struct message_recorder_read m = { 0 };

	field_sandbox(r, m.sandbox, true);
	m.generation = rd_u64(r);
	m.denied_only = field_bool(r);
	m.follow = field_bool(r);
	m.has_more = field_bool(r);
	field_printable(r, m.last, sizeof(m.last));
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_recorder_older_encode(struct wr *w,
    const struct message_recorder_older *m)
{
	wr_u32(w, m->reader);
	field_bool_write(w, m->has_more);
	wr_str16(w, m->last);
}

int
message_recorder_older_decode(struct rd *r, struct message_recorder_older *ret)
{
	struct message_recorder_older m = { 0 };

	m.reader = rd_u32(r);
	m.has_more = field_bool(r);
	field_printable(r, m.last, sizeof(m.last));
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_recorder_status_encode(struct wr *w,
    const struct message_recorder_status *m)
{
	field_bool_write(w, m->can_write);
	wr_u64(w, m->seq);
	wr_str16(w, m->head);
	wr_u64(w, m->lost);
	wr_u32(w, m->senders);
	wr_u32(w, m->readers);
}

int
message_recorder_status_decode(struct rd *r,
    struct message_recorder_status *ret)
{
	struct message_recorder_status m = { 0 };

	m.can_write = field_bool(r);
	m.seq = rd_u64(r);
	field_digest(r, m.head);
	m.lost = rd_u64(r);
	m.senders = rd_u32(r);
	m.readers = rd_u32(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}
