/*
 * One way of a relay: bytes from one end to the other, through the kernel
 * alone where they come in bulk, and no further than budgets let them.
 */
#include "proxy/relay_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Asked of one splice(); a pipe's 16 slots may hold large pages. */
#define SPLICE_BYTES (1u << 20)
#define SPLICE_FLAGS (SPLICE_F_MOVE | SPLICE_F_NONBLOCK)
/* A way that moved less in one turn copies next time: fewer system calls. */
#define BULK_BYTES 32768
/* After so much in one turn of the loop the others have theirs. */
#define TURN_BYTES (1u << 20)

enum step {
	STEP_GO,     /* something was moved, or changed */
	STEP_WAIT,   /* for an event */
	STEP_BROKEN, /* an end is gone */
};

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

/* Bytes of a budget are counted as they are read: they are on their way. */
static void
note_taken(struct relay *r, const struct way *w, size_t n)
{
	meter_count(r->conn->gate, &r->meter, w->meter, n);
}

/* How many may be read, of at most max. */
static size_t
way_room(const struct relay *r, const struct way *w, size_t max)
{
	uint64_t left = meter_left(r->conn->gate, &r->meter, w->meter);

	return left < max ? (size_t)left : max;
}

/* Nothing more may go this way: is there more, or is it the end? */
static enum step
way_spent(struct relay *r, struct way *w, int from)
{
	struct meter_refusal why;
	uint8_t byte;
	ssize_t n = recv(from, &byte, 1, MSG_PEEK);

	if (n == -1)
		return step_of_errno(&w->can_read);
	if (n == 0) {
		w->is_ended = true;
		return STEP_GO;
	}
	meter_refusal_of(r->conn->gate, &r->meter, w->meter, 1, &why);
	r->is_spent = true;
	r->spent = why.bit;
	r->spent_reason = why.verdict.reason;
	return STEP_BROKEN;
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
		pipes_put(r->conn->gate->relays->pipes, &w->pipe, 0);
	return STEP_GO;
}

/* Large pieces: pages move, bytes are not looked at. Takes pipe. */
static enum step
way_splice(struct relay *r, struct way *w, int from, struct pipe_pair *pipe)
{
	ssize_t n = splice(from, NULL, pipe->in, NULL,
	    way_room(r, w, SPLICE_BYTES), SPLICE_FLAGS);
	int saved = errno;

	if (n > 0) {
		note_taken(r, w, (size_t)n);
		w->pipe = *pipe;
		w->in_pipe = (size_t)n;
		return STEP_GO;
	}
	pipes_put(r->conn->gate->relays->pipes, pipe, 0);
	if (n == 0) {
		w->is_ended = true;
		return STEP_GO;
	}
	errno = saved;
	return step_of_errno(&w->can_read);
}

/*
 * n bytes were read where size were asked for. With the end in sight before
 * the read, a short one has taken all there was before it; but not of a
 * protocol with urgent data, at which a read stops short (tcp(7)).
 */
static void
way_note_read(struct relay *r, struct way *w, size_t n, size_t size)
{
	if (n == 0)
		w->is_ended = true;
	else if (n == size)
		w->is_bulk = w->is_bulk || size == GATE_SCRATCH_BYTES;
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
	size_t size = way_room(r, w, GATE_SCRATCH_BYTES), sent = 0, left;
	ssize_t n = read(from, buf, size);
	enum step step = STEP_GO;

	if (n == -1)
		step = step_of_errno(&w->can_read);
	else
		way_note_read(r, w, (size_t)n, size);
	if (n > 0) {
		note_taken(r, w, (size_t)n);
		step = way_send(w, to, buf, (size_t)n, &sent);
	}
	if (n <= 0 || step == STEP_BROKEN || sent == (size_t)n) {
		pipes_put(r->conn->gate->relays->pipes, pipe, 0);
		return step;
	}
	left = (size_t)n - sent;
	if (write(pipe->in, buf + sent, left) != (ssize_t)left) {
		/* It was empty and holds 64 KiB: not one of ours. */
		pipes_put(r->conn->gate->relays->pipes, pipe, left);
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
	size_t size = way_room(r, w, GATE_SCRATCH_BYTES), sent;
	ssize_t n = recv(from, buf, size, MSG_PEEK);
	enum step step;

	if (n == -1)
		return step_of_errno(&w->can_read);
	if (n == 0) {
		w->is_ended = true;
		return STEP_GO;
	}
	note_taken(r, w, (size_t)n);
	step = way_send(w, to, buf, (size_t)n, &sent);
	meter_return(r->conn->gate, &r->meter, w->meter, (size_t)n - sent);
	/* They are there: peeked at just now, and nobody else reads. */
	if (sent > 0 && read(from, buf, sent) != (ssize_t)sent)
		return STEP_BROKEN;
	if (step == STEP_GO && sent == (size_t)n)
		way_note_read(r, w, (size_t)n, size);
	return step;
}

static enum step
way_fill(struct relay *r, struct way *w, int from, int to)
{
	struct pipe_pair pipe;

	if (w->is_ended || !w->can_read || !w->can_write)
		return STEP_WAIT;
	if (way_room(r, w, 1) == 0)
		return way_spent(r, w, from);
	if (pipes_take(r->conn->gate->relays->pipes, &pipe) != 0)
		return way_copy_without_pipe(r, w, from, to);
	if (w->is_bulk)
		return way_splice(r, w, from, &pipe);
	return way_copy(r, w, from, to, &pipe);
}

bool
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

bool
way_is_over(const struct way *w)
{
	return w->is_ended && w->in_pipe == 0;
}

bool
way_finish(struct way *w, int to)
{
	if (!way_is_over(w) || w->is_shut)
		return true;
	w->is_shut = true;
	return shutdown(to, SHUT_WR) == 0;
}
