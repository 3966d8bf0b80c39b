/*
 * The search for a secret in what streams by.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "proxy/scan.h"

#define SECRET "ghp_0123+/89abcdefXYZ~?>"

static struct scan_forms forms;

static int
setup(void **state)
{
	(void)state;
	return scan_forms_set(&forms, span_of(SECRET));
}

static int
teardown(void **state)
{
	(void)state;
	scan_forms_done(&forms);
	return 0;
}

static bool
finds(const char *text)
{
	size_t at, len;

	return scan_find(&forms, span_of(text), &at, &len);
}

/* base64 of before, the secret and after. */
static const char *
coded(const char *before, const char *after, bool url_safe)
{
	static char out[512];
	char plain[256];
	int n = snprintf(plain, sizeof(plain), "%s%s%s", before, SECRET, after);

	(void)EVP_EncodeBlock((uint8_t *)out, (uint8_t *)plain, n);
	for (char *p = out; url_safe && *p != '\0'; p++)
		*p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
	return out;
}

static void
finds_it_raw_and_in_base64_at_each_alignment(void **state)
{
	static const char *const before[] = { "", "u", "us", "usr", "user:" };
	static const char *const after[] = { "", "x", "xy", ":pw" };

	(void)state;
	assert_true(finds("x " SECRET));
	assert_true(finds(SECRET));
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 4; j++) {
			assert_true(finds(coded(before[i], after[j], false)));
			assert_true(finds(coded(before[i], after[j], true)));
		}
}

/* Row 105: as what an origin echoes is written by others' encoders. */
static void
finds_it_escaped(void **state)
{
	static const struct {
		const char *claim, *secret, *text;
	} rows[] = {
		{ "a URL's component", SECRET,
		    "ghp_0123%2B%2F89abcdefXYZ~%3F%3E" },
		{ "in lower case", SECRET, "ghp_0123%2b%2f89abcdefXYZ~%3f%3e" },
		{ "a slash kept", SECRET, "ghp_0123%2B/89abcdefXYZ~%3F%3E" },
		{ "PHP's JSON", SECRET, "ghp_0123+\\/89abcdefXYZ~?>" },
		{ ".NET's JSON", SECRET,
		    "ghp_0123\\u002B/89abcdefXYZ~?\\u003E" },
		{ "Go's JSON", SECRET, "ghp_0123+/89abcdefXYZ~?\\u003e" },
		{ "Gson", "abcdefgh==<", "abcdefgh\\u003d\\u003d\\u003c" },
		{ "a quote in JSON", "abcd\"ef\\gh", "abcd\\\"ef\\\\gh" },
		{ "base64 in PHP's JSON",
		    "\x3f\xff\xff"
		    "abcdefgh",
		    "P\\/\\/\\/YWJjZGVmZ2" },
		{ "base64 in .NET's JSON",
		    "\x03\xef\xbe\xfb"
		    "abcdefgh",
		    "A\\u002B\\u002B\\u002B\\u002B2FiY2RlZmdo" },
	};
	struct scan_forms f = { .count = 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t at = 0, len = 0;

		assert_int_equal(scan_forms_set(&f, span_of(rows[i].secret)),
		    0);
		if (!scan_find(&f, span_of(rows[i].text), &at, &len) ||
		    at != 0 || len != strlen(rows[i].text))
			fail_msg("%s: %zu bytes at %zu", rows[i].claim, len,
			    at);
	}
	scan_forms_done(&f);
}

/* The room for them must do for the worst of secrets. */
static void
takes_a_secret_of_nothing_but_what_is_escaped(void **state)
{
	static char worst[513];
	struct scan_forms f = { .count = 0 };
	size_t at, len;

	(void)state;
	for (size_t n = 8; n <= 512; n += 7) {
		memset(worst, '<', n);
		worst[n - 1] = '"';
		worst[n] = '\0';
		assert_int_equal(scan_forms_set(&f, span_of(worst)), 0);
		assert_true(scan_find(&f, span_of(worst), &at, &len));
		assert_int_equal(len, n);
	}
	scan_forms_done(&f);
}

