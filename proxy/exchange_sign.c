/*
 * An exchange whose credential is a key for AWS: its request was signed with
 * a placeholder, and goes out signed anew (proxy/resign.h). If what is signed
 * hangs on the whole body, that is held until it is there; chunks that are
 * signed one by one are held one by one. What all may hold is in [limits].
 */
#include "proxy/exchange_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "proxy/resign_mint.h"

/* One chunk with its line, where a gate may hold less than that in all. */
#define CHUNK_HELD_BYTES (RESIGN_CHUNK_MAX_BYTES + SIGV4_CHUNK_LINE_MAX + 2)

int
exchange_sign_begin(struct exchange *x, const struct http_request *req)
{
	return x->has_credential ? resign_new(req, &x->resign) : 0;
}

void
exchange_sign_free(struct exchange *x)
{
	x->gate->sign_bytes -= x->sign_bytes;
	x->sign_bytes = 0;
	resign_free(x->resign);
	x->resign = NULL;
}

void
exchange_sign_ask(const struct exchange *x, struct message_lease_request *req)
{
	const struct sigv4_scope *s;

	if (x->resign == NULL || x->resign->status != SIGV4_OK)
		return;
	s = &x->resign->guest.scope;
	memcpy(req->region, s->region, sizeof(s->region));
	memcpy(req->service, s->service, sizeof(s->service));
}

const char *
exchange_sign_detail(const struct exchange *x, enum reason reason,
    const char *detail)
{
	return reason == REASON_CREDENTIAL_MISUSE && x->resign != NULL &&
		x->resign->status != SIGV4_OK
	    ? sigv4_status_text(x->resign->status)
	    : detail;
}

bool
exchange_is_signed(const struct exchange *x)
{
	return x->injection != NULL &&
	    x->injection->lease.apply == LEASE_APPLY_SIGV4;
}

/* False: the gate holds as much as it may. */
static bool
count(struct exchange *x, size_t more)
{
	if (x->gate->limits.sign_memory_bytes - x->gate->sign_bytes < more)
		return false;
	x->gate->sign_bytes += more;
	x->sign_bytes += more;
	return true;
}

static void
refuse_large(struct exchange *x)
{
	struct deny d = deny_init(REASON_CREDENTIAL_MISUSE);

	d.status = 413;
	d.rule = x->verdict.rule;
	d.file = x->verdict.file;
	d.line = x->verdict.line;
	d.credential = x->verdict.credential;
	d.detail = "there is no room to hold its body until it is signed";
	exchange_refuse(x, &d);
}

static void
refuse(struct exchange *x, const char *detail)
{
	exchange_refuse_for(x, REASON_CREDENTIAL_MISUSE, detail);
}

/* --- the head --- */

static const char *
mint_fault(const struct exchange *x)
{
	struct resign_asked a = { .service = x->resign->guest.scope.service,
		.path = x->path,
		.query = x->query,
		.body = buf_span(&x->resign->held) };
	struct span coding;

	a.is_coded = exchange_head_find(x, "content-encoding", &coding);
	(void)exchange_head_find(x, "x-amz-target", &a.target);
	return resign_mint_fault(&a);
}

/* As they go out, with the length that origin_send_head() will write. */
static void
take_fields(const struct exchange *x, char length[24], struct http_fields *f)
{
	exchange_head_fields(x, f);
	if (x->framing != HTTP_FRAMING_LENGTH || f->count == HTTP_FIELDS_MAX)
		return;
	(void)snprintf(length, 24, "%llu", (unsigned long long)x->length);
	f->at[f->count++] =
	    (struct http_field){ span_of("content-length"), span_of(length) };
}

static int
sign_with(struct exchange *x, const struct resign_key *k)
{
	struct buf query = { .is_secret = true };
	struct http_fields fields;
	struct resign_request req = { .method = span_of(x->method),
		.path = x->path,
		.query = x->has_query ? x->query : (struct span){ NULL, 0 },
		.fields = &fields,
		.wall_ms = clock_wall_ms() };
	char length[24];
	int rc;

	exchange_strip_signed(x);
	take_fields(x, length, &fields);
	rc = resign_sign(x->resign, k, &req, &x->pair_line, &query);
	if (rc == 0 && x->resign->guest.form == SIGV4_QUERY)
		rc = exchange_set_query(x, buf_span(&query));
	buf_done(&query);
	return rc;
}

/* The whole of what is signed is there. */
static void
sign_now(struct exchange *x)
{
	const struct injection *in = x->injection;
	const char *fault = NULL;
	struct resign_key k;
	int rc = -EINVAL;

	if (!resign_is_sound(x->resign))
		fault = "its AWS signature does not fit the placeholder's key";
	if (fault == NULL)
		fault = mint_fault(x);
	if (fault != NULL) {
		refuse(x, fault);
		return;
	}
	if (x->is_held && x->framing != HTTP_FRAMING_NONE) {
		x->framing = HTTP_FRAMING_LENGTH;
		x->length = x->resign->held.len;
	}
	if (resign_key_parse(secret_span(&in->lease.value), &k)) {
		rc = strcmp(k.scope.region, x->resign->guest.scope.region) ==
			    0 &&
			strcmp(k.scope.service,
			    x->resign->guest.scope.service) == 0
		    ? sign_with(x, &k)
		    : -EINVAL;
		resign_key_wipe(&k);
	}
	if (rc != 0)
		exchange_refuse_for(x, REASON_CREDENTIAL_UNAVAILABLE,
		    rc == -ENOMEM ? "out of memory" : "it cannot be signed");
	else
		exchange_connect(x, NULL);
}

