/*
 * Chunked bodies. Each row is fed whole and in every smaller step, with the
 * same bytes out and the same end.
 */
#include "wire_rows.h"

#include <stdbool.h>
#include <string.h>

#include "wire/chunked.h"

static const struct {
	const char *claim;
	struct span in;
	enum chunked_status want;
	const char *data; /* up to the end or to the refusal */
	size_t rest;      /* bytes behind the end */
} rows[] = {
	{ "one chunk", BYTES("5\r\nhello\r\n0\r\n\r\n"), CHUNKED_DONE, "hello",
	    0 },
	{ "two, and what follows stays",
	    BYTES("5\r\nhello\r\n1\r\n!\r\n0\r\n\r\nGET /"), CHUNKED_DONE,
	    "hello!", 5 },
	{ "an empty body", BYTES("0\r\n\r\n"), CHUNKED_DONE, "", 0 },
	{ "leading zeros", BYTES("00000A\r\n0123456789\r\n000\r\n\r\n"),
	    CHUNKED_DONE, "0123456789", 0 },
	{ "a body that goes on", BYTES("5\r\nhel"), CHUNKED_MORE, "hel", 0 },
	{ "a size that goes on", BYTES("5"), CHUNKED_MORE, "", 0 },
	{ "the last CRLF is missing", BYTES("0\r\n"), CHUNKED_MORE, "", 0 },
	{ "row 41: 0x", BYTES("0x5\r\nhello\r\n"), CHUNKED_SIZE, "", 0 },
	{ "row 41: a plus", BYTES("+5\r\nhello\r\n"), CHUNKED_SIZE, "", 0 },
	{ "row 41: -0x0", BYTES("-0x0\r\n\r\n"), CHUNKED_SIZE, "", 0 },
	{ "row 41: an underscore", BYTES("0_2e\r\n"), CHUNKED_SIZE, "", 0 },
	{ "row 41: a blank in front", BYTES(" 5\r\nhello\r\n"), CHUNKED_SIZE,
	    "", 0 },
	{ "row 41: a blank behind", BYTES("5 \r\nhello\r\n"), CHUNKED_SIZE, "",
	    0 },
	{ "row 41: a tab behind", BYTES("5\t\r\nhello\r\n"), CHUNKED_SIZE, "",
	    0 },
	{ "row 41: empty", BYTES("\r\nhello\r\n"), CHUNKED_SIZE, "", 0 },
	{ "row 41: 15 digits", BYTES("000000000000005\r\nhello\r\n0\r\n\r\n"),
	    CHUNKED_DONE, "hello", 0 },
	{ "row 41: 16 digits", BYTES("0000000000000005\r\nhello\r\n"),
	    CHUNKED_SIZE, "", 0 },
	{ "row 41: 17 digits that wrap to 0",
	    BYTES("10000000000000000\r\n\r\n"), CHUNKED_SIZE, "", 0 },
	{ "row 41: LF alone", BYTES("5\nhello\r\n"), CHUNKED_LINE_END, "", 0 },
	{ "row 41: CR and a letter", BYTES("5\rXhello\r\n"), CHUNKED_LINE_END,
	    "", 0 },
	{ "row 42: extensions are dropped",
	    BYTES("5;a=\"b\";c;d=e\r\nhello\r\n0;x\r\n\r\n"), CHUNKED_DONE,
	    "hello", 0 },
	{ "row 42: one with anything quoted",
	    BYTES("5;a=\"b\\\"; c=\\\\ \xc3\"\r\nhello\r\n0\r\n\r\n"),
	    CHUNKED_DONE, "hello", 0 },
	{ "row 42: a quotation that does not end",
	    BYTES("5;a=\"b; c\r\nhello\r\n"), CHUNKED_EXTENSION, "", 0 },
	{ "row 42: a quotation whose end is quoted",
	    BYTES("5;a=\"b\\\"\r\nhello\r\n"), CHUNKED_EXTENSION, "", 0 },
	{ "row 42: something behind a quotation",
	    BYTES("5;a=\"b\"c\r\nhello\r\n"), CHUNKED_EXTENSION, "", 0 },
	{ "row 42: a tab in a quotation", BYTES("5;a=\"\t\"\r\nhello\r\n"),
	    CHUNKED_EXTENSION, "", 0 },
	{ "row 42: a name that is no token", BYTES("5;bad[=x\r\nhello\r\n"),
	    CHUNKED_EXTENSION, "", 0 },
	{ "row 42: a value that is no token", BYTES("5;a=b[\r\nhello\r\n"),
	    CHUNKED_EXTENSION, "", 0 },
	{ "row 42: a name without its value", BYTES("5;a=\r\nhello\r\n"),
	    CHUNKED_EXTENSION, "", 0 },
	{ "row 42: a value without its name", BYTES("5;=b\r\nhello\r\n"),
	    CHUNKED_EXTENSION, "", 0 },
	{ "row 42: two values", BYTES("5;a=b=c\r\nhello\r\n"),
	    CHUNKED_EXTENSION, "", 0 },
	{ "row 42: a blank behind the semicolon", BYTES("5; a\r\nhello\r\n"),
	    CHUNKED_EXTENSION, "", 0 },
	{ "row 42: a blank before the semicolon", BYTES("5 ;a\r\nhello\r\n"),
	    CHUNKED_SIZE, "", 0 },
	{ "row 42: a blank at the end", BYTES("5;a \r\nhello\r\n"),
	    CHUNKED_EXTENSION, "", 0 },
	{ "row 42: a semicolon more at the end", BYTES("5;a;\r\nhello\r\n"),
	    CHUNKED_EXTENSION, "", 0 },
	{ "row 42: LF in an extension", BYTES("5;ext\nX"), CHUNKED_EXTENSION,
	    "", 0 },
	{ "row 42: two CR", BYTES("5;\r\rX"), CHUNKED_EXTENSION, "", 0 },
	{ "row 42: CR in an extension", BYTES("5;a\rX"), CHUNKED_LINE_END, "",
	    0 },
	{ "row 42: a line end in a quoted string",
	    BYTES("5;a=\"x\r\n0\r\n\r\n\"\r\n"), CHUNKED_EXTENSION, "", 0 },
	{ "row 42: a semicolon alone", BYTES("5;\r\nhello\r\n"),
	    CHUNKED_EXTENSION, "", 0 },
	{ "row 42: a NUL", BYTES("5;a\0b\r\n"), CHUNKED_EXTENSION, "", 0 },
	{ "row 43: data past the size", BYTES("5\r\nABCDEFG\r\n0\r\n\r\n"),
	    CHUNKED_DATA_END, "ABCDE", 0 },
	{ "row 43: data short of the size", BYTES("5\r\nABC\r\n0\r\n\r\n"),
	    CHUNKED_DATA_END, "ABC\r\n", 0 },
	{ "row 43: LF alone after data", BYTES("1\r\nA\n0\r\n\r\n"),
	    CHUNKED_DATA_END, "A", 0 },
	{ "row 43: CR alone after data", BYTES("1\r\nA\rX"), CHUNKED_DATA_END,
	    "A", 0 },
	{ "row 43: something for the last CRLF", BYTES("0\r\nXX"), CHUNKED_MORE,
	    "", 0 },
	{ "row 43: the same, with a line end", BYTES("0\r\nXX\r\n"),
	    CHUNKED_TRAILER, "", 0 },
	{ "row 44: trailers are no body",
	    BYTES("0\r\nContent-Length: 5\r\nHost: evil\r\n\r\n"), CHUNKED_DONE,
	    "", 0 },
	{ "row 45: LF alone in a trailer", BYTES("0\r\nA: b\n\r\n"),
	    CHUNKED_LINE_END, "", 0 },
	{ "row 45: LF alone at the end", BYTES("0\r\n\n"), CHUNKED_LINE_END, "",
	    0 },
	{ "row 45: CR alone at the end", BYTES("0\r\n\rX"), CHUNKED_LINE_END,
	    "", 0 },
	{ "row 46: a fold in a trailer", BYTES("0\r\nA: b\r\n c\r\n\r\n"),
	    CHUNKED_TRAILER, "", 0 },
	{ "row 47: an empty name", BYTES("0\r\n: b\r\n"), CHUNKED_TRAILER, "",
	    0 },
	{ "row 47: a blank before the colon", BYTES("0\r\nA : b\r\n"),
	    CHUNKED_TRAILER, "", 0 },
	{ "row 48: a NUL in a trailer", BYTES("0\r\nA: \0\r\n"),
	    CHUNKED_TRAILER, "", 0 },
};

