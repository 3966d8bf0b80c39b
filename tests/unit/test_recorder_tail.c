/*
 * Where a log ends: whole, cut, or somebody else's.
 */
#include "tests/unit/recorder_support.h"

#include <errno.h>

#include "daemon/recorder_tail.h"

#define HEX64 AUDIT_GENESIS
#define LINE(seq)                                                              \
	"{\"seq\":" seq                                                        \
	",\"time\":\"2026-02-01T00:00:00.123Z\",\"prev\":\"" HEX64             \
	"\",\"sandbox\":\"one\"}"

static const struct {
	const char *claim, *text;
	uint64_t seq;
	const char *hashed; /* the line whose hash the next one names */
	bool needs_newline, is_torn;
} rows[] = {
	{ "an empty log starts the chain", "", 0, NULL, false, false },
	{ "one line", LINE("7") "\n", 7, LINE("7"), false, false },
	{ "the last counts", LINE("7") "\n" LINE("8") "\n", 8, LINE("8"), false,
	    false },
	{ "whole but for its newline", LINE("7"), 7, LINE("7"), true, false },
	{ "cut inside", LINE("7") "\n{\"seq\":8,\"ti", 7, "{\"seq\":8,\"ti",
	    true, true },
	{ "cut, then ended by a start that crashed too",
	    LINE("7") "\n{\"seq\":8,\"ti\n", 7, "{\"seq\":8,\"ti", false,
	    true },
	{ "nothing but a cut line", "{\"se", 0, "{\"se", true, true },
	{ "somebody else's text", "hello\n", 0, "hello", false, true },
	{ "an empty line at its end", LINE("7") "\n\n", 7, "", false, true },
};

static void
finds_the_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char want[DIGEST_HEX_SIZE] = AUDIT_GENESIS;
		struct recorder_tail tail;

		if (rows[i].hashed != NULL)
			assert_int_equal(audit_line_hash(span_of(
							     rows[i].hashed),
					     want),
			    0);
		if (recorder_tail_parse(span_of(rows[i].text), true, &tail) !=
			0 ||
		    tail.seq != rows[i].seq || strcmp(tail.prev, want) != 0 ||
		    tail.needs_newline != rows[i].needs_newline ||
		    tail.is_torn != rows[i].is_torn)
			fail_msg("%s", rows[i].claim);
	}
}

static void
refuses_a_line_longer_than_any_of_ours(void **state)
{
	static char text[200000];
	struct recorder_tail tail;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(recorder_tail_parse(span_of(text), false, &tail),
	    -EFBIG);
}

static void
reads_the_end_of_a_large_file(void **state)
{
	AUTO_CLOSE int fd = memfd_create("log", MFD_CLOEXEC);
	struct recorder_tail tail;

	(void)state;
	for (int i = 0; i < 2000; i++)
		assert_int_equal(fd_write_all(fd, LINE("41") "\n",
				     sizeof(LINE("41") "\n") - 1),
		    0);
	assert_int_equal(fd_write_all(fd, LINE("42") "\n",
			     sizeof(LINE("42") "\n") - 1),
	    0);
	assert_int_equal(recorder_tail_read(fd, &tail), 0);
	assert_int_equal(tail.seq, 42);
	assert_false(tail.is_torn);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_end),
		cmocka_unit_test(refuses_a_line_longer_than_any_of_ours),
		cmocka_unit_test(reads_the_end_of_a_large_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