/* JWTs reach 16 KiB (credential-broker/kind.h). */
static void
takes_the_longest_value_that_the_broker_lends(void **state)
{
	static char token[16385];
	struct scan_forms f = { .count = 0 };
	size_t at, len;

	(void)state;
	for (size_t i = 0; i < 16384; i++)
		token[i] = (char)(i % 50 == 49 ? '/' : 'a' + i % 26);
	assert_int_equal(scan_forms_set(&f, span_of(token)), 0);
	assert_true(scan_find(&f, span_of(token), &at, &len));
	assert_int_equal(len, 16384);
	scan_forms_done(&f);
}

static void
finds_nothing_else(void **state)
{
	(void)state;
	assert_false(finds(""));
	assert_false(finds("ghp_0123+/89abcdefXYZ~?"));
	assert_false(finds("Ghp_0123+/89abcdefXYZ~?>"));
	assert_false(
	    finds("ghp_0123 +/89abcdefXYZ~?> and a long rest of text"));
}

static void
says_where_it_is(void **state)
{
	size_t at = 0, len = 0;

	(void)state;
	assert_true(scan_find(&forms,
	    span_of("....................." SECRET "..."), &at, &len));
	assert_int_equal(at, 21);
	assert_int_equal(len, strlen(SECRET));
}

static void
holds_back_what_could_be_a_start_and_no_more(void **state)
{
	char text[64];

	(void)state;
	assert_int_equal(scan_tail(&forms, span_of("nothing here")), 0);
	assert_int_equal(scan_tail(&forms, span_of("x ghp_")), 4);
	assert_int_equal(scan_tail(&forms, span_of("ghp_ghp_0")), 5);
	for (size_t i = 1; i < strlen(SECRET); i++) {
		(void)snprintf(text, sizeof(text), "....%.*s", (int)i, SECRET);
		assert_true(scan_tail(&forms, span_of(text)) >= i);
	}
}

static void
refuses_a_secret_that_would_be_found_everywhere(void **state)
{
	struct scan_forms f = { .count = 0 };

	(void)state;
	assert_int_equal(scan_forms_set(&f, span_of("1234567")), -22);
	assert_true(scan_forms_is_empty(&f));
	assert_int_equal(scan_forms_set(&f, span_of("12345678")), 0);
	assert_false(scan_forms_is_empty(&f));
	scan_forms_done(&f);
}

/* Against a search that tries every place. */
static void
agrees_with_a_plain_search_on_random_text(void **state)
{
	static uint8_t text[300];
	size_t at, len, hits = 0;

	(void)state;
	srand(1);
	for (int round = 0; round < 20000; round++) {
		size_t n = (size_t)rand() % sizeof(text);
		const void *plain;

		for (size_t i = 0; i < n; i++)
			text[i] = (uint8_t)SECRET[(size_t)rand() % 3];
		if (n > 40 && round % 2 == 0)
			memcpy(text + (size_t)rand() % (n - 30), SECRET,
			    strlen(SECRET));
		plain = memmem(text, n, SECRET, strlen(SECRET));
		if (scan_find(&forms, (struct span){ text, n }, &at, &len)) {
			assert_ptr_equal(text + at, plain);
			hits++;
		} else {
			assert_null(plain);
		}
	}
	assert_true(hits > 5000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_it_raw_and_in_base64_at_each_alignment),
		cmocka_unit_test(finds_it_escaped),
		cmocka_unit_test(takes_a_secret_of_nothing_but_what_is_escaped),
		cmocka_unit_test(takes_the_longest_value_that_the_broker_lends),
		cmocka_unit_test(finds_nothing_else),
		cmocka_unit_test(says_where_it_is),
		cmocka_unit_test(holds_back_what_could_be_a_start_and_no_more),
		cmocka_unit_test(
		    refuses_a_secret_that_would_be_found_everywhere),
		cmocka_unit_test(agrees_with_a_plain_search_on_random_text),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
