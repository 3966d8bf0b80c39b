/*
 * What libnghttp2 tells of what comes in.
 */
#include "h2.h"

#include <stdlib.h>
#include <string.h>

static struct h2_turn *
find(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

void
h2_finish(struct h2 *h, struct h2_turn *p, enum turn_end end)
{
	if (turn_is_over(p->t))
		return;
	p->t->end = end;
	turn_say(p->t, h->l);
}

static int
on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame,
    void *arg)
{
	struct h2 *h = arg;
	struct h2_turn *p = NULL;
	struct shape s;

	if (!h->l->is_origin || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	for (size_t i = 0; p == NULL && i < STREAMS_MAX; i++)
		if (h->turns[i].t == NULL)
			p = &h->turns[i];
	if (p == NULL)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	shape_init(&s);
	*p = (struct h2_turn){ .t = turn_new(&s, true),
		.id = frame->hd.stream_id };
	h->count++;
	return nghttp2_session_set_stream_user_data(session, p->id, p);
}

static int
on_header(nghttp2_session *session, const nghttp2_frame *frame,
    const uint8_t *name, size_t name_len, const uint8_t *value,
    size_t value_len, uint8_t flags, void *arg)
{
	struct h2_turn *p = find(session, frame->hd.stream_id);

	(void)flags;
	(void)arg;
	if (p != NULL)
		turn_add_field(p->t, p->t->has_head, (const char *)name,
		    name_len, (const char *)value, value_len);
	return 0;
}

static int
take_request(struct h2 *h, struct h2_turn *p)
{
	const char *path = turn_field(p->t, ":path"), *method;
	struct turn *t = p->t;
	struct shape s;

	shape_init(&s);
	if (path == NULL || !shape_query(&s, path))
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	p->t = turn_new(&s, true);
	memcpy(p->t->head, t->head, sizeof(t->head));
	p->t->head_len = t->head_len;
	p->t->has_head = true;
	method = turn_field(p->t, ":method");
	p->is_head_method = method != NULL && strcmp(method, "HEAD") == 0;
	turn_free(t);
	h2_put_interims(h, p);
	return 0;
}

static void
take_answer(struct h2_turn *p)
{
	struct turn *t = p->t;
	const char *status = turn_field(t, ":status");

	t->status =
	    status == NULL ? 0 : (unsigned int)strtoul(status, NULL, 10);
	if (t->status >= 200) {
		t->has_head = true;
		pace_start(&t->in.pace);
		return;
	}
	if (t->interim_count < PEER_INTERIMS_MAX)
		t->interims[t->interim_count++] = t->status;
	memset(t->head, 0, t->head_len);
	t->head_len = 0;
}

static int
on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2 *h = arg;
	struct h2_turn *p = frame->hd.stream_id == 0
	    ? NULL
	    : find(session, frame->hd.stream_id);
	int rc = 0;

	if (p == NULL)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS && !p->t->has_head) {
		if (h->l->is_origin)
			rc = take_request(h, p);
		else
			take_answer(p);
	}
	if ((frame->hd.type == NGHTTP2_HEADERS ||
		frame->hd.type == NGHTTP2_DATA) &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
		p->t->in.is_whole = true;
	return rc;
}

static int
on_data(nghttp2_session *session, uint8_t flags, int32_t id,
    const uint8_t *data, size_t len, void *arg)
{
	struct h2_turn *p = find(session, id);

	(void)flags;
	(void)arg;
	if (nghttp2_session_consume_connection(session, len) != 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (p == NULL)
		return 0;
	p->held += len;
	turn_got(p->t, data, len);
	return 0;
}

static int
on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *arg)
{
	struct h2_turn *p = find(session, id);
	struct h2 *h = arg;

	if (p == NULL)
		return 0;
	p->t->error = error;
	h2_finish(h, p,
	    error == NGHTTP2_NO_ERROR && p->t->in.is_whole ? TURN_WHOLE
							   : TURN_RESET);
	(void)nghttp2_session_set_stream_user_data(session, id, NULL);
	if (h->l->is_origin) {
		turn_free(p->t);
		p->t = NULL;
	}
	return 0;
}

nghttp2_session_callbacks *
h2_callbacks(void)
{
	nghttp2_session_callbacks *c;

	if (nghttp2_session_callbacks_new(&c) != 0)
		abort();
	nghttp2_session_callbacks_set_on_begin_headers_callback(c,
	    on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(c, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame_recv);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(c,
	    on_stream_close);
	return c;
}
