/*
 * See frame.h. A new type is a new row of frame_rows[], and a pair of
 * functions if it has a body.
 */
#include "vmm/frame.h"

#include <assert.h>
#include <string.h>

#define CHANNEL(n) (1u << (n))
#define DATA_CHANNELS                                                          \
	(CHANNEL(FRAME_INPUT) | CHANNEL(FRAME_OUTPUT) | CHANNEL(FRAME_ERROR))

/* Bodies without what is in their spans. */
enum {
	HELLO_BYTES = 4 + 4,
	STATE_BYTES = 1 + 1 + 4 + 2,
	CLOCK_BYTES = 8,
	EXEC_BYTES = 4 + 2 + 2 + 2 + 2 + 4 + 4 + 8 + 2 + 2,
	COPY_BYTES = 4 + 2 + 2,
	EXIT_BYTES = 1 + 4 + 1 + 2,
};

struct frame_row {
	uint8_t type;
	uint8_t channels; /* a bit for each */
	bool has_stream;
	uint32_t min, max; /* length of the payload */
	const char *text;
};

static const struct frame_row frame_rows[] = {
	{ FRAME_HELLO, CHANNEL(0), false, HELLO_BYTES, HELLO_BYTES, "HELLO" },
	{ FRAME_STATE, CHANNEL(0), false, STATE_BYTES,
	    STATE_BYTES + FRAME_TEXT_MAX, "STATE" },
	{ FRAME_CLOCK, CHANNEL(0), false, CLOCK_BYTES, CLOCK_BYTES, "CLOCK" },
	{ FRAME_POWEROFF, CHANNEL(0), false, 0, 0, "POWEROFF" },
	{ FRAME_EXEC, CHANNEL(0), true, EXEC_BYTES,
	    EXEC_BYTES + FRAME_PATH_MAX + FRAME_USER_MAX, "EXEC" },
	{ FRAME_PUT, CHANNEL(0), true, COPY_BYTES + 1,
	    COPY_BYTES + FRAME_PATH_MAX + FRAME_USER_MAX, "PUT" },
	{ FRAME_GET, CHANNEL(0), true, COPY_BYTES + 1,
	    COPY_BYTES + FRAME_PATH_MAX + FRAME_USER_MAX, "GET" },
	{ FRAME_SIGNAL, CHANNEL(0), true, 1, 1, "SIGNAL" },
	{ FRAME_RESIZE, CHANNEL(0), true, 4, 4, "RESIZE" },
	{ FRAME_RESET, CHANNEL(0), true, 0, 0, "RESET" },
	{ FRAME_STARTED, CHANNEL(0), true, 4, 4, "STARTED" },
	{ FRAME_EXIT, CHANNEL(0), true, EXIT_BYTES, EXIT_BYTES + FRAME_TEXT_MAX,
	    "EXIT" },
	{ FRAME_DATA, DATA_CHANNELS | CHANNEL(FRAME_ARGS), true, 1,
	    FRAME_PAYLOAD_MAX, "DATA" },
	{ FRAME_EOF, DATA_CHANNELS, true, 0, 0, "EOF" },
	{ FRAME_WINDOW_ADD, DATA_CHANNELS, true, 4, 4, "WINDOW_ADD" },
};

#define ROWS (sizeof(frame_rows) / sizeof(frame_rows[0]))

static const char *const fault_texts[] = {
	[FRAME_OK] = "no fault",
	[FRAME_BAD_TYPE] = "a type that it may not send",
	[FRAME_BAD_LENGTH] = "a length that its type cannot have",
	[FRAME_BAD_CHANNEL] = "a channel that it may not use",
	[FRAME_BAD_STREAM] = "a stream that is not its to use",
	[FRAME_BAD_BODY] = "a body that cannot be",
	[FRAME_BAD_ORDER] = "not when it may be sent",
	[FRAME_BAD_WINDOW] = "more than the window holds",
};

static const struct frame_row *
row_find(uint8_t type)
{
	for (size_t i = 0; i < ROWS; i++)
		if (frame_rows[i].type == type)
			return &frame_rows[i];
	return NULL;
}

