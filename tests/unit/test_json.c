#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "base/json.h"

/* A writer over a buffer of size bytes, whose text ends with a NUL. */
static char text[512];
static struct wr w;

static struct json
fresh(size_t size)
{
	memset(text, 0, sizeof(text));
	w = wr_init(text, size);
	return json_init(&w);
}

static void
writes_nested_values(void **state)
{
	struct json j = fresh(sizeof(text));

	(void)state;
	json_open_object(&j, NULL);
	json_str(&j, "s", "x");
	json_str(&j, "none", NULL);
	json_open_array(&j, "a");
	json_u64(&j, NULL, UINT64_MAX);
	json_i64(&j, NULL, INT64_MIN);
	json_open_object(&j, NULL);
	json_close_object(&j);
	json_open_array(&j, NULL);
	json_close_array(&j);
	json_close_array(&j);
	json_bool(&j, "t", true);
	json_bool(&j, "f", false);
	json_close_object(&j);
	assert_true(wr_ok(&w));
	assert_string_equal(text,
	    "{\"s\":\"x\",\"none\":null,\"a\":[18446744073709551615,"
	    "-9223372036854775808,{},[]],\"t\":true,\"f\":false}");
}

static void
output_is_printable_ascii(void **state)
{
	static const struct {
		const char *bytes, *want;
		size_t len, max;
	} rows[] = {
		{ "plain", "[\"plain\"]", 5, 5 },
		{ "plain", "[\"plai...\"]", 5, 4 },
		{ "plain", "[\"...\"]", 5, 0 },
		{ "\"\\/", "[\"\\\"\\\\/\"]", 3, 9 },
		{ "\n\x1b\x7f", "[\"\\u000a\\u001b\\u007f\"]", 3, 9 },
		{ "\xc3\xa9\0", "[\"\\u00c3\\u00a9\\u0000\"]", 3, 9 },
		{ NULL, "[\"\"]", 0, 9 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json j = fresh(sizeof(text));

		json_open_array(&j, NULL);
		json_bytes(&j, NULL,
		    (struct span){ (const uint8_t *)rows[i].bytes,
			rows[i].len },
		    rows[i].max);
		json_close_array(&j);
		assert_true(wr_ok(&w));
		assert_string_equal(text, rows[i].want);
	}
}

static void
keys_are_escaped_too(void **state)
{
	struct json j = fresh(sizeof(text));

	(void)state;
	json_open_object(&j, NULL);
	json_u64(&j, "a\"b", 1);
	json_close_object(&j);
	assert_string_equal(text, "{\"a\\\"b\":1}");
}

static void
a_full_buffer_shows(void **state)
{
	struct json j = fresh(8);

	(void)state;
	json_open_object(&j, NULL);
	json_str(&j, "key", "value");
	json_close_object(&j);
	assert_false(wr_ok(&w));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_nested_values),
		cmocka_unit_test(output_is_printable_ascii),
		cmocka_unit_test(keys_are_escaped_too),
		cmocka_unit_test(a_full_buffer_shows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
