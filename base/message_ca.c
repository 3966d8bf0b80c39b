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
