/*
 * A stream of answers: cut in the same places however it comes in pieces, none
 * longer than is allowed. What is taken for the answer to a question is, to the
 * parser of guests' questions, that question. And whatever host was read from
 * the input: what we ask for it is read as that, and is its answer's question.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "wire/dns_ask.h"

#define HOST "ab.example"

/* The message as a question, without what follows: so a guest could ask. */
static void
answers_our_question(struct span msg)
{
	uint8_t buf[12 + sizeof(HOST) + 1 + 4];
	struct dns_query q;

	HOLDS(msg.len >= sizeof(buf));
	memcpy(buf, msg.ptr, sizeof(buf));
	buf[2] &= 0x7f;
	memset(buf + 6, 0, 6);
	HOLDS(dns_query_parse((struct span){ buf, sizeof(buf) }, &q) == DNS_OK);
	HOLDS(strcmp(q.text, HOST) == 0 && q.type == DNS_TYPE_A);
	HOLDS(q.id == dns_ask_id(msg));
}

/* Lengths taken, until the stream ends or is of no use; that is the result. */
static enum dns_frame
cut(struct span in, size_t *ret_taken)
{
	struct span msg;
	size_t used;
	uint8_t rcode;
	enum dns_frame f;

	*ret_taken = 0;
	while ((f = dns_ask_frame(in, &msg, &used)) == DNS_FRAME_WHOLE) {
		HOLDS(used == msg.len + 2 && used <= in.len);
		HOLDS(msg.len <= DNS_ASK_ANSWER_MAX_BYTES);
		if (dns_ask_answers(msg, HOST, DNS_TYPE_A, &rcode)) {
			HOLDS(rcode < 16);
			answers_our_question(msg);
		}
		*ret_taken += used;
		in.ptr += used;
		in.len -= used;
	}
	return f;
}

static void
in_pieces(struct span in, size_t taken, enum dns_frame end)
{
	uint32_t seed = (uint32_t)in.len;
	size_t have = 0, at = 0, used;
	enum dns_frame f = DNS_FRAME_MORE;
	struct span msg;

	while (have < in.len && f != DNS_FRAME_BAD) {
		have += next_piece(&seed);
		if (have > in.len)
			have = in.len;
		while (
		    (f = dns_ask_frame((struct span){ in.ptr + at, have - at },
			 &msg, &used)) == DNS_FRAME_WHOLE)
			at += used;
	}
	HOLDS(at == taken && f == end);
}

static void
asks_what_it_is_to(struct span in)
{
	uint8_t buf[DNS_ASK_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	char host[HOST_SIZE];
	struct dns_query q;
	struct span msg;
	size_t used;
	uint8_t rcode;

	if (host_parse(in, host) != HOST_NAME)
		return;
	dns_ask_write(&w, 7, host, DNS_TYPE_A);
	HOLDS(wr_ok(&w) && (w.len - 2) % DNS_ASK_BLOCK_BYTES == 0);
	HOLDS(dns_ask_frame((struct span){ buf, w.len }, &msg, &used) ==
	    DNS_FRAME_WHOLE);
	HOLDS(dns_query_parse(msg, &q) == DNS_OK);
	HOLDS(strcmp(q.host, host) == 0 && q.type == DNS_TYPE_A);
	HOLDS(!dns_ask_answers(msg, host, DNS_TYPE_A, &rcode));
	buf[4] |= 0x80;
	HOLDS(dns_ask_answers(msg, host, DNS_TYPE_A, &rcode));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span in = { data, size };
	size_t taken;
	const enum dns_frame end = cut(in, &taken);

	if (size > 0)
		in_pieces(in, taken, end);
	asks_what_it_is_to(in);
	return 0;
}
