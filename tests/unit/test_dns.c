#include "wire_rows.h"

#include <stdbool.h>
#include <string.h>

#include "wire/dns.h"

/* id 0x1234, RD, one question. */
#define HEAD "\x12\x34\x01\0\0\x01\0\0\0\0\0\0"
#define HEAD_OPT "\x12\x34\x01\0\0\x01\0\0\0\0\0\x01"
#define NAME                                                                   \
	"\x01"                                                                 \
	"a\x07"                                                                \
	"Example\0"
#define A_IN "\0\x01\0\x01"
#define TEN "0123456789"
#define OPT(payload, version, flags) "\0\0\x29" payload "\0" version flags

static const struct {
	const char *claim;
	struct span packet;
	enum dns_status want;
} rows[] = {
	{ "a question", BYTES(HEAD NAME A_IN), DNS_OK },
	{ "with EDNS",
	    BYTES(HEAD_OPT NAME A_IN OPT("\x04\xd0", "\0", "\0\0") "\0\0"),
	    DNS_OK },
	{ "with a cookie",
	    BYTES(HEAD_OPT NAME A_IN OPT("\x04\xd0", "\0",
		"\0\0") "\0\x0c\0\x0a\0\x08"
			"12345678"),
	    DNS_OK },
	{ "row 33: nothing", BYTES(""), DNS_DROP },
	{ "half a header", BYTES("\x12\x34\x01\0\0\x01"), DNS_DROP },
	{ "an answer", BYTES("\x12\x34\x81\0\0\x01\0\0\0\0\0\0" NAME A_IN),
	    DNS_DROP },
	{ "a header alone", BYTES(HEAD), DNS_FORMERR },
	{ "no question", BYTES("\x12\x34\x01\0\0\0\0\0\0\0\0\0"), DNS_FORMERR },
	{ "row 135: two questions",
	    BYTES("\x12\x34\x01\0\0\x02\0\0\0\0\0\0" NAME A_IN NAME A_IN),
	    DNS_FORMERR },
	{ "an answer beside the question",
	    BYTES("\x12\x34\x01\0\0\x01\0\x01\0\0\0\0" NAME A_IN),
	    DNS_FORMERR },
	{ "row 135: a compression loop", BYTES(HEAD "\xc0\x0c" A_IN),
	    DNS_FORMERR },
	{ "row 135: compression behind a label",
	    BYTES(HEAD "\x01"
		       "a\xc0\x0c" A_IN),
	    DNS_FORMERR },
	{ "a label of 64",
	    BYTES(HEAD "\x40" TEN TEN TEN TEN TEN TEN "abcd\0" A_IN),
	    DNS_FORMERR },
	{ "a label of 63",
	    BYTES(HEAD "\x3f" TEN TEN TEN TEN TEN TEN "abc\0" A_IN), DNS_OK },
	{ "a name without an end",
	    BYTES(HEAD "\x01"
		       "a"),
	    DNS_FORMERR },
	{ "bytes behind the question", BYTES(HEAD NAME A_IN "x"), DNS_FORMERR },
	{ "an OPT that is not counted",
	    BYTES(HEAD NAME A_IN OPT("\x04\xd0", "\0", "\0\0") "\0\0"),
	    DNS_FORMERR },
	{ "an OPT that is not there", BYTES(HEAD_OPT NAME A_IN), DNS_FORMERR },
	{ "another record for OPT",
	    BYTES(HEAD_OPT NAME A_IN "\0\0\x10\0\x01\0\0\0\0\0\0"),
	    DNS_FORMERR },
	{ "an OPT with a name",
	    BYTES(HEAD_OPT NAME A_IN "\x01x\0\0\x29\x04\xd0\0\0\0\0\0\0"),
	    DNS_FORMERR },
	{ "an option past the end of OPT",
	    BYTES(HEAD_OPT NAME A_IN OPT("\x04\xd0", "\0",
		"\0\0") "\0\x04\0\x0a\0\x08"),
	    DNS_FORMERR },
	{ "row 135: class CH", BYTES(HEAD NAME "\0\x10\0\x03"), DNS_REFUSED },
	{ "class ANY", BYTES(HEAD NAME "\0\x01\0\xff"), DNS_REFUSED },
	{ "EDNS 1",
	    BYTES(HEAD_OPT NAME A_IN OPT("\x04\xd0", "\x01", "\0\0") "\0\0"),
	    DNS_BADVERS },
	{ "NOTIFY", BYTES("\x12\x34\x20\0\0\x01\0\0\0\0\0\0" NAME A_IN),
	    DNS_NOTIMP },
	{ "UPDATE", BYTES("\x12\x34\x28\0\0\x01\0\0\0\0\0\0" NAME A_IN),
	    DNS_NOTIMP },
};

