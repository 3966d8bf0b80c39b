/*
 * What an exchange sends on its stream of HTTP/2.
 */
#include <errno.h>
#include <string.h>

#include "proxy/exchange.h"
#include "proxy/h2_origin_private.h"

static void
go_on(struct origin *o)
{
	if (o->is_deferred) {
		o->is_deferred = false;
		(void)nghttp2_session_resume_data(o->h2->h2.session,
		    o->stream_id);
	}
	h2_origin_kick(o->h2);
}

static int
submit_trailers(struct origin *o)
{
	struct http_fields f;
	struct h2_nv nv;

	h2_head_fields(&o->up_trailers, &f);
	h2_nv_init(&nv);
	h2_nv_fields(&nv, &f);
	return nghttp2_submit_trailer(o->h2->h2.session, o->stream_id, nv.at,
	    nv.count);
}

/* The last of the body is on its way. */
static int
end_body(struct origin *o, uint32_t *flags)
{
	o->is_up_sent = true;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (o->up_trailers.count == 0)
		return 0;
	*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	return submit_trailers(o);
}

ssize_t
h2_origin_read(void *stream, uint8_t *room, size_t size, uint32_t *flags)
{
	struct origin *o = stream;
	size_t len;

	/* Its reset is on the way. */
	if (o == NULL)
		return NGHTTP2_ERR_DEFERRED;
	len = o->out.len < size ? o->out.len : size;
	if (len > 0)
		memcpy(room, buf_span(&o->out).ptr, len);
	buf_consume(&o->out, len);
	if (len > 0)
		exchange_alive(o->x);
	o->h2->has_room = o->h2->has_room || o->is_up_blocked;
	if (o->out.len == 0 && o->is_up_whole) {
		if (end_body(o, flags) != 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	} else if (len == 0) {
		o->is_deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)len;
}

int
h2_origin_send_head(struct origin *o, const struct origin_request *r)
{
	const nghttp2_data_provider source = h2_link_body(&o->h2->h2);
	bool has_body = r->framing == HTTP_FRAMING_CHUNKED ||
	    (r->framing == HTTP_FRAMING_LENGTH && r->length > 0);
	struct h2_nv nv;

	if (r->credential != NULL)
		h2_origin_note_lease(o, r->credential);
	h2_nv_init(&nv);
	h2_nv_request(&nv, r, o->key.scheme);
	o->stream_id = nghttp2_submit_request(o->h2->h2.session, NULL, nv.at,
	    nv.count, has_body ? &source : NULL, o);
	if (o->stream_id < 0) {
		o->stream_id = 0;
		return -ENOMEM;
	}
	h2_past_open(&o->h2->h2.past, o->stream_id);
	o->method = r->method;
	o->is_up_sent = !has_body;
	o->is_up_whole = false;
	o->state = ORIGIN_ASKED;
	h2_origin_kick(o->h2);
	return 0;
}

size_t
h2_origin_send_body(struct origin *o, struct span data)
{
	size_t room = o->gate->limits.wait_bytes;

	room = o->out.len >= room ? 0 : room - o->out.len;

	/* It has answered already: what it does not want is dropped. */
	if (o->h2 == NULL || o->is_write_failed)
		return data.len;
	if (data.len > room) {
		o->is_up_blocked = true;
		data.len = room;
	}
	if (data.len == 0)
		return 0;
	if (buf_append(&o->out, data) != 0) {
		/* A piece is missing: nothing may follow it. */
		o->is_write_failed = true;
		(void)nghttp2_submit_rst_stream(o->h2->h2.session,
		    NGHTTP2_FLAG_NONE, o->stream_id, NGHTTP2_CANCEL);
	}
	go_on(o);
	return data.len;
}

void
h2_origin_send_trailers(struct origin *o, const struct http_fields *f)
{
	size_t most = o->gate->limits.head_max_bytes;

	/* They are no longer than the head that they came in. */
	for (size_t i = 0; i < f->count; i++)
		if (h2_head_add(&o->up_trailers, f->at[i].name, f->at[i].value,
			most) != 0)
			o->is_write_failed = true;
}

void
h2_origin_send_end(struct origin *o)
{
	o->is_up_whole = true;
	if (o->h2 != NULL)
		go_on(o);
}

void
h2_origin_resume(struct origin *o)
{
	h2_origin_answer_run(o);
}

void
h2_origin_leave(struct origin *o)
{
	struct h2_origin *c = o->h2;
	int32_t id = o->stream_id;

	if (c == NULL)
		return;
	h2_origin_detach(o);
	if (id == 0 || (o->is_up_sent && o->is_down_whole))
		return;
	(void)nghttp2_submit_rst_stream(c->h2.session, NGHTTP2_FLAG_NONE, id,
	    o->is_down_whole ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
}
