/* Bodies of the messages between supervisor and tapward-compile. */
#include "base/message_compile.h"

#include "base/message_field.h"

void
message_compile_encode(struct wr *w, const struct message_compile *m)
{
	wr_str16(w, m->display_name);
	field_bool_write(w, m->is_ceiling);
	field_bool_write(w, m->learns);
}

int
message_compile_decode(struct rd *r, struct message_compile *ret)
{
	struct message_compile m = { 0 };

	field_printable(r, m.display_name, sizeof(m.display_name));
	m.is_ceiling = field_bool(r);
	m.learns = field_bool(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_compiled_encode(struct wr *w, const struct message_compiled *m)
{
	field_bool_write(w, m->ok);
	wr_str16(w, m->digest);
	wr_span16(w, m->text);
}

int
message_compiled_decode(struct rd *r, struct message_compiled *ret)
{
	struct message_compiled m = { 0 };

	m.ok = field_bool(r);
	field_digest(r, m.digest);
	m.text = rd_str16(r, COMPILE_TEXT_MAX_BYTES);
	if (m.ok == (m.digest[0] == '\0'))
		rd_fail(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}
