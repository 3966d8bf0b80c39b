#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf/ini.h"

/* What was read, as "line kind/name key=value;" one after the other. */
struct seen {
	char text[2048];
	size_t len;
};

static int
note(const struct ini_entry *e, void *arg)
{
	struct seen *s = arg;
	int n;

	n = e->key == NULL
	    ? snprintf(s->text + s->len, sizeof(s->text) - s->len,
		  "%u [%s|%s];", e->line, e->kind, e->name)
	    : snprintf(s->text + s->len, sizeof(s->text) - s->len,
		  "%u %s|%s %s=%s;", e->line, e->kind, e->name, e->key,
		  e->value);
	assert_true(n > 0 && (size_t)n < sizeof(s->text) - s->len);
	s->len += (size_t)n;
	return 0;
}

static int
read_text(const void *text, size_t len, struct seen *s, struct err *err)
{
	s->len = 0;
	s->text[0] = '\0';
	err->text[0] = '\0';
	return ini_read((struct span){ text, len }, "f.ini", note, s, err);
}

static void
reads_headings_and_keys_with_their_lines(void **state)
{
	static const struct {
		const char *claim, *text, *want;
	} rows[] = {
		{ "nothing gives nothing", "", "" },
		{ "a heading alone is seen", "[policy]\n", "1 [policy|];" },
		{ "a heading without a line end", "[policy]", "1 [policy|];" },
		{ "a key is under its heading", "[allow a]\nhost = x\n",
		    "1 [allow|a];2 allow|a host=x;" },
		{ "comments and blank lines count as lines",
		    "; c\n\n# d\n[a]\n\t\nk = v\n", "4 [a|];6 a| k=v;" },
		{ "a value is trimmed, its inner blanks stay",
		    "[a]\nk  =  v  w \n", "1 [a|];2 a| k=v  w;" },
		{ "a blank and ';' end a value", "[a]\nk = v ; rest\n",
		    "1 [a|];2 a| k=v;" },
		{ "';' without a blank stays in a value", "[a]\nk = v;w\n",
		    "1 [a|];2 a| k=v;w;" },
		{ "'#' and '=' and ':' stay in a value", "[a]\nk = a=b:c #d\n",
		    "1 [a|];2 a| k=a=b:c #d;" },
		{ "a section of one name twice is two headings",
		    "[a]\nk = 1\n[a]\nk = 2\n",
		    "1 [a|];2 a| k=1;3 [a|];4 a| k=2;" },
		{ "a CR before the LF is dropped", "[a]\r\nk = v\r\n",
		    "1 [a|];2 a| k=v;" },
		{ "a comment may follow a heading", "[a] ; c\n", "1 [a|];" },
	};
	struct seen s;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (read_text(rows[i].text, strlen(rows[i].text), &s, &err) !=
			0 ||
		    strcmp(s.text, rows[i].want) != 0)
			fail_msg("%s: got \"%s\" (%s)", rows[i].claim, s.text,
			    err.text);
	}
}

