/* A yes of cover.c is certain: what the inner matches, the outer matches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/cover.h"
#include "conf/glob.h"
#include "wire/path.h"

static void
rows_of_patterns(void **state)
{
	static const struct {
		const char *a, *b;
		bool want, want_any_case;
	} rows[] = {
		{ "/a", "/a", true, true },
		{ "/a", "/b", false, false },
		{ "/**", "/a/*/b", true, true },
		{ "/**", "/**", true, true },
		{ "/*", "/*", true, true },
		{ "/*", "/a", true, true },
		{ "/*", "/a/b", false, false },
		{ "/*", "/**", false, false },
		{ "/a/*", "/a/b*c", true, true },
		{ "/a/*c", "/a/b*c", true, true },
		{ "/a/*c", "/a/b*", false, false },
		{ "/a/**", "/a", false, false },
		{ "/a/**/c", "/a/*/b/c", true, true },
		{ "/*/*", "/a%2fb/c", false, false },
		{ "/a/*", "/a%2Fb", true, true },
		{ "/A/**", "/a/b", false, true },
		{ "/a*b*c", "/axbxc", true, true },
		{ "*", "", true, true },
		{ "", "*", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct span a = span_of(rows[i].a), b = span_of(rows[i].b);

		if (cover_glob(a, b, '/', COVER_EXACT) != rows[i].want ||
		    cover_glob(a, b, '/', COVER_ANY_CASE) !=
			rows[i].want_any_case)
			fail_msg("%s over %s", rows[i].a, rows[i].b);
	}
}

static uint32_t
next_random(uint64_t *seed)
{
	/* Knuth's MMIX constants; the wrap is spelled out */
	uint64_t product;

	(void)__builtin_mul_overflow(*seed, 6364136223846793005ULL, &product);
	(void)__builtin_add_overflow(product, 1442695040888963407ULL, seed);
	return (uint32_t)(*seed >> 33);
}

static void
random_text(uint64_t *seed, const char *const *words, size_t count,
    char ret[64])
{
	size_t len = 1, n = next_random(seed) % 6;

	ret[0] = '/';
	for (size_t i = 0; i < n; i++) {
		const char *word = words[next_random(seed) % count];

		memcpy(ret + len, word, strlen(word));
		len += strlen(word);
	}
	ret[len] = '\0';
}

/* Small alphabets, so that most tries say something. */
static void
what_is_covered_is_matched(void **state)
{
	static const char *const parts[] = { "a", "b", "/", "*", "**", "%2f",
		"/a" };
	static const char *const texts[] = { "a", "b", "/a", "/b", "%2fa" };
	uint64_t seed = 7;
	size_t yes = 0, hits = 0;

	(void)state;
	for (size_t i = 0; i < 300000; i++) {
		char a[64], b[64], text[64];

		random_text(&seed, parts, 7, a);
		random_text(&seed, parts, 7, b);
		if (path_pattern_fault(span_of(a)) != NULL ||
		    path_pattern_fault(span_of(b)) != NULL ||
		    !cover_glob(span_of(a), span_of(b), '/', COVER_EXACT))
			continue;
		yes++;
		for (size_t k = 0; k < 20; k++) {
			random_text(&seed, texts, 5, text);
			if (path_read(span_of(text)).is_ambiguous ||
			    !path_match(span_of(b), span_of(text)))
				continue;
			hits++;
			if (!path_match(span_of(a), span_of(text)))
				fail_msg("%s is said to cover %s, but not %s",
				    a, b, text);
		}
	}
	print_message("%zu pairs covered, %zu texts\n", yes, hits);
	assert_true(yes > 1000 && hits > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_patterns),
		cmocka_unit_test(what_is_covered_is_matched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
