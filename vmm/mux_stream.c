/*
 * The streams of a mux: their life, their limits, the output that waits.
 */
#include "vmm/mux_core.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct timeval
mux_timeval(uint32_t ms)
{
	return (struct timeval){ .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };
}

void
mux_stream_await_exit(struct mux_stream *st)
{
	const struct timeval tv = mux_timeval(st->m->hooks.answer_ms);

	(void)evtimer_add(st->timer, &tv);
}

void
mux_stream_cut(struct mux_stream *st, enum frame_limit limit)
{
	if (st->limit == FRAME_LIMIT_NONE)
		st->limit = limit;
	st->is_cut = true;
	if (st->rules.reset || st->rules.exited)
		return;
	st->rules.reset = true;
	st->reset_due = true;
	mux_stream_await_exit(st);
}

void
mux_stream_orphan(struct mux_stream *st)
{
	st->session = NULL;
	for (size_t i = 0; i < MUX_OUTPUTS; i++)
		frame_queue_done(&st->queue[i]);
	mux_stream_cut(st, FRAME_LIMIT_NONE);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct mux_stream *st = arg;
	struct mux *m = st->m;

	(void)fd;
	(void)what;
	if (st->rules.reset)
		mux_fail(m,
		    "the guest's agent has not ended a command within %" PRIu32
		    " ms of being told to",
		    m->hooks.answer_ms);
	else
		mux_stream_cut(st, FRAME_LIMIT_TIMEOUT);
	event_active(m->kick, EV_TIMEOUT, 0);
}

/*
 * The agent's turn: a command's arguments are there, or of a PUT so much that
 * it gives some of the window back, or ends it. Until then it may be the
 * session that waits.
 */
static bool
can_begin(const struct mux_stream *st)
{
	const struct frame_stream *r = &st->rules;

	switch (r->kind) {
	case FRAME_EXEC:
		return r->args_left == 0;
	case FRAME_PUT:
		return r->eof[FRAME_INPUT] ||
		    r->credit[FRAME_INPUT] < FRAME_WINDOW / 4;
	default:
		return true;
	}
}

void
mux_stream_await_begin(struct mux_stream *st)
{
	const struct timeval tv = mux_timeval(st->m->hooks.begin_ms);

	if (!st->has_begun && can_begin(st) &&
	    !evtimer_pending(st->begin, NULL))
		(void)evtimer_add(st->begin, &tv);
}

void
mux_stream_begun(struct mux_stream *st)
{
	st->has_begun = true;
	(void)evtimer_del(st->begin);
}

/* One that does not answer to RESET either is the end of the VM. */
static void
on_begin_late(evutil_socket_t fd, short what, void *arg)
{
	struct mux_stream *st = arg;

	(void)fd;
	(void)what;
	st->is_late = true;
	mux_stream_cut(st, FRAME_LIMIT_NONE);
	event_active(st->m->kick, EV_TIMEOUT, 0);
}

/* What the host keeps of EXEC; the rest is the agent's. */
static void
note_exec(struct mux_stream *st, const struct frame *f)
{
	struct frame_exec exec;
	struct timeval tv;

	if (frame_exec_decode(f->body, &exec) != FRAME_OK)
		return;
	if (exec.output_max > 0)
		st->output_left = exec.output_max;
	st->argc_left = exec.argc;
	if (exec.timeout_ms == 0)
		return;
	tv = mux_timeval(exec.timeout_ms);
	(void)evtimer_add(st->timer, &tv);
}

static void
note_copy(struct mux_stream *st, const struct frame *f)
{
	struct frame_copy copy;

	if (frame_copy_decode(f->body, &copy) != FRAME_OK)
		return;
	st->argc_left = 1;
	mux_stream_note_args(st, copy.path);
}

void
mux_stream_note_args(struct mux_stream *st, struct span args)
{
	/* what follows argv is the environment, which may hold secrets */
	for (size_t i = 0; i < args.len && st->argc_left > 0; i++) {
		if (st->command_len < sizeof(st->command))
			st->command[st->command_len++] = (char)args.ptr[i];
		if (args.ptr[i] == '\0')
			st->argc_left--;
	}
}

