/*
 * The guest's half in HTTP/1.1, see h1_guest.h: states, reading, time.
 *
 * h1_guest_run() does everything that can be done without waiting, one step
 * at a time. What the exchange wants of us is only gathered (h1_guest_answer.c)
 * and kicks another run, so nothing is called in circles.
 */
#include "proxy/h1_guest_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* A refused body is read this far, for that long, so that the 403 is seen. */
#define DRAIN_MAX_BYTES (UINT64_C(1) << 20)
#define DRAIN_MS 5000
/* After our end: for the guest to read it before a reset could hit it. */
#define LINGER_MS 2000
#define READ_BYTES 16384
#define HEAD_READ_BYTES 4096
/* Read ahead of the next request while an answer goes out. */
#define AHEAD_MAX_BYTES 4096

#define TO(state) (1u << (state))

static const struct h1_step {
	const char *name;
	unsigned int next;
} steps[] = {
	[H1_HEAD] = { "head",
	    TO(H1_LOOK) | TO(H1_BODY) | TO(H1_WAIT) | TO(H1_CLOSE) |
		TO(H1_CONNECTED) | TO(H1_DEAD) },
	[H1_LOOK] = { "look", TO(H1_BODY) | TO(H1_CLOSE) | TO(H1_DEAD) },
	[H1_BODY] = { "body",
	    TO(H1_WAIT) | TO(H1_DRAIN) | TO(H1_CLOSE) | TO(H1_DEAD) },
	[H1_WAIT] = { "wait",
	    TO(H1_HEAD) | TO(H1_TUNNEL) | TO(H1_CLOSE) | TO(H1_DEAD) },
	[H1_TUNNEL] = { "tunnel", TO(H1_CLOSE) | TO(H1_DEAD) },
	[H1_DRAIN] = { "drain", TO(H1_CLOSE) | TO(H1_DEAD) },
	[H1_CLOSE] = { "close", TO(H1_LINGER) | TO(H1_DEAD) },
	[H1_LINGER] = { "linger", TO(H1_DEAD) },
	[H1_CONNECTED] = { "connected", TO(H1_DEAD) },
	[H1_DEAD] = { "dead", 0 },
};

static_assert(sizeof(steps) / sizeof(steps[0]) == H1_STATES,
    "each state has a row");

void
h1_guest_enter(struct h1_guest *h, enum h1_state next)
{
	assert(steps[h->state].next & TO(next));
	log_debug("h1", "state=%s next=%s", steps[h->state].name,
	    steps[next].name);
	h->state = next;
}

/* --- life --- */

static void
on_kick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	h1_guest_run(arg);
}

void
h1_guest_kick(struct h1_guest *h)
{
	if (!h->is_running)
		event_active(&h->kick, 0, 0);
}

/*
 * A request may be held for minutes, and its connection is not read meanwhile:
 * a guest that has gone must not be asked about any more. One that closes its
 * direction alone has gone, too.
 */
static void
on_closed(evutil_socket_t fd, short what, void *arg)
{
	struct h1_guest *h = arg;

	(void)fd;
	(void)what;
	(void)event_del(&h->closed);
	if (h->x == NULL || !exchange_is_held(h->x))
		return;
	h1_guest_enter(h, H1_DEAD);
	h1_guest_run(h);
}

struct h1_guest *
h1_guest_new(const struct h1_guest_spec *spec)
{
	struct h1_guest *h = calloc(1, sizeof(*h));
	int rc;

	if (h == NULL)
		return NULL;
	h->spec = *spec;
	h->gate = spec->front.gate;
	h->is_readable = true;
	rc = event_assign(&h->kick, h->gate->base, -1, 0, on_kick, h);
	assert(rc == 0);
	rc = event_assign(&h->closed, h->gate->base, spec->stream->fd,
	    EV_CLOSED | EV_PERSIST, on_closed, h);
	assert(rc == 0);
	h1_guest_init_timer(h);
	h1_guest_set_deadline(h, h->gate->limits.idle_timeout_ms);
	stream_keep_buffers(spec->stream);
	return h;
}

