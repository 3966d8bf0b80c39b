/*
 * What libnghttp2 tells of a connection to an origin: answers. A fault in one
 * ends its exchange, and resets its stream; one of the connection ends all.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/exchange.h"
#include "proxy/h2_origin_private.h"
#include "wire/http2.h"

/* Interim answers (1xx) before the final one. */
#define INTERIM_MAX 8

static void
fail(struct origin *o, const char *detail)
{
	/* Nothing more is asked of one that answers so. */
	if (o->h2 != NULL)
		o->h2->is_draining = true;
	exchange_origin_failed(o->x, REASON_BAD_RESPONSE, false, detail,
	    EXCHANGE_FATE_UNKNOWN);
}

/* --- the body --- */

/* What the guest takes as it comes may come faster. */
static void
widen(struct origin *o)
{
	struct h2_origin *c = o->h2;
	size_t usual = o->gate->limits.wait_bytes;

	/* One has all of it: it is given once it has shown to be large. */
	if (o->received < usual || c->window_left == 0)
		return;
	o->window_more = c->window_left;
	c->window_left = 0;
	(void)nghttp2_session_set_local_window_size(c->h2.session,
	    NGHTTP2_FLAG_NONE, o->stream_id, (int32_t)(usual + o->window_more));
}

static void
consume(struct origin *o, size_t len)
{
	if (o->stream_id == 0 || len == 0)
		return;
	(void)nghttp2_session_consume_stream(o->h2->h2.session, o->stream_id,
	    len);
	h2_origin_kick(o->h2);
}

/* Both in order, or the answer is not whole. */
static bool
end_is_good(struct origin *o)
{
	struct http_fields all, trailers;

	if (o->framing == HTTP_FRAMING_LENGTH && o->left > 0) {
		fail(o, "the body is shorter than its length");
		return false;
	}
	if (o->head.count == 0)
		return true;
	h2_head_fields(&o->head, &all);
	if (http2_trailers_read(&all, &trailers) != HTTP_OK) {
		fail(o, "its trailers are malformed");
		return false;
	}
	return exchange_origin_trailers(o->x, &trailers);
}

/* What was kept of the body, as far as it is taken now. */
static void
give_held(struct origin *o)
{
	while (o->state == ORIGIN_ANSWER && o->held.len > 0) {
		struct span data = blocks_front(&o->held);
		size_t taken = exchange_origin_body(o->x, data);

		if (o->state != ORIGIN_ANSWER)
			return;
		blocks_consume(&o->held, taken);
		consume(o, taken);
		if (taken < data.len)
			return;
	}
}

void
h2_origin_answer_run(struct origin *o)
{
	give_held(o);
	if (o->state != ORIGIN_ANSWER || !o->is_down_whole || o->held.len > 0)
		return;
	if (!end_is_good(o))
		return;
	o->state = ORIGIN_ENDED;
	exchange_origin_end(o->x);
}

static bool
fits(struct origin *o, size_t len)
{
	o->received += len;
	switch (o->framing) {
	case HTTP_FRAMING_LENGTH:
		if (len > o->left)
			return false;
		o->left -= len;
		return true;
	case HTTP_FRAMING_CHUNKED:
		return true;
	case HTTP_FRAMING_NONE:
	case HTTP_FRAMING_CLOSE:
	case HTTP_FRAMING_TUNNEL:
		break;
	}
	return false;
}

static void
take_body(struct origin *o, struct span data)
{
	size_t taken = 0;

	if (o->state != ORIGIN_ANSWER || !fits(o, data.len)) {
		fail(o, "body bytes that its head did not announce");
		return;
	}
	if (o->held.len == 0) {
		taken = exchange_origin_body(o->x, data);
		if (o->state != ORIGIN_ANSWER)
			return;
		consume(o, taken);
		if (taken == data.len)
			widen(o);
	}
	data.ptr += taken;
	data.len -= taken;
	if (blocks_append(&o->held, data) != 0)
		fail(o, "out of memory");
}

/* --- the head --- */

static void
take_response(struct origin *o, const struct http_fields *all, bool is_whole)
{
	struct http_response res;
	enum http_status s =
	    http2_response_read(all, o->method, is_whole, &res);

	if (s != HTTP_OK) {
		fail(o, http_status_text(s));
		return;
	}
	if (res.status < 200) {
		if (++o->interim_count > INTERIM_MAX)
			fail(o, "too many interim answers");
		return;
	}
	o->framing = res.framing;
	o->left = res.framing == HTTP_FRAMING_LENGTH ? res.length : 0;
	o->is_down_whole = is_whole;
	o->state = ORIGIN_ANSWER;
	exchange_origin_head(o->x, &res);
	h2_head_done(&o->head);
	if (is_whole)
		h2_origin_answer_run(o);
}

static void
take_head(struct origin *o, bool is_whole)
{
	struct http_fields all;

	if (o->is_head_large) {
		fail(o, http_status_text(HTTP_HEAD_SIZE));
		return;
	}
	exchange_alive(o->x);
	if (o->state == ORIGIN_ASKED) {
		h2_head_fields(&o->head, &all);
		take_response(o, &all, is_whole);
		return;
	}
	/* Trailers: they wait until the body before them was taken. */
	o->is_down_whole = true;
	h2_origin_answer_run(o);
}

/* --- callbacks --- */

