/*
 * The mux and one session: what it asks goes to the agent in its turn, what it
 * is to be told comes from the state of its streams.
 */
#include "vmm/mux_core.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

/* Room for any frame but DATA. */
#define CONTROL_BYTES (FRAME_HEAD_BYTES + 64 + FRAME_TEXT_MAX)
/* DATA of one stream before the next one's turn. */
#define CHUNK_BYTES 32768

static void
on_closed(evutil_socket_t fd, short what, void *arg)
{
	struct mux_session *s = arg;

	(void)fd;
	(void)what;
	mux_session_end(s, NULL);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct mux_session *s = arg;
	const int rc = frame_link_read(&s->link);

	(void)fd;
	(void)what;
	/* full: until the agent has room for what is there */
	if (rc == -ENOBUFS)
		(void)event_del(s->readable);
	else if (rc != 0 && rc != -EAGAIN)
		mux_session_end(s, NULL);
	event_active(s->m->kick, EV_TIMEOUT, 0);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct mux_session *s = arg;

	(void)fd;
	(void)what;
	event_active(s->m->kick, EV_TIMEOUT, 0);
}

struct mux_session *
mux_session_new(struct mux *m, int fd, uint32_t tag)
{
	struct mux_session *s = calloc(1, sizeof(*s));
	struct wr w;

	if (s == NULL) {
		fd_close(&fd);
		return NULL;
	}
	s->m = m;
	s->tag = tag;
	s->state_due = true;
	if (frame_link_init(&s->link, fd) != 0) {
		free(s);
		return NULL;
	}
	s->readable =
	    event_new(m->base, fd, EV_READ | EV_PERSIST, on_readable, s);
	s->writable = event_new(m->base, fd, EV_WRITE, on_writable, s);
	s->closed = event_new(m->base, fd, EV_CLOSED, on_closed, s);
	if (s->readable == NULL || s->writable == NULL || s->closed == NULL ||
	    event_add(s->readable, NULL) == -1 ||
	    event_add(s->closed, NULL) == -1) {
		mux_session_free(s);
		return NULL;
	}
	w = frame_link_writer(&s->link);
	frame_hello_encode(&w, &(struct frame_hello){ FRAME_VERSION, 0 });
	frame_link_put(&s->link, &w);
	return s;
}

static void
event_drop(struct event *ev)
{
	if (ev != NULL)
		event_free(ev);
}

void
mux_session_free(struct mux_session *s)
{
	event_drop(s->readable);
	event_drop(s->writable);
	event_drop(s->closed);
	frame_link_done(&s->link);
	free(s);
}

void
mux_session_end(struct mux_session *s, const char *why)
{
	struct mux *m = s->m;

	if (s->is_dead)
		return;
	s->is_dead = true;
	if (why != NULL)
		log_warn("mux", "session=%" PRIu32 " ended: %s", s->tag, why);
	(void)event_del(s->readable);
	(void)event_del(s->writable);
	(void)event_del(s->closed);
	event_active(m->kick, EV_TIMEOUT, 0);
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++) {
		struct mux_stream *st = m->streams[i];

		if (st == NULL || st->session != s)
			continue;
		if (st->rules.exited)
			mux_stream_free(st);
		else
			mux_stream_orphan(st);
	}
}

/* Room was looked for before the frame was taken. */
static void
forward(struct mux_stream *st, const struct frame *f)
{
	struct frame_head head = f->head;
	struct wr w = frame_link_writer(&st->m->agent);

	head.stream = st->agent_id;
	frame_head_encode(&w, &head);
	wr_bytes(&w, f->body.ptr, f->body.len);
	frame_link_put(&st->m->agent, &w);
	mux_stream_await_begin(st);
}

static void
refuse(struct mux_session *s, uint32_t id)
{
	const struct frame_exit m = { .end = FRAME_END_FAILED,
		.text = span_of("as many commands and copies run in this "
				"sandbox as may") };
	struct wr w = frame_link_writer(&s->link);

	frame_exit_encode(&w, id, &m);
	frame_link_put(&s->link, &w);
}

