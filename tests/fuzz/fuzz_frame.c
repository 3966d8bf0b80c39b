/*
 * What a guest, or a session, may send. The input is: a byte that says which
 * side each further frame is of (a bit for each, in turn), then frames, the
 * first of which may open the stream.
 *
 * Holds: a frame that is taken is written again as the same bytes; cut
 * anywhere it asks for more; no more DATA passes on a channel than its window
 * and what was given back; nothing passes after EXIT, nor of the host after
 * RESET; a frame that does not pass changes nothing.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "vmm/frame_stream.h"

static uint8_t again[FRAME_BYTES_MAX];

/* The body as decoded, encoded again; false if it was refused. */
static bool
encode_control(struct wr *w, const struct frame *f)
{
	struct frame_hello hello;
	struct frame_state state;
	uint64_t us;

	switch (f->head.type) {
	case FRAME_HELLO:
		if (frame_hello_decode(f->body, &hello) != FRAME_OK)
			return false;
		frame_hello_encode(w, &hello);
		return true;
	case FRAME_STATE:
		if (frame_state_decode(f->body, &state) != FRAME_OK)
			return false;
		frame_state_encode(w, &state);
		return true;
	case FRAME_CLOCK:
		if (frame_clock_decode(f->body, &us) != FRAME_OK)
			return false;
		frame_clock_encode(w, us);
		return true;
	default:
		frame_bare_encode(w, f->head.type, f->head.stream,
		    f->head.channel);
		return true;
	}
}

static bool
encode_opening(struct wr *w, const struct frame *f)
{
	struct frame_exec exec;
	struct frame_copy copy;

	if (f->head.type == FRAME_EXEC) {
		if (frame_exec_decode(f->body, &exec) != FRAME_OK)
			return false;
		HOLDS(exec.argc > 0 && exec.args_bytes <= FRAME_ARGS_MAX_BYTES);
		frame_exec_encode(w, f->head.stream, &exec);
		return true;
	}
	if (frame_copy_decode(f->body, &copy) != FRAME_OK)
		return false;
	HOLDS(copy.path.ptr[0] == '/');
	frame_copy_encode(w, f->head.type, f->head.stream, &copy);
	return true;
}

static bool
encode_answer(struct wr *w, const struct frame *f)
{
	struct frame_exit end;
	uint32_t n;

	if (f->head.type == FRAME_EXIT) {
		if (frame_exit_decode(f->body, &end) != FRAME_OK)
			return false;
		for (size_t i = 0; i < end.text.len; i++)
			HOLDS(
			    end.text.ptr[i] >= 0x20 && end.text.ptr[i] < 0x7f);
		frame_exit_encode(w, f->head.stream, &end);
	} else if (f->head.type == FRAME_STARTED) {
		if (frame_started_decode(f->body, &n) != FRAME_OK)
			return false;
		frame_started_encode(w, f->head.stream, n);
	} else {
		if (frame_window_decode(f->body, &n) != FRAME_OK)
			return false;
		frame_window_encode(w, f->head.stream, f->head.channel, n);
	}
	return true;
}

static bool
encode_again(struct wr *w, const struct frame *f)
{
	uint16_t rows, cols;
	uint8_t number;

	switch (f->head.type) {
	case FRAME_EXEC:
	case FRAME_PUT:
	case FRAME_GET:
		return encode_opening(w, f);
	case FRAME_STARTED:
	case FRAME_EXIT:
	case FRAME_WINDOW_ADD:
		return encode_answer(w, f);
	case FRAME_SIGNAL:
		if (frame_signal_decode(f->body, &number) != FRAME_OK)
			return false;
		frame_signal_encode(w, f->head.stream, number);
		return true;
	case FRAME_RESIZE:
		if (frame_resize_decode(f->body, &rows, &cols) != FRAME_OK)
			return false;
		frame_resize_encode(w, f->head.stream, rows, cols);
		return true;
	case FRAME_DATA:
		frame_data_encode(w, f->head.stream, f->head.channel, f->body);
		return true;
	default:
		return encode_control(w, f);
	}
}

static void
check_bytes(struct span in, const struct frame *f, size_t used)
{
	struct wr w = wr_init(again, sizeof(again));
	struct frame part;
	size_t part_used;

	HOLDS(used == FRAME_HEAD_BYTES + f->head.len && used <= in.len);
	HOLDS(frame_decode((struct span){ in.ptr, used - 1 }, &part,
		  &part_used) == FRAME_OK);
	HOLDS(part_used == 0);
	if (!encode_again(&w, f))
		return;
	HOLDS(wr_ok(&w) && w.len == used);
	HOLDS(memcmp(again, in.ptr, used) == 0);
}

struct run {
	struct frame_stream s;
	bool open;
	bool exited, reset;
	uint64_t sent[FRAME_CHANNELS];
	uint64_t room[FRAME_CHANNELS];
};

static void
run_pass(struct run *run, enum frame_side side, const struct frame *f)
{
	const struct frame_stream before = run->s;
	const uint8_t channel = f->head.channel;
	uint32_t n = 0;

	if (frame_stream_pass(&run->s, side, f) != FRAME_OK) {
		HOLDS(memcmp(&before, &run->s, sizeof(before)) == 0);
		return;
	}
	HOLDS(!run->exited);
	HOLDS(side != FRAME_HOST || !run->reset);
	if (f->head.type == FRAME_DATA)
		run->sent[channel] += f->head.len;
	if (f->head.type == FRAME_WINDOW_ADD) {
		HOLDS(frame_window_decode(f->body, &n) == FRAME_OK);
		run->room[channel] += n;
	}
	HOLDS(run->sent[channel] <= run->room[channel]);
	HOLDS(run->room[channel] - run->sent[channel] <= FRAME_WINDOW);
	run->exited = f->head.type == FRAME_EXIT;
	run->reset = run->reset || f->head.type == FRAME_RESET;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd r = rd_init(data, size);
	const uint8_t sides = rd_u8(&r);
	struct span in = rd_take(&r, rd_left(&r));
	struct run run = { .open = false };
	struct frame f;
	size_t used;

	for (size_t i = 0; i < FRAME_CHANNELS; i++)
		run.room[i] = FRAME_WINDOW;
	for (unsigned int turn = 0;; turn++) {
		if (frame_decode(in, &f, &used) != FRAME_OK || used == 0)
			return 0;
		check_bytes(in, &f, used);
		if (!run.open)
			run.open = frame_stream_open(&run.s, &f) == FRAME_OK;
		else
			run_pass(&run,
			    (sides >> (turn % 8) & 1) != 0 ? FRAME_GUEST
							   : FRAME_HOST,
			    &f);
		in.ptr += used;
		in.len -= used;
	}
}