static void
on_buried(struct grave *grave)
{
	struct h1_guest *h = (struct h1_guest *)grave; /* its first member */

	buf_done(&h->in);
	buf_done(&h->out);
	buf_done(&h->trailers);
	free(h);
}

void
h1_guest_free(struct h1_guest *h)
{
	if (h == NULL)
		return;
	if (h->x != NULL)
		exchange_abort(h->x, REASON_NONE,
		    "the guest closed its connection");
	h->state = H1_DEAD;
	(void)event_del(&h->timer);
	(void)event_del(&h->kick);
	(void)event_del(&h->closed);
	pool_bury(h->gate, &h->grave, on_buried);
}

void
h1_guest_policy_changed(struct h1_guest *h)
{
	if (h->x != NULL)
		exchange_policy_changed(h->x);
}

/* --- writing --- */

/* OK: all is written. */
static enum stream_result
write_out(struct h1_guest *h)
{
	while (h->out.len > 0) {
		size_t len;
		enum stream_result r =
		    stream_write(h->spec.stream, buf_span(&h->out), &len);

		if (r != STREAM_OK)
			return r;
		buf_consume(&h->out, len);
		if (h->x != NULL)
			exchange_alive(h->x);
	}
	return STREAM_OK;
}

static void
flush(struct h1_guest *h)
{
	enum stream_result r;

	do {
		r = write_out(h);
		if (r != STREAM_OK && r != STREAM_AGAIN) {
			h1_guest_enter(h, H1_DEAD);
			return;
		}
		if (!h->is_down_blocked ||
		    h->out.len > h->gate->limits.wait_bytes / 2)
			return;
		h->is_down_blocked = false;
		if (h->x != NULL)
			exchange_resume(h->x);
	} while (h->out.len > 0 && r == STREAM_OK);
}

/* --- reading --- */

static enum stream_result
read_some(struct h1_guest *h, size_t size, size_t *ret_len)
{
	struct stream *s = h->spec.stream;
	struct span so_far;
	uint8_t *room = buf_reserve(&h->in, size);

	if (room == NULL)
		return STREAM_FAILED;
	so_far = buf_span(&h->in);
	/* What follows a CONNECT belongs to whom it leads to. */
	if (h->spec.is_explicit && h->state == H1_HEAD)
		return stream_read_head(s, so_far, room, size, ret_len);
	return stream_read(s, room, size, ret_len);
}

/* How much may be read now. */
static size_t
read_size(const struct h1_guest *h)
{
	if (h->state != H1_BODY && h->state != H1_TUNNEL &&
	    h->state != H1_DRAIN)
		return HEAD_READ_BYTES;
	/* On the explicit port not past the body, for the same reason. */
	if (!h->spec.is_explicit || h->framing != HTTP_FRAMING_LENGTH ||
	    h->left >= h->in.len + READ_BYTES)
		return READ_BYTES;
	return h->left > h->in.len ? (size_t)(h->left - h->in.len) : 0;
}

bool
h1_guest_fill(struct h1_guest *h)
{
	size_t len, size = read_size(h);
	enum stream_result r;

	if (h->is_ended || size == 0)
		return false;
	stream_set_reading(h->spec.stream, true);
	if (!h->is_readable)
		return false;
	r = read_some(h, size, &len);
	if (r == STREAM_OK) {
		buf_commit(&h->in, len);
		h->is_readable = stream_has_more(h->spec.stream);
		return true;
	}
	h->is_readable = false;
	if (r == STREAM_AGAIN)
		return false;
	h->is_ended = true;
	/* A half-open end is no event to be told of again and again. */
	stream_set_reading(h->spec.stream, false);
	if (r == STREAM_FAILED)
		h1_guest_enter(h, H1_DEAD);
	return true;
}

bool
h1_guest_pause(struct h1_guest *h)
{
	if (h->is_readable)
		stream_set_reading(h->spec.stream, false);
	return false;
}

/* --- steps: each returns whether it got anywhere --- */

