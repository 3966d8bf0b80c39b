/*
 * Any split gives the same heads, they follow each other as their lengths say,
 * and every byte is part of a head or between two.
 */
#include "fuzz_wire.h"

#include "wire/http2_scan.h"

#define FRAMES_MAX 4096

struct found {
	size_t count;
	struct http2_frame at[FRAMES_MAX];
};

/* seed 0: all at once. */
static void
scan(struct span in, uint32_t seed, struct found *ret)
{
	struct http2_scan s = { .have = 0 };
	struct rd r = rd_span(in);

	ret->count = 0;
	while (rd_left(&r) > 0) {
		size_t piece = seed == 0 ? rd_left(&r) : next_piece(&seed);
		struct span part =
		    rd_take(&r, rd_left(&r) < piece ? rd_left(&r) : piece);
		struct http2_frame f;

		while (http2_scan_next(&s, &part, &f)) {
			HOLDS(s.have == 0 && s.skip == f.length);
			if (ret->count < FRAMES_MAX)
				ret->at[ret->count++] = f;
		}
		HOLDS(part.len == 0 && s.have < HTTP2_FRAME_HEAD_BYTES);
	}
}

/* What a reader that has it all finds. */
static void
check(struct span in, const struct found *found)
{
	struct rd r = rd_span(in);

	for (size_t i = 0; i < found->count; i++) {
		const struct http2_frame *f = &found->at[i];

		HOLDS(f->length == rd_u24(&r) && f->type == rd_u8(&r));
		HOLDS(f->flags == rd_u8(&r));
		HOLDS((uint32_t)f->stream == (rd_u32(&r) & INT32_MAX));
		HOLDS(rd_ok(&r));
		rd_skip(&r, f->length);
	}
	if (found->count < FRAMES_MAX)
		HOLDS(!rd_ok(&r) || rd_left(&r) < HTTP2_FRAME_HEAD_BYTES);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct found whole, split;
	struct span in = { data, size };
	uint32_t seed = (uint32_t)size + 1;

	scan(in, 0, &whole);
	check(in, &whole);
	scan(in, seed, &split);
	HOLDS(whole.count == split.count);
	for (size_t i = 0; i < whole.count; i++) {
		HOLDS(whole.at[i].length == split.at[i].length);
		HOLDS(whole.at[i].type == split.at[i].type);
		HOLDS(whole.at[i].flags == split.at[i].flags);
		HOLDS(whole.at[i].stream == split.at[i].stream);
	}
	return 0;
}
