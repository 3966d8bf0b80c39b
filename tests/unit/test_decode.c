/*
 * Content codings, decoded to be looked at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code.h"
#include "proxy/decode.h"

#define ROOM 300000

static uint8_t plain[ROOM], coded[ROOM], out[ROOM];

static struct decode_budget budget;

static int
setup(void **state)
{
	(void)state;
	budget = (struct decode_budget){ .max_bytes = 64 << 20, .ratio = 1100 };
	srand(1);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	/* Everything was given back. */
	assert_int_equal(budget.used, 0);
	return 0;
}

/* Text that compresses, with more than one window of it. */
static struct span
some_text(size_t len)
{
	for (size_t i = 0; i < len; i++)
		plain[i] = (uint8_t) "abcdefgh \n\"{}"[rand() % 13];
	return (struct span){ plain, len };
}

/* piece: bytes given at once; room: bytes wanted at once. */
static enum decode_status
decode(enum coding coding, struct span in, size_t piece, size_t room,
    size_t *ret_len, bool *ret_whole)
{
	struct decoder *d = decoder_new(coding, &budget);
	enum decode_status s = DECODE_MORE;

	assert_non_null(d);
	*ret_len = 0;
	while (in.len > 0 || s == DECODE_ROOM) {
		struct span part = { in.ptr, in.len < piece ? in.len : piece };
		size_t given = part.len, len;

		s = decoder_run(d, &part, out + *ret_len,
		    room < ROOM - *ret_len ? room : ROOM - *ret_len, &len);
		*ret_len += len;
		in.ptr += given - part.len;
		in.len -= given - part.len;
		if (s == DECODE_BROKEN || s == DECODE_LARGE)
			break;
	}
	*ret_whole = s == DECODE_MORE && decoder_is_whole(d);
	decoder_free(d);
	return s;
}

static void
check(const char *name, enum coding coding, struct span in, size_t piece,
    size_t room, struct span want)
{
	bool is_whole;
	size_t len;
	enum decode_status s = decode(coding, in, piece, room, &len, &is_whole);

	if (s != DECODE_MORE || !is_whole || len != want.len ||
	    memcmp(out, want.ptr, len) != 0)
		fail_msg("%s by %zu into %zu: %d, %zu of %zu bytes", name,
		    piece, room, (int)s, len, want.len);
}

static void
decodes_each_coding_in_pieces_of_any_size(void **state)
{
	static const size_t sizes[] = { 0, 1, 100, 70000, 200000 };

	(void)state;
	for (enum code_kind k = 0; k < CODE_KINDS; k++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct wr w = wr_init(coded, sizeof(coded));
			struct span text = some_text(sizes[i]);
			struct span in;

			code(k, text, &w);
			in = (struct span){ coded, w.len };
			check(code_name(k), code_coding(k), in, ROOM, ROOM,
			    text);
			check(code_name(k), code_coding(k), in, 7, 1000, text);
			if (sizes[i] <= 100)
				check(code_name(k), code_coding(k), in, 1, 1,
				    text);
		}
}

static void
decodes_members_and_frames_one_after_another(void **state)
{
	static const enum code_kind kinds[] = { CODE_GZIP, CODE_GZIP_STORED,
		CODE_ZSTD, CODE_ZSTD_CHECKED };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct wr w = wr_init(coded, sizeof(coded));
		struct span text = some_text(5000);

		code(kinds[i], (struct span){ text.ptr, 2000 }, &w);
		code(kinds[i], (struct span){ text.ptr, 0 }, &w);
		code(kinds[i], (struct span){ text.ptr + 2000, 3000 }, &w);
		check(code_name(kinds[i]), code_coding(kinds[i]),
		    (struct span){ coded, w.len }, 1, 50, text);
	}
}

/* A byte more, less or other than its coding says. */
static void
refuses_what_is_not_whole_or_has_something_behind_it(void **state)
{
	bool is_whole;
	size_t len;

	(void)state;
	for (enum code_kind k = 0; k < CODE_KINDS; k++) {
		struct wr w = wr_init(coded, sizeof(coded));
		struct span text = some_text(500);

		code(k, text, &w);
		for (size_t cut = 1; cut < w.len; cut++) {
			enum decode_status s =
			    decode(code_coding(k), (struct span){ coded, cut },
				ROOM, ROOM, &len, &is_whole);

			if (s != DECODE_MORE || is_whole)
				fail_msg("%s is whole at %zu of %zu",
				    code_name(k), cut, w.len);
		}
		coded[w.len] = 'x';
		if (decode(code_coding(k), (struct span){ coded, w.len + 1 }, 3,
			ROOM, &len, &is_whole) == DECODE_MORE &&
		    is_whole)
			fail_msg("%s has a byte behind it", code_name(k));
	}
}

