#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/json_scan.h"

/* A letter for each token, texts between bars. */
static const char *const letters[JSON_TOKENS] = {
	[JSON_OBJECT] = "{",
	[JSON_OBJECT_END] = "}",
	[JSON_ARRAY] = "[",
	[JSON_ARRAY_END] = "]",
	[JSON_NAME] = "n",
	[JSON_TEXT] = "s",
	[JSON_NUMBER] = "d",
	[JSON_TRUE] = "t",
	[JSON_FALSE] = "f",
	[JSON_NULL] = "0",
	[JSON_BROKEN] = "BROKEN",
	[JSON_TWICE] = "TWICE",
	[JSON_LARGE] = "LARGE",
};

static bool
has_text(enum json_token t)
{
	return t == JSON_NAME || t == JSON_TEXT || t == JSON_NUMBER;
}

/* Reads it in pieces of so many bytes. */
static void
tell(const char *text, size_t piece, char *buf, size_t size)
{
	struct json_scan j = { .depth = 0 };
	struct span all = span_of(text);
	struct wr w = wr_init(buf, size - 1);
	enum json_token t = JSON_MORE;

	while (all.len > 0 && t < JSON_BROKEN) {
		struct span in = { all.ptr, piece < all.len ? piece : all.len };

		all = (struct span){ all.ptr + in.len, all.len - in.len };
		do {
			t = json_scan_next(&j, &in);
			if (t != JSON_MORE)
				wr_text(&w, letters[t]);
			if (has_text(t)) {
				struct span s = json_scan_text(&j);

				wr_u8(&w, '|');
				wr_bytes(&w, s.ptr, s.len);
				wr_u8(&w, '|');
			}
		} while (t != JSON_MORE && t < JSON_BROKEN);
	}
	if (t < JSON_BROKEN && !json_scan_is_whole(&j))
		wr_text(&w, "SHORT");
	buf[w.len] = '\0';
}

static void
a_text_is_read_in_one_way_or_not_at_all(void **state)
{
	static const struct {
		const char *claim, *text, *want;
	} rows[] = {
		{ "nothing", "", "SHORT" },
		{ "an object", " { } \r\n", "{}" },
		{ "every kind of value",
		    "{\"a\":[1,-2.5e+3,true,false,null,\"x\"]}",
		    "{n|a|[d|1|d|-2.5e+3|tf0s|x|]}" },
		{ "one within another", "{\"a\":{\"a\":[{}]},\"b\":[]}",
		    "{n|a|{n|a|[{}]}n|b|[]}" },
		{ "escapes", "[\"\\\"\\\\\\/\\n\\u0041\\u00e4\\u20ac\"]",
		    "[s|\"\\/\nA\xc3\xa4\xe2\x82\xac|]" },
		{ "a surrogate pair", "[\"\\ud83d\\ude00\"]",
		    "[s|\xf0\x9f\x98\x80|]" },
		{ "UTF-8", "[\"\xf0\x9f\x98\x80\xc3\xa4\"]",
		    "[s|\xf0\x9f\x98\x80\xc3\xa4|]" },
		{ "half a pair", "[\"\\ud83d\"]", "[BROKEN" },
		{ "... and a letter", "[\"\\ud83dx\"]", "[BROKEN" },
		{ "... and an escape", "[\"\\ud83d\\n\"]", "[BROKEN" },
		{ "the other half", "[\"\\ude00\"]", "[BROKEN" },
		{ "a NUL", "[\"\\u0000\"]", "[BROKEN" },
		{ "a byte of Latin-1", "[\"\xe4\"]", "[BROKEN" },
		{ "UTF-8 that is longer than it needs", "[\"\xc0\xaf\"]",
		    "[BROKEN" },
		{ "... in three bytes", "[\"\xe0\x80\xaf\"]", "[BROKEN" },
		{ "a surrogate in UTF-8", "[\"\xed\xa0\x80\"]", "[BROKEN" },
		{ "beyond Unicode", "[\"\xf4\x90\x80\x80\"]", "[BROKEN" },
		{ "a line end in a string", "[\"a\nb\"]", "[BROKEN" },
		{ "an escape of no meaning", "[\"\\x41\"]", "[BROKEN" },
		{ "a mark of byte order", "\xef\xbb\xbf{}", "BROKEN" },
		{ "a number outside", "1", "BROKEN" },
		{ "a string outside", "\"a\"", "BROKEN" },
		{ "two values", "{}{}", "{}BROKEN" },
		{ "a comma too many", "[1,]", "[d|1|BROKEN" },
		{ "... in an object", "{\"a\":1,}", "{n|a|d|1|BROKEN" },
		{ "a comma too few", "[1 2]", "[d|1|BROKEN" },
		{ "no colon", "{\"a\" 1}", "{n|a|BROKEN" },
		{ "a name without quotes", "{a:1}", "{BROKEN" },
		{ "single quotes", "{'a':1}", "{BROKEN" },
		{ "a remark", "{/**/}", "{BROKEN" },
		{ "a bracket for a brace", "{]", "{BROKEN" },
		{ "... and the other way", "[1}", "[d|1|BROKEN" },
		{ "a zero before a number", "[01]", "[BROKEN" },
		{ "a plus", "[+1]", "[BROKEN" },
		{ "a point and nothing", "[1.]", "[BROKEN" },
		{ "an exponent of nothing", "[1e]", "[BROKEN" },
		{ "a minus of nothing", "[-]", "[BROKEN" },
		{ "not a number", "[NaN]", "[BROKEN" },
		{ "hexadecimal", "[0x1]", "[d|0|BROKEN" },
		{ "a word that goes on", "[null1]", "[0BROKEN" },
		{ "a word that does not", "[nul]", "[BROKEN" },
		{ "a name twice", "{\"a\":1,\"a\":2}", "{n|a|d|1|TWICE" },
		{ "... in another case", "{\"href\":1,\"HRef\":2}",
		    "{n|href|d|1|TWICE" },
		{ "... by an escape", "{\"a\":1,\"\\u0061\":2}",
		    "{n|a|d|1|TWICE" },
		{ "... after an object that has it too",
		    "{\"a\":{\"a\":1},\"A\":2}", "{n|a|{n|a|d|1|}TWICE" },
		{ "one in two objects", "[{\"a\":1},{\"a\":2}]",
		    "[{n|a|d|1|}{n|a|d|2|}]" },
		{ "a name that Go reads as \"s\"", "{\"\xc5\xbf\":1}",
		    "{BROKEN" },
		{ "so deep", "[[[[[[[[[[[[[[[[", "[[[[[[[[[[[[[[[[SHORT" },
		{ "and no deeper", "[[[[[[[[[[[[[[[[[",
		    "[[[[[[[[[[[[[[[[LARGE" },
		{ "what does not end", "{\"a\":[1", "{n|a|[SHORT" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t piece = 1; piece < 5; piece++) {
			char got[512];

			tell(rows[i].text, piece, got, sizeof(got));
			if (strcmp(got, rows[i].want) != 0)
				fail_msg("%s: %s", rows[i].claim, got);
		}
	}
}

