#include "wire_rows.h"

#include <stdbool.h>
#include <string.h>

#include "wire/path.h"

static const struct {
	const char *claim;
	struct span path;
	enum path_fault want;
	bool has_encoded_slash;
} readings[] = {
	{ "a plain path", BYTES("/repos/acme/widget"), PATH_CANONICAL, false },
	{ "the root", BYTES("/"), PATH_CANONICAL, false },
	{ "a final slash", BYTES("/a/"), PATH_CANONICAL, false },
	{ "dots inside a name", BYTES("/a..b/.c/d./..."), PATH_CANONICAL,
	    false },
	{ "all pchar", BYTES("/-._~!$&'()*+,=:@09azAZ"), PATH_CANONICAL,
	    false },
	{ "an encoded blank", BYTES("/a%20b"), PATH_CANONICAL, false },
	{ "UTF-8", BYTES("/caf%C3%A9/%e2%82%ac/%F0%9F%94%92"), PATH_CANONICAL,
	    false },
	{ "apt writes %7e and %2b", BYTES("/pool/libstdc%2b%2b_1%7erc"),
	    PATH_CANONICAL, false },
	{ "an encoded at", BYTES("/%40acme"), PATH_CANONICAL, false },
	{ "npm's slash", BYTES("/@acme%2fwidget"), PATH_CANONICAL, true },
	{ "pnpm's slash", BYTES("/@acme%2Fwidget"), PATH_CANONICAL, true },

	{ "row 66: a dot segment", BYTES("/repos/../graphql"), PATH_DOT_SEGMENT,
	    false },
	{ "row 66: a dot segment at the end", BYTES("/repos/.."),
	    PATH_DOT_SEGMENT, false },
	{ "row 66: a single dot", BYTES("/./a"), PATH_DOT_SEGMENT, false },
	{ "row 66: two slashes", BYTES("//graphql"), PATH_EMPTY_SEGMENT,
	    false },
	{ "row 66: two slashes inside", BYTES("/a//b"), PATH_EMPTY_SEGMENT,
	    false },
	{ "row 66: encoded dots", BYTES("/%2e%2e/"), PATH_ENCODED_PLAIN,
	    false },
	{ "row 66: one dot encoded", BYTES("/a/.%2E/b"), PATH_ENCODED_PLAIN,
	    false },
	{ "row 66: a parameter", BYTES("/graphql;x"), PATH_SEMICOLON, false },
	{ "row 66: a backslash", BYTES("/a\\..\\b"), PATH_BAD_BYTE, false },
	{ "row 66: an encoded backslash", BYTES("/a%5c..%5cb"),
	    PATH_ENCODED_SPECIAL, false },
	{ "row 66: an overlong dot", BYTES("/%c0%ae%c0%ae/"), PATH_BAD_UTF8,
	    false },
	{ "row 66: an overlong slash of three", BYTES("/a%e0%80%af"),
	    PATH_BAD_UTF8, false },
	{ "row 66: an encoded NUL", BYTES("/a%00.png"), PATH_ENCODED_CONTROL,
	    false },
	{ "a dot segment between encoded slashes", BYTES("/a%2f..%2fb"),
	    PATH_DOT_SEGMENT, true },
	{ "an encoded slash beside a slash", BYTES("/a/%2fb"),
	    PATH_EMPTY_SEGMENT, true },
	{ "an encoded letter", BYTES("/%41pi"), PATH_ENCODED_PLAIN, false },
	{ "an encoded hyphen", BYTES("/a%2Db"), PATH_ENCODED_PLAIN, false },
	{ "double encoding", BYTES("/%252e%252e/"), PATH_ENCODED_SPECIAL,
	    false },
	{ "an encoded question mark", BYTES("/a%3Fb"), PATH_ENCODED_SPECIAL,
	    false },
	{ "an encoded number sign", BYTES("/a%23b"), PATH_ENCODED_SPECIAL,
	    false },
	{ "an encoded semicolon", BYTES("/a%3Bb"), PATH_ENCODED_SPECIAL,
	    false },
	{ "an encoded line end", BYTES("/a%0d%0ab"), PATH_ENCODED_CONTROL,
	    false },
	{ "an encoded DEL", BYTES("/a%7f"), PATH_ENCODED_CONTROL, false },
	{ "a percent with one digit", BYTES("/a%2"), PATH_BAD_PERCENT, false },
	{ "a percent alone", BYTES("/a%"), PATH_BAD_PERCENT, false },
	{ "a percent with no digit", BYTES("/a%zz"), PATH_BAD_PERCENT, false },
	{ "a percent, a digit and none", BYTES("/a%2g"), PATH_BAD_PERCENT,
	    false },
	{ "IIS %u", BYTES("/a%u002e"), PATH_BAD_PERCENT, false },
	{ "a lone continuation", BYTES("/%80"), PATH_BAD_UTF8, false },
	{ "a sequence cut by a letter", BYTES("/%e2%82a"), PATH_BAD_UTF8,
	    false },
	{ "a sequence cut by the end", BYTES("/%e2%82"), PATH_BAD_UTF8, false },
	{ "a surrogate", BYTES("/%ed%a0%80"), PATH_BAD_UTF8, false },
	{ "past U+10FFFF", BYTES("/%f4%90%80%80"), PATH_BAD_UTF8, false },
	{ "a byte over 0x7f", BYTES("/caf\xc3\xa9"), PATH_BAD_BYTE, false },
	{ "a blank", BYTES("/a b"), PATH_BAD_BYTE, false },
	{ "a NUL", BYTES("/a\0b"), PATH_BAD_BYTE, false },
	{ "a brace", BYTES("/{a}"), PATH_BAD_BYTE, false },
	{ "a question mark", BYTES("/a?b"), PATH_BAD_BYTE, false },
	{ "a number sign", BYTES("/a#b"), PATH_BAD_BYTE, false },
	{ "no slash", BYTES("a/b"), PATH_NO_SLASH, false },
	{ "asterisk form", BYTES("*"), PATH_NO_SLASH, false },
	{ "nothing", BYTES(""), PATH_NO_SLASH, false },
};

