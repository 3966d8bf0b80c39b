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
#define HEAD_EXTRA_BYTES 65536

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
h2_link_init(struct h2_link *l, struct gate *g, struct stream *stream,
    bool is_guest, h2_read_body *read_body)
{
	int rc;

	l->gate = g;
	l->stream = stream;
	l->is_guest = is_guest;
	l->read_body = read_body;
	l->scan.skip = is_guest ? HTTP2_PREFACE_BYTES : 0;
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

/* --- what comes --- */

/* It is over: what comes is not read any more, but this is still said. */
static void
break_off(struct h2_link *l, uint32_t error)
{
	(void)nghttp2_session_terminate_session(l->session, error);
	l->is_failed = true;
}

/* The peer did something that costs us more. What to say of it. */
static uint32_t
glitch(struct h2_link *l)
{
	return bucket_take(&l->glitches, clock_mono_ms())
	    ? NGHTTP2_NO_ERROR
	    : NGHTTP2_ENHANCE_YOUR_CALM;
}

/* gRPC in Go measures its path by a PING for each DATA that it gets. */
static bool
is_idle_ping(struct h2_link *l)
{
	if (l->may_ping == 0)
		return true;
	l->may_ping--;
	return false;
}

/* Does it cost us more than the peer, whatever is in it? */
static bool
is_glitch(struct h2_link *l, const struct http2_frame *f)
{
	switch (f->type) {
	case NGHTTP2_DATA:
		return f->length == 0 &&
		    (f->flags & NGHTTP2_FLAG_END_STREAM) == 0;
	case NGHTTP2_PING:
		return (f->flags & NGHTTP2_FLAG_ACK) == 0 && is_idle_ping(l);
	case NGHTTP2_SETTINGS:
		return (f->flags & NGHTTP2_FLAG_ACK) == 0;
	case NGHTTP2_PRIORITY:
	case NGHTTP2_RST_STREAM:
	case NGHTTP2_CONTINUATION:
		return true;
	default:
		return false;
	}
}

/* Is what it is part of small enough? */
static bool
note_frame(struct h2_link *l, const struct http2_frame *f)
{
	l->last = *f;
	if (f->type != NGHTTP2_CONTINUATION)
		l->head_bytes = 0;
	if (f->type == NGHTTP2_HEADERS || f->type == NGHTTP2_CONTINUATION)
		l->head_bytes += f->length;
	return l->head_bytes <=
	    l->gate->limits.head_max_bytes + HEAD_EXTRA_BYTES;
}

bool
h2_link_is_in_head(const struct h2_link *l)
{
	if (l->last.type != NGHTTP2_HEADERS &&
	    l->last.type != NGHTTP2_CONTINUATION)
		return false;
	return (l->last.flags & NGHTTP2_FLAG_END_HEADERS) == 0 ||
	    l->scan.skip > 0;
}

/* May the peer send part of a message there? */
static uint32_t
check_past(struct h2_link *l, const struct http2_frame *f)
{
	if (l->is_guest && f->type == NGHTTP2_HEADERS)
		h2_past_open(&l->past, f->stream);
	switch (h2_past_find(&l->past, f->stream)) {
	case H2_PAST_SKIPPED:
		return NGHTTP2_PROTOCOL_ERROR;
	case H2_PAST_ENDED:
		return NGHTTP2_STREAM_CLOSED;
	case H2_PAST_UNKNOWN:
	case H2_PAST_OPEN:
		break;
	}
	if ((f->flags & NGHTTP2_FLAG_END_STREAM) != 0)
		h2_past_end(&l->past, f->stream);
	return NGHTTP2_NO_ERROR;
}

/* What is wrong with a frame that began. */
static uint32_t
check(struct h2_link *l, const struct http2_frame *f)
{
	uint32_t error = NGHTTP2_NO_ERROR;

	if (f->type == NGHTTP2_HEADERS || f->type == NGHTTP2_DATA)
		error = check_past(l, f);
	if (f->type == NGHTTP2_RST_STREAM)
		h2_past_end(&l->past, f->stream);
	if (error == NGHTTP2_NO_ERROR && !note_frame(l, f))
		error = NGHTTP2_ENHANCE_YOUR_CALM;
	if (error == NGHTTP2_NO_ERROR && is_glitch(l, f))
		error = glitch(l);
	return error;
}

static void
give(struct h2_link *l, struct span data)
{
	ssize_t n = nghttp2_session_mem_recv(l->session, data.ptr, data.len);

	if (n == NGHTTP2_ERR_FLOODED ||
	    n == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS ||
	    nghttp2_session_get_outbound_queue_size(l->session) > QUEUE_MAX)
		break_off(l, NGHTTP2_ENHANCE_YOUR_CALM);
	else if (n < 0)
		l->is_failed = true;
}

static void
feed(struct h2_link *l, struct span data)
{
	struct span rest = data;
	uint32_t error = NGHTTP2_NO_ERROR;
	struct http2_frame f;

	while (
	    error == NGHTTP2_NO_ERROR && http2_scan_next(&l->scan, &rest, &f))
		error = check(l, &f);
	/*
	 * What came before a bad one counts. Without the last byte of its head
	 * nothing can be made of that.
	 */
	if (error != NGHTTP2_NO_ERROR)
		data.len -= rest.len + 1;
	give(l, data);
	if (error != NGHTTP2_NO_ERROR)
		break_off(l, error);
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
		feed(l, (struct span){ room, len });
		if (l->is_secret)
			explicit_bzero(room, len);
		if (l->is_failed)
			return STREAM_FAILED;
	} while (stream_has_more(l->stream));
	return STREAM_AGAIN;
}

/* --- what goes --- */

static ssize_t
/* NOLINTNEXTLINE(readability-function-size): the type is the library's */
on_source(nghttp2_session *session, int32_t id, uint8_t *room, size_t size,
    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	const struct h2_link *l = source->ptr;

	(void)arg;
	return l->read_body(nghttp2_session_get_stream_user_data(session, id),
	    room, size, flags);
}

nghttp2_data_provider
h2_link_body(struct h2_link *l)
{
	return (nghttp2_data_provider){ .source.ptr = l,
		.read_callback = on_source };
}

static bool
is_fault(uint32_t error)
{
	switch (error) {
	case NGHTTP2_NO_ERROR:
	case NGHTTP2_CANCEL:
	case NGHTTP2_INTERNAL_ERROR:
		/* Our own doing. */
	case NGHTTP2_REFUSED_STREAM:
		/* It may not have known how many it can have (9113 6.5.2). */
		return false;
	default:
		return true;
	}
}

/*
 * Whatever made us reset a stream is counted: a message that is none, a window,
 * a length, a frame out of place (CVE-2025-8671). The library tells of some of
 * what it finds only, but it sends for all.
 */
bool
h2_link_on_sent(struct h2_link *l, const nghttp2_frame *frame)
{
	if (frame->hd.type == NGHTTP2_DATA && l->may_ping < GLITCHES_PER_SECOND)
		l->may_ping++;
	if (frame->hd.type == NGHTTP2_GOAWAY &&
	    is_fault(frame->goaway.error_code))
		l->is_failed = true;
	if (frame->hd.type != NGHTTP2_RST_STREAM ||
	    !is_fault(frame->rst_stream.error_code))
		return false;
	if (glitch(l) != NGHTTP2_NO_ERROR)
		break_off(l, NGHTTP2_ENHANCE_YOUR_CALM);
	return true;
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
	return l->out.len == 0 && !stream_has_unsent(l->stream) &&
	    !nghttp2_session_want_write(l->session) &&
	    (l->is_failed || !nghttp2_session_want_read(l->session));
}
