/*
 * One request of a guest in HTTP/2 and its answer. What the exchange tells is
 * only gathered here.
 */
#include "proxy/h2_guest_private.h"

#include <stdio.h>
#include <string.h>

#include "proxy/audit.h"
#include "wire/http2.h"

static void
reset(struct h2_stream *s, uint32_t error)
{
	(void)nghttp2_submit_rst_stream(s->h->link.session, NGHTTP2_FLAG_NONE,
	    s->id, error);
	h2_guest_kick(s->h);
}

/* There is something new for the session to send. */
static void
go_on(struct h2_stream *s)
{
	if (s->is_deferred) {
		s->is_deferred = false;
		(void)nghttp2_session_resume_data(s->h->link.session, s->id);
	}
	h2_guest_kick(s->h);
}

/* Nothing of the answer can follow: it is shown not to be whole. */
static void
break_off(struct h2_stream *s)
{
	reset(s, NGHTTP2_INTERNAL_ERROR);
}

/* --- the answer --- */

static int
submit_trailers(struct h2_stream *s)
{
	struct http_fields f;
	struct h2_nv nv;

	h2_head_fields(&s->trailers, &f);
	h2_nv_init(&nv);
	h2_nv_fields(&nv, &f);
	return nghttp2_submit_trailer(s->h->link.session, s->id, nv.at,
	    nv.count);
}

ssize_t
h2_stream_read(void *stream, uint8_t *room, size_t size, uint32_t *flags)
{
	struct h2_stream *s = stream;
	size_t len;

	if (s == NULL)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	len = s->out.len < size ? s->out.len : size;
	if (len > 0)
		memcpy(room, buf_span(&s->out).ptr, len);
	buf_consume(&s->out, len);
	if (s->x != NULL && len > 0)
		exchange_alive(s->x);
	if (s->is_down_blocked &&
	    s->out.len <= s->h->gate->limits.wait_bytes / 2)
		s->h->has_room = true;
	if (s->out.len == 0 && s->is_ended) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (s->trailers.count > 0) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			if (submit_trailers(s) != 0)
				return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
		}
	} else if (len == 0) {
		s->is_deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)len;
}

static void
submit(struct h2_stream *s, const struct h2_nv *nv, bool has_body)
{
	const nghttp2_data_provider source = h2_link_body(&s->h->link);

	if (nghttp2_submit_response(s->h->link.session, s->id, nv->at,
		nv->count, has_body ? &source : NULL) != 0)
		break_off(s);
	h2_guest_kick(s->h);
}

static void
on_want_body(void *arg)
{
	struct h2_stream *s = arg;
	struct h2_nv nv;

	/* Not to one that did not wait (RFC 9110 10.1.1). */
	if (s->expects_continue && s->in.len == 0 && !s->is_whole) {
		h2_nv_init(&nv);
		h2_nv_status(&nv, 100);
		(void)nghttp2_submit_headers(s->h->link.session,
		    NGHTTP2_FLAG_NONE, s->id, NULL, nv.at, nv.count, NULL);
	}
	s->expects_continue = false;
	s->h->has_work = true;
	h2_guest_kick(s->h);
}

static void
on_resume_body(void *arg)
{
	struct h2_stream *s = arg;

	s->is_up_blocked = false;
	s->h->has_work = true;
	h2_guest_kick(s->h);
}

static void
on_head(void *arg, const struct exchange_head *e)
{
	struct h2_stream *s = arg;
	struct h2_nv nv;

	h2_nv_init(&nv);
	h2_nv_status(&nv, e->status);
	h2_nv_fields(&nv, &e->fields);
	if (e->has_length)
		h2_nv_length(&nv, e->length);
	submit(s, &nv,
	    e->body == EXCHANGE_BODY_UNKNOWN ||
		(e->body == EXCHANGE_BODY_LENGTH && e->length > 0));
}

