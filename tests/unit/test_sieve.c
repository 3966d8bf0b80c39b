/*
 * Bodies that are searched as they stream.
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
#include "proxy/sieve.h"
#include "say.h"

#define SECRET "ghp_0123+/89abcdefXYZ~?>"
#define ROOM 400000

static struct scan_forms forms;
static struct decode_budget budget;
static uint8_t text[ROOM], coded[ROOM], out[ROOM], plain[ROOM];
static size_t out_len;

static int
setup(void **state)
{
	const struct scan_secret s = { .value = span_of(SECRET) };

	(void)state;
	budget = (struct decode_budget){ .max_bytes = 64 << 20, .ratio = 1100 };
	srand(1);
	return scan_forms_set(&forms, &s, 1);
}

static int
teardown(void **state)
{
	(void)state;
	scan_forms_done(&forms);
	assert_int_equal(budget.used, 0);
	return 0;
}

/* --- as exchange_search.c drives it --- */

static void
begin(struct sieve *s, enum coding coding)
{
	sieve_init(s, &forms);
	out_len = 0;
	if (coding != CODING_NONE)
		assert_true(sieve_decode(s, coding, &budget));
}

/* The guest's half takes at most so many bytes. */
static size_t
pass(struct span ready, size_t most)
{
	size_t len = ready.len < most ? ready.len : most;

	if (len > 0)
		memcpy(out + out_len, ready.ptr, len);
	out_len += len;
	return len;
}

static enum sieve_status
give(struct sieve *s, enum sieve_status status, size_t most)
{
	for (;;) {
		sieve_take(s, pass(sieve_ready(s), most));
		if (status != SIEVE_TURN)
			return status;
		status = sieve_run(s);
	}
}

static enum sieve_status
put(struct sieve *s, struct span in, size_t most)
{
	enum sieve_status status = SIEVE_GOES_ON;

	while (in.len > 0 && status == SIEVE_GOES_ON) {
		struct span part = { in.ptr, sieve_skim(s, in) };
		size_t room;

		part.len = pass(part, most);
		sieve_skimmed(s, part.len);
		in.ptr += part.len;
		in.len -= part.len;
		if (s->skimmed > 0)
			continue;
		room = sieve_room(s);
		part = (struct span){ in.ptr, in.len < room ? in.len : room };
		status = give(s, sieve_put(s, part), most);
		in.ptr += part.len;
		in.len -= part.len;
	}
	return status;
}

static enum sieve_status
finish(struct sieve *s, enum sieve_status status)
{
	if (status == SIEVE_GOES_ON)
		status = give(s, sieve_end(s), ROOM);
	while (status == SIEVE_GOES_ON && sieve_ready(s).len > 0)
		sieve_take(s, pass(sieve_ready(s), ROOM));
	if (status == SIEVE_GOES_ON)
		assert_true(sieve_is_empty(s));
	return status;
}

/* In two parts if cut is within, or in pieces. */
static enum sieve_status
sift(enum coding coding, struct span in, size_t cut, size_t piece, size_t most)
{
	struct sieve s;
	enum sieve_status status = SIEVE_GOES_ON;

	begin(&s, coding);
	for (size_t at = 0; at < in.len && status == SIEVE_GOES_ON;) {
		size_t len = at < cut ? cut - at : piece;

		len = len < in.len - at ? len : in.len - at;
		status = put(&s, (struct span){ in.ptr + at, len }, most);
		at += len;
	}
	status = finish(&s, status);
	sieve_done(&s);
	return status;
}

/* What a reader makes of what it got so far. */
static size_t
read_out(enum coding coding)
{
	struct decode_budget own = { .max_bytes = 64 << 20, .ratio = 1100 };
	struct decoder *d = decoder_new(coding, &own);
	struct span in = { out, out_len };
	size_t total = 0, len;
	enum decode_status s;

	do {
		s = decoder_run(d, &in, plain + total, ROOM - total, &len);
		total += len;
	} while (s == DECODE_ROOM && total < ROOM);
	decoder_free(d);
	return total;
}

/* --- as it is --- */

