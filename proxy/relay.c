/*
 * A relay is two ways, from the guest up and from the origin down. What is
 * read from one end is in the other end's socket, or in a pipe that is lent
 * to the way for as long as bytes are in it: there is no buffer of ours, so a
 * slow reader costs nothing but the kernel's socket buffers.
 *
 * Events are edge-triggered: an end that cannot go on because of the other
 * need not be switched off, and system calls are what a connection costs
 * most. Therefore can_read and can_write are believed until a call says
 * EAGAIN, or a recv() did not fill its buffer, which on a stream means the
 * same unless the end of the stream lies behind (is_closing).
 */
#include "proxy/relay_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/fd.h"

static struct relays *
relays_of(const struct relay *r)
{
	return r->conn->gate->relays;
}

static void
touch(struct relay *r)
{
	struct relays *rs = relays_of(r);

	r->active_ms = clock_mono_ms();
	TAILQ_REMOVE(&rs->by_age, r, link);
	TAILQ_INSERT_TAIL(&rs->by_age, r, link);
}

static void on_writable(evutil_socket_t fd, short what, void *arg);

/* From now on told when fd takes bytes again. False: no memory. */
static bool
watch_writable(struct relay *r, struct event **slot, int fd)
{
	if (*slot != NULL)
		return true;
	*slot = event_new(r->conn->gate->base, fd,
	    EV_WRITE | EV_ET | EV_PERSIST, on_writable, r);
	return *slot != NULL && event_add(*slot, NULL) == 0;
}

static bool
watch(struct relay *r)
{
	static const struct timeval now = { 0, 0 };

	if (!r->up.can_write &&
	    !watch_writable(r, &r->origin_writable, r->origin_fd))
		return false;
	if (!r->down.can_write &&
	    !watch_writable(r, &r->guest_writable, r->conn->fd))
		return false;
	if (r->wants_turn)
		(void)event_add(relays_of(r)->turn_timer, &now);
	return true;
}

static void
relay_break(struct relay *r, const char *how)
{
	r->is_broken = true;
	r->how = how;
	conn_close(r->conn, REASON_NONE);
}

/* An end is gone, or we make it so. */
static void
pump_failed(struct relay *r)
{
	if (!r->is_spent) {
		relay_break(r, "reset");
		return;
	}
	r->is_broken = true;
	conn_spend(r->conn, r->spent_reason, r->spent);
}

static void
pump(struct relay *r)
{
	const uint64_t up = r->up.moved, down = r->down.moved;
	int guest = r->conn->fd, origin = r->origin_fd;
	bool is_fine;

	r->wants_turn = false;
	is_fine = way_pump(r, &r->up, guest, origin) &&
	    way_pump(r, &r->down, origin, guest);

	r->conn->gate->status.up += r->up.moved - up;
	r->conn->gate->status.down += r->down.moved - down;
	if (!is_fine) {
		pump_failed(r);
		return;
	}
	if (r->up.moved != up || r->down.moved != down)
		touch(r);
	if (way_is_over(&r->up) && way_is_over(&r->down)) {
		conn_close(r->conn, REASON_NONE);
		return;
	}
	if (!way_finish(&r->up, origin) || !way_finish(&r->down, guest)) {
		relay_break(r, "reset");
		return;
	}
	if (!watch(r))
		relay_break(r, "no memory");
}

static void
note_readable(struct way *w, short what)
{
	if ((what & (EV_READ | EV_CLOSED)) != 0)
		w->can_read = true;
	if ((what & EV_CLOSED) != 0)
		w->is_closing = true;
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct relay *r = arg;

	(void)what;
	if (fd == r->origin_fd)
		r->up.can_write = true;
	else
		r->down.can_write = true;
	pump(r);
}

static void
on_origin(evutil_socket_t fd, short what, void *arg)
{
	struct relay *r = arg;

	(void)fd;
	note_readable(&r->down, what);
	pump(r);
}

void
relay_on_guest(struct relay *r, short what)
{
	note_readable(&r->up, what);
	if (r->is_begun)
		pump(r);
}

static void
arm_idle(struct relays *rs)
{
	const struct relay *oldest = TAILQ_FIRST(&rs->by_age);
	uint64_t now_ms = clock_mono_ms(), end_ms, left_ms;
	struct timeval delay;

	if (oldest == NULL)
		return;
	end_ms = oldest->active_ms + rs->gate->limits.relay_idle_timeout_ms;
	left_ms = end_ms > now_ms ? end_ms - now_ms : 0;
	delay.tv_sec = (time_t)(left_ms / 1000);
	delay.tv_usec = (suseconds_t)(left_ms % 1000 * 1000);
	(void)event_add(rs->idle_timer, &delay);
}

static void
on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct relays *rs = arg;
	uint64_t now_ms = clock_mono_ms();
	struct relay *r;

	(void)fd;
	(void)what;
	while ((r = TAILQ_FIRST(&rs->by_age)) != NULL &&
	    r->active_ms + rs->gate->limits.relay_idle_timeout_ms <= now_ms) {
		r->how = "idle";
		conn_close(r->conn, REASON_TIMEOUT);
	}
	arm_idle(rs);
}