void
exchange_sign(struct exchange *x)
{
	struct resign *r = x->resign;

	if (r == NULL) {
		refuse(x, sigv4_status_text(SIGV4_NONE));
		return;
	}
	if (r->status != SIGV4_OK) {
		refuse(x, sigv4_status_text(r->status));
		return;
	}
	if (strcmp(r->guest.key_id, x->injection->lease.placeholder) != 0) {
		refuse(x,
		    "it is signed with another key than the "
		    "credential's placeholder");
		return;
	}
	if (exchange_brings_parameter(x)) {
		refuse(x,
		    "its query has a parameter that another credential "
		    "sets");
		return;
	}
	x->is_held = resign_wants_body(r) ||
	    resign_mint_reads_body(r->guest.scope.service);
	if (x->is_held && r->guest.payload == SIGV4_PAYLOAD_CHUNKS) {
		refuse(x, "this service takes no signed chunks");
		return;
	}
	if (r->guest.payload == SIGV4_PAYLOAD_CHUNKS && x->sign_bytes == 0 &&
	    !count(x, CHUNK_HELD_BYTES)) {
		refuse_large(x);
		return;
	}
	if (!x->is_held || x->is_up_whole) {
		sign_now(x);
		return;
	}
	exchange_enter(x, EXCHANGE_SIGN);
	x->ops->want_body(x->arg);
}

void
exchange_sign_on_kick(struct exchange *x)
{
	if (x->up_fault == NULL)
		sign_now(x);
	else if (x->is_up_large)
		refuse_large(x);
	else
		exchange_refuse_for(x, REASON_BAD_REQUEST, x->up_fault);
}

/* --- the body --- */

bool
exchange_holds_body(const struct exchange *x)
{
	return x->resign != NULL && exchange_is_signed(x) &&
	    (x->is_held || x->resign->guest.payload == SIGV4_PAYLOAD_CHUNKS);
}

/* The guest's half is running: what is to be told is told in the next turn. */
static size_t
fail(struct exchange *x, const char *fault)
{
	x->up_fault = fault;
	event_active(&x->kick, 0, 0);
	return 0;
}

static size_t
hold(struct exchange *x, struct span data)
{
	if (!count(x, data.len)) {
		x->is_up_large = true;
		return fail(x, "too large");
	}
	if (buf_append(&x->resign->held, data) != 0)
		return fail(x, "out of memory");
	return data.len;
}

/* What is held and signed goes out. True: all of it went. */
static bool
send_held(struct exchange *x)
{
	struct resign *r = x->resign;
	struct span all = buf_span(&r->held);

	while (r->sent < all.len) {
		size_t sent = origin_send_body(x->origin,
		    (struct span){ all.ptr + r->sent, all.len - r->sent });

		if (sent == 0)
			return false;
		r->sent += sent;
		exchange_went_up(x, sent);
	}
	return true;
}

/* The same of a chunk; then there is room for the next. */
static bool
send_chunk(struct exchange *x)
{
	struct resign *r = x->resign;

	if (!r->is_chunk_signed)
		return true;
	if (!send_held(x))
		return false;
	buf_consume(&r->held, r->held.len);
	r->sent = 0;
	r->chunk_len = 0;
	r->is_chunk_signed = false;
	return true;
}

static size_t
take_chunks(struct exchange *x, struct span data)
{
	const char *fault = NULL;
	struct resign_key k;
	size_t taken = 0;

	if (!resign_key_parse(secret_span(&x->injection->lease.value), &k))
		return fail(x, "it cannot be signed");
	while (send_chunk(x) && taken < data.len && fault == NULL)
		taken += resign_take(x->resign, &k,
		    (struct span){ data.ptr + taken, data.len - taken },
		    &fault);
	resign_key_wipe(&k);
	x->is_up_begun = true;
	return fault == NULL ? taken : fail(x, fault);
}

size_t
exchange_sign_up(struct exchange *x, struct span data)
{
	if (x->up_fault != NULL)
		return 0;
	return x->state == EXCHANGE_SIGN ? hold(x, data) : take_chunks(x, data);
}

void
exchange_sign_up_end(struct exchange *x)
{
	if (x->up_fault != NULL)
		return;
	if (x->state == EXCHANGE_SIGN)
		event_active(&x->kick, 0, 0);
	else if (x->state == EXCHANGE_OPEN && !x->resign->is_whole)
		(void)fail(x, "its signed chunks ended early");
	else if (x->state == EXCHANGE_OPEN)
		exchange_sign_room(x);
}

void
exchange_sign_room(struct exchange *x)
{
	if (x->up_fault != NULL)
		return;
	if (x->is_held ? send_held(x) : send_chunk(x)) {
		if (x->is_up_whole)
			origin_send_end(x->origin);
		else
			x->ops->resume_body(x->arg);
	}
}

void
exchange_sign_open(struct exchange *x)
{
	x->resign->sent = 0;
	if (x->is_up_whole)
		exchange_sign_room(x);
	else
		x->ops->want_body(x->arg);
}
