/*
 * What is taken out of a nameserver's answer. The answers are written byte by
 * byte: the question for a.example ends at offset 27, so c0 0c points to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "proxy/dialler_answer.h"
#include "wire/dns.h"

#define HEAD_FLAGS(flags, questions, answers)                                  \
	"\x12\x34" flags "\x00" questions "\x00" answers "\x00\x00\x00\x00"
#define HEAD(answers) HEAD_FLAGS("\x81\x80", "\x01", answers)
#define A_EXAMPLE                                                              \
	"\x01"                                                                 \
	"a"                                                                    \
	"\x07"                                                                 \
	"example"                                                              \
	"\x00"
#define QUESTION A_EXAMPLE "\x00\x01\x00\x01"
#define QUESTION_AAAA A_EXAMPLE "\x00\x1c\x00\x01"
#define IN_A(ttl) "\x00\x01\x00\x01" ttl
#define TTL60 "\x00\x00\x00\x3c"
#define ADDRESS "\x00\x04\xc0\x00\x02\x01"
#define A_RECORD "\xc0\x0c" IN_A(TTL60) ADDRESS
#define CNAME(ttl, len) "\x00\x05\x00\x01" ttl "\x00" len
#define AAAA_RECORD                                                            \
	"\xc0\x0c\x00\x1c\x00\x01" TTL60 "\x00\x10"                            \
	"\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07"
/* b.example, its suffix by a pointer into the question */
#define B_EXAMPLE                                                              \
	"\x01"                                                                 \
	"b"                                                                    \
	"\xc0\x0e"

#define ROW(claim, type, bytes, want, count, ttl_s)                            \
	{                                                                      \
		claim, type, bytes, sizeof(bytes) - 1, DIALLER_ANSWER_##want,  \
		    count, ttl_s                                               \
	}
#define A DNS_TYPE_A