const char *
frame_fault_text(enum frame_fault fault)
{
	return fault_texts[fault];
}

const char *
frame_type_text(uint8_t type)
{
	const struct frame_row *row = row_find(type);

	return row == NULL ? "?" : row->text;
}

void
frame_head_encode(struct wr *w, const struct frame_head *h)
{
	wr_u32(w, h->len);
	wr_u8(w, h->type);
	wr_u8(w, h->channel);
	wr_u16(w, 0);
	wr_u32(w, h->stream);
}

enum frame_fault
frame_head_decode(const uint8_t in[FRAME_HEAD_BYTES], struct frame_head *ret)
{
	struct rd r = rd_init(in, FRAME_HEAD_BYTES);
	struct frame_head h;
	const struct frame_row *row;
	uint16_t zero;

	h.len = rd_u32(&r);
	h.type = rd_u8(&r);
	h.channel = rd_u8(&r);
	zero = rd_u16(&r);
	h.stream = rd_u32(&r);
	row = row_find(h.type);
	if (row == NULL || zero != 0)
		return FRAME_BAD_TYPE;
	if (h.len < row->min || h.len > row->max)
		return FRAME_BAD_LENGTH;
	if (h.channel >= FRAME_CHANNELS ||
	    (row->channels & CHANNEL(h.channel)) == 0)
		return FRAME_BAD_CHANNEL;
	if ((h.stream != 0) != row->has_stream)
		return FRAME_BAD_STREAM;
	*ret = h;
	return FRAME_OK;
}

enum frame_fault
frame_decode(struct span in, struct frame *ret, size_t *ret_used)
{
	struct frame_head h;
	enum frame_fault fault;

	*ret_used = 0;
	if (in.len < FRAME_HEAD_BYTES)
		return FRAME_OK;
	fault = frame_head_decode(in.ptr, &h);
	if (fault != FRAME_OK || in.len - FRAME_HEAD_BYTES < h.len)
		return fault;
	ret->head = h;
	ret->body = (struct span){ in.ptr + FRAME_HEAD_BYTES, h.len };
	*ret_used = FRAME_HEAD_BYTES + h.len;
	return FRAME_OK;
}

/* The head of a frame on channel 0 whose body is written next. */
static void
begin(struct wr *w, uint8_t type, uint32_t stream, size_t len)
{
	frame_head_encode(w,
	    &(struct frame_head){ .len = (uint32_t)len,
		.type = type,
		.stream = stream });
}

void
frame_bare_encode(struct wr *w, uint8_t type, uint32_t stream, uint8_t channel)
{
	frame_head_encode(w,
	    &(struct frame_head){ .type = type,
		.channel = channel,
		.stream = stream });
}

/* How a body ended: all read, and nothing in it that cannot be. */
static enum frame_fault
ended(const struct rd *r, bool is_valid)
{
	if (!rd_done(r))
		return FRAME_BAD_LENGTH;
	return is_valid ? FRAME_OK : FRAME_BAD_BODY;
}

/* Every byte is in first..0x7e: what a terminal prints and does not obey. */
static bool
is_ascii_from(struct span s, uint8_t first)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < first || s.ptr[i] > 0x7e)
			return false;
	return true;
}

static bool
is_text(struct span s)
{
	return is_ascii_from(s, 0x20);
}

static bool
is_absolute(struct span path)
{
	return path.len > 0 && path.ptr[0] == '/' &&
	    memchr(path.ptr, '\0', path.len) == NULL;
}

static bool
is_limit(uint8_t n)
{
	return n <= FRAME_LIMIT_DURATION;
}

void
frame_hello_encode(struct wr *w, const struct frame_hello *m)
{
	begin(w, FRAME_HELLO, 0, HELLO_BYTES);
	wr_u32(w, m->version);
	wr_u32(w, m->features);
}

enum frame_fault
frame_hello_decode(struct span body, struct frame_hello *ret)
{
	struct rd r = rd_span(body);

	ret->version = rd_u32(&r);
	ret->features = rd_u32(&r);
	return ended(&r, ret->version == FRAME_VERSION);
}

