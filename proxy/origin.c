/*
 * The origin's half, see origin.h: connecting, and the end. What is sent is in
 * origin_send.c, what comes back in origin_answer.c. Once TLS agreed on HTTP/2,
 * it is a stream (h2_origin.h).
 */
#include "proxy/origin_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "proxy/exchange.h"
#include "proxy/h2_origin.h"
#include "proxy/origin_proof.h"
#include "proxy/tls_context.h"

/* Longest an idle connection is kept, whatever the limits say. */
#define IDLE_MAX_MS 60000
/* Idle connections hold their buffers this long, see h1_guest_time.c. */
#define REST_MS 1000

static void on_stream_ready(struct stream *s, void *arg);

static void
set_timer(struct origin *o, uint32_t ms)
{
	struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	(void)event_add(&o->timer, &tv);
}

static void
fail(struct origin *o, enum reason reason, const char *detail)
{
	exchange_origin_failed(o->x, reason, false, detail,
	    EXCHANGE_FATE_UNKNOWN);
}

/* For a while, or for too long. */
static void
on_idle(struct origin *o)
{
	uint64_t ms = origin_idle_ms(o);

	if (ms >= o->idle_max_ms) {
		pool_drop(o->gate, o);
		origin_free(o);
		return;
	}
	buf_done(&o->in);
	buf_done(&o->out);
	stream_rest(&o->stream);
	set_timer(o, (uint32_t)(o->idle_max_ms - ms));
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct origin *o = arg;

	(void)fd;
	(void)what;
	if (o->state == ORIGIN_IDLE) {
		on_idle(o);
		return;
	}
	assert(o->state == ORIGIN_TLS);
	fail(o, REASON_TIMEOUT, "TLS handshake with the origin");
}

/* What was gathered in this turn goes out. */
static void
on_kick(evutil_socket_t fd, short what, void *arg)
{
	struct origin *o = arg;

	(void)fd;
	(void)what;
	if (o->state == ORIGIN_ASKED || o->state == ORIGIN_ANSWER)
		origin_write(o);
}

struct origin *
origin_new(struct gate *g, const struct origin_key *key)
{
	struct origin *o = calloc(1, sizeof(*o));
	int rc;

	if (o == NULL)
		return NULL;
	o->gate = g;
	o->key = *key;
	o->fd = -1;
	o->generation = gate_origin_generation(g);
	rc = event_assign(&o->timer, g->base, -1, 0, on_timer, o);
	assert(rc == 0);
	rc = event_assign(&o->kick, g->base, -1, 0, on_kick, o);
	assert(rc == 0);
	return o;
}

static void
on_buried(struct grave *grave)
{
	struct origin *o = (struct origin *)grave; /* its first member */

	buf_done(&o->in);
	buf_done(&o->out);
	buf_done(&o->trailers);
	blocks_done(&o->held);
	h2_head_done(&o->head);
	h2_head_done(&o->up_trailers);
	injection_unref(o->credential);
	free(o);
}

/* It is connected, or will not be. */
static void
stop_connecting(struct origin *o)
{
	if (!o->is_connecting)
		return;
	o->is_connecting = false;
	TAILQ_REMOVE(pool_connecting(o->gate), o, link);
	pool_wake(o->gate);
}

/* In the middle of a request, on a connection of its own. */
static bool
is_cut_short(const struct origin *o)
{
	return o->fd != -1 && !o->is_up_whole &&
	    (o->state == ORIGIN_ASKED || o->state == ORIGIN_ANSWER ||
		o->state == ORIGIN_ENDED);
}

void
origin_free(struct origin *o)
{
	bool is_cut;

	if (o == NULL || o->state == ORIGIN_DEAD)
		return;
	is_cut = is_cut_short(o);
	o->state = ORIGIN_DEAD;
	o->x = NULL;
	stop_connecting(o);
	h2_origin_leave(o);
	dial_cancel(o->dial);
	o->dial = NULL;
	(void)event_del(&o->timer);
	(void)event_del(&o->kick);
	origin_proof_end(o);
	if (o->has_stream) {
		if (o->stream.ssl != NULL)
			tls_origin_done(o->stream.ssl);
		stream_done(&o->stream);
	}
	/* Else the kernel goes on to send what is left of a request. */
	if (is_cut)
		fd_reset(&o->fd);
	else
		fd_close(&o->fd);
	pool_bury(o->gate, &o->grave, on_buried);
}

