#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/git.h"

#define OID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
the_end_of_a_path_names_the_service(void **state)
{
	static const struct {
		const char *claim, *path, *repo;
		enum git_service want;
	} rows[] = {
		{ "references", "/acme/widget/info/refs", "/acme/widget",
		    GIT_SERVICE_REFS },
		{ ".git is not part of the name", "/acme/widget.git/info/refs",
		    "/acme/widget", GIT_SERVICE_REFS },
		{ "once", "/acme/widget.git.git/info/refs", "/acme/widget.git",
		    GIT_SERVICE_REFS },
		{ "a folder .git is a name", "/acme/.git/git-upload-pack",
		    "/acme/.git", GIT_SERVICE_FETCH },
		{ "push", "/a/b/c/git-receive-pack", "/a/b/c",
		    GIT_SERVICE_PUSH },
		{ "case counts", "/a/b/Git-Receive-Pack", NULL,
		    GIT_SERVICE_NONE },
		{ "nothing may follow", "/a/b/git-receive-pack/", NULL,
		    GIT_SERVICE_NONE },
		{ "LFS", "/a/b.git/info/lfs/objects/batch", "/a/b",
		    GIT_SERVICE_LFS },
		{ "a lock that is given back",
		    "/a/b/info/lfs/locks/7f-A/unlock", "/a/b",
		    GIT_SERVICE_UNLOCK },
		{ "... of no name", "/a/b/info/lfs/locks//unlock", NULL,
		    GIT_SERVICE_NONE },
		{ "... of a name with a dot", "/a/b/info/lfs/locks/a.b/unlock",
		    NULL, GIT_SERVICE_NONE },
		{ "... of two", "/a/b/info/lfs/locks/a/b/unlock", NULL,
		    GIT_SERVICE_NONE },
		{ "its locks are looked at", "/a/b/info/lfs/locks/verify",
		    "/a/b", GIT_SERVICE_OTHERS },
		{ "and made", "/a/b/info/lfs/locks", "/a/b",
		    GIT_SERVICE_LOCKS },
		{ "an object", "/a/b/info/lfs/objects/" OID, "/a/b",
		    GIT_SERVICE_OBJECT },
		{ "with its size", "/a/b.git/gitlab-lfs/objects/" OID "/12",
		    "/a/b", GIT_SERVICE_OBJECT },
		{ "no size but a number", "/a/b/gitlab-lfs/objects/" OID "/x",
		    NULL, GIT_SERVICE_NONE },
		{ "no object", "/a/b/info/lfs/objects/" OID "0", NULL,
		    GIT_SERVICE_NONE },
		{ "the dumb protocol", "/a/b/objects/info/packs", NULL,
		    GIT_SERVICE_NONE },
		{ "an empty path", "", NULL, GIT_SERVICE_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct span repo;
		enum git_service got =
		    git_service_of(span_of(rows[i].path), &repo);

		if (got != rows[i].want ||
		    (rows[i].repo != NULL && !span_is(repo, rows[i].repo)))
			fail_msg("%s: %d, %.*s", rows[i].claim, (int)got,
			    (int)repo.len, (const char *)repo.ptr);
	}
}

static void
what_an_origin_may_take_for_a_push_is_one(void **state)
{
	static const struct {
		const char *path, *query;
		bool want;
	} rows[] = {
		{ "/a/b/git-receive-pack", "", true },
		{ "/a/b/Git-Receive-PACK", "", true },
		{ "/a/b/git-receive-pack/", "", true },
		{ "/a/b/info/refs", "service=git-receive-pack", true },
		{ "/a/b/info/refs", "x=1&service=GIT-receive-pack", true },
		{ "/a/b/info/refs", "service=git%2Dreceive%2Dpack", true },
		{ "/a/b/info/refs", "service=git-upload-pack", false },
		{ "/a/b/git-upload-pack", "", false },
		{ "/a/b", "q=50%25", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (git_may_be_push(span_of(rows[i].path),
			span_of(rows[i].query)) != rows[i].want)
			fail_msg("%s?%s", rows[i].path, rows[i].query);
	}
}

static void
a_reference_has_one_reading(void **state)
{
	static const struct {
		const char *claim, *name;
		bool is_fit;
	} rows[] = {
		{ "a branch", "refs/heads/agent/fix-1", true },
		{ "a tag", "refs/tags/v1.0", true },
		{ "Gerrit's options", "refs/for/main%r=joe,l=+1", true },
		{ "an at", "refs/heads/a@b", true },
		{ "not whole", "main", false },
		{ "HEAD", "HEAD", false },
		{ "another case", "Refs/heads/main", false },
		{ "nothing below", "refs/", false },
		{ "dots that lead up", "refs/heads/agent/../main", false },
		{ "dots within", "refs/heads/a..b", false },
		{ "a dot first", "refs/heads/.a", false },
		{ "a dot last", "refs/heads/a.", false },
		{ "an empty part", "refs/heads//main", false },
		{ "a slash last", "refs/heads/a/", false },
		{ "a slash first", "/refs/heads/a", false },
		{ "a lock", "refs/heads/a.lock", false },
		{ "a lock within", "refs/heads/a.lock/b", false },
		{ "a blank", "refs/heads/a b", false },
		{ "a tab", "refs/heads/a\tb", false },
		{ "a line end", "refs/heads/a\n", false },
		{ "a control", "refs/heads/a\001", false },
		{ "DEL", "refs/heads/a\177", false },
		{ "not ASCII", "refs/heads/\303\244", false },
		{ "a star", "refs/heads/*", false },
		{ "a tilde", "refs/heads/a~1", false },
		{ "a caret", "refs/heads/a^", false },
		{ "a colon", "refs/heads/a:b", false },
		{ "a question mark", "refs/heads/a?", false },
		{ "a bracket", "refs/heads/a[b", false },
		{ "a backslash", "refs/heads\\main", false },
		{ "a reflog", "refs/heads/a@{1}", false },
		{ "empty", "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if ((git_ref_fault(span_of(rows[i].name)) == NULL) !=
		    rows[i].is_fit)
			fail_msg("%s", rows[i].claim);
	}
	/* a NUL, which no string of C shows */
	assert_non_null(git_ref_fault(
	    (struct span){ (const uint8_t *)"refs/heads/a\0b", 14 }));
}

static void
patterns_are_references_with_stars(void **state)
{
	(void)state;
	assert_null(git_ref_pattern_fault(span_of("refs/heads/agent/*")));
	assert_null(git_ref_pattern_fault(span_of("refs/heads/**")));
	assert_null(git_ref_pattern_fault(span_of("refs/heads/ci-*-x")));
	assert_non_null(git_ref_pattern_fault(span_of("refs/heads/***")));
	assert_non_null(git_ref_pattern_fault(span_of("agent/*")));
	assert_non_null(git_ref_pattern_fault(span_of("*")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_path_names_the_service),
		cmocka_unit_test(what_an_origin_may_take_for_a_push_is_one),
		cmocka_unit_test(a_reference_has_one_reading),
		cmocka_unit_test(patterns_are_references_with_stars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
