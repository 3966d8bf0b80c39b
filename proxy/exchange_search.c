/*
 * The search of an answer for the credential that its request carried.
 * Nothing that was not searched reaches the guest's half.
 */
#include "proxy/exchange_private.h"

#include <string.h>

/* Answer bytes that wait to be taken, beside what may be a start of one. */
#define HELD_MAX_BYTES 65536

static const struct scan_forms *
forms_of(const struct exchange *x)
{
	return &origin_injection(x->origin)->forms;
}

bool
exchange_holds_secret(const struct exchange *x, struct span s)
{
	size_t at, len;

	return x->has_credential && scan_find(forms_of(x), s, &at, &len);
}

/* Searches what is new in held; masks what is found. */
static void
search(struct exchange *x)
{
	const struct scan_forms *forms = forms_of(x);
	struct span rest = buf_span(&x->held);
	uint8_t *ptr = x->held.ptr + x->held.at + x->held_clean;
	size_t at, len;

	rest.ptr += x->held_clean;
	rest.len -= x->held_clean;
	while (scan_find(forms, rest, &at, &len)) {
		memset(ptr + at, '*', len);
		x->has_leaked = true;
		ptr += at + len;
		rest.ptr += at + len;
		rest.len -= at + len;
	}
	x->held_clean = x->held.len - scan_tail(forms, rest);
}

bool
exchange_give(struct exchange *x)
{
	struct span s = buf_span(&x->held);
	if (x->is_down_ending)
		x->held_clean = s.len; /* no more comes: it is no start */
	s.len = x->held_clean;
	if (s.len > 0) {
		size_t taken = x->ops->body(x->arg, s);

		x->down += taken;
		x->held_clean -= taken;
		buf_consume(&x->held, taken);
	}
	return x->held_clean == 0;
}

size_t
exchange_search_body(struct exchange *x, struct span data)
{
	size_t most = HELD_MAX_BYTES + forms_of(x)->len_max;

	if (data.len > most - x->held.len)
		data.len = most - x->held.len;
	if (data.len == 0)
		return 0;
	x->held.is_secret = true;
	if (buf_append(&x->held, data) != 0) {
		exchange_refuse_for(x, REASON_BAD_RESPONSE, "out of memory");
		return 0;
	}
	search(x);
	(void)exchange_give(x);
	return data.len;
}
