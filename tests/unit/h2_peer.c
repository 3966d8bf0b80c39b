/*
 * A peer that speaks HTTP/2, see h2_peer.h.
 */
#include "h2_peer.h"

#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 300

uint8_t
h2p_pattern(uint64_t i)
{
	return (uint8_t)(i * 31 + i / 251);
}

uint64_t
h2p_sum(uint64_t sum, uint64_t at, const uint8_t *ptr, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += (at + i + 1) * ((uint64_t)ptr[i] + 1);
	return sum;
}

static struct h2p_stream *
find(struct h2p *h, int32_t id)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->streams[i].id == id)
			return &h->streams[i];
	return NULL;
}

static struct h2p_stream *
make(struct h2p *h, int32_t id)
{
	struct h2p_stream *s = &h->streams[h->count];

	assert_true(h->count < H2P_STREAMS_MAX);
	h->count++;
	*s = (struct h2p_stream){ .id = id };
	return s;
}

static int
on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame,
    void *arg)
{
	struct h2p *h = arg;
	struct h2p_stream *s = find(h, frame->hd.stream_id);

	(void)session;
	if (s == NULL)
		(void)make(h, frame->hd.stream_id);
	else if (!s->has_head)
		s->head_len = 0;
	return 0;
}

static int
on_header(nghttp2_session *session, const nghttp2_frame *frame,
    const uint8_t *name, size_t name_len, const uint8_t *value,
    size_t value_len, uint8_t flags, void *arg)
{
	struct h2p_stream *s = find(arg, frame->hd.stream_id);
	bool is_trailer = s->has_head;
	char *to = is_trailer ? s->trailers : s->head;
	size_t size = is_trailer ? sizeof(s->trailers) : sizeof(s->head);
	size_t *len = is_trailer ? &s->trailers_len : &s->head_len;
	struct wr w = wr_init(to + *len, size - 1 - *len);

	(void)session;
	(void)flags;
	wr_bytes(&w, name, name_len);
	wr_text(&w, ": ");
	wr_bytes(&w, value, value_len);
	wr_text(&w, "\n");
	if (wr_ok(&w))
		*len += w.len;
	to[*len] = '\0';
	return 0;
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2p *h = arg;
	struct h2p_stream *s = find(h, frame->hd.stream_id);

	(void)session;
	if (frame->hd.type == NGHTTP2_GOAWAY) {
		h->has_goaway = true;
		h->goaway = frame->goaway.error_code;
	}
	if (s == NULL)
		return 0;
	if (frame->hd.type == NGHTTP2_RST_STREAM) {
		s->is_reset = true;
		s->error = frame->rst_stream.error_code;
	}
	if (frame->hd.type == NGHTTP2_HEADERS && !s->has_head) {
		if (h2p_has(s->head, ":status: 1"))
			s->interim++;
		else
			s->has_head = true;
	}
	if ((frame->hd.type == NGHTTP2_HEADERS ||
		frame->hd.type == NGHTTP2_DATA) &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
		s->is_ended = true;
	return 0;
}

static int
on_data(nghttp2_session *session, uint8_t flags, int32_t id,
    const uint8_t *data, size_t len, void *arg)
{
	struct h2p *h = arg;
	struct h2p_stream *s = find(h, id);

	(void)session;
	(void)flags;
	for (size_t i = 0; i < len && s->body_len + i < sizeof(s->body) - 1;
	     i++)
		s->body[s->body_len + i] = (char)data[i];
	s->body_sum = h2p_sum(s->body_sum, s->body_len, data, len);
	s->body_len += len;
	s->unconsumed += len;
	if (!h->keeps_window)
		h2p_consume(h, s, s->unconsumed);
	return 0;
}

static ssize_t
on_source(nghttp2_session *session, int32_t id, uint8_t *room, size_t size,
    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct h2p_stream *s = find(arg, id);
	size_t len = s->left < size ? (size_t)s->left : size;
	nghttp2_nv nv = { (uint8_t *)(uintptr_t)s->trailer,
		(uint8_t *)(uintptr_t) "done",
		s->trailer == NULL ? 0 : strlen(s->trailer), 4, 0 };

	(void)source;
	for (size_t i = 0; i < len; i++)
		room[i] = s->text != NULL ? (uint8_t)s->text[i]
					  : h2p_pattern(s->left - i);
	if (s->text != NULL)
		s->text += len;
	s->left -= len;
	if (s->left == 0 && !s->is_open) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (s->trailer != NULL) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			(void)nghttp2_submit_trailer(session, id, &nv, 1);
		}
	} else if (len == 0) {
		s->is_deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)len;
}

static void
on_turn(struct peer *p, void *arg)
{
	struct h2p *h = arg;
	const uint8_t *ptr;
	ssize_t n;

	if (p->in_len > 0 &&
	    nghttp2_session_mem_recv(h->session, p->in, p->in_len) < 0)
		h->is_broken = true;
	p->in_len = 0;
	while (p->out_len - p->out_at < 65536 &&
	    (n = nghttp2_session_mem_send(h->session, &ptr)) > 0)
		peer_send(p, ptr, (size_t)n);
}