static struct origin *
find(nghttp2_session *session, int32_t id)
{
	return id == 0 ? NULL
		       : nghttp2_session_get_stream_user_data(session, id);
}

static int
on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame,
    void *arg)
{
	struct origin *o = find(session, frame->hd.stream_id);

	(void)arg;
	if (o == NULL)
		return 0;
	h2_head_done(&o->head);
	/* As what is behind it: an origin may repeat a credential. */
	o->head.text.is_secret = o->held.is_secret;
	return 0;
}

static int
on_header(nghttp2_session *session, const nghttp2_frame *frame,
    nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags, void *arg)
{
	struct origin *o = find(session, frame->hd.stream_id);
	struct h2_origin *c = arg;

	(void)flags;
	if (o == NULL || o->is_head_large)
		return 0;
	o->is_head_large =
	    h2_head_add(&o->head, h2_head_span(name), h2_head_span(value),
		c->gate->limits.head_max_bytes) != 0;
	return 0;
}

/* Left to itself the library would leave such a field out. */
static int
on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
    nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags, void *arg)
{
	(void)session;
	(void)frame;
	(void)name;
	(void)value;
	(void)flags;
	(void)arg;
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int
on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_origin *c = arg;
	struct origin *o = find(session, frame->hd.stream_id);
	bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

	if (o != NULL && frame->hd.type == NGHTTP2_HEADERS)
		take_head(o, ends);
	if (o != NULL && frame->hd.type == NGHTTP2_DATA && ends) {
		o->is_down_whole = true;
		h2_origin_answer_run(o);
	}
	if (frame->hd.type == NGHTTP2_GOAWAY)
		c->is_draining = true;
	return 0;
}

static int
on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_origin *c = arg;
	struct origin *o = find(session, frame->hd.stream_id);

	if (!h2_link_on_sent(&c->h2, frame))
		return 0;
	c->is_draining = true;
	/* What has come whole is still given. */
	if (o != NULL && !o->is_down_whole)
		fail(o, "its answer breaks HTTP/2");
	return 0;
}

static int
on_data(nghttp2_session *session, uint8_t flags, int32_t id,
    const uint8_t *data, size_t len, void *arg)
{
	struct origin *o = find(session, id);

	(void)flags;
	(void)arg;
	/* The connection as a whole never waits for one stream. */
	if (nghttp2_session_consume_connection(session, len) != 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (o != NULL)
		take_body(o, (struct span){ data, len });
	return 0;
}

static int
on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *arg)
{
	struct origin *o = find(session, id);
	bool was_asked;

	(void)arg;
	if (o == NULL)
		return 0;
	was_asked = o->state == ORIGIN_ASKED;
	h2_origin_detach(o);
	/* What has come whole is still given. */
	if (o->is_down_whole)
		return 0;
	if (was_asked && error == NGHTTP2_REFUSED_STREAM)
		/* It was not looked at: as if it had never been sent. */
		exchange_origin_failed(o->x, REASON_ORIGIN_UNREACHABLE, false,
		    "the origin refused the stream", EXCHANGE_FATE_UNSEEN);
	else
		fail(o, "the origin reset the stream");
	return 0;
}

/* --- the session --- */

/*
 * Memory of a session that carries a credential: wiped before it is given
 * back, since the library does not.
 */
static void *
wiped_malloc(size_t size, void *arg)
{
	(void)arg;
	return malloc(size);
}

static void
wiped_free(void *ptr, void *arg)
{
	(void)arg;
	if (ptr != NULL)
		explicit_bzero(ptr, malloc_usable_size(ptr));
	free(ptr);
}

static void *
wiped_calloc(size_t count, size_t size, void *arg)
{
	(void)arg;
	return calloc(count, size);
}

static void *
wiped_realloc(void *ptr, size_t size, void *arg)
{
	size_t had = ptr == NULL ? 0 : malloc_usable_size(ptr);
	void *to = malloc(size);

	if (to == NULL)
		return NULL;
	if (had > 0)
		memcpy(to, ptr, had < size ? had : size);
	wiped_free(ptr, arg);
	return to;
}

static nghttp2_session_callbacks *
callbacks(void)
{
	nghttp2_session_callbacks *c;

	if (nghttp2_session_callbacks_new(&c) != 0)
		return NULL;
	nghttp2_session_callbacks_set_on_begin_headers_callback(c,
	    on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback2(c, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback2(c,
	    on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame_recv);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(c, on_frame_send);
	nghttp2_session_callbacks_set_on_stream_close_callback(c,
	    on_stream_close);
	return c;
}

int
h2_origin_session(struct h2_origin *c)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
		    c->gate->limits.wait_bytes },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
		    c->gate->limits.head_max_bytes },
	};
	nghttp2_mem mem = { NULL, wiped_malloc, wiped_free, wiped_calloc,
		wiped_realloc };
	nghttp2_session_callbacks *calls = callbacks();
	nghttp2_option *o = h2_link_options();
	int rc = -ENOMEM;

	if (calls != NULL && o != NULL &&
	    nghttp2_session_client_new3(&c->h2.session, calls, c, o,
		c->key.credential[0] == '\0' ? NULL : &mem) == 0)
		rc = h2_link_begin(&c->h2, settings,
		    sizeof(settings) / sizeof(settings[0]));
	nghttp2_option_del(o);
	nghttp2_session_callbacks_del(calls);
	return rc;
}
