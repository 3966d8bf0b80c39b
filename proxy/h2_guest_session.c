/*
 * What libnghttp2 tells of a guest's connection. It checks frames, HPACK, the
 * state of streams and most of a head; what it finds fault with is counted,
 * and recorded if it was a request.
 */
#include "proxy/h2_guest_private.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

static struct h2_stream *
find_stream(struct h2_guest *h, int32_t id)
{
	return nghttp2_session_get_stream_user_data(h->link.session, id);
}

void
h2_stream_free(struct h2_stream *s, const char *detail)
{
	struct h2_guest *h = s->h;

	if (s->x != NULL)
		exchange_abort(s->x, REASON_NONE, detail);
	else if (s->is_held)
		h2_stream_lost(s, detail);
	(void)nghttp2_session_set_stream_user_data(h->link.session, s->id,
	    NULL);
	TAILQ_REMOVE(&h->streams, s, link);
	h->stream_count--;
	h->window_left += s->window_more;
	h->moved_ms = clock_mono_ms();
	h2_head_done(&s->head);
	h2_head_done(&s->trailers);
	blocks_done(&s->in);
	buf_done(&s->out);
	free(s);
}

static int
on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame,
    void *arg)
{
	struct h2_guest *h = arg;
	struct h2_stream *s;

	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	s->h = h;
	s->id = frame->hd.stream_id;
	TAILQ_INSERT_TAIL(&h->streams, s, link);
	h->stream_count++;
	return nghttp2_session_set_stream_user_data(session, s->id, s);
}

static int
on_header(nghttp2_session *session, const nghttp2_frame *frame,
    nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags, void *arg)
{
	struct h2_guest *h = arg;
	struct h2_stream *s = find_stream(h, frame->hd.stream_id);
	int rc;

	(void)session;
	(void)flags;
	/* Trailers behind a head that is held: the library checks them. */
	if (s == NULL || s->is_head_large || s->is_held)
		return 0;
	rc = h2_head_add(&s->head, h2_head_span(name), h2_head_span(value),
	    h->gate->limits.head_max_bytes);
	if (rc == -ENOMEM)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (rc == -EMSGSIZE) {
		s->is_head_large = true;
		h2_head_done(&s->head);
	}
	return 0;
}

/* Left to itself the library would leave such a field out (row 80). */
static int
on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
    nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags, void *arg)
{
	struct h2_guest *h = arg;
	struct h2_stream *s = find_stream(h, frame->hd.stream_id);

	(void)session;
	(void)name;
	(void)value;
	(void)flags;
	if (s != NULL)
		h2_stream_malformed(s, "a field that HTTP/2 does not allow");
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int
on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame,
    int error, void *arg)
{
	struct h2_stream *s = find_stream(arg, frame->hd.stream_id);

	(void)session;
	if (s != NULL && frame->hd.type == NGHTTP2_HEADERS)
		h2_stream_malformed(s, nghttp2_strerror(error));
	return 0;
}

static void
on_headers(struct h2_stream *s, const nghttp2_frame *frame)
{
	bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		s->is_whole = ends;
		h2_stream_begin(s);
		return;
	}
	/* Trailers: they wait until the body before them was taken. */
	s->is_whole = ends;
	h2_stream_pump(s);
}

static int
on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_guest *h = arg;
	struct h2_stream *s;

	(void)session;
	/* Before there is one: it is no stream's. */
	s = frame->hd.stream_id == 0 ? NULL
				     : find_stream(h, frame->hd.stream_id);
	if (s != NULL && frame->hd.type == NGHTTP2_HEADERS)
		on_headers(s, frame);
	if (s != NULL && frame->hd.type == NGHTTP2_DATA)
		h2_stream_frame_end(s,
		    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
	return 0;
}

static int
on_data(nghttp2_session *session, uint8_t flags, int32_t id,
    const uint8_t *data, size_t len, void *arg)
{
	struct h2_guest *h = arg;
	struct h2_stream *s = find_stream(h, id);

	(void)flags;
	/* The connection as a whole never waits for one stream. */
	if (nghttp2_session_consume_connection(session, len) != 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (s != NULL)
		h2_stream_body(s, (struct span){ data, len });
	return 0;
}

static int
on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_guest *h = arg;
	bool ends = (frame->hd.type == NGHTTP2_HEADERS ||
			frame->hd.type == NGHTTP2_DATA) &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
	struct h2_stream *s = ends ? find_stream(h, frame->hd.stream_id) : NULL;

	(void)session;
	(void)h2_link_on_sent(&h->link, frame);
	/* Our end of a stream is sent. */
	if (s != NULL && !s->is_whole)
		h2_guest_linger(h, s);
	return 0;
}

static int
on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *arg)
{
	struct h2_guest *h = arg;
	struct h2_stream *s = find_stream(h, id);

	(void)session;
	if (s != NULL)
		h2_stream_free(s,
		    error == NGHTTP2_NO_ERROR ? "the guest ended the stream"
					      : "the stream was reset");
	return 0;
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
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(c,
	    on_invalid_frame);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame_recv);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(c, on_frame_send);
	nghttp2_session_callbacks_set_on_stream_close_callback(c,
	    on_stream_close);
	return c;
}

int
h2_guest_session(struct h2_guest *h)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
		    h->gate->limits.streams },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
		    h->gate->limits.wait_bytes },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
		    h->gate->limits.head_max_bytes },
	};
	nghttp2_session_callbacks *c = callbacks();
	nghttp2_option *o = h2_link_options();
	int rc = -ENOMEM;

	if (c != NULL && o != NULL &&
	    nghttp2_session_server_new2(&h->link.session, c, h, o) == 0)
		rc = h2_link_begin(&h->link, settings,
		    sizeof(settings) / sizeof(settings[0]));
	nghttp2_option_del(o);
	nghttp2_session_callbacks_del(c);
	return rc;
}
