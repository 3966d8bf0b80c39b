/*
 * The mux and the guest's agent. Every byte read here is the attacker's.
 */
#include "vmm/mux_core.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Which queue a channel's DATA waits in. */
static enum mux_output
output_of(uint8_t channel)
{
	return channel == FRAME_OUTPUT ? MUX_STDOUT : MUX_STDERR;
}

/* Ends the VM if fault is one; true if it is not. */
static bool
check(struct mux *m, const struct frame *f, enum frame_fault fault)
{
	if (fault == FRAME_OK)
		return true;
	mux_fail(m, "the guest's agent sent %s on stream %" PRIu32 ": %s",
	    frame_type_text(f->head.type), f->head.stream,
	    frame_fault_text(fault));
	return false;
}

static void
on_hello(struct mux *m, const struct frame *f)
{
	struct frame_hello hello;

	if (m->is_ready || f->head.type != FRAME_HELLO) {
		(void)check(m, f, FRAME_BAD_ORDER);
		return;
	}
	if (!check(m, f, frame_hello_decode(f->body, &hello)))
		return;
	m->is_ready = true;
	if (m->state == FRAME_VM_BOOTING)
		mux_state(m, FRAME_VM_READY, FRAME_LIMIT_NONE, "");
	m->hooks.on_ready(m->arg);
}

/*
 * Output goes to its queue. What is over output_max is cut off, and with what
 * comes for nobody it is not given back: the guest's window runs out.
 */
static void
on_data(struct mux_stream *st, const struct frame *f)
{
	struct span data = f->body;

	st->bytes_out += data.len;
	if (st->session == NULL || st->limit == FRAME_LIMIT_OUTPUT)
		return;
	if (data.len > st->output_left) {
		data.len = (size_t)st->output_left;
		mux_stream_cut(st, FRAME_LIMIT_OUTPUT);
	}
	st->output_left -= data.len;
	if (data.len > 0 &&
	    frame_queue_append(&st->queue[output_of(f->head.channel)], data) !=
		0)
		mux_session_end(st->session, "memory is short");
}

/* The other limits are ours to keep, and to say. */
static bool
claims_our_limit(const struct frame *f)
{
	struct frame_exit m;

	return f->head.type == FRAME_EXIT &&
	    frame_exit_decode(f->body, &m) == FRAME_OK &&
	    m.limit != FRAME_LIMIT_NONE && m.limit != FRAME_LIMIT_MEMORY;
}

static void
on_exit_frame(struct mux_stream *st, const struct frame *f)
{
	struct frame_exit m;

	if (check(st->m, f, frame_exit_decode(f->body, &m)))
		mux_stream_end(st, &m);
}

static void
on_stream_frame(struct mux *m, const struct frame *f)
{
	struct mux_stream *st = mux_stream_of_agent(m, f->head.stream);
	uint32_t n = 0;

	if (st == NULL) {
		(void)check(m, f, FRAME_BAD_STREAM);
		return;
	}
	if (!check(m, f,
		claims_our_limit(f)
		    ? FRAME_BAD_BODY
		    : frame_stream_pass(&st->rules, FRAME_GUEST, f)))
		return;
	mux_stream_begun(st);
	switch (f->head.type) {
	case FRAME_DATA:
		on_data(st, f);
		break;
	case FRAME_EOF:
		st->eof_due[output_of(f->head.channel)] = true;
		break;
	case FRAME_WINDOW_ADD:
		if (check(m, f, frame_window_decode(f->body, &n)))
			st->window_due += n;
		break;
	case FRAME_STARTED:
		if (check(m, f, frame_started_decode(f->body, &st->pid)))
			st->started_due = true;
		break;
	default: /* EXIT: no other passes */
		on_exit_frame(st, f);
		break;
	}
}

static void
take_frames(struct mux *m)
{
	struct frame f;
	bool has = true;

	while (has && m->fault[0] == '\0') {
		const enum frame_fault fault =
		    frame_link_next(&m->agent, &f, &has);

		if (fault != FRAME_OK)
			mux_fail(m, "the guest's agent sent no frame: %s",
			    frame_fault_text(fault));
		else if (has && (!m->is_ready || f.head.stream == 0))
			on_hello(m, &f);
		else if (has)
			on_stream_frame(m, &f);
	}
}

void
mux_agent_take(struct mux *m)
{
	for (size_t turn = 0; turn < MUX_TURN_BYTES / FRAME_LINK_BYTES + 1;
	     turn++) {
		const int rc = frame_link_read(&m->agent);

		if (rc == -EAGAIN)
			return;
		if (rc == -EPIPE)
			mux_fail(m, "the guest's agent is gone");
		else if (rc != 0)
			mux_fail(m, "the guest's agent cannot be read: %s",
			    strerrordesc_np(-rc));
		if (rc != 0)
			return;
		take_frames(m);
		if (m->fault[0] != '\0')
			return;
	}
}

static bool
has_room(const struct mux *m)
{
	return frame_link_room(&m->agent) >= FRAME_BYTES_MAX;
}

/* The frames that are our own idea. */
static void
put_own(struct mux *m)
{
	struct wr w = frame_link_writer(&m->agent);

	if (m->clock_due)
		frame_clock_encode(&w, m->clock_us);
	if (m->poweroff_due)
		frame_bare_encode(&w, FRAME_POWEROFF, 0, 0);
	m->clock_due = false;
	m->poweroff_due = false;
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++) {
		struct mux_stream *st = m->streams[i];

		if (st == NULL || !st->reset_due)
			continue;
		frame_bare_encode(&w, FRAME_RESET, st->agent_id, 0);
		st->reset_due = false;
	}
	frame_link_put(&m->agent, &w);
}

/* One frame of each session that has one, beginning with the next in turn. */
static bool
put_sessions(struct mux *m)
{
	const unsigned int first = m->turn;
	bool put = false;

	for (unsigned int i = 0; i < MUX_SESSIONS_MAX; i++) {
		const unsigned int at = (first + i) % MUX_SESSIONS_MAX;
		struct mux_session *s = m->sessions[at];

		if (s == NULL || !has_room(m) || !mux_session_take(s))
			continue;
		m->turn = (at + 1) % MUX_SESSIONS_MAX;
		put = true;
	}
	return put;
}

bool
mux_agent_put(struct mux *m)
{
	const size_t before = frame_link_waiting(&m->agent);

	if (m->is_ready && has_room(m))
		put_own(m);
	while (put_sessions(m))
		;
	return frame_link_waiting(&m->agent) > before;
}