/* Feeds in by steps; returns the outcome, and the count of bytes behind. */
static enum chunked_status
feed(struct span in, size_t step, struct wr *data, size_t *ret_rest)
{
	struct chunked c = { .left = 0 };
	enum chunked_status s = CHUNKED_MORE;
	struct rd r = rd_span(in);

	*ret_rest = 0;
	while (s == CHUNKED_MORE && rd_left(&r) > 0) {
		struct span part =
		    rd_take(&r, rd_left(&r) < step ? rd_left(&r) : step);
		struct span bytes;

		while ((s = chunked_feed(&c, &part, &bytes)) == CHUNKED_DATA)
			wr_bytes(data, bytes.ptr, bytes.len);
		*ret_rest = part.len + rd_left(&r);
	}
	return s;
}

static void
decodes_the_same_however_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		for (size_t step = 1; step <= rows[i].in.len; step++) {
			uint8_t buf[64];
			struct wr data = wr_init(buf, sizeof(buf));
			size_t rest;
			enum chunked_status s =
			    feed(rows[i].in, step, &data, &rest);

			row_equal(rows[i].claim, s, rows[i].want);
			row_span(rows[i].claim, (struct span){ buf, data.len },
			    rows[i].data);
			if (s == CHUNKED_DONE)
				row_equal(rows[i].claim, rest, rows[i].rest);
			assert_true(strlen(chunked_status_text(s)) > 0);
		}
}

