/*
 * HTTP/2 at either end, by libnghttp2. A stream's window opens as its body is
 * taken at the pace that its shape says; the connection's opens at once.
 */
#include "h2.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a stream that is in no hurry, of one that is, and of all together. */
#define WINDOW_SMALL 65535
#define WINDOW_LARGE (1 << 20)
#define WINDOW_ALL (64 << 20)
/* Room for what the library gives at once: a frame and its head. */
#define FRAMES_MAX ((size_t)32786)
#define FOREVER_MS (UINT64_C(1) << 40)

/* --- what goes out --- */

static ssize_t
on_source(nghttp2_session *session, int32_t id, uint8_t *room, size_t size,
    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct h2_turn *p = source->ptr;
	const struct shape *s = &p->t->shape;
	size_t len = 0;

	(void)arg;
	if (!s->expects || p->t->interim_count > 0)
		len = turn_take(p->t, room, size);
	if (!p->t->out.is_whole && len == 0) {
		p->is_deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	if (p->t->out.is_whole)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (p->t->out.is_whole && s->trailer[0] != '\0') {
		const nghttp2_nv nv = { (uint8_t *)(uintptr_t)s->trailer,
			(uint8_t *)(uintptr_t) "done", strlen(s->trailer), 4,
			0 };

		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (nghttp2_submit_trailer(session, id, &nv, 1) != 0)
			return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	return (ssize_t)len;
}

struct fields {
	nghttp2_nv at[8];
	size_t count;
};

static void
add(struct fields *f, const char *name, const char *value)
{
	f->at[f->count++] = (nghttp2_nv){ (uint8_t *)(uintptr_t)name,
		(uint8_t *)(uintptr_t)value, strlen(name), strlen(value), 0 };
}

static void
add_length(struct fields *f, const struct shape *s, char text[24])
{
	(void)snprintf(text, 24, "%" PRIu64, s->size);
	if (s->frame == FRAME_LENGTH)
		add(f, "content-length", text);
}

static void
ask(struct h2 *h, struct h2_turn *p)
{
	const struct shape *s = &p->t->shape;
	const nghttp2_data_provider source = { { .ptr = p }, on_source };
	struct fields f = { .count = 0 };
	char length[24];

	add(&f, ":method", s->method);
	add(&f, ":scheme", "https");
	add(&f, ":authority",
	    SSL_get_servername(h->l->ssl, TLSEXT_NAMETYPE_host_name));
	add(&f, ":path", s->path);
	add_length(&f, s, length);
	if (s->takes_trailers)
		add(&f, "te", "trailers");
	if (s->expects)
		add(&f, "expect", "100-continue");
	p->id = nghttp2_submit_request(h->session, NULL, f.at, f.count,
	    s->frame == FRAME_NONE ? NULL : &source, p);
	p->t->is_head_sent = true;
	p->t->out.is_whole = s->frame == FRAME_NONE;
	if (p->id < 0)
		h2_finish(h, p, TURN_RESET);
}

/*
 * So many are asked at once. Of the stalled ones nothing is taken before the
 * others are over.
 */
static void
ask_all(struct h2 *h)
{
	h->is_asked = true;
	for (size_t i = 0; i < h->shape.streams && i < STREAMS_MAX; i++) {
		struct shape s = h->shape;

		if (s.stalled > 0 && i >= s.stalled)
			s.read = s.write = (struct pace){ .ms = 0 };
		else if (s.stalled > 0)
			s.read.hold_ms = FOREVER_MS;
		h->turns[i] = (struct h2_turn){ .t = turn_new(&s, false) };
		h->count++;
		ask(h, &h->turns[i]);
	}
}

void
h2_put_interims(struct h2 *h, struct h2_turn *p)
{
	const struct shape *s = &p->t->shape;
	char status[8];

	(void)snprintf(status, sizeof(status), "%u", s->interim % 1000);
	for (unsigned int i = 0; i < s->interims; i++) {
		struct fields f = { .count = 0 };

		add(&f, ":status", status);
		add(&f, "link", "</style>; rel=preload");
		(void)nghttp2_submit_headers(h->session, NGHTTP2_FLAG_NONE,
		    p->id, NULL, f.at, f.count, NULL);
	}
}

static void
answer(struct h2 *h, struct h2_turn *p)
{
	const struct shape *s = &p->t->shape;
	const nghttp2_data_provider source = { { .ptr = p }, on_source };
	struct fields f = { .count = 0 };
	char length[24], status[8], name[128];
	const char *value = shape_field(s, name);
	bool has_body = s->frame != FRAME_NONE && s->status != 204 &&
	    s->status != 304 && !p->is_head_method;

	(void)snprintf(status, sizeof(status), "%u", s->status % 1000);
	add(&f, ":status", status);
	add_length(&f, s, length);
	if (value != NULL)
		add(&f, name, value);
	p->t->is_head_sent = true;
	p->t->out.is_whole = !has_body;
	(void)nghttp2_submit_response(h->session, p->id, f.at, f.count,
	    has_body ? &source : NULL);
}

/* --- the connection --- */

static void
take_held(struct h2 *h, struct h2_turn *p)
{
	struct pace *pace = &p->t->in.pace;
	size_t len = pace_room(pace);

	if (len > p->held)
		len = p->held;
	if (len == 0)
		return;
	pace_spend(pace, len);
	p->held -= len;
	(void)nghttp2_session_consume_stream(h->session, p->id, len);
}

static void
cut(struct h2 *h, struct h2_turn *p)
{
	h2_finish(h, p, TURN_OURS);
	if (p->t->shape.cut == CUT_CLOSE) {
		h->closes = true;
		h->l->goes = !h->l->is_origin;
		return;
	}
	(void)nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, p->id,
	    p->t->shape.cut == CUT_REFUSE ? NGHTTP2_REFUSED_STREAM
					  : NGHTTP2_CANCEL);
}

static void
go_on(struct h2 *h, struct h2_turn *p)
{
	if (turn_is_cut(p->t)) {
		cut(h, p);
		return;
	}
	take_held(h, p);
	if (h->l->is_origin && turn_may_answer(p->t))
		answer(h, p);
	if (p->is_deferred) {
		p->is_deferred = false;
		(void)nghttp2_session_resume_data(h->session, p->id);
	}
	/* A guest that was answered early sends no more. */
	if (!h->l->is_origin && p->t->in.is_whole && !p->t->out.is_whole)
		cut(h, p);
}

static bool
are_over(const struct h2 *h, size_t from)
{
	for (size_t i = from; i < h->count; i++)
		if (!turn_is_over(h->turns[i].t))
			return false;
	return true;
}

static bool
all_are_over(const struct h2 *h)
{
	return are_over(h, 0);
}

/* The others are over: it waits no longer than it was told. */
static void
release_stalled(struct h2 *h)
{
	if (h->is_released || h->shape.stalled == 0 ||
	    !are_over(h, h->shape.stalled))
		return;
	h->is_released = true;
	for (size_t i = 0; i < h->shape.stalled && i < h->count; i++) {
		struct pace *p = &h->turns[i].t->in.pace;

		*p = h->shape.read;
		pace_start(p);
	}
}

static bool
put_frames(struct h2 *h)
{
	while (link_room(h->l) > FRAMES_MAX) {
		const uint8_t *ptr;
		ssize_t n = nghttp2_session_mem_send(h->session, &ptr);

		if (n < 0)
			return false;
		if (n == 0)
			return true;
		link_put(h->l, ptr, (size_t)n);
	}
	return true;
}

static bool
output(void *state)
{
	struct h2 *h = state;

	if (!h->l->is_origin && !h->is_asked)
		ask_all(h);
	release_stalled(h);
	if (h->l->out_len == 0)
		for (size_t i = 0; i < STREAMS_MAX; i++)
			if (h->turns[i].t != NULL &&
			    !turn_is_over(h->turns[i].t))
				go_on(h, &h->turns[i]);
	/* A reset goes first: the library sends none once it terminates. */
	if (!h->l->is_origin && all_are_over(h) &&
	    nghttp2_session_want_write(h->session) == 0)
		(void)nghttp2_session_terminate_session(h->session,
		    NGHTTP2_NO_ERROR);
	if (!put_frames(h) || h->closes)
		return false;
	if (h->shape.is_half && h->turns[0].t->out.is_whole)
		h->l->ends = true;
	return h->l->out_len > 0 || nghttp2_session_want_read(h->session) ||
	    nghttp2_session_want_write(h->session);
}

static bool
input(void *state, const uint8_t *ptr, size_t len)
{
	struct h2 *h = state;

	return nghttp2_session_mem_recv(h->session, ptr, len) == (ssize_t)len &&
	    (h->l->is_origin || !h->shape.is_half || !all_are_over(h));
}

static bool
ended(void *state, bool is_reset)
{
	struct h2 *h = state;

	for (size_t i = 0; i < STREAMS_MAX; i++)
		if (h->turns[i].t != NULL)
			h2_finish(h, &h->turns[i],
			    is_reset ? TURN_RESET : TURN_CUT);
	return false;
}

static bool
is_slow(const struct shape *s)
{
	return s->streams > 1 || s->read.hold_ms > 0 || s->read.ms > 0;
}

static void *
start(struct link *l, const struct shape *s)
{
	static struct h2 h;
	nghttp2_session_callbacks *c = h2_callbacks();
	nghttp2_option *o;
	nghttp2_settings_entry set[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 200 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_LARGE },
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
	};

	memset(&h, 0, sizeof(h));
	h.l = l;
	if (s != NULL)
		h.shape = *s;
	if (s != NULL && is_slow(s))
		set[1].value = WINDOW_SMALL;
	if (nghttp2_option_new(&o) != 0)
		abort();
	nghttp2_option_set_no_auto_window_update(o, 1);
	if ((l->is_origin
		    ? nghttp2_session_server_new2(&h.session, c, &h, o)
		    : nghttp2_session_client_new2(&h.session, c, &h, o)) != 0 ||
	    nghttp2_submit_settings(h.session, 0, set, l->is_origin ? 2 : 3) !=
		0 ||
	    nghttp2_session_set_local_window_size(h.session, 0, 0,
		WINDOW_ALL) != 0)
		abort();
	nghttp2_option_del(o);
	nghttp2_session_callbacks_del(c);
	return &h;
}

