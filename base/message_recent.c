/* Bodies about what the recorder remembers, see message_recent.h. */
#include "base/message_recent.h"

#include "base/message_field.h"

void
recent_text(char *buf, size_t size, struct span s)
{
	static const char cut[] = "...";
	size_t n = s.len < size ? s.len : size - 1;

	for (size_t i = 0; i < n; i++)
		buf[i] =
		    (char)(s.ptr[i] < 0x20 || s.ptr[i] > 0x7e ? '?' : s.ptr[i]);
	buf[n] = '\0';
	if (n < s.len && n >= sizeof(cut))
		memcpy(buf + n - (sizeof(cut) - 1), cut, sizeof(cut));
}

void
message_recent_wanted_encode(struct wr *w,
    const struct message_recent_wanted *m)
{
	field_bool_write(w, m->all);
	wr_u16(w, m->count);
	for (size_t i = 0; i < m->count; i++)
		wr_u64(w, m->generations[i]);
}

int
message_recent_wanted_decode(struct rd *r, uint64_t room[RECENT_NAMED_MAX],
    struct message_recent_wanted *ret)
{
	struct message_recent_wanted m = { .generations = room };

	m.all = field_bool(r);
	m.count = (uint16_t)field_count(r, RECENT_NAMED_MAX);
	for (size_t i = 0; i < m.count; i++) {
		room[i] = rd_u64(r);
		if (i > 0 && room[i] <= room[i - 1])
			rd_fail(r);
	}
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

static void
refusal_encode(struct wr *w, const struct message_refusal *m)
{
	wr_u64(w, m->wall_ms);
	wr_u64(w, m->count);
	wr_str16(w, m->sandbox);
	wr_u8(w, m->event);
	wr_u8(w, (uint8_t)m->reason);
	field_bool_write(w, m->by_ceiling);
	wr_str16(w, m->rule);
	wr_str16(w, m->host);
	wr_u16(w, m->port);
	wr_str16(w, m->method);
	wr_str16(w, m->path);
}

static void
refusal_decode(struct rd *r, struct message_refusal *m)
{
	m->wall_ms = field_number(r);
	m->count = field_number(r);
	field_sandbox(r, m->sandbox, false);
	m->event = field_enum(r, AUDIT_EVENT_COUNT);
	m->reason = (enum reason)field_enum(r, REASON_COUNT);
	m->by_ceiling = field_bool(r);
	field_printable(r, m->rule, sizeof(m->rule));
	field_printable(r, m->host, sizeof(m->host));
	m->port = rd_u16(r);
	field_printable(r, m->method, sizeof(m->method));
	field_printable(r, m->path, sizeof(m->path));
}

static void
host_encode(struct wr *w, const struct message_recent_host *m)
{
	wr_u64(w, m->wall_ms);
	wr_str16(w, m->host);
	wr_u64(w, m->allowed);
	wr_u64(w, m->denied);
	wr_u64(w, m->up);
	wr_u64(w, m->down);
}

static void
host_decode(struct rd *r, struct message_recent_host *m)
{
	m->wall_ms = field_number(r);
	field_printable(r, m->host, sizeof(m->host));
	m->allowed = field_number(r);
	m->denied = field_number(r);
	m->up = field_number(r);
	m->down = field_number(r);
}

void
message_recent_encode(struct wr *w, const struct message_recent *m)
{
	message_recorder_status_encode(w, &m->status);
	wr_u16(w, m->refusal_count);
	for (size_t i = 0; i < m->refusal_count; i++)
		refusal_encode(w, &m->refusals[i]);
	wr_u16(w, m->host_count);
	for (size_t i = 0; i < m->host_count; i++)
		host_encode(w, &m->hosts[i]);
}

int
message_recent_decode(struct rd *r, struct message_recent *ret)
{
	(void)message_recorder_status_decode(r, &ret->status);
	ret->refusal_count = (uint16_t)field_count(r, RECENT_REFUSALS_MAX);
	for (size_t i = 0; i < ret->refusal_count; i++)
		refusal_decode(r, &ret->refusals[i]);
	ret->host_count = (uint16_t)field_count(r, RECENT_HOSTS_MAX);
	for (size_t i = 0; i < ret->host_count; i++)
		host_decode(r, &ret->hosts[i]);
	return field_result(r);
}