static void
repeats_a_refusal_and_the_end(void **state)
{
	struct chunked c = { .left = 0 };
	struct span bad = BYTES("x"), more = BYTES("0\r\n\r\n"), data;

	(void)state;
	assert_int_equal(chunked_feed(&c, &bad, &data), CHUNKED_SIZE);
	assert_int_equal(chunked_feed(&c, &more, &data), CHUNKED_SIZE);
	c = (struct chunked){ .left = 0 };
	assert_int_equal(chunked_feed(&c, &more, &data), CHUNKED_DONE);
	more = (struct span)BYTES("5\r\n");
	assert_int_equal(chunked_feed(&c, &more, &data), CHUNKED_DONE);
	assert_int_equal(more.len, 3);
}

/* head, then count times unit, then tail. */
static enum chunked_status
feed_long(const char *head, const char *unit, size_t count, const char *tail,
    unsigned int *ret_trailers)
{
	struct chunked c = { .left = 0 };
	enum chunked_status s = CHUNKED_MORE;
	struct span in = span_of(head), data;

	s = chunked_feed(&c, &in, &data);
	for (size_t i = 0; s == CHUNKED_MORE && i < count; i++) {
		in = span_of(unit);
		s = chunked_feed(&c, &in, &data);
	}
	in = span_of(tail);
	if (s == CHUNKED_MORE)
		s = chunked_feed(&c, &in, &data);
	*ret_trailers = c.trailer_count;
	return s;
}