static void
refuses_what_is_another_coding(void **state)
{
	static const enum coding codings[] = { CODING_GZIP, CODING_DEFLATE,
		CODING_ZSTD };
	bool is_whole;
	size_t len;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		if (decode(codings[i], span_of("\xff\xff plain text at all"),
			ROOM, ROOM, &len, &is_whole) != DECODE_BROKEN)
			fail_msg("coding %zu", i);
	/* A preset dictionary (RFC 1950 2.2). */
	assert_int_equal(decode(CODING_DEFLATE,
			     (struct span){ (const uint8_t *)"\x78\xbb\x01\x02"
							     "\x03\x04\x05",
				 7 },
			     ROOM, ROOM, &len, &is_whole),
	    DECODE_BROKEN);
}

/* Nothing that was given could be read further by anybody. */
static void
is_settled_only_between_blocks_of_zstd(void **state)
{
	struct wr w = wr_init(coded, sizeof(coded));
	struct coder *c = coder_new(CODE_ZSTD);
	struct decoder *d = decoder_new(CODING_ZSTD, &budget);
	struct span text = some_text(3000);
	size_t first, second;

	(void)state;
	coder_put(c, (struct span){ text.ptr, 1500 }, true, &w);
	first = w.len;
	coder_put(c, (struct span){ text.ptr + 1500, 1500 }, true, &w);
	second = w.len;
	coder_end(c, &w);
	for (size_t i = 0, total = 0; i < second; i++) {
		struct span in = { coded + i, 1 };
		size_t len;

		assert_int_equal(decoder_run(d, &in, out, ROOM, &len),
		    DECODE_MORE);
		total += len;
		/* Behind a block, and in the header of the next. */
		if (i + 1 >= first && i + 1 < first + 3)
			assert_true(decoder_is_settled(d));
		if (i + 1 > 20 && i + 1 < first)
			assert_false(decoder_is_settled(d));
		if (i + 1 > first + 3 && i + 1 < second)
			assert_false(decoder_is_settled(d));
		assert_int_equal(total,
		    i + 1 >= second      ? 3000
			: i + 1 >= first ? 1500
					 : 0);
	}
	assert_true(decoder_is_settled(d));
	assert_false(decoder_is_whole(d));
	decoder_free(d);
}

static void
ends_bombs(void **state)
{
	static uint8_t zeros[32 << 20];
	static uint8_t small[1 << 17];

	(void)state;
	budget.ratio = 100;
	for (enum code_kind k = 0; k < CODE_KINDS; k++) {
		struct wr w = wr_init(small, sizeof(small));
		struct decoder *d = decoder_new(code_coding(k), &budget);
		enum decode_status s = DECODE_ROOM;
		struct span in;
		uint64_t total = 0;

		if (k == CODE_GZIP_STORED) {
			decoder_free(d);
			continue;
		}
		code(k, (struct span){ zeros, sizeof(zeros) }, &w);
		in = (struct span){ small, w.len };
		while (s == DECODE_ROOM) {
			size_t len;

			s = decoder_run(d, &in, out, ROOM, &len);
			total += len;
		}
		if (s != DECODE_LARGE ||
		    total > DECODE_FREE_BYTES + 100 * w.len + ROOM)
			fail_msg("%s: %d after %zu bytes", code_name(k), (int)s,
			    (size_t)total);
		decoder_free(d);
	}
}