static void
check_masked(enum say_form form, enum say_way way, size_t cut, size_t most)
{
	struct wr w = wr_init(text, sizeof(text));
	size_t at = 0, end = 0;

	say(&w, form, way, span_of("{\"some\": \"text "), span_of(SECRET),
	    span_of("\", \"more\": 1}"), &at, &end);
	assert_int_equal(sift(CODING_NONE, (struct span){ text, w.len }, cut,
			     ROOM, most),
	    SIEVE_GOES_ON);
	assert_int_equal(out_len, w.len);
	for (size_t i = 0; i < w.len; i++)
		if (i >= at && i < end ? out[i] != '*' : out[i] != text[i])
			fail_msg("%s, %s, cut at %zu: %.*s",
			    say_form_name(form), say_way_name(way), cut,
			    (int)out_len, (const char *)out);
}

static void
row_105_masks_every_form_at_every_cut(void **state)
{
	(void)state;
	for (enum say_form f = 0; f < SAY_FORMS; f++)
		for (enum say_way y = 0; y < SAY_WAYS; y++) {
			struct wr w = wr_init(text, sizeof(text));
			size_t at, end;

			say(&w, f, y, span_of("{\"some\": \"text "),
			    span_of(SECRET), span_of("\", \"more\": 1}"), &at,
			    &end);
			for (size_t cut = 0; cut < end + 2; cut++)
				check_masked(f, y, cut, ROOM);
			check_masked(f, y, at + 3, 1);
		}
}

static void
masks_what_comes_byte_by_byte_and_one_behind_another(void **state)
{
	const char *twice = "x" SECRET SECRET "y" SECRET "ghp_0123+/";
	size_t len = strlen(SECRET);

	(void)state;
	assert_int_equal(sift(CODING_NONE, span_of(twice), 0, 1, 1),
	    SIEVE_GOES_ON);
	assert_int_equal(out_len, strlen(twice));
	assert_null(memmem(out, out_len, "ghp_0123+/89", 12));
	assert_int_equal(out[0], 'x');
	assert_int_equal(out[1 + 2 * len], 'y');
	/* The end proves that a start was none. */
	assert_memory_equal(out + 2 + 3 * len, "ghp_0123+/", 10);
}

static void
leaves_clean_bodies_as_they_are(void **state)
{
	static const size_t pieces[] = { 1, 7, 1000, 16384, ROOM };

	(void)state;
	/* Full of starts of it, and of escapes. */
	for (size_t i = 0; i < 200000; i++)
		text[i] = (uint8_t) "ghp_0123+/%2\\u&;#x"[rand() % 18];
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		for (size_t most = 1; most <= 100000; most *= 100) {
			size_t len = pieces[i] < 100 ? 5000 : 200000;

			if (most < 10)
				len = 2000;
			assert_int_equal(sift(CODING_NONE,
					     (struct span){ text, len }, 0,
					     pieces[i], most),
			    SIEVE_GOES_ON);
			assert_int_equal(out_len, len);
			assert_memory_equal(out, text, len);
		}
}

/* --- coded --- */

static void
leaves_clean_coded_bodies_as_they_are(void **state)
{
	static const size_t pieces[] = { 1, 13, 5000, ROOM };

	(void)state;
	for (enum code_kind k = 0; k < CODE_KINDS; k++)
		for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]);
		     i++) {
			struct wr w = wr_init(coded, sizeof(coded));
			size_t len = pieces[i] < 100 ? 3000 : 180000;

			for (size_t j = 0; j < len; j++)
				text[j] =
				    (uint8_t) "ghp_0123+/ abc"[rand() % 14];
			code(k, (struct span){ text, len }, &w);
			if (sift(code_coding(k), (struct span){ coded, w.len },
				0, pieces[i], ROOM) != SIEVE_GOES_ON ||
			    out_len != w.len || memcmp(out, coded, w.len) != 0)
				fail_msg("%s by %zu", code_name(k), pieces[i]);
		}
}

/*
 * What went on before it was found says nothing of it: the text that it can be
 * read as ends before the secret does begin.
 */
