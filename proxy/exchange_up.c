/*
 * The way up of an exchange: the request's body and what is behind it.
 */
#include "proxy/exchange_private.h"

#include <assert.h>

static size_t
take_up(struct exchange *x, struct span data)
{
	size_t taken;

	if (x->push != NULL)
		return exchange_push_up(x, data);
	if (exchange_holds_body(x))
		return exchange_sign_up(x, data);
	taken = origin_send_body(x->origin, data);
	exchange_went_up(x, taken);
	x->is_up_begun = x->is_up_begun || taken > 0;
	return taken;
}

size_t
exchange_up(struct exchange *x, struct span data)
{
	size_t taken;

	assert(exchange_wants_body(x));
	exchange_alive(x);
	/* What goes nowhere counts for nothing. */
	if (x->push != NULL && exchange_push_is_refused(x))
		return exchange_push_up(x, data);
	if (!exchange_meter_up(x, data.len))
		return 0;
	meter_count(x->gate, &x->meter, METER_UP, data.len);
	taken = take_up(x, data);
	meter_return(x->gate, &x->meter, METER_UP, data.len - taken);
	return taken;
}

void
exchange_up_trailers(struct exchange *x, const struct http_fields *f)
{
	/* Where anything is granted, no field that was not looked through. */
	if (x->state != EXCHANGE_OPEN ||
	    grants_have(lease_grants(x->gate), x->host, x->port))
		return;
	if (!exchange_meter_up(x, exchange_meter_fields(f)))
		return;
	meter_count(x->gate, &x->meter, METER_UP, exchange_meter_fields(f));
	x->is_up_begun = true;
	origin_send_trailers(x->origin, f);
}

void
exchange_up_end(struct exchange *x)
{
	x->is_up_whole = true;
	if (x->is_up_spent)
		return;
	if (x->push != NULL)
		exchange_push_end(x);
	else if (exchange_holds_body(x))
		exchange_sign_up_end(x);
	else if (x->state == EXCHANGE_OPEN)
		origin_send_end(x->origin);
}

void
exchange_origin_room(struct exchange *x)
{
	if (x->push != NULL)
		exchange_push_room(x);
	else if (x->state == EXCHANGE_OPEN && exchange_holds_body(x))
		exchange_sign_room(x);
	else if (exchange_wants_body(x))
		x->ops->resume_body(x->arg);
}
