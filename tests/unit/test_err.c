#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void
names_file_and_line(void **state)
{
	struct err err = { "what was here before" };

	(void)state;
	assert_int_equal(err_at(&err, "tapward.ini", 7, "unknown key %s",
			     "hosst"),
	    -EINVAL);
	assert_string_equal(err.text, "tapward.ini:7: unknown key hosst");
	assert_int_equal(err_at(&err, "tapward.ini", 0, "is empty"), -EINVAL);
	assert_string_equal(err.text, "tapward.ini: is empty");
	assert_int_equal(err_at(&err, NULL, 7, "no"), -EINVAL);
	assert_string_equal(err.text, "no");
}

static void
context_goes_before(void **state)
{
	struct err err;

	(void)state;
	(void)err_at(&err, "a.ini", 3, "bad port");
	assert_int_equal(err_wrap(&err, -E2BIG, "preset %s", "npm"), -E2BIG);
	assert_string_equal(err.text, "preset npm: a.ini:3: bad port");
}

static void
tells_what_the_system_said(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(err_os(&err, -ENOENT, "cannot open %s", "x"), -ENOENT);
	assert_string_equal(err.text,
	    "cannot open x: No such file or directory");
	assert_int_equal(err_os(&err, -99999, "odd"), -99999);
	assert_string_equal(err.text, "odd: unknown");
}

static void
long_texts_are_cut_not_overrun(void **state)
{
	struct {
		struct err err;
		char after[8];
	} box = { .after = "intact" };
	char longest[2 * ERR_TEXT_MAX];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	(void)err_at(&box.err, longest, 1, "%s", longest);
	assert_int_equal(strlen(box.err.text), ERR_TEXT_MAX - 1);
	(void)err_wrap(&box.err, -1, "%s", longest);
	assert_int_equal(strlen(box.err.text), ERR_TEXT_MAX - 1);
	(void)err_os(&box.err, -EIO, "%s", longest);
	assert_int_equal(strlen(box.err.text), ERR_TEXT_MAX - 1);
	assert_string_equal(box.after, "intact");
}

static void
nobody_has_to_listen(void **state)
{
	(void)state;
	assert_int_equal(err_at(NULL, "a", 1, "b"), -EINVAL);
	assert_int_equal(err_wrap(NULL, -EIO, "b"), -EIO);
	assert_int_equal(err_os(NULL, -EIO, "b"), -EIO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_file_and_line),
		cmocka_unit_test(context_goes_before),
		cmocka_unit_test(tells_what_the_system_said),
		cmocka_unit_test(long_texts_are_cut_not_overrun),
		cmocka_unit_test(nobody_has_to_listen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