static size_t
on_body(void *arg, struct span data)
{
	struct h2_stream *s = arg;
	size_t most = s->h->gate->limits.wait_bytes;

	most = s->out.len >= most ? 0 : most - s->out.len;

	if (data.len > most) {
		s->is_down_blocked = true;
		data.len = most;
	}
	if (data.len == 0)
		return 0;
	if (buf_append(&s->out, data) != 0)
		break_off(s);
	go_on(s);
	return data.len;
}

static void
on_trailers(void *arg, const struct http_fields *f)
{
	struct h2_stream *s = arg;

	for (size_t i = 0; i < f->count; i++)
		if (h2_head_add(&s->trailers, f->at[i].name, f->at[i].value,
			s->h->gate->limits.head_max_bytes) != 0)
			break_off(s);
}

static void
on_end(void *arg)
{
	struct h2_stream *s = arg;

	s->is_ended = true;
	go_on(s);
}

static void
on_cut(void *arg)
{
	break_off(arg);
}

/* --- denials --- */

/* gRPC's names of what a status says (its statuscodes document). */
static const char *
grpc_status(unsigned int status)
{
	switch (status) {
	case 429:
		return "8"; /* RESOURCE_EXHAUSTED */
	case 502:
	case 503:
	case 504:
		return "14"; /* UNAVAILABLE */
	default:
		return "7"; /* PERMISSION_DENIED */
	}
}

/* Printable ASCII but '%', which it is escaped by. */
static void
write_message(struct wr *w, const struct deny_answer *a)
{
	for (size_t i = 0; i < a->body_len; i++) {
		uint8_t c = (uint8_t)a->body[i];

		if (c == '\n')
			continue;
		if (c == '%')
			wr_text(w, "%25");
		else
			wr_u8(w, c);
	}
}

static void
deny_grpc(struct h2_stream *s, const struct deny_answer *a)
{
	char text[3 * DENY_TEXT_MAX + 8];
	struct wr w = wr_init(text, sizeof(text));
	struct h2_nv nv;

	write_message(&w, a);
	h2_nv_init(&nv);
	h2_nv_status(&nv, 200);
	h2_nv_text(&nv, "content-type", "application/grpc");
	h2_nv_text(&nv, "grpc-status", grpc_status(a->status));
	h2_nv_add(&nv, span_of("grpc-message"), (struct span){ w.buf, w.len });
	h2_nv_text(&nv, "tapward-reason", a->code);
	submit(s, &nv, false);
}

static void
write_deny(struct h2_stream *s, const struct deny *d)
{
	struct deny plain = *d;
	struct deny_answer a;
	struct h2_nv nv;

	if (s->is_grpc)
		plain.form = DENY_FORM_TEXT;
	deny_answer(&plain, &a);
	s->is_ended = true;
	if (s->is_grpc) {
		deny_grpc(s, &a);
		return;
	}
	h2_nv_init(&nv);
	h2_nv_status(&nv, a.status);
	h2_nv_text(&nv, "content-type", a.content_type);
	h2_nv_length(&nv, deny_content(&a).len);
	h2_nv_text(&nv, "cache-control", "no-store");
	h2_nv_text(&nv, "x-content-type-options", "nosniff");
	h2_nv_text(&nv, "tapward-reason", a.code);
	h2_nv_text(&nv, "proxy-status", a.proxy_status);
	if (a.has_retry_after)
		h2_nv_retry_after(&nv, a.retry_after_s);
	if (!s->is_head_method && buf_append(&s->out, deny_content(&a)) != 0) {
		break_off(s);
		return;
	}
	submit(s, &nv, !s->is_head_method);
}

static void
on_refuse(void *arg, const struct deny *d)
{
	if (d->is_unseen)
		reset(arg, NGHTTP2_REFUSED_STREAM);
	else
		write_deny(arg, d);
}

static void
on_over(void *arg)
{
	struct h2_stream *s = arg;

	s->x = NULL;
	/* What was not taken of its body is not wanted. */
	blocks_done(&s->in);
	h2_guest_kick(s->h);
}