static void
takes_one_question_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct dns_query q;
		enum dns_status s = dns_query_parse(rows[i].packet, &q);

		row_equal(rows[i].claim, s, rows[i].want);
		assert_true(strlen(dns_status_text(s)) > 0);
		if (s != DNS_DROP)
			row_equal(rows[i].claim, q.id, 0x1234);
	}
}

static void
answers_each_refusal_by_its_code(void **state)
{
	(void)state;
	assert_int_equal(dns_status_rcode(DNS_OK), 0);
	assert_int_equal(dns_status_rcode(DNS_FORMERR), 1);
	assert_int_equal(dns_status_rcode(DNS_NOTIMP), 4);
	assert_int_equal(dns_status_rcode(DNS_REFUSED), 5);
	assert_int_equal(dns_status_rcode(DNS_BADVERS), 16);
}

static const struct {
	const char *claim;
	struct span name; /* on the wire */
	const char *text;
	enum host_status status;
	const char *host; /* NULL: none */
} names[] = {
	{ "0x20 does not count",
	    BYTES("\x01"
		  "A\x07"
		  "eXaMpLe\0"),
	    "a.example", HOST_NAME, "a.example" },
	{ "the root", BYTES("\0"), ".", HOST_LABEL_EMPTY, NULL },
	{ "a single label",
	    BYTES("\x08"
		  "metadata\0"),
	    "metadata", HOST_SINGLE_LABEL, "metadata" },
	{ "localhost",
	    BYTES("\x01"
		  "a\x09"
		  "localhost\0"),
	    "a.localhost", HOST_LOCALHOST, "a.localhost" },
	{ "row 18: an address as a name",
	    BYTES("\x01"
		  "1\x01"
		  "2\x01"
		  "3\x01"
		  "4\0"),
	    "1.2.3.4", HOST_ADDRESS, NULL },
	{ "a service name",
	    BYTES("\x05_http\x04_tcp\x01"
		  "a\0"),
	    "_http._tcp.a", HOST_BAD_BYTE, NULL },
	{ "a dot inside a label is no dot",
	    BYTES("\x09"
		  "a.example\0"),
	    "a\\046example", HOST_BAD_BYTE, NULL },
	{ "nor is a final one",
	    BYTES("\x01"
		  "a\x08"
		  "example.\0"),
	    "a.example\\046", HOST_BAD_BYTE, NULL },
	{ "row 4: a NUL",
	    BYTES("\x02"
		  "a\0\x01"
		  "b\0"),
	    "a\\000.b", HOST_BAD_BYTE, NULL },
	{ "a backslash",
	    BYTES("\x02"
		  "a\\\x01"
		  "b\0"),
	    "a\\092.b", HOST_BAD_BYTE, NULL },
	{ "row 190: an escape",
	    BYTES("\x02\x1b[\x01"
		  "b\0"),
	    "\\027[.b", HOST_BAD_BYTE, NULL },
};

static void
reads_names_as_one_spelling(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(names); i++) {
		uint8_t buf[128];
		struct wr w = wr_init(buf, sizeof(buf));
		struct dns_query q;

		wr_bytes(&w, HEAD, 12);
		wr_bytes(&w, names[i].name.ptr, names[i].name.len);
		wr_bytes(&w, A_IN, 4);
		row_equal(names[i].claim,
		    dns_query_parse((struct span){ buf, w.len }, &q), DNS_OK);
		row_span(names[i].claim, span_of(q.text), names[i].text);
		row_equal(names[i].claim, q.host_status, names[i].status);
		if (names[i].host != NULL)
			row_span(names[i].claim, span_of(q.host),
			    names[i].host);
		assert_int_equal(q.question.len, names[i].name.len + 4);
	}
}

/* The longest name there is, each byte of which takes four to write. */
static void
has_room_for_the_longest_name(void **state)
{
	uint8_t buf[512];
	struct wr w = wr_init(buf, sizeof(buf));
	struct dns_query q;
	static const uint8_t lens[] = { 63, 63, 63, 61 };

	(void)state;
	wr_bytes(&w, HEAD, 12);
	for (size_t i = 0; i < sizeof(lens); i++) {
		wr_u8(&w, lens[i]);
		for (size_t k = 0; k < lens[i]; k++)
			wr_u8(&w, 0xff);
	}
	wr_u8(&w, 0);
	wr_bytes(&w, A_IN, 4);
	assert_int_equal(dns_query_parse((struct span){ buf, w.len }, &q),
	    DNS_OK);
	assert_int_equal(strlen(q.text), 250 * 4 + 3);
	/* One byte more is over 255. */
	w.len = 12;
	wr_u8(&w, 1);
	wr_u8(&w, 'a');
	for (size_t i = 0; i < sizeof(lens); i++) {
		wr_u8(&w, lens[i]);
		for (size_t k = 0; k < lens[i]; k++)
			wr_u8(&w, 'a');
	}
	wr_u8(&w, 0);
	wr_bytes(&w, A_IN, 4);
	assert_int_equal(dns_query_parse((struct span){ buf, w.len }, &q),
	    DNS_FORMERR);
}