static void
reads_each_path_in_one_way_or_says_why_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(readings); i++) {
		struct path_reading r = path_read(readings[i].path);

		row_equal(readings[i].claim, r.fault, readings[i].want);
		row_equal(readings[i].claim, r.is_ambiguous,
		    readings[i].want != PATH_CANONICAL);
		row_equal(readings[i].claim, r.has_encoded_slash,
		    readings[i].has_encoded_slash);
		assert_true(strlen(path_fault_text(r.fault)) > 0);
	}
}

static const struct {
	const char *claim, *pattern, *path;
	bool want;
} matches[] = {
	{ "the same", "/a/b", "/a/b", true },
	{ "a prefix is not enough", "/a/b", "/a/bc", false },
	{ "nor is being one", "/a/bc", "/a/b", false },
	{ "letters keep their case", "/graphql", "/GRAPHQL", false },
	{ "a star takes a segment", "/a/*/c", "/a/b/c", true },
	{ "and no slash", "/a/*", "/a/b/c", false },
	{ "a star takes nothing too", "/a/*", "/a/", true },
	{ "but not the slash before it", "/a/*", "/a", false },
	{ "a star inside a name", "/*.tgz", "/x-1.2.tgz", true },
	{ "goes back", "/*ab", "/aab", true },
	{ "two stars in a name", "/a*b*c", "/axxbyybzzc", true },
	{ "two stars cross", "/a/**", "/a/b/c/d", true },
	{ "and take nothing", "/a/**", "/a/", true },
	{ "but not the slash before them", "/a/**", "/a", false },
	{ "everything", "/**", "/", true },
	{ "two stars in the middle", "/**/info/refs", "/a/b/info/refs", true },
	{ "with a tail that comes twice", "/**/x/y", "/x/y/x/y", true },
	{ "a star behind two", "/**/*.tgz", "/a/b/c.tgz", true },
	{ "a star behind two that fails", "/**/a*b", "/a/b", false },
	{ "two stars, star, two stars", "/**/-/*-**", "/a/b/-/c-d/e", true },
	{ "a dot is a dot", "/a.b", "/axb", false },
	{ "a question mark is none of ours", "/a+b", "/aab", false },
	{ "an encoded slash is a slash", "/@acme/*", "/@acme%2fwidget", true },
	{ "a star does not take it", "/*", "/@acme%2fwidget", false },
	{ "two stars do", "/**", "/@acme%2fwidget", true },
	{ "in a pattern too", "/@acme%2F*", "/@acme/widget", true },
	{ "hexadecimal digits have no case", "/caf%C3%A9", "/caf%c3%a9", true },
	{ "an encoded at is an at", "/@acme/x", "/%40acme/x", true },
	{ "an encoded plus is a plus", "/c%2b%2b", "/c++", true },
	{ "an encoded blank is not a plus", "/a%20b", "/a+b", false },
	{ "an encoded star is only a star", "/a%2A", "/ab", false },
	{ "and a star", "/a%2A", "/a*", true },
	{ "an empty pattern matches nothing", "", "", false },
	{ "nor does a pattern match an empty path", "/", "", false },
};