void
frame_state_encode(struct wr *w, const struct frame_state *m)
{
	begin(w, FRAME_STATE, 0, STATE_BYTES + m->text.len);
	wr_u8(w, (uint8_t)m->state);
	wr_u8(w, (uint8_t)m->limit);
	wr_u32(w, m->elapsed_ms);
	wr_span16(w, m->text);
}

enum frame_fault
frame_state_decode(struct span body, struct frame_state *ret)
{
	struct rd r = rd_span(body);
	const uint8_t state = rd_u8(&r), limit = rd_u8(&r);

	ret->elapsed_ms = rd_u32(&r);
	ret->text = rd_str16(&r, FRAME_TEXT_MAX);
	if (state < FRAME_VM_BOOTING || state > FRAME_VM_ENDED ||
	    !is_limit(limit))
		return FRAME_BAD_BODY;
	ret->state = (enum frame_vm_state)state;
	ret->limit = (enum frame_limit)limit;
	return ended(&r, is_text(ret->text));
}

void
frame_clock_encode(struct wr *w, uint64_t us)
{
	begin(w, FRAME_CLOCK, 0, CLOCK_BYTES);
	wr_u64(w, us);
}

/* Above INT64_MAX is no time that settimeofday(2) could be given. */
enum frame_fault
frame_clock_decode(struct span body, uint64_t *ret_us)
{
	struct rd r = rd_span(body);

	*ret_us = rd_u64(&r);
	return ended(&r, *ret_us <= INT64_MAX);
}

void
frame_exec_encode(struct wr *w, uint32_t stream, const struct frame_exec *m)
{
	begin(w, FRAME_EXEC, stream, EXEC_BYTES + m->cwd.len + m->user.len);
	wr_u32(w, m->flags);
	wr_u16(w, m->rows);
	wr_u16(w, m->cols);
	wr_u16(w, m->argc);
	wr_u16(w, m->envc);
	wr_u32(w, m->args_bytes);
	wr_u32(w, m->timeout_ms);
	wr_u64(w, m->output_max);
	wr_span16(w, m->cwd);
	wr_span16(w, m->user);
}

/* Each string takes at least the byte of its NUL. */
static bool
is_args(const struct frame_exec *m)
{
	const uint32_t count = (uint32_t)m->argc + m->envc;

	return m->argc > 0 && count <= FRAME_ARGS_MAX_COUNT &&
	    m->args_bytes >= count && m->args_bytes <= FRAME_ARGS_MAX_BYTES;
}

enum frame_fault
frame_exec_decode(struct span body, struct frame_exec *ret)
{
	struct rd r = rd_span(body);
	bool is_valid;

	ret->flags = rd_u32(&r);
	ret->rows = rd_u16(&r);
	ret->cols = rd_u16(&r);
	ret->argc = rd_u16(&r);
	ret->envc = rd_u16(&r);
	ret->args_bytes = rd_u32(&r);
	ret->timeout_ms = rd_u32(&r);
	ret->output_max = rd_u64(&r);
	ret->cwd = rd_str16(&r, FRAME_PATH_MAX);
	ret->user = rd_str16(&r, FRAME_USER_MAX);
	is_valid = (ret->flags & ~FRAME_EXEC_TTY) == 0 && is_args(ret) &&
	    (ret->cwd.len == 0 || is_absolute(ret->cwd)) &&
	    is_ascii_from(ret->user, 0x21);
	return ended(&r, is_valid);
}

void
frame_copy_encode(struct wr *w, uint8_t type, uint32_t stream,
    const struct frame_copy *m)
{
	assert(type == FRAME_PUT || type == FRAME_GET);
	begin(w, type, stream, COPY_BYTES + m->path.len + m->user.len);
	wr_u32(w, m->flags);
	wr_span16(w, m->path);
	wr_span16(w, m->user);
}

enum frame_fault
frame_copy_decode(struct span body, struct frame_copy *ret)
{
	struct rd r = rd_span(body);

	ret->flags = rd_u32(&r);
	ret->path = rd_str16(&r, FRAME_PATH_MAX);
	ret->user = rd_str16(&r, FRAME_USER_MAX);
	return ended(&r,
	    (ret->flags & ~FRAME_COPY_MERGE) == 0 && is_absolute(ret->path) &&
		is_ascii_from(ret->user, 0x21));
}