static enum frame_fault
take_opening(struct mux_session *s, const struct frame *f)
{
	struct mux_stream *st;
	enum frame_fault fault;

	if (f->head.stream <= s->last_id)
		return FRAME_BAD_STREAM;
	fault = mux_stream_new(s, f, &st);
	if (fault != FRAME_OK)
		return fault;
	s->last_id = f->head.stream;
	if (st == NULL)
		refuse(s, f->head.stream);
	else
		forward(st, f);
	return FRAME_OK;
}

/*
 * A session gives back what it has read: what waits here it has not, though the
 * rules, which see the agent's hop, would let it.
 */
static bool
is_read(const struct mux_stream *st, const struct frame *f)
{
	const uint8_t channel = f->head.channel;
	uint32_t n;

	if (channel != FRAME_OUTPUT && channel != FRAME_ERROR)
		return true;
	if (frame_window_decode(f->body, &n) != FRAME_OK)
		return true; /* refused by the rules */
	return n + st->rules.credit[channel] +
	    st->queue[channel == FRAME_OUTPUT ? MUX_STDOUT : MUX_STDERR].len <=
	    FRAME_WINDOW;
}

static enum frame_fault
take_frame(struct mux_session *s, const struct frame *f)
{
	struct mux_stream *st = mux_stream_of_session(s, f->head.stream);
	enum frame_fault fault;

	if (st == NULL && f->head.stream > s->last_id)
		return FRAME_BAD_STREAM;
	/* it is over, which the session may not know yet */
	if (st == NULL || st->is_cut || st->rules.exited)
		return FRAME_OK;
	if (f->head.type == FRAME_WINDOW_ADD && !is_read(st, f))
		return FRAME_BAD_WINDOW;
	fault = frame_stream_pass(&st->rules, FRAME_HOST, f);
	if (fault != FRAME_OK)
		return fault;
	if (f->head.type == FRAME_DATA && f->head.channel == FRAME_ARGS)
		mux_stream_note_args(st, f->body);
	else if (f->head.type == FRAME_DATA)
		st->bytes_in += f->head.len;
	else if (f->head.type == FRAME_RESET)
		mux_stream_await_exit(st);
	forward(st, f);
	return FRAME_OK;
}

static enum frame_fault
dispatch(struct mux_session *s, const struct frame *f)
{
	switch (f->head.type) {
	case FRAME_EXEC:
	case FRAME_PUT:
	case FRAME_GET:
		return take_opening(s, f);
	case FRAME_HELLO:
		return FRAME_BAD_ORDER;
	case FRAME_STATE:
	case FRAME_CLOCK:
	case FRAME_POWEROFF:
		return FRAME_BAD_TYPE;
	default:
		return take_frame(s, f);
	}
}

static enum frame_fault
take_hello(struct mux_session *s, const struct frame *f)
{
	struct frame_hello hello;

	if (f->head.type != FRAME_HELLO)
		return FRAME_BAD_ORDER;
	s->has_hello = true;
	return frame_hello_decode(f->body, &hello);
}

/* Whether what the session asks can be taken: it waits in its socket else. */
static bool
may_take(const struct mux_session *s)
{
	const struct mux *m = s->m;

	return !s->has_hello ||
	    (m->is_ready && m->fault[0] == '\0' &&
		frame_link_room(&s->link) >= CONTROL_BYTES);
}

bool
mux_session_take(struct mux_session *s)
{
	enum frame_fault fault;
	struct frame f;
	bool has = true;

	if (s->is_dead)
		return false;
	if (s->m->state == FRAME_VM_ENDED) { /* nobody is there to hear it */
		while (frame_link_next(&s->link, &f, &has) == FRAME_OK && has)
			;
		return false;
	}
	if (!may_take(s))
		return false;
	fault = frame_link_next(&s->link, &f, &has);
	if (fault == FRAME_OK && has)
		fault = s->has_hello ? dispatch(s, &f) : take_hello(s, &f);
	if (fault != FRAME_OK)
		mux_session_end(s, frame_fault_text(fault));
	return fault == FRAME_OK && has;
}

static void
put_state(struct mux_session *s)
{
	const struct mux *m = s->m;
	const uint64_t ms = clock_mono_ms() - m->created_ms;
	const struct frame_state state = { .state = m->state,
		.limit = m->state_limit,
		.elapsed_ms = ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms,
		.text = span_of(m->state_text) };
	struct wr w = frame_link_writer(&s->link);

	frame_state_encode(&w, &state);
	frame_link_put(&s->link, &w);
	s->state_due = false;
}

