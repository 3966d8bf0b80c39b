/* The body of what `tapward top` shows. */
#include "base/message_top.h"

#include "base/message_api.h"
#include "base/message_field.h"

static void
entry_encode(struct wr *w, const struct message_top_entry *m)
{
	wr_str16(w, m->name);
	wr_u8(w, m->state);
	wr_u32(w, m->owner_uid);
	wr_u64(w, m->generation);
	wr_u64(w, m->created_wall_ms);
	field_bool_write(w, m->learns);
	field_bool_write(w, m->is_shown);
	if (!m->is_shown)
		return;
	wr_u32(w, m->connections);
	wr_u32(w, m->asks);
	wr_u64(w, m->accepted);
	wr_u64(w, m->requests);
	wr_u64(w, m->denied);
	wr_u64(w, m->dropped);
	wr_u64(w, m->up);
	wr_u64(w, m->down);
}

static void
entry_decode(struct rd *r, struct message_top_entry *m)
{
	*m = (struct message_top_entry){ 0 };
	field_sandbox(r, m->name, false);
	m->state = field_enum(r, API_STATE_COUNT);
	m->owner_uid = rd_u32(r);
	m->generation = field_number(r);
	m->created_wall_ms = field_number(r);
	m->learns = field_bool(r);
	m->is_shown = field_bool(r);
	if (!m->is_shown)
		return;
	m->connections = rd_u32(r);
	m->asks = rd_u32(r);
	m->accepted = field_number(r);
	m->requests = field_number(r);
	m->denied = field_number(r);
	m->dropped = field_number(r);
	m->up = field_number(r);
	m->down = field_number(r);
}

void
message_top_encode(struct wr *w, const struct message_top *m)
{
	wr_u64(w, m->mono_ms);
	wr_u16(w, m->count);
	field_bool_write(w, m->has_more);
	for (size_t i = 0; i < m->count; i++)
		entry_encode(w, &m->entries[i]);
	field_bool_write(w, m->has_recent);
	if (m->has_recent)
		message_recent_encode(w, &m->recent);
}

int
message_top_decode(struct rd *r, struct message_top *ret)
{
	ret->mono_ms = field_number(r);
	ret->count = (uint16_t)field_count(r, TOP_PAGE_MAX);
	ret->has_more = field_bool(r);
	for (size_t i = 0; i < ret->count; i++)
		entry_decode(r, &ret->entries[i]);
	ret->has_recent = field_bool(r);
	if (ret->has_recent)
		(void)message_recent_decode(r, &ret->recent);
	return field_result(r);
}
