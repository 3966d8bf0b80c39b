/*
 * The search for a secret in what streams by.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/scan.h"
#include "say.h"

/* Every digit of base64 comes up, and what each writer escapes. */
#define SECRET "ghp_0123+/89abcdefXYZ~?>"

static struct scan_forms forms;

static void
set(const char *secret)
{
	const struct scan_secret s = { .value = span_of(secret) };

	assert_int_equal(scan_forms_set(&forms, &s, 1), 0);
}

static int
setup(void **state)
{
	(void)state;
	set(SECRET);
	return 0;
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
	struct scan_found found = { .form = SCAN_NONE };

	(void)scan_look(&forms, span_of(text), true, &found);
	return found.form != SCAN_NONE;
}

/* How many bytes of text are held back when more may come. */
static size_t
held(const char *text)
{
	struct scan_found found = { .form = SCAN_NONE };

	return strlen(text) - scan_look(&forms, span_of(text), false, &found);
}

/* Secrets with and without what encoders mind, down to the shortest. */
static const char *const secrets[] = {
	SECRET,
	"12345678",
	"////////",
	"+/+/+/+/a",
	"abcdef==",
	"ABCDEFGH-ijkl_mnop.qrst",
	"a\"b\\c'd&e<f>g%h",
	"100%25%41pure",
	"\\\\server\\x41share",
	"&amp;&#65;entity;",
	"with a blank or two",
	"xoxb-2345678901-ABCDEFabcdef/0123456789+abcdefghijklmnop=",
};

#define SECRETS (sizeof(secrets) / sizeof(secrets[0]))

static uint8_t text[8192], hidden[8192];

/* Overwrites all of it and nothing else. */
static void
check_hides(const char *secret, enum say_form form, enum say_way way,
    const char *before, const char *after)
{
	struct scan_found found = { .form = SCAN_NONE };
	struct wr w = wr_init(text, sizeof(text));
	size_t at = 0, end = 0;

	say(&w, form, way, span_of(before), span_of(secret), span_of(after),
	    &at, &end);
	memcpy(hidden, text, w.len);
	(void)scan_mask(&forms, hidden, w.len, true, &found);
	for (size_t i = 0; i < w.len; i++)
		if (i >= at && i < end ? hidden[i] != '*'
				       : hidden[i] != text[i])
			fail_msg("%s, %s, %s: \"%.*s\" at %zu of %zu to %zu",
			    secret, say_form_name(form), say_way_name(way),
			    (int)w.len, (const char *)text, i, at, end);
	assert_int_not_equal(found.form, SCAN_NONE);
}

/* Row 105: as what an origin echoes is written by others' encoders. */
static void
row_105_hides_each_form_in_each_spelling(void **state)
{
	static const char *const before[] = { "", "u", "us", "user:" };
	static const char *const after[] = { "", "x", "xy", " and more text" };

	(void)state;
	for (size_t s = 0; s < SECRETS; s++) {
		set(secrets[s]);
		for (enum say_form f = 0; f < SAY_FORMS; f++)
			for (enum say_way y = 0; y < SAY_WAYS; y++)
				for (size_t i = 0; i < 16; i++)
					check_hides(secrets[s], f, y,
					    before[i % 4], after[i / 4]);
	}
}

/* Where the search passes over what cannot be spelled: at each alignment. */
static void
row_105_hides_it_among_bytes_that_are_no_text(void **state)
{
	char before[32], after[32];

	(void)state;
	for (size_t s = 0; s < SECRETS; s++) {
		set(secrets[s]);
		for (enum say_way y = 0; y < SAY_WAYS; y++)
			for (size_t i = 0; i < 17; i++) {
				memset(before, 0xff, sizeof(before));
				memset(after, 0x80, sizeof(after));
				before[i] = '\0';
				after[(i * 5) % 17] = '\0';
				check_hides(secrets[s], SAY_RAW, y, before,
				    after);
				check_hides(secrets[s], SAY_HEX, y, before,
				    after);
			}
	}
}

static void
hides_what_forms_make_of_a_blank(void **state)
{
	(void)state;
	set("token 0123 4567");
	assert_true(finds("a=token+0123+4567&b"));
	assert_true(finds("a=token%200123%204567&b"));
	assert_true(finds("a=token\\u00200123 4567"));
	assert_false(finds("a=token-0123+4567&b"));
}