const struct origin_key *
origin_key(const struct origin *o)
{
	return &o->key;
}

uint64_t
origin_generation(const struct origin *o)
{
	return o->generation;
}

const char *
origin_address(const struct origin *o)
{
	return o->address;
}

bool
origin_is_idle(const struct origin *o)
{
	return o->state == ORIGIN_IDLE;
}

uint64_t
origin_idle_ms(const struct origin *o)
{
	return clock_mono_ms() - o->idle_since_ms;
}

struct origin **
origin_next(struct origin *o)
{
	return &o->next;
}

struct origin **
origin_prev(struct origin *o)
{
	return &o->prev;
}

/* What is spoken follows from what TLS agreed on. */
static void
shaken(struct origin *o)
{
	enum tls_http http = tls_origin_http(o->stream.ssl);
	const char *fault = origin_proof_fault(o);

	origin_proof_end(o);
	/* The rule says as whom it is asked: not as nobody. */
	if (fault != NULL) {
		fail(o, REASON_ORIGIN_TLS, fault);
		return;
	}
	if (http == TLS_HTTP_NONE) {
		fail(o, REASON_ORIGIN_TLS,
		    "the origin chose a protocol that was not offered");
		return;
	}
	stop_connecting(o);
	if (http == TLS_HTTP_1) {
		exchange_line_tell(o->gate, &o->key);
		stream_keep_buffers(&o->stream);
	}
	o->state = ORIGIN_READY;
	if (http == TLS_HTTP_2 && h2_origin_start(o) != 0) {
		fail(o, REASON_ORIGIN_UNREACHABLE, "out of memory");
		return;
	}
	origin_answer_await(o);
}

static void
handshake(struct origin *o)
{
	const char *fault;
	char text[96];

	switch (stream_handshake(&o->stream)) {
	case STREAM_AGAIN:
		if (origin_proof_waits(o))
			stream_set_reading(&o->stream, false);
		return;
	case STREAM_OK:
		break;
	case STREAM_END:
	case STREAM_CUT:
	case STREAM_FAILED:
		fault = origin_proof_was_refused(o) ? "the broker did not sign"
						    : NULL;
		tls_context_failure(o->stream.ssl, text, sizeof(text));
		fail(o,
		    fault == NULL ? REASON_ORIGIN_TLS
				  : REASON_CREDENTIAL_UNAVAILABLE,
		    fault == NULL ? text : fault);
		return;
	}
	(void)event_del(&o->timer);
	shaken(o);
}

/* The broker has answered. */
static void
proof_goes_on(struct origin *o)
{
	stream_set_reading(&o->stream, true);
	handshake(o);
}

static void
start_tls(struct origin *o)
{
	SSL *ssl = origin_shows(o)
	    ? origin_proof_begin(o, proof_goes_on)
	    : tls_origin_new(o->gate, o->key.host, o->key.port,
		  !o->key.is_websocket, &o->tls);

	if (ssl == NULL) {
		fail(o, REASON_ORIGIN_TLS, "out of memory");
		return;
	}
	/* What an origin repeats stays in no buffer of the library's. */
	if (o->key.credential[0] != '\0')
		(void)SSL_set_options(ssl, SSL_OP_CLEANSE_PLAINTEXT);
	stream_init(&o->stream, o->gate->base, o->fd, ssl, on_stream_ready, o);
	o->has_stream = true;
	o->state = ORIGIN_TLS;
	set_timer(o, o->gate->limits.tls_timeout_ms);
	handshake(o);
}

static void
on_dialed(const struct message_dialed *d, int fd, void *arg)
{
	struct origin *o = arg;

	o->dial = NULL;
	o->fd = fd;
	memcpy(o->address, d->address, sizeof(o->address));
	if (d->reason != REASON_NONE) {
		exchange_origin_failed(o->x, d->reason, d->by_ceiling, "",
		    EXCHANGE_FATE_UNKNOWN);
		return;
	}
	if (o->key.scheme == SCHEME_HTTPS) {
		start_tls(o);
		return;
	}
	stream_init(&o->stream, o->gate->base, o->fd, NULL, on_stream_ready, o);
	o->has_stream = true;
	stop_connecting(o);
	o->state = ORIGIN_READY;
	origin_answer_await(o);
}