/* front, then count times what is between; '#' stands for a number. */
static enum json_token
flood(const char *front, const char *middle, size_t count)
{
	static struct json_scan j;
	struct span in = span_of(front);
	enum json_token t = JSON_MORE;

	memset(&j, 0, sizeof(j));
	while (t < JSON_BROKEN && in.len > 0)
		t = json_scan_next(&j, &in);
	for (size_t i = 0; i < count && t < JSON_BROKEN; i++) {
		uint8_t text[64];
		struct wr w = wr_init(text, sizeof(text));

		for (const char *p = middle; *p != '\0'; p++) {
			if (*p == '#')
				wr_decimal(&w, i);
			else
				wr_u8(&w, (uint8_t)*p);
		}
		in = (struct span){ text, w.len };
		do {
			t = json_scan_next(&j, &in);
		} while (t != JSON_MORE && t < JSON_BROKEN);
	}
	return t;
}

static void
what_it_holds_has_a_bound(void **state)
{
	(void)state;
	assert_int_equal(flood("[\"", "x", JSON_SCAN_TEXT_MAX), JSON_MORE);
	assert_int_equal(flood("[\"", "x", JSON_SCAN_TEXT_MAX + 1), JSON_LARGE);
	assert_int_equal(flood("[\"", "\\u20ac", JSON_SCAN_TEXT_MAX / 3 + 1),
	    JSON_LARGE);
	assert_int_equal(flood("[1", "1", JSON_SCAN_TEXT_MAX), JSON_LARGE);
	assert_int_equal(flood("{", "\"n#\":1,", JSON_SCAN_NAMES_MAX),
	    JSON_MORE);
	assert_int_equal(flood("{", "\"n#\":1,", JSON_SCAN_NAMES_MAX + 1),
	    JSON_LARGE);
	/* Only of what is open. */
	assert_int_equal(flood("[", "{\"a\":1},", 100000), JSON_MORE);
}

static void
a_number_of_bytes_is_a_whole_one(void **state)
{
	static const struct {
		const char *text;
		bool is_one;
		uint64_t want;
	} rows[] = {
		{ "[0,", true, 0 },
		{ "[12,", true, 12 },
		{ "[9223372036854775807,", true, INT64_MAX },
		{ "[9223372036854775808,", false, 0 },
		{ "[-1,", false, 0 },
		{ "[1.0,", false, 0 },
		{ "[1e3,", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_scan j = { .depth = 0 };
		struct span in = span_of(rows[i].text);
		uint64_t got = 0;

		assert_int_equal(json_scan_next(&j, &in), JSON_ARRAY);
		assert_int_equal(json_scan_next(&j, &in), JSON_NUMBER);
		assert_int_equal(json_scan_number(&j, &got), rows[i].is_one);
		assert_int_equal(got, rows[i].want);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_is_read_in_one_way_or_not_at_all),
		cmocka_unit_test(what_it_holds_has_a_bound),
		cmocka_unit_test(a_number_of_bytes_is_a_whole_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
