/*
 * Connections of HTTP/2 to origins, see h2_origin.h: their life. Their
 * session is in h2_origin_session.c, sending in h2_origin_stream.c.
 *
 * A callback of the session may end the exchange that it tells of, but never
 * the connection: that is done by run(), last.
 */
#include "proxy/h2_origin_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "proxy/exchange.h"

/* Longest an idle connection is kept, whatever the limits say. */
#define IDLE_MAX_MS 60000

static void run(struct h2_origin *c);

void
h2_origin_kick(struct h2_origin *c)
{
	if (!c->is_running)
		event_active(&c->kick, 0, 0);
}

static void
on_kick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	run(arg);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct h2_origin *c = arg;

	(void)fd;
	(void)what;
	c->is_draining = c->is_draining || c->stream_count == 0;
	run(c);
}

static void
on_ready(struct stream *s, void *arg)
{
	struct h2_origin *c = arg;

	(void)s;
	c->is_readable = true;
	run(c);
}

static void
on_buried(struct grave *grave)
{
	struct h2_origin *c = (struct h2_origin *)grave; /* its first member */

	h2_link_done(&c->h2);
	injection_unref(c->credential);
	free(c);
}

/* No stream is on it. */
static void
end(struct h2_origin *c)
{
	assert(TAILQ_EMPTY(&c->streams));
	TAILQ_REMOVE(pool_h2(c->gate), c, link);
	h2_link_stop(&c->h2);
	(void)event_del(&c->timer);
	(void)event_del(&c->kick);
	if (!c->is_dead)
		stream_shutdown(&c->stream);
	if (c->stream.ssl != NULL)
		tls_origin_done(c->stream.ssl);
	stream_done(&c->stream);
	fd_close(&c->fd);
	pool_bury(c->gate, &c->grave, on_buried);
}

void
h2_origin_detach(struct origin *o)
{
	struct h2_origin *c = o->h2;

	assert(c != NULL);
	if (o->stream_id != 0)
		(void)nghttp2_session_set_stream_user_data(c->h2.session,
		    o->stream_id, NULL);
	o->stream_id = 0;
	TAILQ_REMOVE(&c->streams, o, link);
	c->stream_count--;
	c->window_left += o->window_more;
	o->window_more = 0;
	o->h2 = NULL;
	h2_origin_kick(c);
	pool_wake(c->gate);
}

static void
attach(struct h2_origin *c, struct origin *o)
{
	o->is_h2 = true;
	o->h2 = c;
	TAILQ_INSERT_TAIL(&c->streams, o, link);
	c->stream_count++;
}

/* The connection has ended: so have the exchanges that want more of it. */
static void
fail_streams(struct h2_origin *c)
{
	struct origin *o;

	c->is_draining = true;
	while ((o = TAILQ_FIRST(&c->streams)) != NULL) {
		/* It is gone, and has not said a word of an answer. */
		bool is_gone = o->state == ORIGIN_ASKED && !c->h2.is_failed;

		h2_origin_detach(o);
		/* What has come of it whole is still given. */
		if (o->is_down_whole || o->x == NULL)
			continue;
		exchange_origin_failed(o->x,
		    is_gone ? REASON_ORIGIN_UNREACHABLE : REASON_BAD_RESPONSE,
		    false,
		    c->h2.is_failed ? "the origin broke HTTP/2"
				    : "the origin closed the connection",
		    is_gone && o->was_idle ? EXCHANGE_FATE_STALE
					   : EXCHANGE_FATE_UNKNOWN);
	}
}

/* True: some exchange has gone on, and may have given more to write. */
static bool
give_room(struct h2_origin *c)
{
	struct origin *o;

	if (!c->has_room)
		return false;
	c->has_room = false;
	TAILQ_FOREACH(o, &c->streams, link)
	{
		if (!o->is_up_blocked ||
		    o->out.len > c->gate->limits.wait_bytes / 2)
			continue;
		o->is_up_blocked = false;
		exchange_origin_room(o->x);
	}
	return true;
}

static void
take_in(struct h2_origin *c)
{
	if (!c->is_readable)
		return;
	c->is_readable = false;
	c->moved_ms = clock_mono_ms();
	if (h2_link_read(&c->h2) != STREAM_AGAIN)
		c->is_dead = true;
}

static void
put_out(struct h2_origin *c)
{
	enum stream_result r = h2_link_write(&c->h2);

	if (r != STREAM_OK && r != STREAM_AGAIN)
		c->is_dead = true;
	if (!h2_link_is_over(&c->h2))
		return;
	c->is_draining = true;
	c->is_dead = c->is_dead || c->stream_count > 0;
}

/* How long it may wait for another stream; 0: it may not. */
static uint32_t
idle_ms(const struct h2_origin *c)
{
	uint32_t ms = c->gate->limits.idle_timeout_ms;
	uint64_t now = clock_boot_ms(), until = c->lease_ends_boot_ms;

	if (ms > IDLE_MAX_MS)
		ms = IDLE_MAX_MS;
	if (c->key.credential[0] == '\0')
		return ms;
	if (until <= now)
		return 0;
	return until - now < ms ? (uint32_t)(until - now) : ms;
}