int
origin_connect(struct origin *o, struct exchange *x)
{
	const struct dial_to to = { o->key.host, o->key.port, o->key.scheme,
		o->key.is_redirect };

	assert(o->state == ORIGIN_NEW);
	o->x = x;
	o->revocations = pool_revocations(o->gate);
	o->state = ORIGIN_DIAL;
	o->dial = dial_start(o->gate, &to, on_dialed, o);
	if (o->dial == NULL)
		return -ENOMEM;
	o->is_connecting = true;
	TAILQ_INSERT_TAIL(pool_connecting(o->gate), o, link);
	return 0;
}

size_t
origin_connecting(const struct origin *o, size_t *ret_all)
{
	const struct origin *at;
	size_t same = 0;

	*ret_all = 0;
	TAILQ_FOREACH(at, pool_connecting(o->gate), link)
	{
		++*ret_all;
		if (pool_key_is(&at->key, &o->key))
			same++;
	}
	return same;
}

void
origin_adopt(struct origin *o, struct exchange *x)
{
	assert(o->state == ORIGIN_IDLE);
	(void)event_del(&o->timer);
	o->x = x;
	o->revocations = pool_revocations(o->gate);
	o->state = ORIGIN_READY;
	o->was_idle = true;
}

void
origin_resume(struct origin *o)
{
	if (o->state != ORIGIN_ASKED && o->state != ORIGIN_ANSWER)
		return;
	if (o->is_h2) {
		h2_origin_resume(o);
		return;
	}
	if (o->is_down_ended)
		return;
	stream_set_reading(&o->stream, true);
	origin_answer_run(o);
}

bool
origin_is_quiet(struct origin *o)
{
	uint8_t byte;
	size_t len;

	return stream_is_silent(&o->stream) ||
	    stream_read(&o->stream, &byte, sizeof(byte), &len) == STREAM_AGAIN;
}

static void
read_idle(struct origin *o)
{
	if (origin_is_quiet(o))
		return;
	pool_drop(o->gate, o);
	origin_free(o);
}

static void
on_stream_ready(struct stream *s, void *arg)
{
	struct origin *o = arg;

	switch (o->state) {
	case ORIGIN_TLS:
		handshake(o);
		return;
	case ORIGIN_IDLE:
		read_idle(o);
		return;
	case ORIGIN_ASKED:
	case ORIGIN_ANSWER:
		origin_write(o);
		/* It may be told of room alone, while the guest is slow. */
		if ((o->state == ORIGIN_ASKED || o->state == ORIGIN_ANSWER) &&
		    s->is_reading)
			origin_answer_read(o);
		return;
	case ORIGIN_READY:
	case ORIGIN_ENDED:
		/* Not now; it would be told again and again. */
		stream_set_reading(s, false);
		return;
	case ORIGIN_NEW:
	case ORIGIN_DIAL:
	case ORIGIN_DEAD:
		return;
	}
}

static bool
may_serve_again(const struct origin *o)
{
	return !o->is_h2 && o->state == ORIGIN_ENDED && o->keeps &&
	    o->is_up_whole && !o->is_write_failed && o->out.len == 0 &&
	    o->in.len == 0 && !stream_has_more(&o->stream) &&
	    !stream_has_unsent(&o->stream);
}

/*
 * How long it may wait for another exchange. One that carries a credential is
 * closed when the lease ends, or at once when any was revoked since it was
 * given away: it keeps the lease for the next that will ask for it, and the
 * origin may know who it is by the connection.
 */
static uint32_t
idle_ms(const struct origin *o)
{
	uint32_t ms = o->gate->limits.idle_timeout_ms;
	uint64_t now = clock_boot_ms(), end;

	if (ms > IDLE_MAX_MS)
		ms = IDLE_MAX_MS;
	if (o->credential == NULL)
		return ms;
	end = o->credential->lease.expires_boot_ms;
	if (end <= now || o->revocations != pool_revocations(o->gate))
		return 0;
	return end - now < ms ? (uint32_t)(end - now) : ms;
}

void
origin_release(struct origin *o)
{
	uint32_t ms = idle_ms(o);

	if (ms == 0 || !may_serve_again(o)) {
		origin_free(o);
		return;
	}
	buf_done(&o->trailers);
	o->x = NULL;
	o->state = ORIGIN_IDLE;
	o->idle_since_ms = clock_mono_ms();
	o->idle_max_ms = ms;
	stream_set_reading(&o->stream, true);
	set_timer(o, ms < REST_MS ? ms : REST_MS);
	pool_put(o->gate, o);
}