void
frame_signal_encode(struct wr *w, uint32_t stream, uint8_t number)
{
	begin(w, FRAME_SIGNAL, stream, 1);
	wr_u8(w, number);
}

/* Linux has 1..64; 0 would only ask whether the process is there. */
enum frame_fault
frame_signal_decode(struct span body, uint8_t *ret)
{
	struct rd r = rd_span(body);

	*ret = rd_u8(&r);
	return ended(&r, *ret >= 1 && *ret <= 64);
}

void
frame_resize_encode(struct wr *w, uint32_t stream, uint16_t rows, uint16_t cols)
{
	begin(w, FRAME_RESIZE, stream, 4);
	wr_u16(w, rows);
	wr_u16(w, cols);
}

enum frame_fault
frame_resize_decode(struct span body, uint16_t *ret_rows, uint16_t *ret_cols)
{
	struct rd r = rd_span(body);

	*ret_rows = rd_u16(&r);
	*ret_cols = rd_u16(&r);
	return ended(&r, true);
}

void
frame_started_encode(struct wr *w, uint32_t stream, uint32_t pid)
{
	begin(w, FRAME_STARTED, stream, 4);
	wr_u32(w, pid);
}

enum frame_fault
frame_started_decode(struct span body, uint32_t *ret_pid)
{
	struct rd r = rd_span(body);

	*ret_pid = rd_u32(&r);
	return ended(&r, *ret_pid >= 1 && *ret_pid <= INT32_MAX);
}

void
frame_exit_encode(struct wr *w, uint32_t stream, const struct frame_exit *m)
{
	begin(w, FRAME_EXIT, stream, EXIT_BYTES + m->text.len);
	wr_u8(w, (uint8_t)m->end);
	wr_u32(w, m->value);
	wr_u8(w, (uint8_t)m->limit);
	wr_span16(w, m->text);
}

static bool
is_end(const struct frame_exit *m)
{
	switch (m->end) {
	case FRAME_END_CODE:
		return m->value <= 255 && m->text.len == 0;
	case FRAME_END_SIGNAL:
		return m->value >= 1 && m->value <= 64 && m->text.len == 0;
	case FRAME_END_NOT_FOUND:
	case FRAME_END_NOT_RUN:
	case FRAME_END_FAILED:
		return m->value == 0 && is_text(m->text);
	}
	return false;
}

enum frame_fault
frame_exit_decode(struct span body, struct frame_exit *ret)
{
	struct rd r = rd_span(body);
	const uint8_t end = rd_u8(&r);
	uint8_t limit;

	ret->value = rd_u32(&r);
	limit = rd_u8(&r);
	ret->text = rd_str16(&r, FRAME_TEXT_MAX);
	if (end < FRAME_END_CODE || end > FRAME_END_FAILED || !is_limit(limit))
		return FRAME_BAD_BODY;
	ret->end = (enum frame_end)end;
	ret->limit = (enum frame_limit)limit;
	return ended(&r, is_end(ret));
}

void
frame_data_encode(struct wr *w, uint32_t stream, uint8_t channel,
    struct span data)
{
	frame_head_encode(w,
	    &(struct frame_head){ .len = (uint32_t)data.len,
		.type = FRAME_DATA,
		.channel = channel,
		.stream = stream });
	wr_bytes(w, data.ptr, data.len);
}

void
frame_window_encode(struct wr *w, uint32_t stream, uint8_t channel,
    uint32_t bytes)
{
	frame_head_encode(w,
	    &(struct frame_head){ .len = 4,
		.type = FRAME_WINDOW_ADD,
		.channel = channel,
		.stream = stream });
	wr_u32(w, bytes);
}

enum frame_fault
frame_window_decode(struct span body, uint32_t *ret)
{
	struct rd r = rd_span(body);

	*ret = rd_u32(&r);
	if (!rd_done(&r))
		return FRAME_BAD_LENGTH;
	return *ret >= 1 && *ret <= FRAME_WINDOW ? FRAME_OK : FRAME_BAD_WINDOW;
}