static void
row_105_ends_coded_bodies_that_hold_it(void **state)
{
	static const enum say_way ways_here[] = { SAY_PLAIN, SAY_JSON_PHP,
		SAY_JSON_ALL };

	(void)state;
	for (enum code_kind k = 0; k < CODE_KINDS; k++)
		for (size_t i = 0; i < SAY_FORMS * 3; i++) {
			struct wr t = wr_init(text, sizeof(text));
			struct wr w = wr_init(coded, sizeof(coded));
			size_t at, end;

			for (int j = 0; j < 300; j++)
				wr_text(&t, j % 3 == 0 ? "some " : "text, ");
			say(&t, (enum say_form)(i / 3), ways_here[i % 3],
			    span_of("{"), span_of(SECRET), span_of("}"), &at,
			    &end);
			wr_text(&t, "behind it");
			code(k, (struct span){ text, t.len }, &w);
			/* Every cut of the first, fewer of the others. */
			for (size_t cut = 0; cut <= w.len;
			     cut += i == 0 ? 1 : 37) {
				if (sift(code_coding(k),
					(struct span){ coded, w.len }, cut,
					cut % 9 == 0 ? 1 : ROOM,
					ROOM) == SIEVE_LEAK &&
				    read_out(code_coding(k)) <= at)
					continue;
				fail_msg("%s, %s, cut at %zu of %zu",
				    code_name(k),
				    say_form_name((enum say_form)(i / 3)), cut,
				    w.len);
			}
		}
}

/* One event after another, each of them flushed. */
static void
lets_a_coded_event_go_before_the_next_one_comes(void **state)
{
	(void)state;
	for (enum code_kind k = 0; k < CODE_KINDS; k++)
		for (size_t n = 0; n < strlen(SECRET); n++) {
			struct coder *c = coder_new(k);
			struct wr w = wr_init(coded, sizeof(coded));
			struct sieve s;
			char event[64];
			size_t sent;

			begin(&s, code_coding(k));
			(void)snprintf(event, sizeof(event), "data: %.*s\n\n",
			    (int)n, SECRET);
			coder_put(c, span_of(event), true, &w);
			assert_int_equal(put(&s, (struct span){ coded, w.len },
					     ROOM),
			    SIEVE_GOES_ON);
			if (read_out(code_coding(k)) != strlen(event))
				fail_msg("%s: %s", code_name(k), event);
			/* And one that ends with a start of it. */
			sent = w.len;
			event[strlen(event) - 2] = '\0';
			coder_put(c, span_of(event), true, &w);
			assert_int_equal(put(&s,
					     (struct span){ coded + sent,
						 w.len - sent },
					     ROOM),
			    SIEVE_GOES_ON);
			if (read_out(code_coding(k)) >
			    strlen(event) + 2 + strlen("data: "))
				fail_msg("%s: %s", code_name(k), event);
			sent = w.len;
			coder_put(c, span_of("\nid: 1\n\n"), true, &w);
			assert_int_equal(put(&s,
					     (struct span){ coded + sent,
						 w.len - sent },
					     ROOM),
			    SIEVE_GOES_ON);
			assert_int_equal(out_len, w.len);
			sent = w.len;
			coder_end(c, &w);
			assert_int_equal(finish(&s,
					     put(&s,
						 (struct span){ coded + sent,
						     w.len - sent },
						 ROOM)),
			    SIEVE_GOES_ON);
			sieve_done(&s);
		}
}

static void
holds_an_event_back_only_for_a_start_of_it(void **state)
{
	(void)state;
	for (size_t n = 1; n < strlen(SECRET); n++) {
		struct sieve s;
		char event[64];

		begin(&s, CODING_NONE);
		(void)snprintf(event, sizeof(event), "data: %.*s", (int)n,
		    SECRET);
		(void)put(&s, span_of(event), ROOM);
		assert_int_equal(out_len, strlen("data: "));
		(void)put(&s, span_of("\n\n"), ROOM);
		assert_int_equal(out_len, strlen(event) + 2);
		sieve_done(&s);
	}
}

