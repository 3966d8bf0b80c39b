/*
 * Any split gives the same bytes of messages and of control frames, and the
 * same end; and no more comes out than went in.
 */
#include "fuzz_wire.h"

#include "wire/websocket.h"

#define MAX_BYTES 65536

struct read {
	enum websocket_frame end;
	bool is_at_rest;
	size_t in_control;
	struct wr data, control;
};

/* seed 0: all at once. */
static void
decode(struct span in, uint32_t seed, struct read *ret)
{
	struct websocket_frames f = { .left = 0 };
	enum websocket_frame s = WEBSOCKET_FRAME_MORE;
	struct rd r = rd_span(in);

	while (s == WEBSOCKET_FRAME_MORE && rd_left(&r) > 0) {
		size_t piece = seed == 0 ? rd_left(&r) : next_piece(&seed);
		struct span part =
		    rd_take(&r, rd_left(&r) < piece ? rd_left(&r) : piece);
		struct span bytes;

		while ((s = websocket_frames_feed(&f, &part, &bytes)) ==
			WEBSOCKET_FRAME_DATA ||
		    s == WEBSOCKET_FRAME_CONTROL) {
			HOLDS(bytes.len > 0);
			wr_bytes(s == WEBSOCKET_FRAME_DATA ? &ret->data
							   : &ret->control,
			    bytes.ptr, bytes.len);
		}
		HOLDS(s != WEBSOCKET_FRAME_MORE || part.len == 0);
	}
	ret->end = s;
	ret->is_at_rest = websocket_frames_at_rest(&f);
	ret->in_control = websocket_frames_in_control(&f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bufs[4][MAX_BYTES];
	struct span in = { data, size };
	struct read a = { .data = wr_init(bufs[0], MAX_BYTES),
		.control = wr_init(bufs[1], MAX_BYTES) };
	struct read b = { .data = wr_init(bufs[2], MAX_BYTES),
		.control = wr_init(bufs[3], MAX_BYTES) };

	if (size > MAX_BYTES)
		return 0;
	decode(in, 0, &a);
	decode(in, (uint32_t)size + 1, &b);
	HOLDS(a.end == b.end && websocket_frame_text(a.end) != NULL);
	HOLDS(a.is_at_rest == b.is_at_rest && a.in_control == b.in_control);
	HOLDS(a.in_control <= 2 + WEBSOCKET_CONTROL_MAX_BYTES);
	HOLDS(a.data.len + a.control.len <= size);
	HOLDS(span_eq((struct span){ bufs[0], a.data.len },
	    (struct span){ bufs[2], b.data.len }));
	HOLDS(span_eq((struct span){ bufs[1], a.control.len },
	    (struct span){ bufs[3], b.control.len }));
	return 0;
}
