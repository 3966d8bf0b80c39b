/*
 * Any split gives the same bytes and the same end, and what was decoded,
 * encoded again, decodes to the same.
 */
#include "fuzz_wire.h"

#include "wire/chunked.h"

#define BODY_MAX_BYTES 65536

static uint8_t first[BODY_MAX_BYTES], second[BODY_MAX_BYTES];
static uint8_t encoded[BODY_MAX_BYTES + 64];

/* seed 0: all at once. */
static enum chunked_status
decode(struct span in, uint32_t seed, struct wr *data, size_t *ret_rest)
{
	struct chunked c = { .left = 0 };
	enum chunked_status s = CHUNKED_MORE;
	struct rd r = rd_span(in);

	*ret_rest = in.len;
	while (s == CHUNKED_MORE && rd_left(&r) > 0) {
		size_t piece = seed == 0 ? rd_left(&r) : next_piece(&seed);
		struct span part =
		    rd_take(&r, rd_left(&r) < piece ? rd_left(&r) : piece);
		struct span bytes;

		while ((s = chunked_feed(&c, &part, &bytes)) == CHUNKED_DATA) {
			HOLDS(bytes.len > 0);
			wr_bytes(data, bytes.ptr, bytes.len);
		}
		*ret_rest = part.len + rd_left(&r);
	}
	return s;
}

static void
encode(struct span body, struct wr *w)
{
	if (body.len > 0) {
		uint8_t head[CHUNKED_HEADER_SIZE];

		wr_bytes(w, head, chunked_header(body.len, head));
		wr_bytes(w, body.ptr, body.len);
		wr_text(w, "\r\n");
	}
	wr_text(w, CHUNKED_END);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = { data, size };
	struct wr a = wr_init(first, sizeof(first));
	struct wr b = wr_init(second, sizeof(second));
	struct wr w = wr_init(encoded, sizeof(encoded));
	size_t rest_a, rest_b;
	enum chunked_status s;

	if (size > BODY_MAX_BYTES)
		return 0;
	s = decode(in, 0, &a, &rest_a);
	HOLDS(decode(in, (uint32_t)size + 1, &b, &rest_b) == s);
	HOLDS(span_eq((struct span){ first, a.len },
	    (struct span){ second, b.len }));
	HOLDS(chunked_status_text(s) != NULL && s != CHUNKED_DATA);
	HOLDS(s == CHUNKED_MORE || rest_a == rest_b);
	encode((struct span){ first, a.len }, &w);
	b = wr_init(second, sizeof(second));
	HOLDS(wr_ok(&w));
	HOLDS(decode((struct span){ encoded, w.len }, 7, &b, &rest_b) ==
	    CHUNKED_DONE);
	HOLDS(rest_b == 0);
	HOLDS(span_eq((struct span){ first, a.len },
	    (struct span){ second, b.len }));
	return 0;
}
