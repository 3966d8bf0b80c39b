/*
 * The answer of an exchange: which of its fields go on, how it is framed, and
 * its ends. What it is searched for is in exchange_search.c.
 */
#include "proxy/exchange_private.h"
#include "proxy/lease.h"

#include "base/clock.h"
#include "wire/token.h"

/*
 * Fields of an origin that a guest does not get: ways around us, what looks
 * like our own refusal, and what the lease withholds.
 */
static bool
is_withheld(const struct exchange *x, struct span name)
{
	if (span_is_case(name, "alt-svc") ||
	    span_is_case(name, "tapward-reason") ||
	    span_is_case(name, "proxy-status"))
		return true;
	return x->has_credential &&
	    inject_is_withheld_by(&x->injection->lease, name);
}

/* False: a field that goes on holds the credential. */
static bool
take_fields(struct exchange *x, const struct http_response *res,
    struct exchange_head *h)
{
	h->fields.count = 0;
	if (exchange_holds_secret(x, res->reason))
		return false;
	for (size_t i = 0; i < res->fields.count; i++) {
		const struct http_field *f = &res->fields.at[i];

		if (!http_is_forwarded(&res->fields, f->name) ||
		    is_withheld(x, f->name))
			continue;
		if (exchange_holds_secret(x, f->name) ||
		    exchange_holds_secret(x, f->value))
			return false;
		h->fields.at[h->fields.count++] = *f;
	}
	return true;
}

/* A length that is told of a body that does not come (HEAD, 304). */
static void
take_told_length(const struct http_response *res, struct exchange_head *h)
{
	const struct http_field *f =
	    http_field_find(&res->fields, "content-length", 0);

	h->has_length = f != NULL && res->status != 204 &&
	    token_decimal(f->value, HTTP_LENGTH_MAX_BYTES, &h->length);
}

static void
take_framing(const struct http_response *res, struct exchange_head *h)
{
	h->has_length = false;
	switch (res->framing) {
	case HTTP_FRAMING_NONE:
		h->body = EXCHANGE_BODY_NONE;
		take_told_length(res, h);
		return;
	case HTTP_FRAMING_LENGTH:
		h->body = EXCHANGE_BODY_LENGTH;
		h->has_length = true;
		h->length = res->length;
		return;
	case HTTP_FRAMING_CHUNKED:
	case HTTP_FRAMING_CLOSE:
		h->body = EXCHANGE_BODY_UNKNOWN;
		return;
	case HTTP_FRAMING_TUNNEL:
		h->body = EXCHANGE_BODY_TUNNEL;
		return;
	}
}

/*
 * How well a secret is packed beside what a guest has sent tells whether they
 * are alike (BREACH): the head goes on before its body is searched, and that of
 * HEAD has none.
 */
static void
hide_length(struct exchange_head *h)
{
	if (h->body == EXCHANGE_BODY_LENGTH)
		h->body = EXCHANGE_BODY_UNKNOWN;
	h->has_length = false;
}

/*
 * RFC 9110 15.5.2: what is answered 401 was not applied, so whatever its method
 * it may be sent again, with another value, if all of it is still here: it has
 * no body, or one that is held until it is signed.
 */
static bool
may_renew(const struct exchange *x, const struct http_response *res)
{
	const struct message_lease *l;

	if (res->status != 401 || !x->has_credential || x->injection == NULL ||
	    x->was_renewed || x->push != NULL || !x->is_up_whole ||
	    x->is_up_begun)
		return false;
	l = &x->injection->lease;
	return l->renew_boot_ms != 0 && clock_boot_ms() >= l->renew_boot_ms;
}

/* The guest sees neither this answer nor that there was one. */
static void
renew(struct exchange *x)
{
	struct origin *o = x->origin;

	x->was_renewed = true;
	x->origin = NULL;
	lease_rejected(x->gate, x->injection->lease.lease_id);
	origin_release(o);
	exchange_go_out(x);
}

void
exchange_origin_head(struct exchange *x, const struct http_response *res)
{
	struct exchange_head h;

	exchange_alive(x);
	if (may_renew(x, res)) {
		renew(x);
		return;
	}
	if (res->framing == HTTP_FRAMING_TUNNEL &&
	    !exchange_tunnel_open(x, res))
		return;
	if (!exchange_search_begin(x, res) ||
	    !exchange_lfs_answer_begin(x, res))
		return;
	if (!take_fields(x, res, &h)) {
		exchange_refuse_leak(x, "in its head");
		return;
	}
	take_framing(res, &h);
	if (exchange_is_searched(x) && coding_of(&res->fields) != CODING_NONE)
		hide_length(&h);
	h.status = res->status;
	h.reason = res->reason;
	h.is_early = !x->is_up_whole;
	if (!exchange_meter_head(x, &h))
		return;
	exchange_note_redirect(x, res);
	x->status = res->status;
	x->has_answered = true;
	/* RFC 9110 15.5.2: the credential was not taken. */
	if (res->status == 401 && x->has_credential && x->injection != NULL)
		lease_rejected(x->gate, x->injection->lease.lease_id);
	x->ops->head(x->arg, &h);
}

static size_t
take_body(struct exchange *x, struct span data)
{
	size_t taken;

	if (x->tunnel != NULL)
		return exchange_tunnel_down(x, data);
	if (exchange_is_searched(x))
		return exchange_search_body(x, data);
	taken = x->ops->body(x->arg, data);
	exchange_went_down(x, taken);
	return taken;
}

size_t
exchange_origin_body(struct exchange *x, struct span data)
{
	size_t taken;

	exchange_alive(x);
	if (!exchange_meter_down(x, data.len) || !exchange_lfs_answer(x, data))
		return 0;
	meter_count(x->gate, &x->meter, METER_DOWN, data.len);
	taken = take_body(x, data);
	exchange_lfs_answered(x, taken);
	meter_return(x->gate, &x->meter, METER_DOWN, data.len - taken);
	return taken;
}

bool
exchange_origin_trailers(struct exchange *x, const struct http_fields *f)
{
	struct http_fields kept = { .count = 0 };

	for (size_t i = 0; i < f->count; i++) {
		if (is_withheld(x, f->at[i].name))
			continue;
		if (exchange_holds_secret(x, f->at[i].name) ||
		    exchange_holds_secret(x, f->at[i].value)) {
			exchange_refuse_leak(x, "in its trailers");
			return false;
		}
		kept.at[kept.count++] = f->at[i];
	}
	if (kept.count == 0)
		return true;
	if (!exchange_meter_down(x, exchange_meter_fields(&kept)))
		return false;
	meter_count(x->gate, &x->meter, METER_DOWN,
	    exchange_meter_fields(&kept));
	x->ops->trailers(x->arg, &kept);
	return true;
}

void
exchange_origin_end(struct exchange *x)
{
	if (x->tunnel != NULL) {
		exchange_tunnel_origin_end(x);
		return;
	}
	x->is_down_ending = true;
	if (!exchange_lfs_answer_end(x))
		return;
	if (exchange_search_end(x) && exchange_give(x))
		exchange_finish(x);
}

void
exchange_resume(struct exchange *x)
{
	bool is_empty;

	if (x->state != EXCHANGE_OPEN)
		return;
	if (x->tunnel != NULL) {
		exchange_tunnel_resume(x);
		return;
	}
	is_empty = exchange_give(x);
	if (!x->is_down_ending)
		origin_resume(x->origin);
	else if (is_empty)
		exchange_finish(x);
}