static void
on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct relays *rs = arg;
	const struct relay *last = TAILQ_LAST(&rs->by_age, relay_line);
	bool is_last = last == NULL;

	(void)fd;
	(void)what;
	/* Those that move bytes go to the end, behind the last of this turn. */
	for (struct relay *r = TAILQ_FIRST(&rs->by_age), *next; !is_last;
	     r = next) {
		next = TAILQ_NEXT(r, link);
		is_last = r == last;
		if (r->wants_turn)
			pump(r);
	}
}

static void
on_dialed(const struct message_dialed *m, int fd, void *arg)
{
	struct relay *r = arg;

	r->dial = NULL;
	r->origin_fd = fd;
	r->by_ceiling = m->by_ceiling;
	memcpy(r->address, m->address, sizeof(r->address));
	if (m->reason != REASON_NONE)
		conn_relay_failed(r->conn, m->reason);
	else
		conn_relay_begins(r->conn);
}

static void
on_over(const struct meter_refusal *why, void *arg)
{
	struct relay *r = arg;

	r->is_broken = true;
	conn_spend(r->conn, why->verdict.reason, why->bit);
}

/* NULL: no memory. */
static struct relay *
relay_new(struct conn *c)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->conn = c;
	r->origin_fd = -1;
	r->how = "";
	r->up.meter = METER_UP;
	r->down.meter = METER_DOWN;
	r->meter.is_tunnel = true;
	r->meter.on_over = on_over;
	r->meter.arg = r;
	return r;
}

int
relay_dial(struct conn *c, const struct verdict *v, struct meter_refusal *ret)
{
	const struct dial_to to = { conn_host(c), c->port,
		c->front == CONN_FRONT_TCP ? SCHEME_TCP : SCHEME_HTTPS, false };
	struct relay *r = relay_new(c);

	if (r == NULL)
		return -ENOMEM;
	if (!meter_begin(c->gate, &r->meter, v, 0, 0, ret)) {
		free(r);
		return -EDQUOT;
	}
	r->up.is_closing = c->is_closing;
	r->dial = dial_start(c->gate, &to, on_dialed, r);
	if (r->dial == NULL) {
		meter_end(c->gate, &r->meter);
		free(r);
		return -ENOMEM;
	}
	c->relay = r;
	return 0;
}

void
relay_rejoin(struct relay *r, const struct verdict *v)
{
	meter_rejoin(r->conn->gate, &r->meter, v);
}

void
relay_begin(struct relay *r)
{
	struct relays *rs = relays_of(r);
	int rc;

	rc = event_assign(&r->origin_event, rs->gate->base, r->origin_fd,
	    EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, on_origin, r);
	assert(rc == 0);
	if (event_add(&r->origin_event, NULL) == -1) {
		relay_break(r, "no memory");
		return;
	}
	r->is_begun = true;
	r->active_ms = clock_mono_ms();
	TAILQ_INSERT_TAIL(&rs->by_age, r, link);
	if (!event_pending(rs->idle_timer, EV_TIMEOUT, NULL))
		arm_idle(rs);
	/* The guest's first bytes were peeked at, so they are there. */
	r->up.can_read = true;
	r->up.can_write = true;
	r->down.can_write = true;
	pump(r);
}

bool
relay_is_broken(const struct relay *r)
{
	return r->is_broken;
}

struct relay_account
relay_account(const struct relay *r)
{
	return (struct relay_account){ .up = r->up.moved,
		.down = r->down.moved,
		.address = r->address,
		.how = r->how,
		.by_ceiling = r->by_ceiling };
}

static void
event_drop(struct event *ev)
{
	if (ev != NULL)
		event_free(ev);
}

static void
way_done(struct relays *rs, struct way *w)
{
	if (w->in_pipe > 0)
		pipes_put(rs->pipes, &w->pipe, w->in_pipe);
	w->in_pipe = 0;
}

void
relay_free(struct relay *r)
{
	if (r == NULL)
		return;
	dial_cancel(r->dial);
	meter_end(r->conn->gate, &r->meter);
	way_done(relays_of(r), &r->up);
	way_done(relays_of(r), &r->down);
	if (r->is_begun) {
		TAILQ_REMOVE(&relays_of(r)->by_age, r, link);
		(void)event_del(&r->origin_event);
	}
	event_drop(r->guest_writable);
	event_drop(r->origin_writable);
	if (r->is_broken)
		fd_reset(&r->origin_fd);
	else
		fd_close(&r->origin_fd);
	free(r);
}

int
relays_new(struct gate *g)
{
	struct relays *rs = calloc(1, sizeof(*rs));

	if (rs == NULL)
		return -ENOMEM;
	rs->gate = g;
	TAILQ_INIT(&rs->by_age);
	rs->pipes = pipes_new();
	rs->idle_timer = evtimer_new(g->base, on_idle, rs);
	rs->turn_timer = evtimer_new(g->base, on_turn, rs);
	g->relays = rs;
	if (rs->pipes == NULL || rs->idle_timer == NULL ||
	    rs->turn_timer == NULL) {
		relays_free(g);
		return -ENOMEM;
	}
	return 0;
}

void
relays_free(struct gate *g)
{
	struct relays *rs = g->relays;

	if (rs == NULL)
		return;
	assert(TAILQ_EMPTY(&rs->by_age));
	event_drop(rs->idle_timer);
	event_drop(rs->turn_timer);
	pipes_free(rs->pipes);
	free(rs);
	g->relays = NULL;
}
