/*
 * Heads that were written down elsewhere, held against the log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cli/anchors.h"

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B64 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void
take(struct anchors *a, const char *line)
{
	assert_true(anchors_take_line(a, span_of(line)));
}

static void
takes_lines_of_the_anchor_and_of_a_journal(void **state)
{
	static const struct {
		const char *line;
		uint64_t seq; /* 0: it has none */
	} rows[] = {
		{ "2026-01-31T23:59:59.123Z seq=7 head=" A64, 7 },
		{ "Jan 31 host tapward-recorder[9]: info anchor seq=123 "
		  "head=" A64,
		    123 },
		{ "x seq=5 head=" A64 " seq=6 head=" B64, 6 },
		{ " seq=9223372036854775807 head=" A64, INT64_MAX },
		{ "", 0 },
		{ "seq=7 head=" A64, 0 }, /* a line has words before */
		{ "x seq=7 head=abc", 0 },
		{ "x seq= head=" A64, 0 },
		{ "x seq=-7 head=" A64, 0 },
		{ "x seq=99999999999999999999 head=" A64, 0 },
		{ "x seq=7 head=z" A64, 0 },
		{ "x seq=7", 0 },
		{ "x seq=7  head=" A64, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct anchors a = { 0 };

		take(&a, rows[i].line);
		if (a.count != (rows[i].seq != 0))
			fail_msg("%s", rows[i].line);
		if (rows[i].seq != 0)
			assert_true(a.all[0].seq == rows[i].seq);
		anchors_done(&a);
	}
}

static void
a_log_holds_its_anchors_and_no_others(void **state)
{
	struct anchors a = { 0 };

	(void)state;
	take(&a, "x seq=9 head=" B64);
	take(&a, "x seq=2 head=" A64);
	take(&a, "x seq=5 head=" A64);
	take(&a, "x seq=5 head=" A64);
	anchors_sort(&a);
	/* It begins with 4: what was before is not kept any more. */
	assert_true(anchors_hold(&a, 4, B64));
	assert_true(anchors_hold(&a, 5, A64));
	assert_true(anchors_hold(&a, 6, B64));
	assert_int_equal(a.held, 2);
	/* It was longer once. */
	assert_int_equal(anchors_left(&a), 1);
	assert_false(anchors_hold(&a, 9, A64));
	anchors_done(&a);
}

static void
reads_a_file_of_many(void **state)
{
	FILE *f = tmpfile();
	struct anchors a = { 0 };

	(void)state;
	assert_non_null(f);
	for (unsigned int i = 500; i > 0; i--)
		(void)fprintf(f, "x seq=%u head=" A64 "\nnothing\n", i);
	rewind(f);
	assert_int_equal(anchors_load(&a, f), 0);
	assert_int_equal(a.count, 500);
	anchors_sort(&a);
	for (unsigned int i = 1; i <= 500; i++)
		assert_true(anchors_hold(&a, i, A64));
	assert_int_equal(a.held, 500);
	assert_int_equal(anchors_left(&a), 0);
	anchors_done(&a);
	(void)fclose(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_lines_of_the_anchor_and_of_a_journal),
		cmocka_unit_test(a_log_holds_its_anchors_and_no_others),
		cmocka_unit_test(reads_a_file_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