const struct exchange_guest_ops h2_guest_ops = {
	.want_body = on_want_body,
	.resume_body = on_resume_body,
	.head = on_head,
	.body = on_body,
	.trailers = on_trailers,
	.end = on_end,
	.cut = on_cut,
	.refuse = on_refuse,
	.over = on_over,
};

/* --- the request --- */

static void
record(struct h2_stream *s, const struct deny *d, unsigned int status)
{
	struct h2_guest *h = s->h;
	struct audit_record r = audit_record_init(AUDIT_REQUEST);

	r.verdict = ACTION_DENY;
	r.reason = d->reason;
	r.rule = d->rule;
	r.file = d->file;
	r.host = span_of(h->spec.front.host);
	r.port = h->spec.front.port;
	r.status = (uint16_t)status;
	r.detail = span_of(d->detail);
	audit_send(h->gate, &r);
	h->gate->status.denied++;
	*h->spec.front.is_recorded = true;
}

void
h2_stream_lost(struct h2_stream *s, const char *detail)
{
	struct deny d = deny_init(REASON_BAD_REQUEST);

	s->has_request = true;
	s->is_held = false;
	d.detail = detail;
	record(s, &d, 0);
}

void
h2_stream_malformed(struct h2_stream *s, const char *detail)
{
	if (!s->has_request)
		h2_stream_lost(s, detail);
	else if (s->x != NULL) /* its trailers */
		exchange_reject(s->x, REASON_BAD_REQUEST, detail);
	reset(s, NGHTTP2_PROTOCOL_ERROR);
}

static void
refuse(struct h2_stream *s, enum reason reason, unsigned int status,
    const char *detail)
{
	struct deny d = deny_init(reason);

	d.status = status;
	d.detail = detail;
	d.host = s->h->spec.front.host;
	d.port = s->h->spec.front.port;
	d.scheme = s->h->spec.front.scheme;
	write_deny(s, &d);
	record(s, &d, status != 0 ? status : reason_http_status(reason));
}

static void
refuse_status(struct h2_stream *s, enum http_status status)
{
	if (http2_is_malformed(status))
		h2_stream_malformed(s, http_status_text(status));
	else if (status == HTTP_HOST_MISMATCH)
		refuse(s, REASON_HOST_MISMATCH, 400, http_status_text(status));
	else
		refuse(s, REASON_BAD_REQUEST, 0, http_status_text(status));
}

/* "application/grpc", with or without "+proto". */
static bool
is_grpc(const struct http_request *req)
{
	const struct http_field *f =
	    http_field_find(&req->fields, "content-type", 0);

	return f != NULL && f->value.len >= 16 &&
	    span_is_case((struct span){ f->value.ptr, 16 }, "application/grpc");
}

void
h2_stream_begin(struct h2_stream *s)
{
	struct http_fields all;
	struct http_request req;
	enum http_status status;

	if (s->is_head_large) {
		s->has_request = true;
		refuse(s, REASON_LIMIT_HEAD, 0, "");
		return;
	}
	h2_head_fields(&s->head, &all);
	status = http2_request_read(&all, s->is_whole, &req);
	if (status != HTTP_OK) {
		refuse_status(s, status);
		h2_head_done(&s->head);
		return;
	}
	s->is_held = !s->is_whole && req.framing == HTTP_FRAMING_LENGTH &&
	    req.length == 0;
	if (s->is_held)
		return;
	s->has_request = true;
	s->is_head_method = req.known_method == HTTP_METHOD_HEAD;
	s->is_grpc = is_grpc(&req);
	s->expects_continue = req.expects_continue;
	/* The exchange knows by itself that none comes. */
	s->is_up_ended = req.framing == HTTP_FRAMING_NONE ||
	    (req.framing == HTTP_FRAMING_LENGTH && req.length == 0);
	s->declared = req.framing == HTTP_FRAMING_LENGTH ? req.length : 0;
	if (exchange_start(&s->h->spec.front, &req, &h2_guest_ops, s, &s->x) !=
	    0)
		reset(s, NGHTTP2_INTERNAL_ERROR);
	h2_head_done(&s->head);
}