/* What Basic sends is base64 already. */
static void
hides_what_is_made_of_what_basic_sends(void **state)
{
	struct scan_secret s = { .value = span_of("secret-value"),
		.is_sent_coded = true };
	/* base64 of "cm9ib3Q6c2VjcmV0LXZhbHVl", after none, one, two bytes */
	static const char *const twice[] = {
		"Y205aWIzUTZjMlZqY21WMExYWmhiSFZs",
		"eGNtOWliM1E2YzJWamNtVjBMWFpoYkhWbA==",
		"eHhjbTlpYjNRNmMyVmpjbVYwTFhaaGJIVms=",
	};

	(void)state;
	assert_int_equal(scan_forms_set(&forms, &s, 1), 0);
	for (size_t i = 0; i < 3; i++)
		assert_true(finds(twice[i]));
	assert_true(
	    finds("636d396962335136633256 6332566a636d56304c585a686248566c"));
	assert_false(finds("c2VjcmV0LXZhbHV"));
	s.is_sent_coded = false;
	assert_int_equal(scan_forms_set(&forms, &s, 1), 0);
	assert_false(finds(twice[0]));
}

static void
names_what_it_found_and_no_byte_of_it(void **state)
{
	static const struct {
		enum say_form form;
		enum say_way way;
		const char *want;
	} rows[] = {
		{ SAY_RAW, SAY_PLAIN, "as it is" },
		{ SAY_RAW, SAY_JSON_PHP, "as it is, escaped" },
		{ SAY_LOWER, SAY_PLAIN, "in other letter case" },
		{ SAY_HEX, SAY_PLAIN, "hexadecimal" },
		{ SAY_BASE64, SAY_PLAIN, "base64" },
		{ SAY_BASE64, SAY_JSON_ALL, "base64, escaped" },
	};
	char name[SCAN_FORM_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scan_found found = { .form = SCAN_NONE };
		struct wr w = wr_init(text, sizeof(text));
		size_t at, end;

		say(&w, rows[i].form, rows[i].way, span_of("x"),
		    span_of(SECRET), span_of("y"), &at, &end);
		(void)scan_look(&forms, (struct span){ text, w.len }, true,
		    &found);
		scan_found_text(&found, name);
		assert_string_equal(name, rows[i].want);
	}
}

/* JWTs reach 16 KiB (credential-broker/kind.h). */
static void
takes_the_longest_value_that_the_broker_lends(void **state)
{
	static char token[16385];
	static uint8_t echo[262144];
	struct scan_found found = { .form = SCAN_NONE };
	size_t at, end;

	(void)state;
	for (size_t i = 0; i < 16384; i++)
		token[i] = (char)(i % 50 == 49 ? '/' : 'a' + i % 26);
	set(token);
	for (enum say_form f = 0; f < SAY_FORMS; f++)
		for (enum say_way y = 0; y < SAY_WAYS; y += SAY_JSON_ALL) {
			struct wr w = wr_init(echo, sizeof(echo));

			say(&w, f, y, span_of("<"), span_of(token),
			    span_of(">"), &at, &end);
			assert_true(end - at <= scan_forms_longest(&forms));
			(void)scan_mask(&forms, echo, w.len, true, &found);
			for (size_t i = at; i < end; i++)
				assert_int_equal(echo[i], '*');
		}
}

static void
finds_nothing_else(void **state)
{
	static const char *const clean[] = {
		"",
		"ghp_0123+/89abcdefXYZ~?",
		"hp_0123+/89abcdefXYZ~?>",
		"ghp_0123 +/89abcdefXYZ~?> and a long rest of text",
		"ghp_0123+\\\\n89abcdefXYZ~?>",
		"ghp_0123%2B%2f89abcdefXYZ~?%3D",
		"ghp_0123%2B%2f89abcdefXYZ~?%",
		"%%%%%%%%%\\\\\\\\\\\\\\&&&&&&&#&#x&#xg;&nosuch;&sol",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(clean) / sizeof(clean[0]); i++)
		if (finds(clean[i]))
			fail_msg("%s", clean[i]);
}

