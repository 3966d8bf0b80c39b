#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/ascii.h"
#include "base/bytes.h"

static const uint8_t counting[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
	14, 15, 16, 17, 18 };

static void
reads_big_endian_integers(void **state)
{
	struct rd r = rd_init(counting, sizeof(counting));

	(void)state;
	assert_int_equal(rd_u8(&r), 1);
	assert_int_equal(rd_u16(&r), 0x0203);
	assert_int_equal(rd_u24(&r), 0x040506);
	assert_int_equal(rd_u32(&r), 0x0708090a);
	assert_true(rd_u64(&r) == 0x0b0c0d0e0f101112);
	assert_true(rd_done(&r));
}

static void
writes_what_it_reads(void **state)
{
	uint8_t buf[sizeof(counting)];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	wr_u8(&w, 1);
	wr_u16(&w, 0x0203);
	wr_u24(&w, 0x040506);
	wr_u32(&w, 0x0708090a);
	wr_u64(&w, 0x0b0c0d0e0f101112);
	assert_true(wr_ok(&w));
	assert_int_equal(w.len, sizeof(buf));
	assert_memory_equal(buf, counting, sizeof(buf));
}

/* Each asks a reader of two bytes for more than there is. */
static void
ask_u24(struct rd *r)
{
	assert_int_equal(rd_u24(r), 0);
}

static void
ask_u32(struct rd *r)
{
	assert_int_equal(rd_u32(r), 0);
}

static void
ask_u64(struct rd *r)
{
	assert_true(rd_u64(r) == 0);
}

static void
ask_take(struct rd *r)
{
	assert_int_equal(rd_take(r, 3).len, 0);
}

static void
ask_skip(struct rd *r)
{
	rd_skip(r, SIZE_MAX);
}

static void
ask_sub(struct rd *r)
{
	struct rd sub = rd_sub(r, 3);

	assert_false(rd_ok(&sub));
	assert_int_equal(rd_left(&sub), 0);
}

static void
ask_str16(struct rd *r)
{
	assert_int_equal(rd_str16(r, 1000).len, 0);
}

static void
a_short_read_fails_the_reader_for_good(void **state)
{
	static void (*const asks[])(struct rd *) = { ask_u24, ask_u32, ask_u64,
		ask_take, ask_skip, ask_sub, ask_str16 };

	(void)state;
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		struct rd r = rd_init(counting, 2);

		asks[i](&r);
		assert_false(rd_ok(&r));
		assert_false(rd_done(&r));
		assert_int_equal(rd_left(&r), 0);
		assert_int_equal(rd_peek(&r), -1);
		assert_int_equal(rd_u8(&r), 0);
	}
}

static void
an_empty_reader_may_have_no_memory(void **state)
{
	struct rd r = rd_span((struct span){ NULL, 0 });

	(void)state;
	assert_true(rd_done(&r));
	assert_int_equal(rd_take(&r, 0).len, 0);
	assert_true(rd_done(&r));
	assert_int_equal(rd_u8(&r), 0);
	assert_false(rd_ok(&r));
}

static void
peeks_without_taking(void **state)
{
	struct rd r = rd_init(counting, 1);

	(void)state;
	assert_int_equal(rd_peek(&r), 1);
	assert_int_equal(rd_left(&r), 1);
	rd_skip(&r, 1);
	assert_int_equal(rd_peek(&r), -1);
	assert_true(rd_ok(&r));
	rd_fail(&r);
	assert_false(rd_ok(&r));
}

static void
a_sub_reader_stays_in_its_part(void **state)
{
	struct rd r = rd_init(counting, 5);
	struct rd sub = rd_sub(&r, 3);

	(void)state;
	assert_int_equal(rd_left(&sub), 3);
	assert_int_equal(rd_u32(&sub), 0);
	assert_false(rd_ok(&sub));
	assert_true(rd_ok(&r));
	assert_int_equal(rd_u16(&r), 0x0405);
	assert_true(rd_done(&r));
}

