/*
 * A proxy's answer says the same however it is split, and whatever comes
 * behind its head. A tunnel opens only for a whole head of HTTP/1 with 2xx.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "wire/proxy_answer.h"

static enum proxy_answer_status
read_in_pieces(struct span in, uint32_t seed, struct proxy_answer *a)
{
	enum proxy_answer_status s = PROXY_ANSWER_MORE;
	size_t have = 0;

	while (s == PROXY_ANSWER_MORE && have < in.len) {
		const size_t piece = next_piece(&seed);

		have = in.len - have > piece ? have + piece : in.len;
		s = proxy_answer_read(a, (struct span){ in.ptr, have });
	}
	return s;
}

static void
is_a_head(struct span head)
{
	HOLDS(head.len >= sizeof("HTTP/1.1 200\r\n\r\n") - 1);
	HOLDS(head.len <= PROXY_ANSWER_MAX_BYTES);
	HOLDS(memcmp(head.ptr, "HTTP/1.", 7) == 0 && head.ptr[9] == '2');
	HOLDS(memcmp(head.ptr + head.len - 4, "\r\n\r\n", 4) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span in = { data, size };
	struct proxy_answer whole = { .status = 0 }, pieces = { .status = 0 };
	struct proxy_answer bare = { .status = 0 };
	enum proxy_answer_status s;

	if (size == 0)
		return 0;
	s = proxy_answer_read(&whole, in);
	HOLDS(read_in_pieces(in, (uint32_t)size, &pieces) == s);
	HOLDS(whole.status == pieces.status);
	HOLDS(whole.head_len == pieces.head_len && whole.head_len <= size);
	if (s != PROXY_ANSWER_OPEN) {
		HOLDS(s != PROXY_ANSWER_REFUSED || whole.status >= 300);
		return 0;
	}
	HOLDS(whole.status >= 200 && whole.status < 300);
	is_a_head((struct span){ data, whole.head_len });
	HOLDS(proxy_answer_read(&bare, (struct span){ data, whole.head_len }) ==
	    s);
	return 0;
}
