/*
 * What an exchange counts for, see meter.h: its request when it is let
 * through, the head and the body of each way as they go on. A head counts by
 * the bytes of its canonical text, of the answer by names and values.
 */
#include "proxy/exchange_private.h"

#include <string.h>

/* Between name and value, and at the end of a field's line. */
#define FIELD_EXTRA_BYTES 4

static const char beyond[] = "LFS: more than the object that was announced";

void
exchange_refuse_budget(struct exchange *x, const struct meter_refusal *why)
{
	struct deny d = deny_of(&why->verdict);
	struct verdict v = why->verdict;
	char credential[CREDENTIAL_NAME_SIZE];

	d.status = why->status;
	d.detail = why->detail;
	d.retry_after_s = why->retry_after_s;
	/* The record names whose budget it was. */
	memcpy(credential, x->verdict.credential, sizeof(credential));
	v.credential = credential;
	exchange_keep_verdict(x, &v);
	exchange_refuse(x, &d);
}

static void
on_over(const struct meter_refusal *why, void *arg)
{
	exchange_refuse_budget(arg, why);
}

bool
exchange_meter_begin(struct exchange *x, const struct verdict *v)
{
	uint64_t head = x->head.len, all = head;
	struct meter_refusal why;

	if (x->framing == HTTP_FRAMING_LENGTH && x->length > x->up_max) {
		exchange_refuse_for(x, REASON_LIMIT_UPLOAD, beyond);
		return false;
	}
	if (x->framing == HTTP_FRAMING_LENGTH)
		all += x->length;
	x->meter.on_over = on_over;
	x->meter.arg = x;
	if (meter_begin(x->gate, &x->meter, v, head, all, &why))
		return true;
	exchange_refuse_budget(x, &why);
	return false;
}

bool
exchange_meter_up(struct exchange *x, uint64_t bytes)
{
	x->is_up_beyond = bytes > x->up_max - x->up;
	if (!x->is_up_beyond &&
	    bytes <= meter_left(x->gate, &x->meter, METER_UP))
		return true;
	/* Whoever sends is in the middle of something: in the next turn. */
	x->is_up_spent = true;
	x->up_wanted = bytes;
	event_active(&x->kick, 0, 0);
	return false;
}

bool
exchange_meter_kick(struct exchange *x)
{
	struct meter_refusal why;

	if (!x->is_up_spent)
		return true;
	if (x->is_up_beyond) {
		exchange_refuse_for(x, REASON_LIMIT_UPLOAD, beyond);
		return false;
	}
	meter_refusal_of(x->gate, &x->meter, METER_UP, x->up_wanted, &why);
	exchange_refuse_budget(x, &why);
	return false;
}

bool
exchange_meter_down(struct exchange *x, uint64_t bytes)
{
	struct meter_refusal why;

	if (bytes <= meter_left(x->gate, &x->meter, METER_DOWN))
		return true;
	meter_refusal_of(x->gate, &x->meter, METER_DOWN, bytes, &why);
	exchange_refuse_budget(x, &why);
	return false;
}

uint64_t
exchange_meter_fields(const struct http_fields *f)
{
	uint64_t n = 0;

	for (size_t i = 0; i < f->count; i++)
		n += f->at[i].name.len + f->at[i].value.len + FIELD_EXTRA_BYTES;
	return n;
}

bool
exchange_meter_head(struct exchange *x, const struct exchange_head *h)
{
	uint64_t head = h->reason.len + exchange_meter_fields(&h->fields);
	uint64_t all = head;

	if (h->body == EXCHANGE_BODY_LENGTH)
		all += h->length;
	if (!exchange_meter_down(x, all))
		return false;
	meter_count(x->gate, &x->meter, METER_DOWN, head);
	x->meter.is_tunnel = h->body == EXCHANGE_BODY_TUNNEL;
	return true;
}
