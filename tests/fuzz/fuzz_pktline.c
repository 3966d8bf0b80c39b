/*
 * What is read is written again as it was, and nothing is taken of a line that
 * is not whole.
 */
#include "fuzz_wire.h"

#include "wire/pktline.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t again[PKTLINE_MAX_BYTES + 1];
	struct span left = { data, size };

	for (;;) {
		struct span before = left, line;
		enum pktline_status s = pktline_read(&left, &line);
		struct wr w = wr_init(again, sizeof(again));
		size_t taken = before.len - left.len;

		HOLDS(s < PKTLINE_STATUS_COUNT);
		HOLDS((s == PKTLINE_MORE || s == PKTLINE_BAD) == (taken == 0));
		HOLDS((s == PKTLINE_DATA) == (line.len > 0));
		if (taken == 0)
			return 0;
		if (s == PKTLINE_FLUSH)
			pktline_write_flush(&w);
		else if (s == PKTLINE_DATA)
			pktline_write(&w, line);
		else
			continue;
		HOLDS(wr_ok(&w) &&
		    span_eq((struct span){ again, w.len },
			(struct span){ before.ptr, taken }));
	}
}
