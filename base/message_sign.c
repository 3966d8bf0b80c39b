/* Gate and broker, see message_sign.h. */
#include "base/message_sign.h"

#include "base/message_field.h"

void
message_sign_encode(struct wr *w, const struct message_sign *m)
{
	wr_u64(w, m->lease_id);
	wr_u16(w, m->scheme);
	wr_span16(w, m->text);
}

int
message_sign_decode(struct rd *r, struct message_sign *ret)
{
	ret->lease_id = rd_u64(r);
	ret->scheme = rd_u16(r);
	ret->text = rd_str16(r, SIGN_TEXT_MAX);
	if (ret->lease_id == 0 || ret->text.len == 0)
		rd_fail(r);
	return field_result(r);
}

void
message_signed_encode(struct wr *w, const struct message_signed *m)
{
	wr_span16(w, m->signature);
}

int
message_signed_decode(struct rd *r, struct message_signed *ret)
{
	ret->signature = rd_str16(r, SIGN_SIGNATURE_MAX);
	return field_result(r);
}
