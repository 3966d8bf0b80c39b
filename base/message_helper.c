/*
 * Helper programs, see message_helper.h.
 */
#include "base/message_helper.h"

#include "base/message_field.h"

void
message_helper_run_encode(struct wr *w, const struct message_helper_run *m)
{
	wr_str16(w, m->credential);
}

int
message_helper_run_decode(struct rd *r, struct message_helper_run *ret)
{
	if (rd_cstr16(r, ret->credential, sizeof(ret->credential)) == 0)
		rd_fail(r);
	return field_result(r);
}

void
message_helper_ran_encode(struct wr *w, const struct message_helper_ran *m)
{
	wr_u8(w, m->outcome);
	wr_u8(w, m->status);
}

int
message_helper_ran_decode(struct rd *r, struct message_helper_ran *ret)
{
	ret->outcome = field_enum(r, HELPER_OUTCOMES);
	ret->status = rd_u8(r);
	return field_result(r);
}
