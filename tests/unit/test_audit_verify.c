/*
 * Every edit of a log within its chain is found, and where.
 */
#include "tests/unit/recorder_support.h"

#define LINES 5

static char log_text[LINES * 512];

/* A chain of LINES lines, numbers from first on. */
static void
make_log(uint64_t first)
{
	const struct message_recorder_sandbox about = sandbox_named("one");
	const struct audit_record record = denial_of("example.org");
	struct recorder_line line = { .about = &about };
	struct wr all = wr_init(log_text, sizeof(log_text) - 1);

	memcpy(line.head.prev, AUDIT_GENESIS, sizeof(line.head.prev));
	for (uint64_t i = 0; i < LINES; i++) {
		size_t start = all.len;

		line.head.seq = first + i;
		recorder_line_write(&all, &line, &record);
		assert_int_equal(audit_line_hash((struct span){ all.buf + start,
						     all.len - start },
				     line.head.prev),
		    0);
		wr_u8(&all, '\n');
	}
	assert_true(wr_ok(&all));
	log_text[all.len] = '\0';
}

/* The start of line i, from 0. */
static char *
line_at(unsigned int i)
{
	char *at = log_text;

	for (; i > 0; i--)
		at = strchr(at, '\n') + 1;
	return at;
}

static void
assert_fault(enum audit_verify_result want, uint64_t want_lines)
{
	enum audit_verify_result result;
	uint64_t lines = verify_text(log_text, &result);

	assert_int_equal(result, want);
	assert_int_equal(lines, want_lines);
}

static void
takes_a_whole_log(void **state)
{
	(void)state;
	make_log(1);
	assert_fault(AUDIT_VERIFY_OK, LINES);
}

static void
takes_a_log_that_goes_on_from_a_rotated_one(void **state)
{
	(void)state;
	make_log(1000);
	assert_fault(AUDIT_VERIFY_OK, LINES);
}

static void
finds_each_changed_byte(void **state)
{
	unsigned int found = 0, tried = 0;

	(void)state;
	make_log(1);
	/* The last line has no line after it that names its hash. */
	for (char *at = log_text; at < line_at(LINES - 1); at++) {
		enum audit_verify_result result;
		char saved = *at;

		*at = saved == 'x' ? 'y' : 'x';
		(void)verify_text(log_text, &result);
		found += result != AUDIT_VERIFY_OK ? 1 : 0;
		tried++;
		*at = saved;
	}
	assert_int_equal(found, tried);
}

static void
finds_a_line_that_was_removed(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < LINES - 1; i++) {
		make_log(1);
		memmove(line_at(i), line_at(i + 1), strlen(line_at(i + 1)) + 1);
		/* Without its first line a log starts like a rotated one. */
		if (i == 0)
			assert_fault(AUDIT_VERIFY_OK, LINES - 1);
		else
			assert_fault(AUDIT_VERIFY_PREV, i);
	}
}

static void
finds_a_line_that_comes_twice(void **state)
{
	char copy[512];
	size_t len;

	(void)state;
	make_log(1);
	len = (size_t)(line_at(2) - line_at(1));
	memcpy(copy, line_at(1), len);
	memmove(line_at(1) + len, line_at(1), strlen(line_at(1)) + 1);
	memcpy(line_at(1), copy, len);
	assert_fault(AUDIT_VERIFY_PREV, 2);
}

static void
number_one_starts_from_zeros(void **state)
{
	char *prev;

	(void)state;
	make_log(1);
	prev = strstr(log_text, "\"prev\":\"");
	prev[8] = '1';
	assert_fault(AUDIT_VERIFY_GENESIS, 0);
}

static void
a_cut_line_that_nobody_owns_up_to_is_a_fault(void **state)
{
	(void)state;
	make_log(1);
	line_at(LINES - 1)[20] = '\0';
	assert_fault(AUDIT_VERIFY_SHAPE, LINES);
}

static void
text_of_others_is_a_fault(void **state)
{
	(void)state;
	memcpy(log_text, "hello\nworld\n", sizeof("hello\nworld\n"));
	assert_fault(AUDIT_VERIFY_SHAPE, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_a_whole_log),
		cmocka_unit_test(takes_a_log_that_goes_on_from_a_rotated_one),
		cmocka_unit_test(finds_each_changed_byte),
		cmocka_unit_test(finds_a_line_that_was_removed),
		cmocka_unit_test(finds_a_line_that_comes_twice),
		cmocka_unit_test(number_one_starts_from_zeros),
		cmocka_unit_test(a_cut_line_that_nobody_owns_up_to_is_a_fault),
		cmocka_unit_test(text_of_others_is_a_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