static void
put_data(struct mux_session *s, struct mux_stream *st, enum mux_output i)
{
	struct frame_queue *q = &st->queue[i];
	const size_t room = frame_link_room(&s->link) - FRAME_HEAD_BYTES;
	struct wr w = frame_link_writer(&s->link);
	size_t len = q->len < CHUNK_BYTES ? q->len : CHUNK_BYTES;

	if (len > room)
		len = room;
	frame_data_encode(&w, st->session_id,
	    i == MUX_STDOUT ? FRAME_OUTPUT : FRAME_ERROR,
	    (struct span){ frame_queue_span(q).ptr, len });
	frame_link_put(&s->link, &w);
	frame_queue_consume(q, len);
}

/* Output, its two channels in turn; true if there was any, or its end. */
static bool
put_output(struct mux_session *s, struct mux_stream *st)
{
	for (unsigned int n = 0; n < MUX_OUTPUTS; n++) {
		const unsigned int i = (st->output_turn + n) % MUX_OUTPUTS;
		struct wr w;

		if (st->queue[i].len == 0 && !st->eof_due[i])
			continue;
		st->output_turn = i + 1;
		if (st->queue[i].len > 0) {
			put_data(s, st, (enum mux_output)i);
			return true;
		}
		w = frame_link_writer(&s->link);
		frame_bare_encode(&w, FRAME_EOF, st->session_id,
		    i == MUX_STDOUT ? FRAME_OUTPUT : FRAME_ERROR);
		frame_link_put(&s->link, &w);
		st->eof_due[i] = false;
		return true;
	}
	return false;
}

/* One frame of st, if it has one. EXIT is the last, and frees it. */
static bool
put_stream(struct mux_session *s, struct mux_stream *st)
{
	struct wr w = frame_link_writer(&s->link);

	if (st->started_due) {
		frame_started_encode(&w, st->session_id, st->pid);
		frame_link_put(&s->link, &w);
		st->started_due = false;
		return true;
	}
	if (st->window_due > 0 && !st->exit_due) {
		frame_window_encode(&w, st->session_id, FRAME_INPUT,
		    st->window_due);
		frame_link_put(&s->link, &w);
		st->window_due = 0;
		return true;
	}
	if (put_output(s, st))
		return true;
	if (!st->exit_due)
		return false;
	frame_exit_encode(&w, st->session_id, &st->exit);
	frame_link_put(&s->link, &w);
	mux_stream_free(st);
	return true;
}

static bool
has_room(const struct mux_session *s)
{
	return frame_link_room(&s->link) >= CONTROL_BYTES;
}

/* One frame of each of its streams, beginning with the next in turn. */
static bool
put_streams(struct mux_session *s)
{
	const unsigned int first = s->turn;
	bool put = false;

	for (unsigned int i = 0; i < FRAME_STREAMS_MAX && has_room(s); i++) {
		const unsigned int at = (first + i) % FRAME_STREAMS_MAX;
		struct mux_stream *st = s->m->streams[at];

		if (st == NULL || st->session != s || !put_stream(s, st))
			continue;
		s->turn = (at + 1) % FRAME_STREAMS_MAX;
		put = true;
	}
	return put;
}

void
mux_session_put(struct mux_session *s)
{
	/* the end of the VM is told after the end of what ran in it */
	const bool state_last = s->m->state == FRAME_VM_ENDED;

	if (s->state_due && !state_last && has_room(s))
		put_state(s);
	while (has_room(s) && put_streams(s))
		;
	if (s->state_due && state_last && has_room(s) &&
	    !mux_session_has_streams(s))
		put_state(s);
}

bool
mux_session_has_streams(const struct mux_session *s)
{
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++)
		if (s->m->streams[i] != NULL && s->m->streams[i]->session == s)
			return true;
	return false;
}

bool
mux_session_is_drained(const struct mux_session *s)
{
	return !s->state_due && frame_link_waiting(&s->link) == 0 &&
	    !mux_session_has_streams(s);
}