/* 8 MiB (RFC 9659) and 16 (RFC 7932), and what there is for all. */
static void
bounds_the_memory_of_windows(void **state)
{
	static const uint8_t wide[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00,
		14 << 3, /* window: 2^(10+14) */
		0x01, 0x00, 0x00 };
	static const uint8_t fits[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 13 << 3,
		0x01, 0x00, 0x00 };
	struct decoder *d[3];
	struct wr w = wr_init(coded, sizeof(coded));
	struct span in;
	bool is_whole;
	size_t len;

	(void)state;
	assert_int_equal(decode(CODING_ZSTD,
			     (struct span){ wide, sizeof(wide) }, ROOM, ROOM,
			     &len, &is_whole),
	    DECODE_LARGE);
	check("a window of 8 MiB", CODING_ZSTD,
	    (struct span){ fits, sizeof(fits) }, ROOM, ROOM, span_of(""));
	budget.max_bytes = 1 << 20;
	assert_int_equal(decode(CODING_ZSTD,
			     (struct span){ fits, sizeof(fits) }, ROOM, ROOM,
			     &len, &is_whole),
	    DECODE_LARGE);
	code(CODE_BR, some_text(200000), &w);
	in = (struct span){ coded, w.len };
	budget.max_bytes = 100000;
	assert_int_equal(decode(CODING_BR, in, ROOM, ROOM, &len, &is_whole),
	    DECODE_LARGE);
	/* Those that are used count together. */
	d[0] = decoder_new(CODING_GZIP, &budget);
	d[1] = decoder_new(CODING_GZIP, &budget);
	assert_true(d[0] != NULL && d[1] != NULL);
	budget.max_bytes = budget.used;
	d[2] = decoder_new(CODING_GZIP, &budget);
	assert_null(d[2]);
	decoder_free(d[0]);
	d[0] = decoder_new(CODING_GZIP, &budget);
	assert_non_null(d[0]);
	decoder_free(d[0]);
	decoder_free(d[1]);
}

static void
reads_the_names_of_codings(void **state)
{
	static const struct {
		const char *claim, *first, *second;
		enum coding want;
	} rows[] = {
		{ "none", NULL, NULL, CODING_NONE },
		{ "one", "gzip", NULL, CODING_GZIP },
		{ "in any case of letters", "GZip", NULL, CODING_GZIP },
		{ "by its old name", "x-gzip", NULL, CODING_GZIP },
		{ "deflate", "deflate", NULL, CODING_DEFLATE },
		{ "Brotli", "br", NULL, CODING_BR },
		{ "Zstandard", "zstd", NULL, CODING_ZSTD },
		{ "none by its name", "identity", NULL, CODING_NONE },
		{ "one with none", "identity, br", NULL, CODING_BR },
		{ "an empty element", ", gzip ,", NULL, CODING_GZIP },
		{ "an empty field", "", NULL, CODING_NONE },
		{ "two in one field", "gzip, br", NULL, CODING_OTHER },
		{ "the same twice", "gzip, gzip", NULL, CODING_OTHER },
		{ "two fields", "gzip", "br", CODING_OTHER },
		{ "a second field of none", "gzip", "identity", CODING_GZIP },
		{ "compress", "compress", NULL, CODING_OTHER },
		{ "with a parameter", "gzip;q=1", NULL, CODING_OTHER },
		{ "dictionaries of a page", "dcz", NULL, CODING_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_fields f = { .count = 0 };

		f.at[f.count++] =
		    (struct http_field){ span_of("etag"), span_of("gzip") };
		if (rows[i].first != NULL)
			f.at[f.count++] =
			    (struct http_field){ span_of("Content-Encoding"),
				    span_of(rows[i].first) };
		if (rows[i].second != NULL)
			f.at[f.count++] =
			    (struct http_field){ span_of("content-encoding"),
				    span_of(rows[i].second) };
		if (coding_of(&f) != rows[i].want)
			fail_msg("%s", rows[i].claim);
	}
}

/* Which is not a coding of the whole: it cannot be looked into. */
static void
knows_messages_that_are_coded(void **state)
{
	static const struct {
		const char *name, *value;
		enum coding want;
	} rows[] = {
		{ "grpc-encoding", "identity", CODING_NONE },
		{ "Grpc-Encoding", "gzip", CODING_OTHER },
		{ "grpc-encoding", "identity, gzip", CODING_OTHER },
		{ "Connect-Content-Encoding", "br", CODING_OTHER },
		{ "grpc-accept-encoding", "gzip", CODING_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_fields f = { .count = 1 };

		f.at[0] = (struct http_field){ span_of(rows[i].name),
			span_of(rows[i].value) };
		if (coding_of(&f) != rows[i].want)
			fail_msg("%s: %s", rows[i].name, rows[i].value);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(decodes_each_coding_in_pieces_of_any_size),
		TEST(decodes_members_and_frames_one_after_another),
		TEST(refuses_what_is_not_whole_or_has_something_behind_it),
		TEST(refuses_what_is_another_coding),
		TEST(is_settled_only_between_blocks_of_zstd),
		TEST(ends_bombs),
		TEST(bounds_the_memory_of_windows),
		TEST(reads_the_names_of_codings),
		TEST(knows_messages_that_are_coded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
