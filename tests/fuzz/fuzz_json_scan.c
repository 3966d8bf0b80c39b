/*
 * A text is read in one way however it is split, and one that is written anew
 * from its tokens has the same.
 */
#include "fuzz_wire.h"

#include "base/json.h"
#include "wire/json_scan.h"

#define MAX_BYTES 16384

/* Every token with its text, in the order they come; 0 at the end. */
static size_t
tokens(struct span in, uint32_t seed, uint8_t *buf, size_t size)
{
	static struct json_scan j;
	struct wr w = wr_init(buf, size);
	enum json_token t = JSON_MORE;

	memset(&j, 0, sizeof(j));
	while (in.len > 0 && t < JSON_BROKEN) {
		size_t piece = seed == 0 ? in.len : next_piece(&seed);
		struct span part = { in.ptr, piece < in.len ? piece : in.len };

		in = (struct span){ in.ptr + part.len, in.len - part.len };
		do {
			struct span s;
			uint64_t n;

			t = json_scan_next(&j, &part);
			s = json_scan_text(&j);
			HOLDS(s.len <= JSON_SCAN_TEXT_MAX);
			HOLDS(j.depth <= JSON_SCAN_DEPTH_MAX);
			wr_u8(&w, (uint8_t)t);
			if (t == JSON_NUMBER && json_scan_number(&j, &n))
				HOLDS(n <= INT64_MAX && s.len <= 19);
			if (t == JSON_NAME || t == JSON_TEXT ||
			    t == JSON_NUMBER) {
				wr_u32(&w, (uint32_t)s.len);
				wr_bytes(&w, s.ptr, s.len);
			}
			if (t == JSON_MORE)
				w.len--;
		} while (t != JSON_MORE && t < JSON_BROKEN);
	}
	wr_u8(&w, json_scan_is_whole(&j) ? 'w' : 'p');
	HOLDS(wr_ok(&w));
	return w.len;
}

/* What was read, in other words: every byte of a text as an escape. */
static void
write_text(struct wr *w, struct rd *r)
{
	struct span s = rd_take(r, rd_u32(r));

	wr_u8(w, '"');
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] < 0x80)
			wr_fmt(w, "\\u%04x", s.ptr[i]);
		else
			wr_u8(w, s.ptr[i]);
	}
	wr_u8(w, '"');
}

static size_t
write_again(struct span read, uint8_t *buf, size_t size)
{
	struct wr w = wr_init(buf, size);
	struct rd r = rd_init(read.ptr, read.len - 1);
	bool is_first = true;

	while (rd_left(&r) > 0) {
		enum json_token t = rd_u8(&r);
		struct span s;

		if (!is_first && t != JSON_OBJECT_END && t != JSON_ARRAY_END)
			wr_u8(&w, ',');
		is_first =
		    t == JSON_OBJECT || t == JSON_ARRAY || t == JSON_NAME;
		if (t == JSON_NAME || t == JSON_TEXT) {
			write_text(&w, &r);
			wr_text(&w, t == JSON_NAME ? " : " : " ");
		} else if (t == JSON_NUMBER) {
			s = rd_take(&r, rd_u32(&r));
			wr_bytes(&w, s.ptr, s.len);
		} else {
			static const char *const words[JSON_TOKENS] = {
				[JSON_OBJECT] = "{ ",
				[JSON_OBJECT_END] = "}",
				[JSON_ARRAY] = "[\n",
				[JSON_ARRAY_END] = "]",
				[JSON_TRUE] = "true",
				[JSON_FALSE] = "false",
				[JSON_NULL] = "null",
			};

			wr_text(&w, words[t]);
		}
	}
	HOLDS(wr_ok(&w));
	return w.len;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t a[16 * MAX_BYTES], b[16 * MAX_BYTES],
	    text[16 * MAX_BYTES];
	size_t a_len, b_len;

	if (size > MAX_BYTES)
		return 0;
	a_len = tokens((struct span){ data, size }, 0, a, sizeof(a));
	b_len = tokens((struct span){ data, size }, (uint32_t)size + 1, b,
	    sizeof(b));
	HOLDS(a_len == b_len && memcmp(a, b, a_len) == 0);
	if (a[a_len - 1] != 'w')
		return 0;
	b_len = write_again((struct span){ a, a_len }, text, sizeof(text));
	b_len = tokens((struct span){ text, b_len }, 0, b, sizeof(b));
	HOLDS(a_len == b_len && memcmp(a, b, a_len) == 0);
	return 0;
}