static bool
step_head(struct h1_guest *h)
{
	struct deny d;

	if (h->in.len > 0 && h1_guest_take_head(h))
		return true;
	if (h1_guest_fill(h)) {
		if (h->scan.at == 0 && !h->is_ended)
			h1_guest_set_deadline(h,
			    h->gate->limits.head_timeout_ms);
		return true;
	}
	if (!h->is_ended)
		return false;
	if (h->in.len == 0) {
		h1_guest_enter(h, H1_CLOSE);
		return true;
	}
	d = deny_init(REASON_BAD_REQUEST);
	d.detail = "the head ended early";
	h1_guest_refuse_head(h, &d);
	return true;
}

/* Finds the next bytes of the body. False: none there, or it is bad. */
static bool
decode(struct h1_guest *h, const char **ret_fault)
{
	struct span in = buf_span(&h->in), data = { NULL, 0 };
	size_t before = in.len;
	enum chunked_status s;

	if (h->framing == HTTP_FRAMING_LENGTH) {
		h->ready = h->in.len < h->left ? h->in.len : (size_t)h->left;
		return h->ready > 0;
	}
	s = chunked_feed(&h->chunked, &in, &data);
	if (s != CHUNKED_MORE && s != CHUNKED_DATA && s != CHUNKED_DONE) {
		*ret_fault = chunked_status_text(s);
		return false;
	}
	buf_consume(&h->in, before - in.len - data.len);
	h->ready = data.len;
	h->is_whole = s == CHUNKED_DONE;
	return h->ready > 0 || h->is_whole;
}

static void
took(struct h1_guest *h, size_t len)
{
	buf_consume(&h->in, len);
	h->ready -= len;
	if (h->framing != HTTP_FRAMING_LENGTH)
		return;
	h->left -= len;
	h->is_whole = h->left == 0;
}

static bool
end_body(struct h1_guest *h)
{
	exchange_up_end(h->x);
	h1_guest_enter(h, H1_WAIT);
	return true;
}

/* Where its body would end is not known any more. */
static bool
reject(struct h1_guest *h, const char *fault)
{
	h->is_broken = true;
	exchange_reject(h->x, REASON_BAD_REQUEST, fault);
	return true;
}

static bool
step_body(struct h1_guest *h)
{
	const char *fault = NULL;
	size_t taken;

	if (!exchange_wants_body(h->x) || h->is_up_blocked)
		return h1_guest_pause(h);
	if (h->is_whole)
		return end_body(h);
	if (h->ready == 0 && !decode(h, &fault)) {
		if (fault != NULL)
			return reject(h, fault);
		if (h1_guest_fill(h))
			return true;
		return h->is_ended && reject(h, "the body ended early");
	}
	if (h->ready == 0)
		return true; /* the last chunk */
	taken =
	    exchange_up(h->x, (struct span){ buf_span(&h->in).ptr, h->ready });
	h->is_up_blocked = taken < h->ready;
	took(h, taken);
	return true;
}

/* Nothing is wanted, but the guest's end should be seen. */
static bool
step_wait(struct h1_guest *h)
{
	if (!h->spec.is_explicit && h->in.len < AHEAD_MAX_BYTES)
		return h1_guest_fill(h);
	return h1_guest_pause(h);
}

/* Takes what is there of a refused body. False: its end, or nonsense. */
static bool
drop_body(struct h1_guest *h)
{
	const char *fault = NULL;

	do {
		size_t len = h->ready;

		h->dropped += len;
		took(h, len);
		if (h->is_whole)
			return false;
	} while (decode(h, &fault));
	return fault == NULL;
}

static bool
step_drain(struct h1_guest *h)
{
	if (!drop_body(h) || h->dropped >= DRAIN_MAX_BYTES || h->is_ended) {
		h1_guest_enter(h, H1_CLOSE);
		return true;
	}
	return h1_guest_fill(h);
}

static bool
step_linger(struct h1_guest *h)
{
	h->dropped += h->in.len;
	buf_consume(&h->in, h->in.len);
	if (h->dropped >= DRAIN_MAX_BYTES || h->is_ended) {
		h1_guest_enter(h, H1_DEAD);
		return true;
	}
	return h1_guest_fill(h);
}

/*
 * Everything is written: closes, and lingers if a reset could take it away,
 * which what comes after the end brings about (RFC 9112 9.6): a guest that did
 * not say that this was its last request may be sending the next.
 */
