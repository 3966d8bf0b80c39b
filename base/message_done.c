/*
 * The answer that both dialler and broker give, see message_done.h.
 */
#include "base/message_done.h"

#include "base/message_field.h"

void
message_done_encode(struct wr *w, const struct message_done *m)
{
	field_bool_write(w, m->ok);
	wr_str16(w, m->text);
}

int
message_done_decode(struct rd *r, struct message_done *ret)
{
	struct message_done m = { .ok = field_bool(r) };

	field_printable(r, m.text, sizeof(m.text));
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}
