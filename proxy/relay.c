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
#include "proxy/relay.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/clock.h"
#include "base/fd.h"
#include "proxy/dial.h"
#include "proxy/pipes.h"

/* Asked of one splice(); a pipe's 16 slots may hold large pages. */
#define SPLICE_BYTES (1u << 20)
#define SPLICE_FLAGS (SPLICE_F_MOVE | SPLICE_F_NONBLOCK)
/* A way that moved less in one turn copies next time: fewer system calls. */
#define BULK_BYTES 32768
/* After so much in one turn of the loop the others have theirs. */
#define TURN_BYTES (1u << 20)

struct way {
	struct pipe_pair pipe; /* lent while in_pipe > 0 */
	size_t in_pipe;
	uint64_t moved; /* bytes that the far end took */
	bool can_read;
	bool can_write;
	bool is_closing; /* the end of the stream is in sight */
	bool is_ended;   /* and was read */
	bool is_shut;    /* and passed on */
	bool is_bulk;
};

struct relay {
	TAILQ_ENTRY(relay) link; /* in relays->by_age, once it has begun */
	struct conn *conn;
	struct dial *dial;
	int origin_fd;
	struct event origin_event;
	struct event *guest_writable;  /* once writing had to wait */
	struct event *origin_writable; /* as well */
	struct way up;
	struct way down;
	uint64_t active_ms;
	bool is_begun;
	bool is_broken;
	bool wants_turn; /* in relays->by_age, and not done in its turn */
	bool by_ceiling;
	const char *how;
	char address[ADDRESS_TEXT_SIZE];
};

TAILQ_HEAD(relay_line, relay);

struct relays {
	struct gate *gate;
	struct pipes *pipes;
	struct relay_line by_age; /* longest without a byte first */
	struct event *idle_timer;
	struct event *turn_timer; /* for those that want another turn */
};

enum step {
	STEP_GO,     /* something was moved, or changed */
	STEP_WAIT,   /* for an event */
	STEP_BROKEN, /* an end is gone */
};

static struct relays *
relays_of(const struct relay *r)
{
	return r->conn->gate->relays;
}

/* What went wrong with a system call: nothing but "not now", or all. */
static enum step
step_of_errno(bool *can)
{
	if (errno == EINTR)
		return STEP_GO;
	if (errno != EAGAIN)
		return STEP_BROKEN;
	*can = false;
	return STEP_WAIT;
}

static enum step
way_flush(struct relay *r, struct way *w, int to)
{
	ssize_t n;

	if (!w->can_write)
		return STEP_WAIT;
	/* The exact length: with more the kernel would wait for more. */
	n = splice(w->pipe.out, NULL, to, NULL, w->in_pipe, SPLICE_FLAGS);
	if (n == -1)
		return step_of_errno(&w->can_write);
	w->in_pipe -= (size_t)n;
	w->moved += (uint64_t)n;
	if (w->in_pipe == 0)
		pipes_put(relays_of(r)->pipes, &w->pipe, 0);
	return STEP_GO;
}

/* Large pieces: pages move, bytes are not looked at. Takes pipe. */
static enum step
way_splice(struct relay *r, struct way *w, int from, struct pipe_pair *pipe)
{
	ssize_t n =
	    splice(from, NULL, pipe->in, NULL, SPLICE_BYTES, SPLICE_FLAGS);
	int saved = errno;

	if (n > 0) {
		w->pipe = *pipe;
		w->in_pipe = (size_t)n;
		return STEP_GO;
	}
	pipes_put(relays_of(r)->pipes, pipe, 0);
	if (n == 0) {
		w->is_ended = true;
		return STEP_GO;
	}
	errno = saved;
	return step_of_errno(&w->can_read);
}

/*
 * n bytes were read into a buffer of GATE_SCRATCH_BYTES. With the end in sight
 * before the read, a short one has taken all there was before it; but not of a
 * protocol with urgent data, at which a read stops short (tcp(7)).
 */
static void
way_note_read(struct relay *r, struct way *w, size_t n)
{
	if (n == 0)
		w->is_ended = true;
	else if (n == GATE_SCRATCH_BYTES)
		w->is_bulk = true;
	else if (!w->is_closing)
		w->can_read = false;
	else
		w->is_ended = r->conn->front == CONN_FRONT_TLS;
}

static enum step
way_send(struct way *w, int to, const uint8_t *buf, size_t len,
    size_t *ret_sent)
{
	ssize_t n = write(to, buf, len);

	*ret_sent = n == -1 ? 0 : (size_t)n;
	if (n == -1)
		return step_of_errno(&w->can_write);
	w->moved += (uint64_t)n;
	return STEP_GO;
}

