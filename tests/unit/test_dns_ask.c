/*
 * Questions over a stream, and whose answer is whose.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/dns_ask.h"

#define HOST "api.origin.example"
#define LONG63 "a23456789012345678901234567890123456789012345678901234567890123"

static struct span
question(uint8_t *buf, size_t size, const char *host)
{
	struct wr w = wr_init(buf, size);

	dns_ask_write(&w, 0x1234, host, DNS_TYPE_AAAA);
	assert_true(wr_ok(&w));
	return (struct span){ buf, w.len };
}

static void
pads_each_question_to_its_block(void **state)
{
	static const struct {
		const char *host;
		size_t len;
	} rows[] = {
		{ "a.b", 128 },
		{ HOST, 128 },
		{ LONG63 ".example", 128 },
		{ LONG63 "." LONG63 ".example", 256 },
		{ LONG63 "." LONG63 "." LONG63 ".a2345678901234567890123456789"
			 "0123456789012345678901234567890",
		    384 },
	};
	uint8_t buf[DNS_ASK_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct span s = question(buf, sizeof(buf), rows[i].host);
		struct dns_query q;
		struct span msg;
		size_t used;

		assert_int_equal(s.len, 2 + rows[i].len);
		assert_int_equal(dns_ask_frame(s, &msg, &used),
		    DNS_FRAME_WHOLE);
		assert_int_equal(used, s.len);
		assert_int_equal(dns_query_parse(msg, &q), DNS_OK);
		assert_string_equal(q.host, rows[i].host);
		assert_int_equal(q.type, DNS_TYPE_AAAA);
		assert_int_equal(q.id, 0x1234);
		assert_int_equal(dns_ask_id(msg), 0x1234);
		assert_true(q.has_edns);
		assert_false(q.wants_dnssec);
	}
}

static void
takes_frames_that_an_answer_has(void **state)
{
	static const struct {
		const char *claim;
		size_t announced, there;
		enum dns_frame want;
	} rows[] = {
		{ "nothing", 0, 0, DNS_FRAME_MORE },
		{ "half a length", 0, 1, DNS_FRAME_MORE },
		{ "less than a header", 11, 2, DNS_FRAME_BAD },
		{ "nothing at all", 0, 2, DNS_FRAME_BAD },
		{ "a header", 12, 14, DNS_FRAME_WHOLE },
		{ "all but a byte", 12, 13, DNS_FRAME_MORE },
		{ "the longest", DNS_ASK_ANSWER_MAX_BYTES, 2, DNS_FRAME_MORE },
		{ "one more", DNS_ASK_ANSWER_MAX_BYTES + 1, 2, DNS_FRAME_BAD },
		{ "the most that fits", 65535, 2, DNS_FRAME_BAD },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t buf[16] = { (uint8_t)(rows[i].announced >> 8),
			(uint8_t)rows[i].announced };
		struct span msg;
		size_t used;

		if (dns_ask_frame((struct span){ buf, rows[i].there }, &msg,
			&used) != rows[i].want)
			fail_msg("%s", rows[i].claim);
	}
}

/* The answer's second word and what of it differs from a good one. */
static const struct {
	const char *claim;
	uint16_t flags;
	size_t at; /* a byte of the message that is another one */
	uint8_t flip;
	const char *host;
	bool want;
	uint8_t rcode;
} answers[] = {
	{ "the answer", 0x8180, 0, 0, HOST, true, 0 },
	{ "in capitals", 0x8180, 13, 0x20, HOST, true, 0 },
	{ "no such name", 0x8183, 0, 0, HOST, true, DNS_RCODE_NXDOMAIN },
	{ "it refuses", 0x8185, 0, 0, HOST, true, DNS_RCODE_REFUSED },
	{ "cut: the answer's reader sees to it", 0x8380, 0, 0, HOST, true, 0 },
	{ "a question", 0x0100, 0, 0, HOST, false, 0 },
	{ "a status", 0x9180, 0, 0, HOST, false, 0 },
	{ "two questions", 0x8180, 5, 3, HOST, false, 0 },
	{ "none", 0x8180, 5, 1, HOST, false, 0 },
	{ "another letter", 0x8180, 13, 1, HOST, false, 0 },
	{ "another length", 0x8180, 12, 1, HOST, false, 0 },
	{ "a pointer", 0x8180, 12, 0xc0, HOST, false, 0 },
	{ "another type", 0x8180, 33, 1, HOST, false, 0 },
	{ "another class", 0x8180, 35, 2, HOST, false, 0 },
	{ "a name below", 0x8180, 0, 0, "x." HOST, false, 0 },
	{ "a name above", 0x8180, 0, 0, "origin.example", false, 0 },
	{ "its beginning", 0x8180, 0, 0, "api.origin", false, 0 },
};

static void
knows_whose_answer_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		uint8_t buf[DNS_ASK_MAX_BYTES];
		uint8_t rcode = 0xff;
		struct span msg;
		size_t used;

		assert_int_equal(dns_ask_frame(question(buf, sizeof(buf), HOST),
				     &msg, &used),
		    DNS_FRAME_WHOLE);
		buf[4] = (uint8_t)(answers[i].flags >> 8);
		buf[5] = (uint8_t)answers[i].flags;
		buf[2 + answers[i].at] ^= answers[i].flip;
		if (dns_ask_answers(msg, answers[i].host, DNS_TYPE_AAAA,
			&rcode) != answers[i].want)
			fail_msg("%s", answers[i].claim);
		assert_int_equal(rcode,
		    answers[i].want ? answers[i].rcode : 0xff);
		/* No shorter one is an answer. */
		for (size_t len = 0; len < 36; len++)
			assert_false(
			    dns_ask_answers((struct span){ msg.ptr, len },
				answers[i].host, DNS_TYPE_AAAA, &rcode));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pads_each_question_to_its_block),
		cmocka_unit_test(takes_frames_that_an_answer_has),
		cmocka_unit_test(knows_whose_answer_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