/* The stream's window opens by what was taken. */
static size_t
give(struct h2_stream *s, struct span data)
{
	size_t taken = 0;

	if (exchange_wants_body(s->x) && !s->is_up_blocked) {
		taken = exchange_up(s->x, data);
		s->is_up_blocked = taken < data.len;
	}
	if (taken > 0)
		(void)nghttp2_session_consume_stream(s->h->link.session, s->id,
		    taken);
	return taken;
}

/* What the origin takes as it comes may come faster. */
static void
widen(struct h2_stream *s)
{
	struct h2_guest *h = s->h;
	size_t usual = h->gate->limits.wait_bytes;

	/* One has all of it: it is given once it has shown to be large. */
	if (s->received < usual || h->window_left == 0)
		return;
	s->window_more = h->window_left;
	h->window_left = 0;
	(void)nghttp2_session_set_local_window_size(h->link.session,
	    NGHTTP2_FLAG_NONE, s->id, (int32_t)(usual + s->window_more));
}

/*
 * All that content-length promised is here, and the guest may still send more
 * than it: an origin that got it would hold a whole request, and answer one
 * that is malformed (RFC 9113 8.1.1). What makes it whole waits for the end of
 * the stream. If nothing was promised that is its head, see is_held.
 */
static bool
awaits_end(const struct h2_stream *s)
{
	return s->declared != 0 && s->received >= s->declared && !s->is_whole;
}

/*
 * An end in a frame of its own needs no window (RFC 9113 6.9.1), but programs
 * on libnghttp2 wait for one all the same, and what we keep has used it up; all
 * of the first, if that was sent before our SETTINGS were read. More bytes
 * than were promised are refused by the library.
 */
static void
invite_end(struct h2_stream *s)
{
	if (!awaits_end(s) || s->is_end_invited)
		return;
	s->is_end_invited = true;
	(void)nghttp2_submit_window_update(s->h->link.session,
	    NGHTTP2_FLAG_NONE, s->id, NGHTTP2_INITIAL_WINDOW_SIZE);
}

void
h2_stream_body(struct h2_stream *s, struct span data)
{
	size_t taken = 0;

	/* Refused, or answered already: dropped, and no more is asked for. */
	if (s->x == NULL)
		return;
	s->received += data.len;
	if (s->in.len == 0 && !awaits_end(s)) {
		taken = give(s, data);
		if (taken == data.len)
			widen(s);
	}
	data.ptr += taken;
	data.len -= taken;
	if (blocks_append(&s->in, data) != 0)
		exchange_reject(s->x, REASON_BAD_REQUEST, "out of memory");
}

void
h2_stream_frame_end(struct h2_stream *s, bool is_last)
{
	s->is_whole = s->is_whole || is_last;
	if (is_last)
		h2_stream_pump(s);
	else if (s->x != NULL)
		invite_end(s);
}

/* Behind the body, and its end. */
static void
end_body(struct h2_stream *s)
{
	struct http_fields all, trailers;

	s->is_up_ended = true;
	if (s->is_head_large) {
		h2_stream_malformed(s, "its trailers are too large");
		return;
	}
	if (s->head.count > 0) {
		h2_head_fields(&s->head, &all);
		if (http2_trailers_read(&all, &trailers) != HTTP_OK) {
			h2_stream_malformed(s, "its trailers are malformed");
			return;
		}
		exchange_up_trailers(s->x, &trailers);
	}
	exchange_up_end(s->x);
}

void
h2_stream_pump(struct h2_stream *s)
{
	if (s->is_held && s->is_whole)
		h2_stream_begin(s);
	if (s->x == NULL || s->is_up_ended || !exchange_wants_body(s->x) ||
	    awaits_end(s))
		return;
	while (s->in.len > 0) {
		struct span data = blocks_front(&s->in);
		size_t taken = give(s, data);

		blocks_consume(&s->in, taken);
		if (taken < data.len)
			return;
	}
	if (s->is_whole)
		end_body(s);
}