static void
holds_back_what_could_be_a_start_and_no_more(void **state)
{
	static const struct {
		const char *text;
		size_t held;
	} rows[] = {
		{ "", 0 },
		{ "nothing here", 0 },
		{ "an event\n\n", 0 },
		{ "x ghp_", 4 },
		{ "ghp_ghp_0", 5 },
		{ "ghp_01234", 0 },
		/* escapes of it, and what may become one */
		{ "x ghp_0123%2B", 11 },
		{ "x ghp_0123%2", 10 },
		{ "x ghp_0123%", 9 },
		{ "x ghp_0123%2F", 0 },
		{ "x %67", 3 },
		{ "x %68", 0 },
		{ "x \\u00", 4 },
		{ "x \\u0068", 0 },
		{ "x &", 1 },
		{ "fish & chips", 0 },
		{ "a &nosuch", 0 },
		/* base64: of "u" and it, of it alone */
		{ "x Z2hwXzA", 7 },
		{ "x docF", 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (held(rows[i].text) != rows[i].held)
			fail_msg("\"%s\": %zu bytes, not %zu", rows[i].text,
			    held(rows[i].text), rows[i].held);
}

static void
holds_back_every_start_of_every_form(void **state)
{
	(void)state;
	for (enum say_form f = 0; f < SAY_FORMS; f++)
		for (enum say_way y = 0; y < SAY_WAYS; y++) {
			struct wr w = wr_init(text, sizeof(text) - 1);
			size_t at, end;

			say(&w, f, y, span_of("user:"), span_of(SECRET),
			    span_of(" rest"), &at, &end);
			for (size_t cut = at + 1; cut < end; cut++) {
				text[cut] = '\0';
				if (held((char *)text) < cut - at)
					fail_msg("%s, %s: %s", say_form_name(f),
					    say_way_name(y), (char *)text);
				w = wr_init(text, sizeof(text) - 1);
				say(&w, f, y, span_of("user:"), span_of(SECRET),
				    span_of(" rest"), &at, &end);
			}
		}
}

static void
refuses_a_secret_that_would_be_found_everywhere(void **state)
{
	struct scan_secret s = { .value = span_of("1234567") };
	struct scan_forms f = { SECRET_NONE };

	(void)state;
	assert_int_equal(scan_forms_set(&f, &s, 1), -EINVAL);
	assert_true(scan_forms_is_empty(&f));
	s.value = span_of("12345678");
	assert_int_equal(scan_forms_set(&f, &s, 1), 0);
	assert_false(scan_forms_is_empty(&f));
	scan_forms_done(&f);
}

static void
finds_nothing_without_a_secret(void **state)
{
	const struct scan_forms none = { SECRET_NONE };
	struct scan_found found = { .form = SCAN_NONE };

	(void)state;
	assert_int_equal(scan_look(&none, span_of("anything %41"), false,
			     &found),
	    12);
	assert_int_equal(found.form, SCAN_NONE);
	assert_int_equal(scan_forms_longest(&none), 0);
}

/* Against a search that tries every place; long enough for all lanes. */
static void
agrees_with_a_plain_search_on_random_text(void **state)
{
	static uint8_t random_text[12000];
	size_t hits = 0;

	(void)state;
	srand(1);
	for (int round = 0; round < 4000; round++) {
		struct scan_found found = { .form = SCAN_NONE };
		size_t n = (size_t)rand() % sizeof(random_text);

		if (round % 2 == 0)
			n %= 300;
		for (size_t i = 0; i < n; i++)
			random_text[i] = (uint8_t)SECRET[(size_t)rand() % 3];
		for (int k = rand() % 4; k > 0 && n > 40; k--)
			memcpy(random_text + (size_t)rand() % (n - 30), SECRET,
			    strlen(SECRET));
		hits += memmem(random_text, n, SECRET, strlen(SECRET)) != NULL;
		(void)scan_look(&forms, (struct span){ random_text, n }, true,
		    &found);
		assert_int_equal(found.form != SCAN_NONE,
		    memmem(random_text, n, SECRET, strlen(SECRET)) != NULL);
		(void)scan_mask(&forms, random_text, n, true, &found);
		assert_null(memmem(random_text, n, SECRET, strlen(SECRET)));
	}
	assert_true(hits > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(row_105_hides_each_form_in_each_spelling,
		    setup),
		cmocka_unit_test_setup(
		    row_105_hides_it_among_bytes_that_are_no_text, setup),
		cmocka_unit_test_setup(hides_what_forms_make_of_a_blank, setup),
		cmocka_unit_test_setup(hides_what_is_made_of_what_basic_sends,
		    setup),
		cmocka_unit_test_setup(names_what_it_found_and_no_byte_of_it,
		    setup),
		cmocka_unit_test_setup(
		    takes_the_longest_value_that_the_broker_lends, setup),
		cmocka_unit_test_setup(finds_nothing_else, setup),
		cmocka_unit_test_setup(
		    holds_back_what_could_be_a_start_and_no_more, setup),
		cmocka_unit_test_setup(holds_back_every_start_of_every_form,
		    setup),
		cmocka_unit_test_setup(
		    refuses_a_secret_that_would_be_found_everywhere, setup),
		cmocka_unit_test_setup(finds_nothing_without_a_secret, setup),
		cmocka_unit_test_setup(
		    agrees_with_a_plain_search_on_random_text, setup),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
