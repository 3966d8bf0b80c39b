/*
 * What a guest prints, as it is shown: the last of it, and nothing that a
 * terminal would obey.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vmm/console.h"

static void
shows(const char *why, const char *written, const char *want)
{
	struct console c;
	char tail[64];

	(void)why;
	assert_int_equal(console_init(&c, 128), 0);
	/* Whole, and byte by byte. */
	console_add(&c, span_of(written));
	console_tail(&c, tail, sizeof(tail));
	assert_string_equal(tail, want);
	console_done(&c);
	assert_int_equal(console_init(&c, 128), 0);
	for (const char *p = written; *p != '\0'; p++)
		console_add(&c, (struct span){ (const uint8_t *)p, 1 });
	console_tail(&c, tail, sizeof(tail));
	assert_string_equal(tail, want);
	console_done(&c);
}

static void
lines_are_shown_without_what_a_terminal_obeys(void **state)
{
	(void)state;
	shows("nothing", "", "");
	shows("a line", "hello\n", "hello\n");
	shows("a line that goes on", "hello", "hello");
	shows("line ends of a serial port", "a\r\nb\r\n", "a\nb\n");
	shows("empty lines", "a\n\n\nb", "a\nb");
	shows("colours", "\033[1;31mred\033[0m", "red");
	shows("a clear of the screen", "\033[2J\033[Hx", "x");
	shows("a sequence that is not whole", "x\033[31", "x");
	shows("another escape", "\033cx", "x");
	shows("a bell, a byte above ASCII", "a\a\x80", "a..");
}

static void
the_last_is_kept(void **state)
{
	struct console c;
	char tail[17];

	(void)state;
	assert_int_equal(console_init(&c, 16), 0);
	for (int i = 0; i < 1000; i++)
		console_add(&c, span_of("0123456\n"));
	console_add(&c, span_of("the end\n"));
	console_tail(&c, tail, sizeof(tail));
	assert_string_equal(tail, "0123456\nthe end\n");
	/* Less room than a line: of the last line what fits, from its start. */
	console_tail(&c, tail, 12);
	assert_string_equal(tail, "the end\n");
	console_done(&c);
}

static void
one_write_longer_than_the_ring_leaves_its_end(void **state)
{
	struct console c;
	char tail[9];

	(void)state;
	assert_int_equal(console_init(&c, 8), 0);
	console_add(&c, span_of("0123456789abcdef"));
	console_tail(&c, tail, sizeof(tail));
	assert_string_equal(tail, "89abcdef");
	assert_int_equal(c.total, 16);
	console_done(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_shown_without_what_a_terminal_obeys),
		cmocka_unit_test(the_last_is_kept),
		cmocka_unit_test(one_write_longer_than_the_ring_leaves_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
