/*
 * The guest's half in HTTP/2, see h2_guest.h: the connection, reading,
 * writing, time. The session's callbacks are in h2_guest_session.c, one
 * request and its answer in h2_guest_stream.c.
 *
 * h2_guest_run() does everything that can be done without waiting. What the
 * exchanges want of us is only gathered and kicks another run.
 */
#include "proxy/h2_guest_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

static void
on_kick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	h2_guest_run(arg);
}

void
h2_guest_kick(struct h2_guest *h)
{
	if (!h->is_running)
		event_active(&h->kick, 0, 0);
}

/* --- time --- */

/* When something has to have happened; a run of the loop moves it. */
static uint64_t
deadline(const struct h2_guest *h)
{
	const struct message_gate_limits *l = &h->gate->limits;
	uint64_t at;

	/* Exchanges have a time-out of their own, which then moves this. */
	if (h->stream_count > 0)
		at = h->moved_ms + 2 * (uint64_t)l->relay_idle_timeout_ms;
	else
		at = h->moved_ms + l->idle_timeout_ms;
	if (h->head_ms != 0 && h->head_ms + l->head_timeout_ms < at)
		at = h->head_ms + l->head_timeout_ms;
	return at;
}

static void
arm(struct h2_guest *h)
{
	uint64_t now = clock_mono_ms(), at = deadline(h);
	uint64_t ms = at > now ? at - now : 0;
	struct timeval tv = { .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	/* Moved only when it would fire too late. */
	if (h->timer_ms != 0 && h->timer_ms <= at)
		return;
	h->timer_ms = at;
	(void)event_add(&h->timer, &tv);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct h2_guest *h = arg;

	(void)fd;
	(void)what;
	h->timer_ms = 0;
	if (clock_mono_ms() < deadline(h)) {
		arm(h);
		return;
	}
	if (h->stream_count == 0 && h->head_ms == 0)
		(void)nghttp2_session_terminate_session(h->link.session,
		    NGHTTP2_NO_ERROR);
	else
		h->is_dead = true;
	h2_guest_run(h);
}

/*
 * After the end of an answer: for the guest to read it before it is told to
 * stop. curl 7.88 loses an answer that a reset comes with.
 */
#define LINGER_MS 100
#define LINGER_US 100000

static void
set_linger(struct h2_guest *h)
{
	static const struct timeval delay = { 0, LINGER_US };

	if (event_pending(&h->linger, EV_TIMEOUT, NULL) == 0)
		(void)event_add(&h->linger, &delay);
}

void
h2_guest_linger(struct h2_guest *h, struct h2_stream *s)
{
	s->linger_ms = clock_mono_ms() + LINGER_MS;
	set_linger(h);
}

/* What is still to come of these requests is not wanted (RFC 9113 8.1). */
static void
on_linger_over(evutil_socket_t fd, short what, void *arg)
{
	struct h2_guest *h = arg;
	uint64_t now = clock_mono_ms();
	struct h2_stream *s;

	(void)fd;
	(void)what;
	TAILQ_FOREACH(s, &h->streams, link)
	{
		if (s->linger_ms > now) {
			set_linger(h);
		} else if (s->linger_ms != 0) {
			s->linger_ms = 0;
			(void)nghttp2_submit_rst_stream(h->link.session,
			    NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
		}
	}
	h2_guest_run(h);
}

/* --- life --- */

struct h2_guest *
h2_guest_new(const struct h2_guest_spec *spec)
{
	struct h2_guest *h = calloc(1, sizeof(*h));
	int rc;

	if (h == NULL)
		return NULL;
	h->spec = *spec;
	h->gate = spec->front.gate;
	h->is_readable = true;
	h->moved_ms = clock_mono_ms();
	h->window_left = h->gate->limits.large_bytes;
	TAILQ_INIT(&h->streams);
	rc = event_assign(&h->timer, h->gate->base, -1, 0, on_timer, h);
	assert(rc == 0);
	rc = event_assign(&h->kick, h->gate->base, -1, 0, on_kick, h);
	assert(rc == 0);
	rc = event_assign(&h->linger, h->gate->base, -1, 0, on_linger_over, h);
	assert(rc == 0);
	h2_link_init(&h->link, h->gate, spec->stream, true, h2_stream_read);
	if (h2_guest_session(h) != 0) {
		h2_link_done(&h->link);
		free(h);
		return NULL;
	}
	return h;
}

static void
on_buried(struct grave *grave)
{
	struct h2_guest *h = (struct h2_guest *)grave; /* its first member */

	h2_link_done(&h->link);
	free(h);
}

void
h2_guest_free(struct h2_guest *h)
{
	struct h2_stream *s;

	if (h == NULL)
		return;
	while ((s = TAILQ_FIRST(&h->streams)) != NULL)
		h2_stream_free(s, "the guest closed its connection");
	h->is_settled = true;
	h2_link_stop(&h->link);
	(void)event_del(&h->timer);
	(void)event_del(&h->kick);
	(void)event_del(&h->linger);
	pool_bury(h->gate, &h->grave, on_buried);
}

void
h2_guest_policy_changed(struct h2_guest *h)
{
	struct h2_stream *s;

	TAILQ_FOREACH(s, &h->streams, link)
	if (s->x != NULL)
		exchange_policy_changed(s->x);
}

/* --- a run --- */

static void
take_in(struct h2_guest *h)
{
	enum stream_result r;

	if (!h->is_readable || h->is_ended || h->link.is_failed)
		return;
	h->is_readable = false;
	r = h2_link_read(&h->link);
	if (r == STREAM_AGAIN)
		return;
	/* Its end, or nothing that we want to hear of any more. */
	h->is_ended = true;
	stream_set_reading(h->spec.stream, false);
}

static void
pump(struct h2_guest *h)
{
	struct h2_stream *s;

	if (!h->has_work)
		return;
	h->has_work = false;
	TAILQ_FOREACH(s, &h->streams, link)
	h2_stream_pump(s);
}

static void
put_out(struct h2_guest *h)
{
	enum stream_result r = h2_link_write(&h->link);

	if (r != STREAM_OK && r != STREAM_AGAIN)
		h->is_dead = true;
}

/* Exchanges whose answers found no room. True: some went on. */
static bool
resume(struct h2_guest *h)
{
	struct h2_stream *s;

	if (!h->has_room)
		return false;
	h->has_room = false;
	TAILQ_FOREACH(s, &h->streams, link)
	{
		if (!s->is_down_blocked ||
		    s->out.len > h->gate->limits.wait_bytes / 2)
			continue;
		s->is_down_blocked = false;
		if (s->x != NULL)
			exchange_resume(s->x);
	}
	return true;
}

static bool
is_over(const struct h2_guest *h)
{
	if (h->is_dead || h2_link_is_over(&h->link))
		return true;
	/* The guest closed its direction: what it asked for is still told. */
	return h->is_ended && h->stream_count == 0 && h->link.out.len == 0 &&
	    !stream_has_unsent(h->spec.stream);
}

/* What the guest began and can not end any more, and what it would not hear. */
static void
drop_halves(struct h2_guest *h)
{
	struct h2_stream *s, *next;

	if (!h->is_ended)
		return;
	for (s = TAILQ_FIRST(&h->streams); s != NULL; s = next) {
		next = TAILQ_NEXT(s, link);
		if (!s->is_whole || h->link.is_failed ||
		    (s->x != NULL && exchange_is_held(s->x)))
			h2_stream_free(s, "the guest closed its connection");
	}
}

/* What waits for a window that the guest cannot open any more. */
static void
drop_stuck(struct h2_guest *h)
{
	nghttp2_session *session = h->link.session;
	struct h2_stream *s, *next;

	if (!h->is_ended || h->link.out.len > 0)
		return;
	for (s = TAILQ_FIRST(&h->streams); s != NULL; s = next) {
		next = TAILQ_NEXT(s, link);
		if (s->out.len > 0 &&
		    (nghttp2_session_get_remote_window_size(session) <= 0 ||
			nghttp2_session_get_stream_remote_window_size(session,
			    s->id) <= 0))
			h2_stream_free(s, "the guest closed its connection");
	}
}

static void
note_time(struct h2_guest *h)
{
	/* Without a stream nothing that comes (PING) keeps it open. */
	if (h->stream_count > 0 && h->bytes_seen != h->link.bytes)
		h->moved_ms = clock_mono_ms();
	h->bytes_seen = h->link.bytes;
	if (!h2_link_is_in_head(&h->link))
		h->head_ms = 0;
	else if (h->head_ms == 0)
		h->head_ms = clock_mono_ms();
}

void
h2_guest_run(struct h2_guest *h)
{
	if (h->is_running || h->is_settled)
		return;
	h->is_running = true;
	take_in(h);
	drop_halves(h);
	do {
		pump(h);
		put_out(h);
	} while (!h->is_dead && resume(h));
	drop_stuck(h);
	note_time(h);
	h->is_running = false;
	if (!is_over(h)) {
		arm(h);
		return;
	}
	h->is_settled = true;
	(void)event_del(&h->timer);
	(void)event_del(&h->linger);
	if (!h->is_dead)
		stream_say_end(h->spec.stream);
	h->spec.on_done(h->spec.arg);
}

void
h2_guest_on_ready(struct h2_guest *h)
{
	h->is_readable = true;
	h2_guest_run(h);
}
