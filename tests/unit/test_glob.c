#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conf/glob.h"

static void
globs_match_and_meet(void **state)
{
	static const struct {
		const char *a, *b;
		bool meets;
	} rows[] = {
		{ "/a", "/a", true },
		{ "/a", "/b", false },
		{ "/a", "/a/b", false },
		{ "/*", "/a", true },
		{ "/*", "/a/b", false },
		{ "/**", "/a/b", true },
		{ "/a/**", "/b/**", false },
		{ "/a/**", "/*/b", true },
		{ "/a*", "/*b", true },
		{ "/a*c", "/*b", false },
		{ "/*/*", "/a*", false },
		{ "/*/*", "/a**", true },
		{ "**x", "**y", false },
		{ "/%2fa", "//a", true },
		{ "/%7ea", "/~a", true },
		{ "", "**", true },
		{ "", "*", true },
		{ "", "/", false },
	};
	size_t steps = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct span a = span_of(rows[i].a), b = span_of(rows[i].b);

		if (glob_overlaps(a, b, '/', &steps) != rows[i].meets ||
		    glob_overlaps(b, a, '/', &steps) != rows[i].meets)
			fail_msg("%s and %s", rows[i].a, rows[i].b);
	}
	assert_true(steps > 0);
	assert_true(glob_match(span_of("a=*"), span_of("a=b"), '&'));
	assert_true(glob_match(span_of("a=*"), span_of("a="), '&'));
	assert_false(glob_match(span_of("a=*"), span_of("a=b&c=d"), '&'));
	assert_true(glob_match(span_of("a=**"), span_of("a=b&c=d"), '&'));
	assert_true(glob_match(span_of("**c=*"), span_of("a=b&c=d"), '&'));
	assert_false(glob_match(span_of("a"), span_of("ab"), '&'));
	assert_false(glob_match(span_of("ab"), span_of("a"), '&'));
	assert_false(glob_match(span_of("Ab*"), span_of("aBc"), '&'));
	assert_true(glob_match_any_case(span_of("Ab*"), span_of("aBc"), '&'));
	assert_false(glob_match_any_case(span_of("a["), span_of("a{"), '&'));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs_match_and_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
