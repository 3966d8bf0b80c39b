/*
 * Supervisor and tapward-ca, see message_ca.h.
 */
#include "base/message_ca.h"

#include "base/message_field.h"

void
message_ca_make_encode(struct wr *w, const struct message_ca_make *m)
{
	wr_str16(w, m->common_name);
	wr_u32(w, m->lifetime_s);
}

int
message_ca_make_decode(struct rd *r, struct message_ca_make *ret)
{
	struct message_ca_make m = { .lifetime_s = 0 };

	field_printable(r, m.common_name, sizeof(m.common_name));
	m.lifetime_s = rd_u32(r);
	if (m.common_name[0] == '\0' || m.lifetime_s == 0)
		rd_fail(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_ca_set_encode(struct wr *w, const struct message_ca_set *m)
{
	wr_str16(w, m->name);
	wr_str16(w, m->at);
	wr_str16(w, m->file);
	field_bool_write(w, m->is_only);
	wr_u16(w, (uint16_t)m->host_count);
	for (unsigned int i = 0; i < m->host_count; i++)
		wr_str16(w, m->hosts[i]);
}

int
message_ca_set_decode(struct rd *r, struct message_ca_set *ret)
{
	*ret = (struct message_ca_set){ .host_count = 0 };
	field_printable(r, ret->name, sizeof(ret->name));
	field_printable(r, ret->at, sizeof(ret->at));
	field_printable(r, ret->file, sizeof(ret->file));
	ret->is_only = field_bool(r);
	ret->host_count = field_count(r, CA_SET_HOSTS_MAX);
	for (unsigned int i = 0; i < ret->host_count && rd_ok(r); i++) {
		field_printable(r, ret->hosts[i], sizeof(ret->hosts[i]));
		if (ret->hosts[i][0] == '\0')
			rd_fail(r);
	}
	if (ret->name[0] == '\0' || ret->host_count == 0)
		rd_fail(r);
	return field_result(r);
}

void
message_ca_roots_encode(struct wr *w, const struct message_ca_roots *m)
{
	wr_u32(w, m->set_count);
}

int
message_ca_roots_decode(struct rd *r, struct message_ca_roots *ret)
{
	ret->set_count = rd_u32(r);
	if (ret->set_count > CA_SETS_MAX)
		rd_fail(r);
	return field_result(r);
}

void
message_ca_result_encode(struct wr *w, const struct message_ca_result *m)
{
	field_bool_write(w, m->ok);
	wr_u32(w, m->count);
	wr_str16(w, m->text);
}

int
message_ca_result_decode(struct rd *r, struct message_ca_result *ret)
{
	struct message_ca_result m = { .ok = false };

	m.ok = field_bool(r);
	m.count = rd_u32(r);
	field_printable(r, m.text, sizeof(m.text));
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}