static void
stop(void *state)
{
	struct h2 *h = state;

	for (size_t i = 0; i < STREAMS_MAX; i++) {
		if (h->turns[i].t == NULL)
			continue;
		h2_finish(h, &h->turns[i], TURN_LATE);
		turn_free(h->turns[i].t);
	}
	nghttp2_session_del(h->session);
}

static size_t
room(void *state)
{
	(void)state;
	return PEER_PIECE;
}

static uint64_t
next_ms(void *state)
{
	const struct h2 *h = state;
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < STREAMS_MAX; i++)
		if (h->turns[i].t != NULL) {
			uint64_t at = turn_next_ms(h->turns[i].t);

			next = at < next ? at : next;
		}
	return next;
}

static int
wait_fd(void *state)
{
	const struct h2 *h = state;

	for (size_t i = 0; h->l->is_origin && i < STREAMS_MAX; i++)
		if (h->turns[i].t != NULL && h->turns[i].t->is_head_sent &&
		    h->turns[i].t->go_fd != -1)
			return h->turns[i].t->go_fd;
	return -1;
}

const struct version version_h2 = {
	.name = "h2",
	.alpn = "\x02h2",
	.start = start,
	.stop = stop,
	.input = input,
	.output = output,
	.ended = ended,
	.room = room,
	.next_ms = next_ms,
	.wait_fd = wait_fd,
};
