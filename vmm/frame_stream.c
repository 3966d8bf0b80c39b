/*
 * See frame_stream.h.
 */
#include "vmm/frame_stream.h"

/* Which way each channel goes, and on which kind of stream. */
static bool
carries(uint8_t kind, bool tty, enum frame_side side, uint8_t channel)
{
	switch ((enum frame_channel)channel) {
	case FRAME_INPUT:
		return side == FRAME_HOST && kind != FRAME_GET;
	case FRAME_ARGS:
		return side == FRAME_HOST && kind == FRAME_EXEC;
	case FRAME_OUTPUT:
		return side == FRAME_GUEST && kind != FRAME_PUT;
	case FRAME_ERROR:
		return side == FRAME_GUEST && kind == FRAME_EXEC && !tty;
	case FRAME_CHANNELS:
		break;
	}
	return false;
}

bool
frame_stream_has(const struct frame_stream *s, enum frame_side side,
    uint8_t channel)
{
	return carries(s->kind, s->tty, side, channel);
}

enum frame_fault
frame_stream_open(struct frame_stream *s, const struct frame *f)
{
	struct frame_stream opened = { .kind = f->head.type };
	struct frame_exec exec;
	struct frame_copy copy;
	enum frame_fault fault;

	if (f->head.type == FRAME_EXEC) {
		fault = frame_exec_decode(f->body, &exec);
		if (fault != FRAME_OK)
			return fault;
		opened.tty = (exec.flags & FRAME_EXEC_TTY) != 0;
		opened.args_left = exec.args_bytes;
	} else if (f->head.type == FRAME_PUT || f->head.type == FRAME_GET) {
		fault = frame_copy_decode(f->body, &copy);
		if (fault != FRAME_OK)
			return fault;
	} else {
		return FRAME_BAD_STREAM;
	}
	for (unsigned int i = 0; i < FRAME_CHANNELS; i++)
		opened.credit[i] = FRAME_WINDOW;
	*s = opened;
	return FRAME_OK;
}

/* A command's output begins with its start; a copy has no start to tell of. */
static bool
may_send(const struct frame_stream *s, enum frame_side side)
{
	return side == FRAME_HOST || s->kind != FRAME_EXEC || s->started;
}

static enum frame_fault
pass_data(struct frame_stream *s, enum frame_side side, const struct frame *f)
{
	const uint8_t channel = f->head.channel;

	if (!frame_stream_has(s, side, channel))
		return FRAME_BAD_CHANNEL;
	if (!may_send(s, side) || s->eof[channel])
		return FRAME_BAD_ORDER;
	if (f->head.len > s->credit[channel] ||
	    (channel == FRAME_ARGS && f->head.len > s->args_left))
		return FRAME_BAD_WINDOW;
	s->credit[channel] -= f->head.len;
	if (channel == FRAME_ARGS)
		s->args_left -= f->head.len;
	return FRAME_OK;
}

static enum frame_fault
pass_eof(struct frame_stream *s, enum frame_side side, uint8_t channel)
{
	if (channel == FRAME_ARGS || !frame_stream_has(s, side, channel))
		return FRAME_BAD_CHANNEL;
	if (!may_send(s, side) || s->eof[channel])
		return FRAME_BAD_ORDER;
	s->eof[channel] = true;
	return FRAME_OK;
}

/* The other side's channel: it is given back what it has sent, no more. */
static enum frame_fault
pass_window(struct frame_stream *s, enum frame_side side, const struct frame *f)
{
	const enum frame_side sender =
	    side == FRAME_HOST ? FRAME_GUEST : FRAME_HOST;
	const uint8_t channel = f->head.channel;
	enum frame_fault fault;
	uint32_t bytes;

	if (channel == FRAME_ARGS || !frame_stream_has(s, sender, channel))
		return FRAME_BAD_CHANNEL;
	fault = frame_window_decode(f->body, &bytes);
	if (fault != FRAME_OK)
		return fault;
	if (bytes > FRAME_WINDOW - s->credit[channel])
		return FRAME_BAD_WINDOW;
	s->credit[channel] += bytes;
	return FRAME_OK;
}

static enum frame_fault
pass_signal(const struct frame_stream *s, const struct frame *f)
{
	uint8_t number;

	if (s->kind != FRAME_EXEC)
		return FRAME_BAD_TYPE;
	return frame_signal_decode(f->body, &number);
}

static enum frame_fault
pass_resize(const struct frame_stream *s, const struct frame *f)
{
	uint16_t rows, cols;

	if (!s->tty)
		return FRAME_BAD_TYPE;
	return frame_resize_decode(f->body, &rows, &cols);
}

static enum frame_fault
pass_started(struct frame_stream *s, const struct frame *f)
{
	enum frame_fault fault;
	uint32_t pid;

	if (s->kind != FRAME_EXEC)
		return FRAME_BAD_TYPE;
	if (s->started || s->args_left > 0)
		return FRAME_BAD_ORDER;
	fault = frame_started_decode(f->body, &pid);
	if (fault == FRAME_OK)
		s->started = true;
	return fault;
}

/* Whether a stream of this kind, this far, can end so. */
static bool
can_end(const struct frame_stream *s, const struct frame_exit *m)
{
	if (s->kind != FRAME_EXEC)
		return m->end == FRAME_END_FAILED ||
		    (m->end == FRAME_END_CODE && m->value == 0);
	switch (m->end) {
	case FRAME_END_CODE:
	case FRAME_END_SIGNAL:
		return s->started;
	case FRAME_END_NOT_FOUND:
	case FRAME_END_NOT_RUN:
		return !s->started && s->args_left == 0;
	case FRAME_END_FAILED:
		return true;
	}
	return false;
}

static enum frame_fault
pass_exit(struct frame_stream *s, const struct frame *f)
{
	struct frame_exit m;
	enum frame_fault fault = frame_exit_decode(f->body, &m);

	if (fault != FRAME_OK)
		return fault;
	if (!can_end(s, &m))
		return FRAME_BAD_ORDER;
	s->exited = true;
	return FRAME_OK;
}

static enum frame_fault
pass_host(struct frame_stream *s, const struct frame *f)
{
	switch (f->head.type) {
	case FRAME_SIGNAL:
		return pass_signal(s, f);
	case FRAME_RESIZE:
		return pass_resize(s, f);
	case FRAME_RESET:
		s->reset = true;
		return FRAME_OK;
	case FRAME_EXEC:
	case FRAME_PUT:
	case FRAME_GET:
		return FRAME_BAD_STREAM;
	default:
		return FRAME_BAD_TYPE;
	}
}

static enum frame_fault
pass_guest(struct frame_stream *s, const struct frame *f)
{
	switch (f->head.type) {
	case FRAME_STARTED:
		return pass_started(s, f);
	case FRAME_EXIT:
		return pass_exit(s, f);
	default:
		return FRAME_BAD_TYPE;
	}
}

enum frame_fault
frame_stream_pass(struct frame_stream *s, enum frame_side side,
    const struct frame *f)
{
	if (s->exited || (side == FRAME_HOST && s->reset))
		return FRAME_BAD_ORDER;
	switch (f->head.type) {
	case FRAME_DATA:
		return pass_data(s, side, f);
	case FRAME_EOF:
		return pass_eof(s, side, f->head.channel);
	case FRAME_WINDOW_ADD:
		return pass_window(s, side, f);
	default:
		return side == FRAME_HOST ? pass_host(s, f) : pass_guest(s, f);
	}
}