/* escapes.md rows 187 and 188, M7: what libinih would bend is refused. */
static void
refuses_what_libinih_would_bend(void **state)
{
	static const struct {
		const char *claim, *text, *want;
	} rows[] = {
		{ "188: an indented line is no second value",
		    "[a]\nk = 1\n dup = 2\n", "f.ini:3: an indented line" },
		{ "188: an unterminated heading keeps no old section",
		    "[allow a]\nk = 1\n[deny b\nk = 2\n",
		    "f.ini:3: a section heading without its ']'" },
		{ "188: ':' does not separate", "[a]\nk : v\n",
		    "f.ini:2: this is not `key = value`" },
		{ "188: ':' before '=' does not separate", "[a]\nk:b = v\n",
		    "f.ini:2: this is not `key = value`" },
		{ "188: a key without a value", "[a]\nk =\n",
		    "f.ini:2: a key without a value" },
		{ "188: a comment is no value", "[a]\nk = ; v\n",
		    "f.ini:2: a value that starts like a comment" },
		{ "a line without '='", "[a]\nword\n",
		    "f.ini:2: this is not `key = value`" },
		{ "a key before the first section", "k = v\n[a]\n",
		    "f.ini:1: a key before the first [section]" },
		{ "text after a heading", "[a] k = v\n",
		    "f.ini:1: text after a section heading" },
		{ "a comment that touches the heading", "[a];c\n",
		    "f.ini:1: text after a section heading" },
		{ "an empty heading", "[]\n", "f.ini:1: a section heading is" },
		{ "three words in a heading", "[a b c]\n",
		    "f.ini:1: a section heading is" },
		{ "a heading with two blanks", "[a  b]\n",
		    "f.ini:1: a section heading is" },
		{ "a comment within a heading", "[a ;b]\n",
		    "f.ini:1: a section heading is" },
		{ "11: a letter that is not ASCII",
		    "[a]\nhost = g\xd1\x96thub.com\n",
		    "f.ini:2: a byte that is not ASCII" },
		{ "a byte order mark", "\xef\xbb\xbf[a]\n",
		    "f.ini:1: a byte that is not ASCII" },
		{ "a control byte", "[a]\nk = \x1b[1m\n",
		    "f.ini:2: a control byte" },
		{ "a CR within a line", "[a]\nk = v\rhost = x\n",
		    "f.ini:2: a control byte" },
		{ "DEL", "[a]\nk = \x7f\n", "f.ini:2: a byte that is not" },
	};
	struct seen s;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc =
		    read_text(rows[i].text, strlen(rows[i].text), &s, &err);

		if (rc != -EINVAL ||
		    strncmp(err.text, rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("%s: rc %d, \"%s\", read \"%s\"",
			    rows[i].claim, rc, err.text, s.text);
	}
}

/* escapes.md 187: a comment whose tail becomes a live key. */
static void
a_comment_of_200_bytes_smuggles_no_key(void **state)
{
	char text[512];
	struct seen s;
	struct err err;
	int n;

	(void)state;
	n = snprintf(text, sizeof(text),
	    "[allow a]\n; %0197dhost = smuggled.x\n", 0);
	assert_int_equal(read_text(text, (size_t)n, &s, &err), -EINVAL);
	assert_string_equal(s.text, "1 [allow|a];");
	assert_non_null(strstr(err.text, "f.ini:2: a line of more than 198"));
}

static void
a_nul_ends_nothing(void **state)
{
	static const char text[] = "[a]\nhost = ok.x\0.y\n";
	struct seen s;
	struct err err;

	(void)state;
	assert_int_equal(read_text(text, sizeof(text) - 1, &s, &err), -EINVAL);
	assert_string_equal(s.text, "1 [a|];");
	assert_non_null(strstr(err.text, "f.ini:2: a NUL byte"));
}

static void
lines_and_names_have_their_limits(void **state)
{
	char text[512], want[512];
	struct seen s;
	struct err err;
	int n;

	(void)state;
	n = snprintf(text, sizeof(text), "[a]\nk = %0194d\n", 1);
	assert_int_equal(read_text(text, (size_t)n, &s, &err), 0);
	(void)snprintf(want, sizeof(want), "1 [a|];2 a| k=%0194d;", 1);
	assert_string_equal(s.text, want);
	n = snprintf(text, sizeof(text), "[a]\nk = %0195d\n", 1);
	assert_int_equal(read_text(text, (size_t)n, &s, &err), -EINVAL);
	/* one section name of 49 bytes, one that libinih would cut */
	n = snprintf(text, sizeof(text), "[a %047d]\n", 1);
	assert_int_equal(read_text(text, (size_t)n, &s, &err), 0);
	n = snprintf(text, sizeof(text), "[a %048d]\n", 1);
	assert_int_equal(read_text(text, (size_t)n, &s, &err), -EINVAL);
	assert_non_null(strstr(err.text, "f.ini:1: a section name of more"));
	n = snprintf(text, sizeof(text), "[a]\n%050d = v\n", 1);
	assert_int_equal(read_text(text, (size_t)n, &s, &err), -EINVAL);
	assert_non_null(strstr(err.text, "f.ini:2: a key of more than 49"));
}

static int
stop_at_first_key(const struct ini_entry *e, void *arg)
{
	unsigned int *calls = arg;

	++*calls;
	return e->key != NULL ? -E2BIG : 0;
}

static void
the_reader_stops_where_it_is_told_to(void **state)
{
	unsigned int calls = 0;
	struct err err;

	(void)state;
	assert_int_equal(ini_read(span_of("[a]\nk = v\nl = w\n[b]\n"), "f",
			     stop_at_first_key, &calls, &err),
	    -E2BIG);
	assert_int_equal(calls, 2);
}

static void
nothing_after_an_error_is_read(void **state)
{
	static const char text[] = "[a]\nk = v\nbad\n[b]\nl = w\n";
	struct seen s;
	struct err err;

	(void)state;
	assert_int_equal(read_text(text, strlen(text), &s, &err), -EINVAL);
	assert_string_equal(s.text, "1 [a|];2 a| k=v;");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_headings_and_keys_with_their_lines),
		cmocka_unit_test(refuses_what_libinih_would_bend),
		cmocka_unit_test(a_comment_of_200_bytes_smuggles_no_key),
		cmocka_unit_test(a_nul_ends_nothing),
		cmocka_unit_test(lines_and_names_have_their_limits),
		cmocka_unit_test(the_reader_stops_where_it_is_told_to),
		cmocka_unit_test(nothing_after_an_error_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