static const struct {
	const char *claim;
	uint16_t type;
	const char *bytes;
	size_t len;
	enum dialler_answer_status want;
	unsigned int count;
	uint32_t ttl_s;
} rows[] = {
	ROW("an address", A, HEAD("\x01") QUESTION A_RECORD, ADDRESSES, 1, 60),
	ROW("two", A, HEAD("\x02") QUESTION A_RECORD A_RECORD, ADDRESSES, 2,
	    60),
	ROW("an IPv6 address", DNS_TYPE_AAAA,
	    HEAD("\x01") QUESTION_AAAA AAAA_RECORD, ADDRESSES, 1, 60),
	ROW("the question in upper case", A,
	    HEAD("\x01") "\x01"
			 "A"
			 "\x07"
			 "EXAMPLE"
			 "\x00\x00\x01\x00\x01" A_RECORD,
	    ADDRESSES, 1, 60),
	ROW("no record", A, HEAD("\x00") QUESTION, NONE, 0, 0),
	ROW("another type only", A, HEAD("\x01") QUESTION AAAA_RECORD, NONE, 0,
	    0),
	ROW("the address of another name", A,
	    HEAD("\x01") QUESTION B_EXAMPLE IN_A(TTL60) ADDRESS, NONE, 0, 0),
	ROW("NXDOMAIN", A, HEAD_FLAGS("\x81\x83", "\x01", "\x00") QUESTION,
	    NONE, 0, 0),
	ROW("NXDOMAIN with an address", A,
	    HEAD_FLAGS("\x81\x83", "\x01", "\x01") QUESTION A_RECORD, NONE, 0,
	    0),
	ROW("SERVFAIL", A, HEAD_FLAGS("\x81\x82", "\x01", "\x00") QUESTION,
	    FAILED, 0, 0),
	ROW("REFUSED", A, HEAD_FLAGS("\x81\x85", "\x01", "\x00") QUESTION,
	    FAILED, 0, 0),
	ROW("a chain, and the least of its TTLs", A,
	    HEAD("\x02") QUESTION "\xc0\x0c" CNAME("\x00\x00\x00\x05", "\x04")
		B_EXAMPLE B_EXAMPLE IN_A(TTL60) ADDRESS,
	    ADDRESSES, 1, 5),
	ROW("a chain in the other order", A,
	    HEAD("\x02") QUESTION B_EXAMPLE IN_A(TTL60) ADDRESS
	    "\xc0\x0c" CNAME(TTL60, "\x04") B_EXAMPLE,
	    ADDRESSES, 1, 60),
	ROW("a chain that ends in nothing", A,
	    HEAD("\x01") QUESTION "\xc0\x0c" CNAME(TTL60, "\x04") B_EXAMPLE,
	    NONE, 0, 0),
	ROW("28: a name that is its own target", A,
	    HEAD("\x01") QUESTION "\xc0\x0c" CNAME(TTL60, "\x02") "\xc0\x0c",
	    BAD, 0, 0),
	ROW("two targets of one name", A,
	    HEAD("\x02") QUESTION "\xc0\x0c" CNAME(TTL60, "\x04") B_EXAMPLE
	    "\xc0\x0c" CNAME(TTL60, "\x04") B_EXAMPLE,
	    BAD, 0, 0),
	ROW("a target and an address at one name", A,
	    HEAD("\x02") QUESTION A_RECORD "\xc0\x0c" CNAME(TTL60, "\x04")
		B_EXAMPLE,
	    BAD, 0, 0),
	ROW("the root as a target", A,
	    HEAD("\x01") QUESTION "\xc0\x0c" CNAME(TTL60, "\x01") "\x00", BAD,
	    0, 0),
	ROW("bytes after a target", A,
	    HEAD("\x01") QUESTION "\xc0\x0c" CNAME(TTL60, "\x05") B_EXAMPLE
	    "\x00",
	    BAD, 0, 0),
	ROW("a TTL with its first bit set is 0", A,
	    HEAD("\x01") QUESTION "\xc0\x0c" IN_A("\x80\x00\x00\x3c") ADDRESS,
	    ADDRESSES, 1, 0),
	ROW("33: CVE-2021-3672: a NUL in a name", A,
	    HEAD("\x02") QUESTION A_RECORD "\x03"
					   "b\x00"
					   "c"
					   "\xc0\x0e" IN_A(TTL60) ADDRESS,
	    BAD, 0, 0),
	ROW("33: a dot in a label", A,
	    HEAD("\x02") QUESTION A_RECORD "\x03"
					   "b.c"
					   "\xc0\x0e" IN_A(TTL60) ADDRESS,
	    BAD, 0, 0),
	ROW("33: another name asked", A,
	    HEAD("\x01") "\x01"
			 "b"
			 "\x07"
			 "example"
			 "\x00\x00\x01\x00\x01" A_RECORD,
	    BAD, 0, 0),
	ROW("33: another type asked", A, HEAD("\x01") QUESTION_AAAA A_RECORD,
	    BAD, 0, 0),
	ROW("33: no question", A,
	    HEAD_FLAGS("\x81\x80", "\x00", "\x01") QUESTION A_RECORD, BAD, 0,
	    0),
	ROW("33: two questions", A,
	    HEAD_FLAGS("\x81\x80", "\x02", "\x01") QUESTION QUESTION A_RECORD,
	    BAD, 0, 0),
	ROW("33: a question, not an answer", A,
	    HEAD_FLAGS("\x01\x00", "\x01", "\x01") QUESTION A_RECORD, BAD, 0,
	    0),
	ROW("another opcode", A,
	    HEAD_FLAGS("\xa1\x80", "\x01", "\x01") QUESTION A_RECORD, BAD, 0,
	    0),
	ROW("a truncated answer", A,
	    HEAD_FLAGS("\x83\x80", "\x01", "\x01") QUESTION A_RECORD, BAD, 0,
	    0),
	ROW("an address of three bytes", A,
	    HEAD("\x01") QUESTION "\xc0\x0c" IN_A(TTL60) "\x00\x03\xc0\x00\x02",
	    BAD, 0, 0),
	ROW("an IPv6 address that says it is IPv4", A,
	    HEAD("\x01") QUESTION
	    "\xc0\x0c" IN_A(TTL60) "\x00\x10\x20\x01\x0d\xb8\x00\x00\x00\x00"
				   "\x00\x00\x00\x00\x00\x00"
				   "\x00\x07",
	    BAD, 0, 0),
	ROW("an address that is cut off", A,
	    HEAD("\x01") QUESTION "\xc0\x0c" IN_A(TTL60) "\x00\x04\xc0\x00",
	    BAD, 0, 0),
	ROW("fewer records than it says", A, HEAD("\x02") QUESTION A_RECORD,
	    BAD, 0, 0),
	ROW("another class", A,
	    HEAD("\x01") QUESTION "\xc0\x0c\x00\x01\x00\x03" TTL60 ADDRESS,
	    NONE, 0, 0),
	ROW("a pointer to itself", A,
	    HEAD("\x01") QUESTION "\xc0\x1b" IN_A(TTL60) ADDRESS, BAD, 0, 0),
	ROW("a pointer forwards", A,
	    HEAD("\x01") QUESTION "\xc0\x20" IN_A(TTL60) ADDRESS, BAD, 0, 0),
	ROW("a label type that is none", A,
	    HEAD("\x01") QUESTION "\x41"
				  "x"
				  "\x00" IN_A(TTL60) ADDRESS,
	    BAD, 0, 0),
	ROW("nothing", A, "", BAD, 0, 0),
	ROW("half a header", A, "\x12\x34\x81\x80\x00\x01", BAD, 0, 0),
};