static void
matches_patterns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(matches); i++)
		row_equal(matches[i].claim,
		    path_match(span_of(matches[i].pattern),
			span_of(matches[i].path)),
		    matches[i].want);
}

static void
matches_in_any_case_what_is_to_be_denied(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool want;
	} rows[] = {
		{ "/admin/**", "/Admin/X", true },
		{ "/Admin", "/aDMIN", true },
		{ "/*/%41dmin", "/x/%61dmin", true },
		{ "/**x", "/a/X", true },
		{ "/a[", "/a{", false },
		{ "/admin", "/Admin/x", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		row_equal(rows[i].path,
		    path_match_any_case(span_of(rows[i].pattern),
			span_of(rows[i].path)),
		    rows[i].want);
	assert_false(path_match(span_of("/admin/**"), span_of("/Admin/x")));
	assert_false(path_match(span_of("/*/Admin"), span_of("/x/admin")));
}

static const struct {
	const char *pattern;
	bool is_valid;
} patterns[] = {
	{ "/", true },
	{ "/**", true },
	{ "/a/*/b**c", true },
	{ "/@acme%2f*", true },
	{ "/a%2A", true },
	{ "/***", false },
	{ "/a/../b", false },
	{ "/a//b", false },
	{ "/a;b", false },
	{ "/a%zz", false },
	{ "/%41", false },
	{ "/a b", false },
	{ "a/b", false },
	{ "**", false },
	{ "", false },
};

static void
says_what_is_wrong_with_a_pattern(void **state)
{
	char longest[PATH_PATTERN_MAX_BYTES + 2];

	(void)state;
	for (size_t i = 0; i < ROWS(patterns); i++)
		row_equal(patterns[i].pattern,
		    path_pattern_fault(span_of(patterns[i].pattern)) == NULL,
		    patterns[i].is_valid);
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	assert_null(path_pattern_fault(
	    (struct span){ (const uint8_t *)longest, PATH_PATTERN_MAX_BYTES }));
	assert_non_null(path_pattern_fault((struct span){
	    (const uint8_t *)longest, PATH_PATTERN_MAX_BYTES + 1 }));
}

/* A matcher that goes back does 2^n steps here, or n^3 at best. */
static void
takes_no_more_time_for_a_hostile_pattern(void **state)
{
	static char path[60000];
	char pattern[PATH_PATTERN_MAX_BYTES];
	size_t len = 1;

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	for (size_t i = 100; i < sizeof(path); i += 100)
		path[i] = '/';
	pattern[0] = '/';
	while (len + 4 < sizeof(pattern)) {
		memcpy(pattern + len, "**a*", 4);
		pattern[len + 3] = 'a';
		len += 4;
	}
	pattern[len++] = 'b';
	assert_false(path_match((struct span){ (const uint8_t *)pattern, len },
	    (struct span){ (const uint8_t *)path, sizeof(path) }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_each_path_in_one_way_or_says_why_not),
		cmocka_unit_test(matches_patterns),
		cmocka_unit_test(matches_in_any_case_what_is_to_be_denied),
		cmocka_unit_test(says_what_is_wrong_with_a_pattern),
		cmocka_unit_test(takes_no_more_time_for_a_hostile_pattern),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