static void
wait_idle(struct h2_origin *c)
{
	uint32_t ms = idle_ms(c);
	struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	(void)event_add(&c->timer, &tv);
}

void
h2_origin_note_lease(struct origin *o, struct injection *credential)
{
	struct h2_origin *c = o->h2;
	uint64_t ends_ms = credential->lease.expires_boot_ms;

	o->held.is_secret = true;
	injection_set(&c->credential, credential);
	if (ends_ms > c->lease_ends_boot_ms)
		c->lease_ends_boot_ms = ends_ms;
}

static void
run(struct h2_origin *c)
{
	assert(!c->is_running);
	c->is_running = true;
	take_in(c);
	/* It says goodbye, with its last stream gone. */
	if (c->is_draining && c->stream_count == 0)
		(void)nghttp2_session_terminate_session(c->h2.session,
		    NGHTTP2_NO_ERROR);
	do
		put_out(c);
	while (!c->is_dead && give_room(c));
	c->is_running = false;
	if (c->is_dead)
		fail_streams(c);
	if (c->stream_count > 0)
		(void)event_del(&c->timer);
	else if (c->is_dead || c->is_draining)
		end(c);
	else
		wait_idle(c);
}

/* Takes TLS, descriptor and address over from o. */
static void
take_over(struct h2_origin *c, struct origin *o)
{
	c->gate = o->gate;
	c->key = o->key;
	c->generation = o->generation;
	memcpy(c->address, o->address, sizeof(c->address));
	c->fd = steal_fd(&o->fd);
	stream_move(&c->stream, &o->stream, on_ready, c);
	o->has_stream = false;
	/* Without TLS in tests only: nothing else has agreed on HTTP/2. */
	if (c->stream.ssl != NULL)
		tls_origin_move(c->stream.ssl, &c->tls, &o->tls, c->key.host);
	h2_link_init(&c->h2, c->gate, &c->stream, false, h2_origin_read);
	c->h2.is_secret = c->key.credential[0] != '\0';
	c->h2.out.is_secret = c->h2.is_secret;
	c->is_readable = true;
	c->window_left = o->gate->limits.large_bytes;
	c->moved_ms = clock_mono_ms();
}

int
h2_origin_start(struct origin *o)
{
	struct h2_origin *c = calloc(1, sizeof(*c));
	int rc;

	if (c == NULL)
		return -ENOMEM;
	TAILQ_INIT(&c->streams);
	rc = event_assign(&c->timer, o->gate->base, -1, 0, on_timer, c);
	assert(rc == 0);
	rc = event_assign(&c->kick, o->gate->base, -1, 0, on_kick, c);
	assert(rc == 0);
	take_over(c, o);
	TAILQ_INSERT_HEAD(pool_h2(c->gate), c, link);
	if (h2_origin_session(c) != 0) {
		c->is_dead = true;
		end(c);
		return -ENOMEM;
	}
	attach(c, o);
	h2_origin_kick(c);
	return 0;
}

static bool
has_place(struct h2_origin *c, uint64_t idle_max_ms)
{
	uint32_t most = nghttp2_session_get_remote_settings(c->h2.session,
	    NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

	if (c->is_dead || c->is_draining || c->h2.is_failed ||
	    nghttp2_session_check_request_allowed(c->h2.session) == 0)
		return false;
	if (c->stream_count == 0 &&
	    clock_mono_ms() - c->moved_ms >= idle_max_ms)
		return false;
	if (most > c->gate->limits.streams)
		most = c->gate->limits.streams;
	return c->stream_count < most;
}

struct origin *
h2_origin_take(struct gate *g, const struct origin_key *key,
    uint64_t idle_max_ms)
{
	struct h2_origin *c;
	struct origin *o;

	TAILQ_FOREACH(c, pool_h2(g), link)
	if (c->generation == gate_origin_generation(g) &&
	    pool_key_is(&c->key, key) && has_place(c, idle_max_ms))
		break;
	if (c == NULL)
		return NULL;
	o = origin_new(g, key);
	if (o == NULL)
		return NULL;
	memcpy(o->address, c->address, sizeof(o->address));
	o->state = ORIGIN_IDLE;
	attach(c, o);
	return o;
}

void
h2_origins_flush(struct gate *g)
{
	struct h2_origin *c;

	TAILQ_FOREACH(c, pool_h2(g), link)
	{
		c->is_draining = true;
		h2_origin_kick(c);
	}
}

void
h2_origins_revoke(struct gate *g, const char *credential)
{
	struct h2_origin *c;

	TAILQ_FOREACH(c, pool_h2(g), link)
	{
		const char *carried = c->key.credential;

		if (credential == NULL ? *carried == '\0'
				       : strcmp(carried, credential) != 0)
			continue;
		c->is_draining = true;
		injection_set(&c->credential, NULL);
		h2_origin_kick(c);
	}
}

void
h2_origins_free(struct gate *g)
{
	struct h2_origin *c;

	while ((c = TAILQ_FIRST(pool_h2(g))) != NULL) {
		c->is_dead = true;
		while (!TAILQ_EMPTY(&c->streams))
			h2_origin_detach(TAILQ_FIRST(&c->streams));
		end(c);
	}
}