static void
begin(struct h2p *h, struct peer *p, bool is_origin)
{
	nghttp2_session_callbacks *c;
	nghttp2_option *o;

	memset(h, 0, sizeof(*h));
	assert_int_equal(nghttp2_session_callbacks_new(&c), 0);
	assert_int_equal(nghttp2_option_new(&o), 0);
	nghttp2_option_set_no_auto_window_update(o, 1);
	/* It sends what it likes: it is us that must not. */
	nghttp2_option_set_no_http_messaging(o, 1);
	nghttp2_session_callbacks_set_on_begin_headers_callback(c,
	    on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(c, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
	assert_int_equal(is_origin
		? nghttp2_session_server_new2(&h->session, c, h, o)
		: nghttp2_session_client_new2(&h->session, c, h, o),
	    0);
	nghttp2_session_callbacks_del(c);
	nghttp2_option_del(o);
	assert_int_equal(nghttp2_submit_settings(h->session, 0, NULL, 0), 0);
	h->peer = p;
	p->on_turn = on_turn;
	p->on_turn_arg = h;
}

void
h2p_guest(struct h2p *h, struct peer *p)
{
	begin(h, p, false);
}

void
h2p_origin(struct h2p *h, struct peer *p)
{
	begin(h, p, true);
}

void
h2p_done(struct h2p *h)
{
	nghttp2_session_del(h->session);
	if (h->peer != NULL && h->peer->on_turn_arg == h)
		h->peer->on_turn = NULL;
	h->session = NULL;
}

/* "name: value\n" each; a name may begin with ':'. */
static size_t
read_fields(const char *fields, nghttp2_nv *nv)
{
	size_t n = 0;

	while (*fields != '\0') {
		const char *colon = strchr(fields + 1, ':');
		const char *end = strchr(fields, '\n');

		assert_non_null(colon);
		assert_non_null(end);
		assert_true(n < FIELDS_MAX);
		nv[n++] = (nghttp2_nv){ (uint8_t *)(uintptr_t)fields,
			(uint8_t *)(uintptr_t)(colon + 2),
			(size_t)(colon - fields), (size_t)(end - colon) - 2,
			NGHTTP2_NV_FLAG_NONE };
		fields = end + 1;
	}
	return n;
}

static void
set_body(struct h2p_stream *s, const struct h2p_stream *body)
{
	s->text = body->text;
	s->left = body->text != NULL ? strlen(body->text) : body->left;
	s->is_open = body->is_open;
	s->trailer = body->trailer;
}

struct h2p_stream *
h2p_ask(struct h2p *h, const char *fields, const struct h2p_stream *body)
{
	const nghttp2_data_provider source = { .read_callback = on_source };
	nghttp2_nv nv[FIELDS_MAX];
	size_t n = read_fields(fields, nv);
	int32_t id = nghttp2_submit_request(h->session, NULL, nv, n,
	    body == NULL ? NULL : &source, NULL);
	struct h2p_stream *s;

	assert_true(id > 0);
	s = make(h, id);
	if (body != NULL)
		set_body(s, body);
	return s;
}

void
h2p_answer(struct h2p *h, struct h2p_stream *s, const char *fields,
    const struct h2p_stream *body)
{
	const nghttp2_data_provider source = { .read_callback = on_source };
	nghttp2_nv nv[FIELDS_MAX];
	size_t n = read_fields(fields, nv);

	if (body != NULL)
		set_body(s, body);
	assert_int_equal(nghttp2_submit_response(h->session, s->id, nv, n,
			     body == NULL ? NULL : &source),
	    0);
}

void
h2p_interim(struct h2p *h, struct h2p_stream *s, const char *fields)
{
	nghttp2_nv nv[FIELDS_MAX];
	size_t n = read_fields(fields, nv);

	assert_int_equal(nghttp2_submit_headers(h->session, 0, s->id, NULL, nv,
			     n, NULL),
	    0);
}

static void
resume(struct h2p *h, struct h2p_stream *s)
{
	if (s->is_deferred)
		(void)nghttp2_session_resume_data(h->session, s->id);
	s->is_deferred = false;
}

void
h2p_more(struct h2p *h, struct h2p_stream *s, struct span data)
{
	assert_true(s->left == 0 && s->is_open);
	s->text = (const char *)data.ptr;
	s->left = data.len;
	resume(h, s);
}

void
h2p_consume(struct h2p *h, struct h2p_stream *s, size_t most)
{
	size_t len = s->unconsumed < most ? s->unconsumed : most;

	assert_int_equal(nghttp2_session_consume(h->session, s->id, len), 0);
	s->unconsumed -= len;
}

void
h2p_end(struct h2p *h, struct h2p_stream *s)
{
	s->is_open = false;
	resume(h, s);
}

void
h2p_reset(struct h2p *h, struct h2p_stream *s, uint32_t error)
{
	assert_int_equal(nghttp2_submit_rst_stream(h->session, 0, s->id, error),
	    0);
}

bool
h2p_has(const char *text, const char *line)
{
	return strstr(text, line) != NULL;
}
