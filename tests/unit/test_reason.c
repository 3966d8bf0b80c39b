#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"
#include "base/reason.h"

static void
each_reason_has_a_code_and_a_text(void **state)
{
	(void)state;
	assert_string_equal(reason_code(REASON_NONE), "");
	for (int i = REASON_NONE + 1; i < REASON_COUNT; i++) {
		const char *code = reason_code((enum reason)i);
		const char *text = reason_text((enum reason)i);

		assert_non_null(code);
		assert_non_null(text);
		print_message("%s\n", code);
		for (const char *c = code; *c != '\0'; c++)
			assert_true(*c == '-' || (*c >= 'a' && *c <= 'z'));
		/* A reason phrase, and the body's line of 200 bytes. */
		assert_in_range(strlen(text), 8, 70);
		for (const char *c = text; *c != '\0'; c++)
			assert_in_range(*c, 0x20, 0x7e);
		assert_null(strchr(text, '.'));
	}
}

static void
codes_are_found_again(void **state)
{
	(void)state;
	for (int i = 0; i < REASON_COUNT; i++) {
		enum reason found;

		assert_true(reason_find(reason_code((enum reason)i), &found));
		assert_int_equal(found, i);
	}
}

static void
other_codes_are_not(void **state)
{
	enum reason found = REASON_PORT;

	(void)state;
	assert_false(reason_find("no-rul", &found));
	assert_false(reason_find("NO-RULE", &found));
	assert_false(reason_find("ceiling-no-rule", &found));
	assert_int_equal(found, REASON_PORT);
}

static void
only_what_a_retry_mends_is_5xx_or_429(void **state)
{
	static const struct {
		enum reason reason;
		unsigned int status;
	} rows[] = {
		{ REASON_NO_RULE, 403 },
		{ REASON_METHOD, 403 },
		{ REASON_PRIVATE_ADDRESS, 403 },
		{ REASON_LIMIT_REQUESTS, 403 },
		{ REASON_CREDENTIAL_MISUSE, 403 },
		{ REASON_CREDENTIAL_LEAK, 403 },
		{ REASON_NO_POLICY, 403 },
		{ REASON_BAD_REQUEST, 400 },
		{ REASON_HOST_MISMATCH, 421 },
		{ REASON_LIMIT_HEAD, 431 },
		{ REASON_LIMIT_RATE, 429 },
		{ REASON_LIMIT_MINT, 429 },
		{ REASON_ORIGIN_TLS, 403 },
		{ REASON_ORIGIN_UNREACHABLE, 502 },
		{ REASON_BAD_RESPONSE, 502 },
		{ REASON_RESOLVE_FAILED, 502 },
		{ REASON_AUDIT_UNAVAILABLE, 503 },
		{ REASON_CREDENTIAL_UNAVAILABLE, 503 },
		{ REASON_GATE_RESTART, 503 },
		{ REASON_POLICY_RELOADED, 503 },
		{ REASON_TIMEOUT, 504 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(reason_http_status(rows[i].reason),
		    rows[i].status);
	for (int i = 0; i < REASON_COUNT; i++)
		assert_in_range(reason_http_status((enum reason)i), 400, 504);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_has_a_code_and_a_text),
		cmocka_unit_test(codes_are_found_again),
		cmocka_unit_test(other_codes_are_not),
		cmocka_unit_test(only_what_a_retry_mends_is_5xx_or_429),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