static void
bounds_extensions_and_trailers(void **state)
{
	static const char end[] = "\r\n0\r\n\r\n";
	unsigned int n;

	(void)state;
	assert_int_equal(feed_long("0;", "a", CHUNKED_EXTENSION_MAX_BYTES,
			     "\r\n\r\n", &n),
	    CHUNKED_DONE);
	assert_int_equal(feed_long("0;", "a", CHUNKED_EXTENSION_MAX_BYTES + 1,
			     end, &n),
	    CHUNKED_EXTENSION);
	assert_int_equal(feed_long("0\r\n", "A: b\r\n", CHUNKED_TRAILERS_MAX,
			     "\r\n", &n),
	    CHUNKED_DONE);
	assert_int_equal(n, CHUNKED_TRAILERS_MAX);
	assert_int_equal(feed_long("0\r\n", "A: b\r\n",
			     CHUNKED_TRAILERS_MAX + 1, "\r\n", &n),
	    CHUNKED_TRAILER_SIZE);
	/* "A:", the value and CRLF are counted. */
	assert_int_equal(feed_long("0\r\nA:", "b",
			     CHUNKED_TRAILER_MAX_BYTES - 4, "\r\n\r\n", &n),
	    CHUNKED_DONE);
	assert_int_equal(feed_long("0\r\nA:", "b",
			     CHUNKED_TRAILER_MAX_BYTES - 3, "\r\n\r\n", &n),
	    CHUNKED_TRAILER_SIZE);
}

/* The section's bytes, of an input that comes in steps. */
static void
gather(struct span in, size_t step, struct wr *section)
{
	struct chunked c = { .left = 0 };
	enum chunked_status s = CHUNKED_MORE;
	struct rd r = rd_span(in);

	while (s == CHUNKED_MORE && rd_left(&r) > 0) {
		struct span part =
		    rd_take(&r, rd_left(&r) < step ? rd_left(&r) : step);
		struct span before = part, bytes, got;

		while ((s = chunked_feed(&c, &part, &bytes)) == CHUNKED_DATA)
			before = part;
		before.len -= part.len;
		got = chunked_trailers(&c, before);
		wr_bytes(section, got.ptr, got.len);
	}
}

static void
tells_the_trailer_section_however_split(void **state)
{
	static const struct {
		const char *claim;
		struct span in;
		const char *want;
	} sections[] = {
		{ "one field", BYTES("1\r\na\r\n0\r\nA: b\r\n\r\nGET"),
		    "A: b\r\n\r\n" },
		{ "two fields and no body",
		    BYTES("0;x=y\r\nA: b\r\nCd:\r\n\r\n"),
		    "A: b\r\nCd:\r\n\r\n" },
		{ "half a section", BYTES("0\r\nA: b\r\nC"), "A: b\r\nC" },
		{ "none", BYTES("3\r\nabc\r\n0\r\n\r\n"), "" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(sections); i++)
		for (size_t step = 1; step <= sections[i].in.len; step++) {
			uint8_t buf[64];
			struct wr section = wr_init(buf, sizeof(buf));

			gather(sections[i].in, step, &section);
			row_span(sections[i].claim,
			    (struct span){ buf, section.len },
			    sections[i].want);
		}
}

static void
writes_sizes_that_it_reads(void **state)
{
	static const struct {
		uint64_t len;
		const char *want;
	} sizes[] = {
		{ 1, "1\r\n" },
		{ 15, "f\r\n" },
		{ 16, "10\r\n" },
		{ 16384, "4000\r\n" },
		{ UINT64_MAX, "ffffffffffffffff\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(sizes); i++) {
		uint8_t buf[CHUNKED_HEADER_SIZE];
		size_t len = chunked_header(sizes[i].len, buf);

		row_span(sizes[i].want, (struct span){ buf, len },
		    sizes[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_the_same_however_split),
		cmocka_unit_test(repeats_a_refusal_and_the_end),
		cmocka_unit_test(bounds_extensions_and_trailers),
		cmocka_unit_test(tells_the_trailer_section_however_split),
		cmocka_unit_test(writes_sizes_that_it_reads),
	};

	return cmocka_run_group_tests_name("chunked", tests, NULL, NULL);
}