/* What a decoder skips is searched as it is. */
static void
finds_it_where_no_decoder_looks(void **state)
{
	static const struct {
		const char *claim;
		enum coding coding;
		struct span before, after;
	} rows[] = {
		{ "a name in the head of gzip", CODING_GZIP,
		    { (const uint8_t *)"\x1f\x8b\x08\x08\0\0\0\0\0\x03", 10 },
		    { (const uint8_t *)"\0\x03\0\0\0\0\0\0\0\0\0", 11 } },
		{ "a frame of zstd that is skipped", CODING_ZSTD,
		    { (const uint8_t *)"\x50\x2a\x4d\x18\x18\0\0\0", 8 },
		    { (const uint8_t *)"", 0 } },
		{ "metadata of Brotli", CODING_BR,
		    { (const uint8_t *)"\xac\x0b", 2 },
		    { (const uint8_t *)"\x03", 1 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t piece = 1; piece < 100; piece += 98) {
			struct wr w = wr_init(coded, sizeof(coded));
			enum sieve_status status;

			wr_bytes(&w, rows[i].before.ptr, rows[i].before.len);
			wr_text(&w, SECRET);
			wr_bytes(&w, rows[i].after.ptr, rows[i].after.len);
			status = sift(rows[i].coding,
			    (struct span){ coded, w.len }, 0, piece, ROOM);
			if (status != SIEVE_LEAK ||
			    out_len > rows[i].before.len)
				fail_msg("%s: %d", rows[i].claim, (int)status);
			coded[rows[i].before.len]++;
			status = sift(rows[i].coding,
			    (struct span){ coded, w.len }, 0, piece, ROOM);
			if (status != SIEVE_GOES_ON || out_len != w.len)
				fail_msg("%s, spoilt: %d", rows[i].claim,
				    (int)status);
		}
}

static void
ends_what_is_not_whole_or_not_what_its_coding_says(void **state)
{
	(void)state;
	for (enum code_kind k = 0; k < CODE_KINDS; k++) {
		struct wr w = wr_init(coded, sizeof(coded));

		code(k, span_of("some text that is coded"), &w);
		for (size_t cut = 1; cut < w.len; cut++)
			assert_int_equal(sift(code_coding(k),
					     (struct span){ coded, cut }, 0,
					     ROOM, ROOM),
			    SIEVE_BROKEN);
		wr_text(&w, "x");
		assert_int_equal(sift(code_coding(k),
				     (struct span){ coded, w.len }, 0, 1, ROOM),
		    SIEVE_BROKEN);
		assert_int_equal(sift(code_coding(k), (struct span){ coded, 0 },
				     0, 1, ROOM),
		    SIEVE_GOES_ON);
	}
}

static void
ends_what_says_nothing_for_too_long(void **state)
{
	static const uint8_t frame[] = { 0x50, 0x2a, 0x4d, 0x18, 0, 0, 8, 0 };

	(void)state;
	memcpy(coded, frame, sizeof(frame));
	memset(coded + sizeof(frame), 'x', ROOM - sizeof(frame));
	assert_int_equal(sift(CODING_ZSTD, (struct span){ coded, ROOM }, 0,
			     16384, ROOM),
	    SIEVE_LARGE);
	assert_int_equal(out_len, 0);
}

/* 32 MiB of a few KiB: within the ratio, and in many turns. */
static void
takes_turns_over_what_is_coded_well(void **state)
{
	static uint8_t zeros[32 << 20];
	struct wr w = wr_init(coded, sizeof(coded));
	enum sieve_status status;
	size_t turns = 0;
	struct sieve s;

	(void)state;
	code(CODE_GZIP, (struct span){ zeros, sizeof(zeros) }, &w);
	begin(&s, CODING_GZIP);
	status = sieve_put(&s, (struct span){ coded, w.len });
	for (; status == SIEVE_TURN; turns++) {
		/* Whoever goes on to feed it waits, too. */
		assert_int_equal(sieve_room(&s), 0);
		sieve_take(&s, pass(sieve_ready(&s), ROOM));
		status = sieve_run(&s);
	}
	assert_true(turns >= 30);
	assert_int_equal(finish(&s, status), SIEVE_GOES_ON);
	assert_int_equal(out_len, w.len);
	sieve_done(&s);
}

static void
refuses_more_than_there_is_memory_for(void **state)
{
	struct sieve s;

	(void)state;
	budget.max_bytes = SIEVE_CODED_MAX_BYTES + 1000;
	sieve_init(&s, &forms);
	assert_false(sieve_decode(&s, CODING_GZIP, &budget));
	sieve_done(&s);
	budget.max_bytes = 1000;
	sieve_init(&s, &forms);
	assert_false(sieve_decode(&s, CODING_GZIP, &budget));
	sieve_done(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(row_105_masks_every_form_at_every_cut),
		TEST(masks_what_comes_byte_by_byte_and_one_behind_another),
		TEST(leaves_clean_bodies_as_they_are),
		TEST(leaves_clean_coded_bodies_as_they_are),
		TEST(row_105_ends_coded_bodies_that_hold_it),
		TEST(lets_a_coded_event_go_before_the_next_one_comes),
		TEST(holds_an_event_back_only_for_a_start_of_it),
		TEST(finds_it_where_no_decoder_looks),
		TEST(ends_what_is_not_whole_or_not_what_its_coding_says),
		TEST(ends_what_says_nothing_for_too_long),
		TEST(takes_turns_over_what_is_coded_well),
		TEST(refuses_more_than_there_is_memory_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