static void
takes_only_addresses_of_the_name_that_was_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dialler_answer answer = { 0 };
		const struct span packet = { (const uint8_t *)rows[i].bytes,
			rows[i].len };
		const enum dialler_answer_status got =
		    dialler_answer_parse(packet, "a.example", rows[i].type,
			&answer);

		if (got != rows[i].want || answer.count != rows[i].count ||
		    answer.ttl_s != rows[i].ttl_s)
			fail_msg("%s: status %d, %u addresses, TTL %u",
			    rows[i].claim, (int)got, answer.count,
			    answer.ttl_s);
	}
}

/* count address records for a.example. */
static enum dialler_answer_status
parse_many(uint16_t count, struct dialler_answer *ret)
{
	static const char question[] = QUESTION;
	static const char record[] = A_RECORD;
	static uint8_t buf[16384];
	struct wr w = wr_init(buf, sizeof(buf));

	wr_u32(&w, 0x12348180);
	wr_u16(&w, 1);
	wr_u16(&w, count);
	wr_u32(&w, 0);
	wr_bytes(&w, question, sizeof(question) - 1);
	for (uint16_t i = 0; i < count; i++)
		wr_bytes(&w, record, sizeof(record) - 1);
	assert_true(wr_ok(&w));
	return dialler_answer_parse((struct span){ buf, w.len }, "a.example",
	    DNS_TYPE_A, ret);
}

static void
refuses_more_addresses_than_it_can_hold(void **state)
{
	struct dialler_answer answer;

	(void)state;
	assert_int_equal(parse_many(DIALLER_ANSWER_ADDRESSES_MAX, &answer),
	    DIALLER_ANSWER_ADDRESSES);
	assert_int_equal(answer.count, DIALLER_ANSWER_ADDRESSES_MAX);
	assert_int_equal(parse_many(DIALLER_ANSWER_ADDRESSES_MAX + 1, &answer),
	    DIALLER_ANSWER_BAD);
	assert_int_equal(parse_many(257, &answer), DIALLER_ANSWER_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    takes_only_addresses_of_the_name_that_was_asked),
		cmocka_unit_test(refuses_more_addresses_than_it_can_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
