/*
 * Heads of HTTP/2 frames, found in pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/http2_scan.h"

static const uint8_t sent[] =
    /* SETTINGS; HEADERS of 3 bytes; DATA whose first bit is set */
    "\0\0\0\4\0\0\0\0\0"
    "\0\0\3\1\5\0\0\0\1abc"
    "\0\0\2\0\1\x80\0\0\3xy"
    /* a last head that is not whole */
    "\1\2\3\xff";

static const struct http2_frame want[] = {
	{ 0, 4, 0, 0 },
	{ 3, 1, 5, 1 },
	{ 2, 0, 1, 3 },
};

static void
expect(struct http2_scan *s, size_t piece)
{
	size_t found = 0;

	for (size_t at = 0; at < sizeof(sent) - 1; at += piece) {
		size_t left = sizeof(sent) - 1 - at;
		struct span in = { sent + at, left < piece ? left : piece };
		struct http2_frame f;

		while (http2_scan_next(s, &in, &f)) {
			assert_true(found < 3);
			assert_int_equal(f.length, want[found].length);
			assert_int_equal(f.type, want[found].type);
			assert_int_equal(f.flags, want[found].flags);
			assert_int_equal(f.stream, want[found].stream);
			assert_int_equal(s->skip, f.length);
			found++;
		}
		assert_int_equal(in.len, 0);
	}
	assert_int_equal(found, 3);
	assert_int_equal(s->have, 4);
}

static void
heads_are_found_in_pieces_of_any_size(void **state)
{
	(void)state;
	for (size_t piece = 1; piece <= sizeof(sent); piece++) {
		struct http2_scan s = { .have = 0 };

		expect(&s, piece);
	}
}

static void
a_preface_is_passed_over(void **state)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	struct http2_scan s = { .skip = HTTP2_PREFACE_BYTES };
	struct span in = span_of(preface);
	struct http2_frame f;

	(void)state;
	assert_int_equal(in.len, HTTP2_PREFACE_BYTES);
	assert_false(http2_scan_next(&s, &in, &f));
	expect(&s, 5);
}

static void
the_largest_numbers_are_read_as_they_are(void **state)
{
	struct http2_scan s = { .have = 0 };
	struct span in = span_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff");
	struct http2_frame f;

	(void)state;
	assert_true(http2_scan_next(&s, &in, &f));
	assert_int_equal(f.length, 0xffffff);
	assert_int_equal(f.type, 0xff);
	assert_int_equal(f.stream, INT32_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_found_in_pieces_of_any_size),
		cmocka_unit_test(a_preface_is_passed_over),
		cmocka_unit_test(the_largest_numbers_are_read_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
