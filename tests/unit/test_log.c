#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

static void
quotes_what_is_not_plain(void **state)
{
	static const struct {
		const char *claim, *text, *want;
		size_t len;
	} rows[] = {
		{ "nothing", "", "\"\"", 0 },
		{ "plain text", "a b~", "\"a b~\"", 4 },
		{ "a line's end", "a\nb", "\"a\\x0ab\"", 3 },
		{ "a quote", "\"", "\"\\x22\"", 1 },
		{ "a backslash", "\\", "\"\\x5c\"", 1 },
		{ "an escape for a terminal", "\x1b[0m", "\"\\x1b[0m\"", 4 },
		{ "a NUL", "\0", "\"\\x00\"", 1 },
		{ "DEL and a high byte", "\x7f\xff", "\"\\x7f\\xff\"", 2 },
	};
	char buf[LOG_QUOTE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct span s = { (const uint8_t *)rows[i].text, rows[i].len };

		print_message("%s\n", rows[i].claim);
		assert_string_equal(log_quote(buf, sizeof(buf), s),
		    rows[i].want);
	}
}

static void
cuts_a_quote_where_it_shows(void **state)
{
	static const struct {
		size_t size;
		const char *text, *want;
	} rows[] = {
		{ 0, "abc", "keep" },
		{ 1, "abc", "" },
		{ 5, "abc", "" },
		{ 6, "abc", "\"abc\"" },
		{ 6, "abcd", "\"...\"" },
		{ 8, "abcdef", "\"ab...\"" },
		{ 9, "abcdef", "\"abcdef\"" },
		/* an escape is whole or not there */
		{ 9, "a\n\n", "\"a...\"" },
		{ 11, "a\n\n", "\"a\\x0a...\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[32] = "keep";

		memset(buf + rows[i].size, 0x55, 1);
		if (rows[i].size == 0)
			strcpy(buf, "keep");
		(void)log_quote(buf, rows[i].size, span_of(rows[i].text));
		assert_string_equal(buf, rows[i].want);
		if (rows[i].size > 0)
			assert_int_equal(buf[rows[i].size], 0x55);
	}
}

/* Runs say() in a child and returns what it wrote to standard error. */
static const char *
captured(void (*say)(void), int ends[2], int *ret_status)
{
	static char text[8192];
	size_t len = 0;
	ssize_t n;
	pid_t pid = fork();

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		(void)dup2(ends[1], STDERR_FILENO);
		say();
		_exit(0);
	}
	(void)close(ends[1]);
	while ((n = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	(void)close(ends[0]);
	text[len] = '\0';
	assert_int_equal(waitpid(pid, ret_status, 0), pid);
	return text;
}

static const char *
through_pipe(void (*say)(void), int *ret_status)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	return captured(say, ends, ret_status);
}

static void
say_two(void)
{
	log_init("tapward-test", LOG_LEVEL_INFO);
	log_debug("area", "hidden");
	log_info("area", "name=%s n=%d", "x", 5);
	log_err("area", "one\ntwo\x1b[0m");
}

static void
a_line_names_program_level_and_area(void **state)
{
	int status;

	(void)state;
	assert_string_equal(through_pipe(say_two, &status),
	    "tapward-test: info area name=x n=5\n"
	    "tapward-test: err area one?two?[0m\n");
}

static void
the_journal_gets_a_level(void **state)
{
	int ends[2], status;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_string_equal(captured(say_two, ends, &status),
	    "<6>tapward-test: info area name=x n=5\n"
	    "<3>tapward-test: err area one?two?[0m\n");
}

static void
say_long(void)
{
	char text[8192];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_init("tapward-test", LOG_LEVEL_INFO);
	log_info("area", "%s", text);
}

static void
a_line_is_cut_where_it_shows(void **state)
{
	int status;
	const char *text = through_pipe(say_long, &status);
	size_t len = strlen(text);

	(void)state;
	assert_int_equal(len, 4097);
	assert_string_equal(text + len - 5, "x...\n");
}

static void
say_last(void)
{
	die("area", "why=%d", 3);
}

static void
dying_tells_why(void **state)
{
	int status;

	(void)state;
	assert_string_equal(through_pipe(say_last, &status),
	    "tapward: err area why=3\n");
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 70);
}

static void
logging_keeps_errno(void **state)
{
	(void)state;
	errno = EXDEV;
	log_debug("area", "x");
	assert_int_equal(errno, EXDEV);
}

static void
the_environment_names_a_level(void **state)
{
	(void)state;
	assert_int_equal(setenv("TAPWARD_LOG", "debug", 1), 0);
	assert_int_equal(log_level_from_env(), LOG_LEVEL_DEBUG);
	assert_int_equal(setenv("TAPWARD_LOG", "err", 1), 0);
	assert_int_equal(log_level_from_env(), LOG_LEVEL_ERR);
	assert_int_equal(setenv("TAPWARD_LOG", "loud", 1), 0);
	assert_int_equal(log_level_from_env(), LOG_LEVEL_INFO);
	assert_int_equal(unsetenv("TAPWARD_LOG"), 0);
	assert_int_equal(log_level_from_env(), LOG_LEVEL_INFO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotes_what_is_not_plain),
		cmocka_unit_test(cuts_a_quote_where_it_shows),
		cmocka_unit_test(a_line_names_program_level_and_area),
		cmocka_unit_test(the_journal_gets_a_level),
		cmocka_unit_test(a_line_is_cut_where_it_shows),
		cmocka_unit_test(dying_tells_why),
		cmocka_unit_test(logging_keeps_errno),
		cmocka_unit_test(the_environment_names_a_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