static void
texts_have_a_length_before_them(void **state)
{
	static const struct {
		const char *claim, *bytes;
		size_t len;
		bool is_ok;
		const char *want;
	} rows[] = {
		{ "an empty text", "\0\0", 2, true, "" },
		{ "a text that just fits", "\0\3abc", 5, true, "abc" },
		{ "one that does not fit", "\0\4abcd", 6, false, "" },
		{ "one that is cut", "\0\3ab", 4, false, "" },
		{ "one with a NUL", "\0\3a\0c", 5, false, "" },
		{ "half a length", "\0", 1, false, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rd r = rd_init(rows[i].bytes, rows[i].len);
		char buf[4] = "xxx";
		size_t len = rd_cstr16(&r, buf, sizeof(buf));

		print_message("%s\n", rows[i].claim);
		assert_int_equal(rd_done(&r), rows[i].is_ok);
		assert_int_equal(len, strlen(rows[i].want));
		assert_string_equal(buf, rows[i].want);
	}
}

static void
a_length_over_the_maximum_fails(void **state)
{
	struct rd r = rd_init("\0\3abc", 5);

	(void)state;
	assert_int_equal(rd_str16(&r, 2).len, 0);
	assert_false(rd_ok(&r));
}

static void
a_full_writer_changes_nothing_more(void **state)
{
	uint8_t buf[4] = { 9, 9, 9, 9 };
	struct wr w = wr_init(buf, 3);

	(void)state;
	wr_u16(&w, 0x0102);
	wr_u16(&w, 0x0304);
	assert_false(wr_ok(&w));
	wr_u8(&w, 5);
	wr_text(&w, "");
	wr_patch_u16(&w, 0, 0x0707);
	assert_false(wr_ok(&w));
	assert_int_equal(w.len, 2);
	assert_memory_equal(buf, "\1\2\11\11", 4);
}

static void
formats_into_what_is_left(void **state)
{
	uint8_t buf[8];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	wr_fmt(&w, "%s-%d", "ab", 42);
	assert_true(wr_ok(&w));
	assert_int_equal(w.len, 5);
	assert_memory_equal(buf, "ab-42", 5);
	wr_fmt(&w, "%s", "xyz");
	assert_false(wr_ok(&w));
	assert_int_equal(w.len, 5);
	w = wr_init(buf, 0);
	wr_fmt(&w, "%s", "");
	assert_false(wr_ok(&w));
}

static void
patches_a_length(void **state)
{
	uint8_t buf[16];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	wr_u16(&w, 0);
	wr_str16(&w, "ab");
	wr_patch_u16(&w, 0, 0x1234);
	assert_true(wr_ok(&w));
	assert_memory_equal(buf, "\x12\x34\0\2ab", 6);
}

static void
a_text_over_64k_does_not_get_a_short_length(void **state)
{
	static uint8_t big[65536 + 8], text[65536];
	struct wr w = wr_init(big, sizeof(big));

	(void)state;
	memset(text, 'x', sizeof(text));
	wr_span16(&w, (struct span){ text, 65535 });
	assert_true(wr_ok(&w));
	w = wr_init(big, sizeof(big));
	wr_span16(&w, (struct span){ text, 65536 });
	assert_false(wr_ok(&w));
	assert_int_equal(w.len, 0);
}

static void
spans_compare_by_bytes_or_without_case(void **state)
{
	(void)state;
	assert_true(span_is(span_of("Host"), "Host"));
	assert_false(span_is(span_of("Host"), "host"));
	assert_true(span_is_case(span_of("Host"), "hOST"));
	assert_false(span_is_case(span_of("Host"), "hosts"));
	/* '[' and '{' differ in the bit that tells letters' case. */
	assert_false(span_is_case(span_of("["), "{"));
	assert_false(span_is_case(span_of("@"), "`"));
	assert_false(span_is_case(span_of("\xc4"), "\xe4"));
	assert_true(span_eq((struct span){ NULL, 0 }, span_of("")));
	assert_true(span_eq_case((struct span){ NULL, 0 }, span_of("")));
}

static void
classes_cover_ascii_only(void **state)
{
	(void)state;
	for (unsigned int c = 0; c < 256; c++) {
		bool digit =
		    c != 0 && c < 128 && strchr("0123456789", (int)c) != NULL;
		bool alpha = c != 0 && c < 128 &&
		    strchr("abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
			(int)c) != NULL;

		assert_int_equal(ascii_is_digit((uint8_t)c), digit);
		assert_int_equal(ascii_is_alpha((uint8_t)c), alpha);
		assert_int_equal(ascii_is_alnum((uint8_t)c), digit || alpha);
		if (!alpha)
			assert_int_equal(ascii_lower((uint8_t)c), c);
	}
	assert_int_equal(ascii_hex('9'), 9);
	assert_int_equal(ascii_hex('f'), 15);
	assert_int_equal(ascii_hex('A'), 10);
	assert_int_equal(ascii_hex('g'), -1);
	assert_int_equal(ascii_hex('/'), -1);
}

static void
a_line_is_taken_from_its_front(void **state)
{
	struct span rest = span_of("one\n\ntwo");

	(void)state;
	assert_true(span_is(span_take_line(&rest), "one"));
	assert_int_equal(span_take_line(&rest).len, 0);
	assert_true(span_is(span_take_line(&rest), "two"));
	assert_int_equal(span_take_line(&rest).len, 0);
	assert_int_equal(rest.len, 0);
	rest = (struct span){ NULL, 0 };
	assert_int_equal(span_take_line(&rest).len, 0);
}

static void
line_ends_are_taken_from_the_end_only(void **state)
{
	(void)state;
	assert_true(span_is(span_without_line_ends(span_of("a\r\n\n")), "a"));
	assert_true(
	    span_is(span_without_line_ends(span_of("\na\nb")), "\na\nb"));
	assert_int_equal(span_without_line_ends(span_of("\r\n")).len, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_big_endian_integers),
		cmocka_unit_test(writes_what_it_reads),
		cmocka_unit_test(a_short_read_fails_the_reader_for_good),
		cmocka_unit_test(an_empty_reader_may_have_no_memory),
		cmocka_unit_test(peeks_without_taking),
		cmocka_unit_test(a_sub_reader_stays_in_its_part),
		cmocka_unit_test(texts_have_a_length_before_them),
		cmocka_unit_test(a_length_over_the_maximum_fails),
		cmocka_unit_test(a_full_writer_changes_nothing_more),
		cmocka_unit_test(formats_into_what_is_left),
		cmocka_unit_test(patches_a_length),
		cmocka_unit_test(a_text_over_64k_does_not_get_a_short_length),
		cmocka_unit_test(spans_compare_by_bytes_or_without_case),
		cmocka_unit_test(classes_cover_ascii_only),
		cmocka_unit_test(a_line_is_taken_from_its_front),
		cmocka_unit_test(line_ends_are_taken_from_the_end_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