static void
clamps_the_size_of_answers(void **state)
{
	static const struct {
		struct span packet;
		size_t want;
		bool wants_dnssec;
	} sizes[] = {
		{ BYTES(HEAD NAME A_IN), 512, false },
		{ BYTES(HEAD_OPT NAME A_IN OPT("\0\0", "\0", "\x80\0") "\0\0"),
		    512, true },
		{ BYTES(HEAD_OPT NAME A_IN OPT("\x04\0", "\0", "\0\0") "\0\0"),
		    1024, false },
		{ BYTES(
		      HEAD_OPT NAME A_IN OPT("\xff\xff", "\0", "\0\0") "\0\0"),
		    1232, false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(sizes); i++) {
		struct dns_query q;

		assert_int_equal(dns_query_parse(sizes[i].packet, &q), DNS_OK);
		assert_int_equal(q.udp_max_bytes, sizes[i].want);
		assert_int_equal(q.wants_dnssec, sizes[i].wants_dnssec);
	}
}

#define SOA                                                                    \
	"\xc0\x0c\0\x06\0\x01\0\0\0\x05\0\x16\0\0\0\0\0\x01\0\0\x0e\x10"       \
	"\0\0\x02\x58\0\x01\x51\x80\0\0\0\x05"
#define OPT_OUT "\0\0\x29\x04\xd0"

static const struct {
	const char *claim;
	struct span query;
	struct dns_answer answer;
	size_t max_bytes;
	struct span want;
} answers[] = {
	{ "an address, with the question as it was asked",
	    BYTES(HEAD NAME A_IN),
	    { .has_address = true, .address = 0xc6120001, .ttl_s = 5 }, 512,
	    BYTES("\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0" NAME A_IN
		  "\xc0\x0c\0\x01\0\x01\0\0\0\x05\0\x04\xc6\x12\0\x01") },
	{ "no data, to be kept for its time", BYTES(HEAD NAME "\0\x1c\0\x01"),
	    { .ttl_s = 5 }, 512,
	    BYTES("\x12\x34\x81\x80\0\x01\0\0\0\x01\0\0" NAME
		  "\0\x1c\0\x01" SOA) },
	{ "no such name, and why",
	    BYTES(HEAD_OPT NAME A_IN OPT("\x04\xd0", "\0", "\x80\0") "\0\0"),
	    { .rcode = DNS_RCODE_NXDOMAIN,
		.ttl_s = 5,
		.has_ede = true,
		.ede = DNS_EDE_BLOCKED,
		.ede_text = "no" },
	    512,
	    BYTES("\x12\x34\x81\x83\0\x01\0\0\0\x01\0\x01" NAME A_IN SOA OPT_OUT
		  "\0\0\x80\0\0\x08\0\x0f\0\x04\0\x0fno") },
	{ "an error is not sent to who did not ask by EDNS",
	    BYTES(HEAD NAME A_IN),
	    { .rcode = DNS_RCODE_REFUSED,
		.has_ede = true,
		.ede = DNS_EDE_PROHIBITED },
	    512, BYTES("\x12\x34\x81\x85\0\x01\0\0\0\0\0\0" NAME A_IN) },
	{ "an error without text",
	    BYTES(HEAD_OPT NAME A_IN OPT("\x04\xd0", "\0", "\0\0") "\0\0"),
	    { .rcode = DNS_RCODE_REFUSED,
		.has_ede = true,
		.ede = DNS_EDE_PROHIBITED },
	    512,
	    BYTES("\x12\x34\x81\x85\0\x01\0\0\0\0\0\x01" NAME A_IN OPT_OUT
		  "\0\0\0\0\0\x06\0\x0f\0\x02\0\x12") },
	{ "EDNS 1 is answered in the extended code",
	    BYTES(HEAD_OPT NAME A_IN OPT("\x04\xd0", "\x01", "\0\0") "\0\0"),
	    { .rcode = DNS_RCODE_BADVERS }, 512,
	    BYTES("\x12\x34\x81\x80\0\x01\0\0\0\0\0\x01" NAME A_IN OPT_OUT
		  "\x01\0\0\0\0\0") },
	{ "what was not read is not echoed", BYTES(HEAD "\xc0\x0c" A_IN),
	    { .rcode = DNS_RCODE_FORMERR }, 512,
	    BYTES("\x12\x34\x81\x81\0\0\0\0\0\0\0\0") },
	{ "an opcode is echoed",
	    BYTES("\x12\x34\x28\0\0\x01\0\0\0\0\0\0" NAME A_IN),
	    { .rcode = DNS_RCODE_NOTIMP }, 512,
	    BYTES("\x12\x34\xa8\x84\0\0\0\0\0\0\0\0") },
	{ "text goes first when there is no room",
	    BYTES(HEAD_OPT NAME A_IN OPT("\x04\xd0", "\0", "\0\0") "\0\0"),
	    { .rcode = DNS_RCODE_REFUSED,
		.has_ede = true,
		.ede = DNS_EDE_PROHIBITED,
		.ede_text = "a text that is too long" },
	    50,
	    BYTES("\x12\x34\x81\x85\0\x01\0\0\0\0\0\x01" NAME A_IN OPT_OUT
		  "\0\0\0\0\0\x06\0\x0f\0\x02\0\x12") },
	{ "then all but the question, with TC", BYTES(HEAD NAME A_IN),
	    { .has_address = true, .address = 1, .ttl_s = 5 }, 40,
	    BYTES("\x12\x34\x83\x80\0\x01\0\0\0\0\0\0" NAME A_IN) },
};

static void
writes_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(answers); i++) {
		uint8_t buf[DNS_ANSWER_MAX_BYTES];
		struct wr w = wr_init(buf, sizeof(buf));
		struct dns_query q;
		struct span got;

		assert_int_not_equal(dns_query_parse(answers[i].query, &q),
		    DNS_DROP);
		dns_answer_write(&q, &answers[i].answer, answers[i].max_bytes,
		    &w);
		got = (struct span){ buf, w.len };
		row_equal(answers[i].claim, wr_ok(&w), true);
		row_equal(answers[i].claim, got.len, answers[i].want.len);
		row_equal(answers[i].claim, span_eq(got, answers[i].want),
		    true);
	}
}

