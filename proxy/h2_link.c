/*
 * A session of libnghttp2 on a stream, see h2_link.h.
 */
#include "proxy/h2_link.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "proxy/audit.h"

/* Frames that wait to be written as one piece. */
#define OUT_MAX_BYTES 32768
/* So that one window of all streams does not stop one of them. */
#define CONNECTION_WINDOW (1 << 20)
/*
 * A second's worth of what costs us more than the peer. Programs that cancel
 * a screenful of requests stay below it.
 */
#define GLITCHES_PER_SECOND 200
/* Frames that wait to be sent to a peer that does not read. */
#define QUEUE_MAX 1000
/* A head's bytes on the wire, beside the limit that its fields have. */
#define BLOCK_EXTRA_BYTES 65536

/* For how long a connection is not read while the audit is behind. */
#define HOLD_US 2000

static void
on_hold_over(evutil_socket_t fd, short what, void *arg)
{
	struct stream *s = arg;

	(void)fd;
	(void)what;
	stream_set_reading(s, true);
	s->on_ready(s, s->arg);
}

void
h2_link_init(struct h2_link *l, struct gate *g, struct stream *stream)
{
	int rc;

	l->gate = g;
	l->stream = stream;
	rc = event_assign(&l->hold, g->base, -1, 0, on_hold_over, stream);
	assert(rc == 0);
}

void
h2_link_stop(struct h2_link *l)
{
	(void)event_del(&l->hold);
}

nghttp2_option *
h2_link_options(void)
{
	nghttp2_option *o;

	if (nghttp2_option_new(&o) != 0)
		return NULL;
	/* The window opens as bytes are taken, not as they come. */
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_max_outbound_ack(o, GLITCHES_PER_SECOND);
	return o;
}

int
h2_link_begin(struct h2_link *l, const nghttp2_settings_entry *settings,
    size_t count)
{
	l->glitches = bucket_init(GLITCHES_PER_SECOND, clock_mono_ms());
	if (nghttp2_submit_settings(l->session, NGHTTP2_FLAG_NONE, settings,
		count) != 0 ||
	    nghttp2_session_set_local_window_size(l->session, NGHTTP2_FLAG_NONE,
		0, CONNECTION_WINDOW) != 0)
		return -ENOMEM;
	return 0;
}

void
h2_link_done(struct h2_link *l)
{
	nghttp2_session_del(l->session);
	l->session = NULL;
	buf_done(&l->out);
}

static bool
calm(struct h2_link *l)
{
	(void)nghttp2_session_terminate_session(l->session,
	    NGHTTP2_ENHANCE_YOUR_CALM);
	return false;
}

static bool
feed(struct h2_link *l, const uint8_t *ptr, size_t len)
{
	ssize_t n = nghttp2_session_mem_recv(l->session, ptr, len);

	if (n == NGHTTP2_ERR_FLOODED || n == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS)
		return calm(l);
	if (n < 0)
		return false;
	if (l->is_in_block)
		l->block_bytes += len;
	if (l->block_bytes > l->gate->limits.head_max_bytes + BLOCK_EXTRA_BYTES)
		return calm(l);
	if (nghttp2_session_get_outbound_queue_size(l->session) > QUEUE_MAX)
		return calm(l);
	return true;
}

static bool
must_hold(struct h2_link *l)
{
	static const struct timeval delay = { 0, HOLD_US };

	if (!audit_is_behind(l->gate))
		return false;
	stream_set_reading(l->stream, false);
	(void)event_add(&l->hold, &delay);
	return true;
}

enum stream_result
h2_link_read(struct h2_link *l)
{
	uint8_t *room = l->gate->scratch;
	size_t len;

	if (l->is_failed)
		return STREAM_FAILED;
	do {
		enum stream_result r;

		if (must_hold(l))
			return STREAM_AGAIN;
		r = stream_read(l->stream, room, GATE_SCRATCH_BYTES, &len);
		if (r != STREAM_OK)
			return r;
		l->bytes += len;
		l->is_failed = !feed(l, room, len);
		if (l->is_secret)
			explicit_bzero(room, len);
		if (l->is_failed)
			return STREAM_FAILED;
	} while (stream_has_more(l->stream));
	return STREAM_AGAIN;
}

static bool
gather(struct h2_link *l)
{
	while (l->out.len < OUT_MAX_BYTES) {
		const uint8_t *ptr;
		ssize_t n = nghttp2_session_mem_send(l->session, &ptr);

		if (n == 0)
			return true;
		if (n < 0 ||
		    buf_append(&l->out, (struct span){ ptr, (size_t)n }) != 0)
			return false;
	}
	return true;
}

enum stream_result
h2_link_write(struct h2_link *l)
{
	for (;;) {
		enum stream_result r;
		size_t len;

		if (!gather(l))
			return STREAM_FAILED;
		if (l->out.len == 0)
			return STREAM_OK;
		r = stream_write(l->stream, buf_span(&l->out), &len);
		if (r != STREAM_OK)
			return r;
		buf_consume(&l->out, len);
		l->bytes += len;
	}
}

bool
h2_link_is_over(const struct h2_link *l)
{
	return l->out.len == 0 && !nghttp2_session_want_write(l->session) &&
	    (l->is_failed || !nghttp2_session_want_read(l->session));
}

int
h2_link_glitch(struct h2_link *l)
{
	if (bucket_take(&l->glitches, clock_mono_ms()))
		return 0;
	(void)calm(l);
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int
h2_link_on_begin_frame(struct h2_link *l, const nghttp2_frame_hd *hd)
{
	bool is_empty = hd->type == NGHTTP2_DATA && hd->length == 0 &&
	    (hd->flags & NGHTTP2_FLAG_END_STREAM) == 0;

	/* Of a CONTINUATION nothing is told. */
	l->is_in_block = hd->type == NGHTTP2_HEADERS &&
	    (hd->flags & NGHTTP2_FLAG_END_HEADERS) == 0;
	l->block_bytes = 0;
	return is_empty ? h2_link_glitch(l) : 0;
}

int
h2_link_on_frame(struct h2_link *l, const nghttp2_frame *frame)
{
	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		l->is_in_block = false;
		return 0;
	case NGHTTP2_RST_STREAM:
	case NGHTTP2_PRIORITY:
		return h2_link_glitch(l);
	case NGHTTP2_PING:
	case NGHTTP2_SETTINGS:
		return (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0
		    ? h2_link_glitch(l)
		    : 0;
	default:
		return 0;
	}
}