static void
drop_timers(struct mux_stream *st)
{
	if (st->timer != NULL)
		event_free(st->timer);
	if (st->begin != NULL)
		event_free(st->begin);
}

static struct mux_stream **
find_slot(struct mux *m)
{
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++)
		if (m->streams[i] == NULL)
			return &m->streams[i];
	return NULL;
}

enum frame_fault
mux_stream_new(struct mux_session *s, const struct frame *f,
    struct mux_stream **ret)
{
	struct mux *m = s->m;
	struct mux_stream **slot = find_slot(m), *st;
	struct frame_stream rules;
	const enum frame_fault fault = frame_stream_open(&rules, f);

	*ret = NULL;
	/* numbers of the agent's hop are never used again */
	if (fault != FRAME_OK || slot == NULL || m->last_agent_id == UINT32_MAX)
		return fault;
	st = calloc(1, sizeof(*st));
	if (st == NULL)
		return FRAME_OK;
	st->m = m;
	st->session = s;
	st->session_id = f->head.stream;
	st->tag = s->tag;
	st->agent_id = ++m->last_agent_id;
	st->rules = rules;
	st->output_left = UINT64_MAX;
	st->opened_ms = clock_mono_ms();
	st->timer = evtimer_new(m->base, on_timer, st);
	st->begin = evtimer_new(m->base, on_begin_late, st);
	if (st->timer == NULL || st->begin == NULL) {
		drop_timers(st);
		free(st);
		return FRAME_OK;
	}
	if (rules.kind == FRAME_EXEC)
		note_exec(st, f);
	else
		note_copy(st, f);
	*slot = st;
	*ret = st;
	return FRAME_OK;
}

void
mux_stream_free(struct mux_stream *st)
{
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++)
		if (st->m->streams[i] == st)
			st->m->streams[i] = NULL;
	for (size_t i = 0; i < MUX_OUTPUTS; i++)
		frame_queue_done(&st->queue[i]);
	drop_timers(st);
	free(st);
}

struct mux_stream *
mux_stream_of_agent(struct mux *m, uint32_t id)
{
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++) {
		struct mux_stream *st = m->streams[i];

		if (st != NULL && st->agent_id == id && !st->rules.exited)
			return st;
	}
	return NULL;
}

struct mux_stream *
mux_stream_of_session(struct mux_session *s, uint32_t id)
{
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++) {
		struct mux_stream *st = s->m->streams[i];

		if (st != NULL && st->session == s && st->session_id == id)
			return st;
	}
	return NULL;
}

static void
record(const struct mux_stream *st)
{
	const struct mux *m = st->m;
	const struct mux_record r = { .session = st->tag,
		.kind = st->rules.kind,
		.end = st->exit.end,
		.value = st->exit.value,
		.limit = st->exit.limit,
		.elapsed_ms = clock_mono_ms() - st->opened_ms,
		.bytes_in = st->bytes_in,
		.bytes_out = st->bytes_out,
		.command = { (const uint8_t *)st->command, st->command_len } };

	if (m->hooks.on_record != NULL)
		m->hooks.on_record(&r, m->arg);
}

void
mux_stream_end(struct mux_stream *st, const struct frame_exit *m)
{
	static const struct frame_exit late = { .end = FRAME_END_FAILED,
		.text = SPAN("the guest did not begin it in time: it is "
			     "short of CPU or memory") };

	/* Its answer to RESET says less; the end of the VM more. */
	if (st->is_late && !st->m->streams_ended)
		m = &late;
	st->exit = *m;
	if (m->text.len > 0)
		memcpy(st->exit_text, m->text.ptr, m->text.len);
	st->exit.text =
	    (struct span){ (const uint8_t *)st->exit_text, m->text.len };
	if (st->limit != FRAME_LIMIT_NONE)
		st->exit.limit = st->limit;
	st->rules.exited = true;
	st->reset_due = false;
	(void)evtimer_del(st->timer);
	(void)evtimer_del(st->begin);
	record(st);
	if (st->session == NULL)
		mux_stream_free(st);
	else
		st->exit_due = true;
}