static void
fails_a_writer_without_room_and_cuts_long_texts(void **state)
{
	static const struct span packet =
	    BYTES(HEAD_OPT NAME A_IN OPT("\x04\xd0", "\0", "\0\0") "\0\0");
	struct dns_answer a = { .has_ede = true };
	uint8_t buf[DNS_ANSWER_MAX_BYTES];
	struct wr w = wr_init(buf, 20);
	char text[400];
	struct dns_query q;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	a.ede_text = text;
	assert_int_equal(dns_query_parse(packet, &q), DNS_OK);
	dns_answer_write(&q, &a, 512, &w);
	assert_false(wr_ok(&w));
	w = wr_init(buf, sizeof(buf));
	dns_answer_write(&q, &a, 512, &w);
	assert_true(wr_ok(&w));
	assert_int_equal(w.len, 12 + 15 + 34 + 11 + 6 + 200);
}

static void
names_types(void **state)
{
	char buf[12];

	(void)state;
	assert_string_equal(dns_type_text(28, buf), "AAAA");
	assert_string_equal(dns_type_text(65535, buf), "TYPE65535");
}

static void
cuts_tcp_into_messages(void **state)
{
	static const struct span stream = BYTES("\0\x02xy\0\x03z");
	struct span msg;
	size_t used;

	(void)state;
	for (size_t len = 0; len < 4; len++)
		assert_false(dns_frame_next((struct span){ stream.ptr, len },
		    &msg, &used));
	assert_true(dns_frame_next(stream, &msg, &used));
	row_span("first", msg, "xy");
	assert_int_equal(used, 4);
	assert_false(
	    dns_frame_next((struct span){ stream.ptr + 4, stream.len - 4 },
		&msg, &used));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_one_question_and_nothing_else),
		cmocka_unit_test(answers_each_refusal_by_its_code),
		cmocka_unit_test(reads_names_as_one_spelling),
		cmocka_unit_test(has_room_for_the_longest_name),
		cmocka_unit_test(clamps_the_size_of_answers),
		cmocka_unit_test(writes_answers),
		cmocka_unit_test(
		    fails_a_writer_without_room_and_cuts_long_texts),
		cmocka_unit_test(names_types),
		cmocka_unit_test(cuts_tcp_into_messages),
	};

	return cmocka_run_group_tests_name("dns", tests, NULL, NULL);
}
