/*
 * What issuers write: times, lives, and objects that could be read twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "credential-broker/answer.h"
#include "credential-broker/form.h"

struct time_row {
	const char *text;
	bool is_time;
	uint64_t want;
};

static const struct time_row time_rows[] = {
	{ "2026-01-31T23:59:59Z", true, 1769903999 },
	{ "2026-01-31T23:59:59.123456Z", true, 1769903999 },
	{ "2026-02-01T01:59:59+02:00", true, 1769903999 },
	{ "2026-01-31T18:29:59-0530", true, 1769903999 },
	{ "1970-01-01T00:00:00Z", true, 0 },
	{ "1969-12-31T23:59:59Z", false, 0 },
	{ "2026-13-01T00:00:00Z", false, 0 },
	{ "2026-00-01T00:00:00Z", false, 0 },
	{ "2026-01-31T24:00:00Z", false, 0 },
	{ "2026-01-31T23:59:59", false, 0 },
	{ "2026-01-31", false, 0 },
	{ "2026-01-31T23:59:59Zx", false, 0 },
	{ "", false, 0 },
};

static void
reads_times(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(time_rows) / sizeof(time_rows[0]); i++) {
		uint64_t got = 0;
		const bool is_time = answer_parse_time(time_rows[i].text, &got);

		if (is_time != time_rows[i].is_time || got != time_rows[i].want)
			fail_msg("\"%s\": %d", time_rows[i].text, (int)is_time);
	}
}

struct seconds_row {
	const char *json;
	bool is_number;
	uint64_t want;
};

static const struct seconds_row seconds_rows[] = {
	{ "{\"n\":3599}", true, 3599 },
	{ "{\"n\":\"86399\"}", true, 86399 },
	{ "{\"n\":3599.9}", true, 3599 },
	{ "{\"n\":0}", true, 0 },
	{ "{\"n\":-1}", false, 0 },
	{ "{\"n\":\"-1\"}", false, 0 },
	{ "{\"n\":\"\"}", false, 0 },
	{ "{\"n\":1e30}", false, 0 },
	{ "{\"n\":\"99999999999999999999\"}", false, 0 },
	{ "{\"n\":null}", false, 0 },
	{ "{\"n\":[1]}", false, 0 },
	{ "{}", false, 0 },
};

static void
reads_lives(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(seconds_rows) / sizeof(seconds_rows[0]);
	     i++) {
		json_t *j = answer_parse(span_of(seconds_rows[i].json));
		uint64_t got = 0;
		bool is_number;

		assert_non_null(j);
		is_number = answer_seconds(j, "n", &got);
		if (is_number != seconds_rows[i].is_number ||
		    got != seconds_rows[i].want)
			fail_msg("%s", seconds_rows[i].json);
		json_decref(j);
	}
}

static void
takes_one_object_that_is_read_one_way(void **state)
{
	static const char *const bad[] = { "", "[]", "\"x\"", "{", "{} {}",
		"{\"a\":1,\"a\":2}", "{\"a\":\"\\u0000\"}", "{\"a\":\"\xff\"}",
		"{a:1}" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (answer_parse(span_of(bad[i])) != NULL)
			fail_msg("%s", bad[i]);
}

static void
writes_forms(void **state)
{
	AUTO_FORM struct form f = form_new();

	(void)state;
	form_add(&f, "a b", "s3cr3t+/:%&=\xc3\xa4");
	form_add(&f, "c", "-._~Z9");
	assert_string_equal(form_text_of(&f),
	    "a%20b=s3cr3t%2B%2F%3A%25%26%3D%C3%A4&c=-._~Z9");
	f.len = 0;
	form_base64(&f, span_of("fo"));
	form_base64url(&f, span_of("\xfb\xff"));
	form_base64(&f, span_of("foobar"));
	form_json(&f, span_of("\"\\\n"));
	assert_string_equal(form_text_of(&f), "Zm8=-_8Zm9vYmFy\\\"\\\\\\u000A");
	f.len = FORM_MAX_BYTES - 2;
	form_text(&f, "a");
	assert_true(form_ok(&f));
	form_text(&f, "b");
	assert_false(form_ok(&f));
	assert_string_equal(form_text_of(&f), "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_times),
		cmocka_unit_test(reads_lives),
		cmocka_unit_test(takes_one_object_that_is_read_one_way),
		cmocka_unit_test(writes_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