static bool
step_close(struct h1_guest *h)
{
	if (h->out.len > 0 || stream_has_unsent(h->spec.stream))
		return h1_guest_pause(h);
	if (h->is_cut) {
		h1_guest_enter(h, H1_DEAD);
		return true;
	}
	if (h->is_ended ||
	    (h->is_last && h->is_whole && h->in.len == 0 && !h->is_readable)) {
		stream_say_end(h->spec.stream);
		h1_guest_enter(h, H1_DEAD);
		return true;
	}
	stream_shutdown(h->spec.stream);
	h1_guest_enter(h, H1_LINGER);
	h1_guest_set_deadline(h, LINGER_MS);
	return true;
}

/* The exchange is over: what comes next. */
static void
after_exchange(struct h1_guest *h)
{
	bool may_drain = h->state == H1_BODY && !h->is_cut && !h->is_whole &&
	    !h->is_broken && !h->expects_continue && !h->is_ended;

	if (h->state == H1_WAIT && h->keeps && !h->is_cut) {
		h1_guest_enter(h, H1_HEAD);
		h->scan = (struct http_scan){ .at = 0 };
		h->method = HTTP_METHOD_OTHER; /* what comes may be no head */
		h1_guest_set_deadline(h, h->gate->limits.idle_timeout_ms);
		return;
	}
	if (may_drain) {
		h1_guest_enter(h, H1_DRAIN);
		h1_guest_set_deadline(h, DRAIN_MS);
		return;
	}
	h1_guest_enter(h, H1_CLOSE);
	/* As long as an exchange that does not move. */
	h1_guest_set_deadline(h, h->gate->limits.relay_idle_timeout_ms);
}

static bool
step_exchange(struct h1_guest *h)
{
	if (h->state == H1_TUNNEL)
		return h1_guest_step_tunnel(h);
	if (exchange_is_held(h->x))
		(void)event_add(&h->closed, NULL);
	return h->state == H1_BODY ? step_body(h) : step_wait(h);
}

static bool
step_over(struct h1_guest *h)
{
	/* What was said must not wait behind what follows. */
	if (h->keeps && h->out.len > h->gate->limits.wait_bytes / 2) {
		if (h->deadline_ms == 0)
			h1_guest_set_deadline(h,
			    h->gate->limits.relay_idle_timeout_ms);
		return h1_guest_pause(h);
	}
	after_exchange(h);
	return true;
}

static bool
step(struct h1_guest *h)
{
	switch (h->state) {
	case H1_HEAD:
		return step_head(h);
	case H1_LOOK:
		return h1_guest_step_look(h);
	case H1_BODY:
	case H1_WAIT:
	case H1_TUNNEL:
		return h->x == NULL ? step_over(h) : step_exchange(h);
	case H1_DRAIN:
		return step_drain(h);
	case H1_LINGER:
		return step_linger(h);
	case H1_CLOSE:
		return step_close(h);
	case H1_CONNECTED:
		return h1_guest_pause(h);
	case H1_DEAD:
	case H1_STATES:
		break;
	}
	return false;
}

/* Its last act: whoever is told may free it. */
static void
settle(struct h1_guest *h)
{
	bool has_connected = h->state == H1_CONNECTED && h->out.len == 0;

	if (h->state != H1_DEAD && !has_connected)
		return;
	h->is_settled = true;
	(void)event_del(&h->timer);
	(void)event_del(&h->closed);
	if (has_connected)
		h->spec.on_connect(h->spec.arg, &h->connect);
	else
		h->spec.on_done(h->spec.arg);
}

static void
do_steps(struct h1_guest *h)
{
	bool got_on = true;

	while (got_on && h->state != H1_DEAD)
		got_on = step(h);
}

void
h1_guest_run(struct h1_guest *h)
{
	if (h->is_running || h->is_settled)
		return;
	h->is_running = true;
	do {
		do_steps(h);
		if (h->state != H1_DEAD)
			flush(h);
	} while (h->state != H1_DEAD && step(h));
	h->is_running = false;
	settle(h);
}

void
h1_guest_on_ready(struct h1_guest *h)
{
	h->is_readable = true;
	h1_guest_run(h);
}
