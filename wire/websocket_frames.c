/*
 * Frames of a WebSocket as an origin sends them, see websocket.h.
 */
#include <assert.h>
#include <string.h>

#include "wire/websocket.h"

#define FIN 0x80
#define RESERVED 0x70
#define OPCODE 0x0f
#define MASK 0x80

enum {
	OPCODE_PART = 0,
	OPCODE_TEXT = 1,
	OPCODE_BINARY = 2,
	OPCODE_CLOSE = 8,
	OPCODE_PONG = 10,
};

static unsigned int
opcode(const struct websocket_frames *f)
{
	return f->head[0] & OPCODE;
}

static bool
is_control(const struct websocket_frames *f)
{
	return opcode(f) >= OPCODE_CLOSE;
}

/* How long the head is, by what there is of it. */
static size_t
head_size(const struct websocket_frames *f)
{
	if (f->head_len < 2)
		return 2;
	switch (f->head[1] & ~MASK) {
	case 126:
		return 4;
	case 127:
		return 10;
	default:
		return 2;
	}
}

static enum websocket_frame
check_first(struct websocket_frames *f)
{
	bool is_final = (f->head[0] & FIN) != 0;

	if ((f->head[0] & RESERVED) != 0)
		return WEBSOCKET_FRAME_RESERVED;
	if (is_control(f)) {
		if (opcode(f) > OPCODE_PONG)
			return WEBSOCKET_FRAME_OPCODE;
		return is_final ? WEBSOCKET_FRAME_MORE : WEBSOCKET_FRAME_LONG;
	}
	if (opcode(f) > OPCODE_BINARY)
		return WEBSOCKET_FRAME_OPCODE;
	if ((opcode(f) == OPCODE_PART) != f->is_in_message)
		return WEBSOCKET_FRAME_ORDER;
	f->is_in_message = !is_final;
	return WEBSOCKET_FRAME_MORE;
}

static enum websocket_frame
check_second(const struct websocket_frames *f)
{
	if ((f->head[1] & MASK) != 0)
		return WEBSOCKET_FRAME_MASKED;
	if (is_control(f) && f->head[1] > WEBSOCKET_CONTROL_MAX_BYTES)
		return WEBSOCKET_FRAME_LONG;
	return WEBSOCKET_FRAME_MORE;
}

/* The head is whole. */
static enum websocket_frame
take_length(struct websocket_frames *f)
{
	uint64_t least = f->head_len == 2 ? 0 : f->head_len == 4 ? 126 : 65536;
	uint64_t len = f->head_len == 2 ? f->head[1] : 0;

	for (size_t i = 2; i < f->head_len; i++)
		len = len << 8 | f->head[i];
	if (len < least || len > INT64_MAX)
		return WEBSOCKET_FRAME_LENGTH;
	f->left = len;
	f->is_in_payload = true;
	return WEBSOCKET_FRAME_MORE;
}

/* One more byte of a head. */
static enum websocket_frame
take_head(struct websocket_frames *f, uint8_t byte)
{
	enum websocket_frame s = WEBSOCKET_FRAME_MORE;

	f->head[f->head_len++] = byte;
	f->taken++;
	if (f->head_len == 1)
		s = check_first(f);
	else if (f->head_len == 2)
		s = check_second(f);
	if (s == WEBSOCKET_FRAME_MORE && f->head_len == head_size(f))
		s = take_length(f);
	return s;
}

static void
end_frame(struct websocket_frames *f)
{
	f->head_len = 0;
	f->is_in_payload = false;
	f->taken = 0;
}

/* The frame ends with its last byte, so that it is at rest at once. */
static struct span
take_payload(struct websocket_frames *f, struct span *in)
{
	struct span data = *in;

	if (data.len > f->left)
		data.len = (size_t)f->left;
	*in = (struct span){ in->ptr + data.len, in->len - data.len };
	f->left -= data.len;
	f->taken += data.len;
	if (f->left == 0)
		end_frame(f);
	return data;
}

enum websocket_frame
websocket_frames_feed(struct websocket_frames *f, struct span *in,
    struct span *ret_data)
{
	if (f->fault != WEBSOCKET_FRAME_MORE)
		return f->fault;
	while (in->len > 0) {
		bool was_control = f->head_len > 0 && is_control(f);

		if (f->is_in_payload) {
			*ret_data = take_payload(f, in);
			return was_control ? WEBSOCKET_FRAME_CONTROL
					   : WEBSOCKET_FRAME_DATA;
		}
		f->fault = take_head(f, in->ptr[0]);
		if (f->fault != WEBSOCKET_FRAME_MORE)
			return f->fault;
		*in = (struct span){ in->ptr + 1, in->len - 1 };
		if (f->is_in_payload && f->left == 0)
			end_frame(f);
	}
	return WEBSOCKET_FRAME_MORE;
}

size_t
websocket_frames_in_control(const struct websocket_frames *f)
{
	return f->head_len > 0 && is_control(f) ? (size_t)f->taken : 0;
}

bool
websocket_frames_at_rest(const struct websocket_frames *f)
{
	return f->head_len == 0 && !f->is_in_message;
}

const char *
websocket_frame_text(enum websocket_frame s)
{
	static const char *const texts[] = {
		[WEBSOCKET_FRAME_MORE] = "the frames go on",
		[WEBSOCKET_FRAME_DATA] = "a piece of a message",
		[WEBSOCKET_FRAME_CONTROL] = "a piece of a control frame",
		[WEBSOCKET_FRAME_RESERVED] = "a frame has a reserved bit",
		[WEBSOCKET_FRAME_OPCODE] = "a frame is of an unknown kind",
		[WEBSOCKET_FRAME_MASKED] = "a frame of the origin is masked",
		[WEBSOCKET_FRAME_LENGTH] =
		    "a frame's length is not in the fewest bytes",
		[WEBSOCKET_FRAME_LONG] =
		    "a control frame is too long, or in parts",
		[WEBSOCKET_FRAME_ORDER] =
		    "a message within another, or a part of none",
	};

	static_assert(sizeof(texts) / sizeof(texts[0]) == WEBSOCKET_FRAME_COUNT,
	    "a text for each outcome");
	return texts[s];
}