/* Small pieces. What the far end does not take goes into pipe; takes pipe. */
static enum step
way_copy(struct relay *r, struct way *w, int from, int to,
    struct pipe_pair *pipe)
{
	uint8_t *buf = r->conn->gate->scratch;
	ssize_t n = read(from, buf, GATE_SCRATCH_BYTES);
	enum step step = STEP_GO;
	size_t sent = 0, left;

	if (n == -1)
		step = step_of_errno(&w->can_read);
	else
		way_note_read(r, w, (size_t)n);
	if (n > 0)
		step = way_send(w, to, buf, (size_t)n, &sent);
	if (n <= 0 || step == STEP_BROKEN || sent == (size_t)n) {
		pipes_put(relays_of(r)->pipes, pipe, 0);
		return step;
	}
	left = (size_t)n - sent;
	if (write(pipe->in, buf + sent, left) != (ssize_t)left) {
		/* It was empty and holds 64 KiB: not one of ours. */
		pipes_put(relays_of(r)->pipes, pipe, left);
		return STEP_BROKEN;
	}
	w->pipe = *pipe;
	w->in_pipe = left;
	return STEP_GO;
}

/* All pipes are lent: bytes stay in the socket until the far end took them. */
static enum step
way_copy_without_pipe(struct relay *r, struct way *w, int from, int to)
{
	uint8_t *buf = r->conn->gate->scratch;
	ssize_t n = recv(from, buf, GATE_SCRATCH_BYTES, MSG_PEEK);
	enum step step;
	size_t sent;

	if (n == -1)
		return step_of_errno(&w->can_read);
	if (n == 0) {
		w->is_ended = true;
		return STEP_GO;
	}
	step = way_send(w, to, buf, (size_t)n, &sent);
	/* They are there: peeked at just now, and nobody else reads. */
	if (sent > 0 && read(from, buf, sent) != (ssize_t)sent)
		return STEP_BROKEN;
	if (step == STEP_GO && sent == (size_t)n)
		way_note_read(r, w, (size_t)n);
	return step;
}

static enum step
way_fill(struct relay *r, struct way *w, int from, int to)
{
	struct pipe_pair pipe;

	if (w->is_ended || !w->can_read || !w->can_write)
		return STEP_WAIT;
	if (pipes_take(relays_of(r)->pipes, &pipe) != 0)
		return way_copy_without_pipe(r, w, from, to);
	if (w->is_bulk)
		return way_splice(r, w, from, &pipe);
	return way_copy(r, w, from, to, &pipe);
}

/* Moves what can be moved. False: an end is gone. */
static bool
way_pump(struct relay *r, struct way *w, int from, int to)
{
	uint64_t start = w->moved;
	enum step step = STEP_GO;

	while (step == STEP_GO && w->moved - start < TURN_BYTES)
		step = w->in_pipe > 0 ? way_flush(r, w, to)
				      : way_fill(r, w, from, to);
	if (step == STEP_GO)
		r->wants_turn = true;
	else if (w->moved - start < BULK_BYTES)
		w->is_bulk = false;
	return step != STEP_BROKEN;
}

static bool
way_is_over(const struct way *w)
{
	return w->is_ended && w->in_pipe == 0;
}

/* Passes an end of stream on. False: the far end is gone. */
static bool
way_finish(struct way *w, int to)
{
	if (!way_is_over(w) || w->is_shut)
		return true;
	w->is_shut = true;
	return shutdown(to, SHUT_WR) == 0;
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

static void
pump(struct relay *r)
{
	uint64_t before = r->up.moved + r->down.moved;
	int guest = r->conn->fd, origin = r->origin_fd;

	r->wants_turn = false;
	if (!way_pump(r, &r->up, guest, origin) ||
	    !way_pump(r, &r->down, origin, guest)) {
		relay_break(r, "reset");
		return;
	}
	if (r->up.moved + r->down.moved != before)
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

int
relay_dial(struct conn *c)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	r->conn = c;
	r->origin_fd = -1;
	r->how = "";
	r->up.is_closing = c->is_closing;
	r->dial = dial_start(c->gate, conn_host(c), c->port,
	    c->front == CONN_FRONT_TCP ? SCHEME_TCP : SCHEME_HTTPS, on_dialed,
	    r);
	if (r->dial == NULL) {
		free(r);
		return -ENOMEM;
	}
	c->relay = r;
	return 0;
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
