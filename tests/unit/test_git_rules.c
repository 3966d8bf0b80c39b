#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/compile_rows.h"
#include "tests/unit/make_policy.h"

#define GIT(keys) POLICY_HEAD "[git a]\n" keys
#define REPO GIT("repo = git.example.org/acme/widget\n")

static void
a_rule_says_what_it_means_or_is_refused(void **state)
{
	static const struct row rows[] = {
		{ "a repository", REPO, NULL },
		{ "with all that it takes",
		    REPO "push = refs/heads/agent/*, refs/heads/ci/**\n"
			 "delete = yes\nforce = no\nmax-push = 10MB\n"
			 "credential = c\nsay = ask the platform team\n",
		    NULL },
		{ "two of one place",
		    GIT("repo = git.example.org:8443/a/b.git\n"
			"repo = git.example.org:8443/c/*\n"),
		    NULL },
		{ "a wildcard host", GIT("repo = *.example.org/a/**\n"), NULL },
		{ "without a repository", GIT("push = refs/heads/x\n"),
		    "t.ini:3: [git a] names no repository" },
		{ "a host alone", GIT("repo = git.example.org\n"),
		    "t.ini:4: repo = git.example.org: a repository is" },
		{ "with a scheme", GIT("repo = https://git.example.org/a\n"),
		    "t.ini:4: repo = https://git.example.org/a: a repository "
		    "is" },
		{ "with a user", GIT("repo = me@git.example.org/a\n"),
		    "t.ini:4: repo = me@git.example.org/a: " },
		{ "in the form of ssh", GIT("repo = git.example.org:a/b\n"),
		    "t.ini:4: repo = git.example.org:a/b: a port is" },
		{ "a slash at its end", GIT("repo = git.example.org/a/\n"),
		    "t.ini:4: repo = git.example.org/a/: a repository is" },
		{ "dots", GIT("repo = git.example.org/a/../b\n"),
		    "t.ini:4: repo = git.example.org/a/../b: " },
		{ "over plain HTTP", GIT("repo = git.example.org:80/a\n"),
		    "t.ini:4: repo = git.example.org:80/a: port 80" },
		{ "of two hosts",
		    GIT("repo = git.example.org/a, other.example.org/b\n"),
		    "t.ini:4: repo = other.example.org/b: another host" },
		{ "of two ports",
		    GIT("repo = git.example.org/a, git.example.org:8443/b\n"),
		    "t.ini:4: repo = git.example.org:8443/b: another host" },
		{ "a reference that is not whole", REPO "push = main\n",
		    "t.ini:5: push = main: a reference is written whole" },
		{ "dots in a reference", REPO "push = refs/heads/a/../b\n",
		    "t.ini:5: push = refs/heads/a/../b: two dots" },
		{ "delete without push", REPO "delete = yes\n",
		    "t.ini:5: the rule has no push" },
		{ "force without push", REPO "force = yes\n",
		    "t.ini:5: the rule has no push" },
		{ "max-push without push", REPO "max-push = 1MB\n",
		    "t.ini:5: the rule has no push" },
		{ "a size of nothing",
		    REPO "push = refs/heads/x\nmax-push = 0\n",
		    "t.ini:6: max-push = 0: a size is written as" },
		{ "neither yes nor no", REPO "push = refs/heads/x\nforce = 1\n",
		    "t.ini:6: force = 1: write `yes` or `no`" },
		{ "a key of other rules", REPO "method = GET\n",
		    "t.ini:5: method does not belong into [git]" },
		{ "a key of [git] in another",
		    POLICY_HEAD "[allow a]\nhost = a.example.org\n"
				"push = refs/heads/x\n",
		    "t.ini:5: push does not belong into [allow]" },
		{ "a credential on a wildcard host",
		    GIT("repo = *.example.org/a/b\ncredential = c\n"),
		    "t.ini:4: a credential on a wildcard host" },
		{ "two credentials for one request",
		    REPO "credential = c\n[allow b]\nhost = git.example.org\n"
			 "path = /acme/*/info/refs\ncredential = d\n",
		    "t.ini:6: [allow b] and [git a] (t.ini:3) both cover" },
		{ "two credentials for two repositories",
		    REPO "credential = c\n[git b]\n"
			 "repo = git.example.org/acme/other\ncredential = d\n",
		    NULL },
		{ "a name twice",
		    REPO "[git a]\nrepo = git.example.org/acme/other\n",
		    "t.ini:5: a second rule named a" },
	};

	(void)state;
	TRY(rows);
}

static const char git_policy[] =
    POLICY_HEAD "[git fetch]\n" /* line 3 */
		"repo = git.example.org/acme/widget\n"
		"say = ask for push\n"
		"[git agent]\n" /* line 6 */
		"repo = git.example.org/acme/tool\n"
		"push = refs/heads/agent/*\n"
		"[git ci]\n" /* line 9 */
		"repo = git.example.org/acme/tool\n"
		"push = refs/heads/ci/**, refs/tags/ci-*\n"
		"delete = yes\nforce = yes\nmax-push = 1MB\n"
		"[allow wide]\n" /* line 15 */
		"host = git.example.org\n"
		"path = /web/**\n"
		"[allow host]\n" /* line 18 */
		"host = all.example.org\n"
		"[git all]\n" /* line 20 */
		"repo = all.example.org/acme/tool\n"
		"push = refs/heads/agent/*\n"
		"[allow push]\n" /* line 23 */
		"host = plain.example.org\n"
		"path = /**/git-receive-pack\n"
		"[git one]\n" /* line 26 */
		"repo = one.example.org/acme/widget\n";

static void
requests_are_git_s_own_or_refused(void **state)
{
	static const struct {
		const char *claim, *host, *method, *path, *query;
		enum reason want;
		uint32_t line;
		bool reads_push;
	} rows[] = {
		{ "references", "git.example.org", "GET",
		    "/acme/widget/info/refs", "service=git-upload-pack",
		    REASON_NONE, 3, false },
		{ "with .git", "git.example.org", "GET",
		    "/acme/widget.git/info/refs", "service=git-upload-pack",
		    REASON_NONE, 3, false },
		{ "fetch", "git.example.org", "POST",
		    "/acme/widget/git-upload-pack", NULL, REASON_NONE, 3,
		    false },
		{ "the dumb protocol", "git.example.org", "GET",
		    "/acme/widget/info/refs", NULL, REASON_QUERY, 3, false },
		{ "... its files", "git.example.org", "GET",
		    "/acme/widget/HEAD", NULL, REASON_PATH, 3, false },
		{ "more in the query", "git.example.org", "GET",
		    "/acme/widget/info/refs", "service=git-upload-pack&x=1",
		    REASON_QUERY, 3, false },
		{ "another method", "one.example.org", "PUT",
		    "/acme/widget/git-upload-pack", NULL, REASON_METHOD, 26,
		    false },
		{ "a query where none is", "git.example.org", "POST",
		    "/acme/widget/git-upload-pack", "", REASON_QUERY, 3,
		    false },
		{ "another repository", "git.example.org", "POST",
		    "/acme/other/git-upload-pack", NULL, REASON_PATH, 3,
		    false },
		{ "another case", "git.example.org", "POST",
		    "/Acme/widget/git-upload-pack", NULL, REASON_PATH, 3,
		    false },
		{ "dots", "git.example.org", "POST",
		    "/acme/other/../widget/git-upload-pack", NULL, REASON_PATH,
		    3, false },
		{ "other rules stand beside", "git.example.org", "GET",
		    "/web/x", NULL, REASON_NONE, 15, false },
		{ "push to what is fetched only", "git.example.org", "GET",
		    "/acme/widget/info/refs", "service=git-receive-pack",
		    REASON_GIT_REF, 3, false },
		{ "... at once", "git.example.org", "POST",
		    "/acme/widget/git-receive-pack", NULL, REASON_GIT_REF, 3,
		    false },
		{ "push begins", "git.example.org", "GET",
		    "/acme/tool/info/refs", "service=git-receive-pack",
		    REASON_NONE, 6, false },
		{ "push is read", "git.example.org", "POST",
		    "/acme/tool/git-receive-pack", NULL, REASON_NONE, 6, true },
		{ "an allow rule lets nothing be pushed beside",
		    "all.example.org", "POST", "/acme/other/git-receive-pack",
		    NULL, REASON_PATH, 20, false },
		{ "... in another case", "all.example.org", "POST",
		    "/acme/Tool/git-receive-pack", NULL, REASON_PATH, 20,
		    false },
		{ "... nor by another name", "all.example.org", "POST",
		    "/acme//tool/git-receive%2dpack", NULL, REASON_PATH, 20,
		    false },
		{ "... nor its references read", "all.example.org", "GET",
		    "/x/info/refs", "a=1&service=git-receive-pack", REASON_PATH,
		    20, false },
		{ "an allow rule lets the rest through", "all.example.org",
		    "POST", "/acme/other/git-upload-pack", NULL, REASON_NONE,
		    18, false },
		{ "without [git] an allow rule is all", "plain.example.org",
		    "POST", "/a/b/git-receive-pack", NULL, REASON_NONE, 23,
		    false },
	};
	struct policy *p = make_policy(git_policy);
	struct policy_pair pair = { p, NULL };

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v = ask_request(&pair, rows[i].host, 443,
		    rows[i].method, rows[i].path, rows[i].query);

		if (v.reason != rows[i].want || v.line != rows[i].line ||
		    v.reads_push != rows[i].reads_push ||
		    (v.action == ACTION_ALLOW) != (rows[i].want == REASON_NONE))
			fail_msg("%s: %s at line %u", rows[i].claim,
			    reason_code(v.reason), v.line);
	}
	policy_unref(p);
}

static struct verdict
ask_push(const struct policy_pair *pair, enum git_operation op, const char *ref)
{
	struct policy_request req = { .host = "git.example.org",
		.port = 443,
		.method = span_of("POST"),
		.path = span_of("/acme/tool.git/git-receive-pack") };
	struct policy_command cmd = { .operation = op, .ref = span_of(ref) };

	return policy_judge_push(pair, &req, &cmd);
}

static void
commands_are_judged_by_reference_and_deed(void **state)
{
	static const struct {
		const char *claim, *ref;
		enum git_operation op;
		uint32_t line; /* of the rule that allows it, 0: none does */
	} rows[] = {
		{ "create", "refs/heads/agent/x", GIT_CREATE, 6 },
		{ "update", "refs/heads/agent/x", GIT_UPDATE, 6 },
		{ "delete must be given", "refs/heads/agent/x", GIT_DELETE, 0 },
		{ "force must be given", "refs/heads/agent/x", GIT_FORCE, 0 },
		{ "a star stays in a part", "refs/heads/agent/x/y", GIT_CREATE,
		    0 },
		{ "another branch", "refs/heads/main", GIT_UPDATE, 0 },
		{ "another case", "refs/heads/Agent/x", GIT_CREATE, 0 },
		{ "a tag", "refs/tags/agent/x", GIT_CREATE, 0 },
		{ "dots", "refs/heads/agent/../main", GIT_UPDATE, 0 },
		{ "HEAD", "HEAD", GIT_UPDATE, 0 },
		{ "another rule's", "refs/heads/ci/a/b", GIT_FORCE, 9 },
		{ "... with delete", "refs/tags/ci-1", GIT_DELETE, 9 },
		{ "nothing is no deed", "refs/heads/agent/x",
		    GIT_OPERATION_NONE, 0 },
		{ "nor what is not known", "refs/heads/ci/x", GIT_OPERATIONS,
		    0 },
	};
	struct policy *p = make_policy(git_policy);
	struct policy_pair pair = { p, NULL };

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v = ask_push(&pair, rows[i].op, rows[i].ref);
		bool is_allowed = v.action == ACTION_ALLOW;

		if (is_allowed != (rows[i].line != 0) ||
		    (is_allowed && v.line != rows[i].line) ||
		    (!is_allowed && v.reason != REASON_GIT_REF))
			fail_msg("%s: %s at line %u", rows[i].claim,
			    reason_code(v.reason), v.line);
	}
	assert_int_equal(ask_push(&pair, GIT_CREATE, "refs/heads/ci/x")
			     .max_push,
	    1000000);
	policy_unref(p);
}

static void
of_policy_and_ceiling_the_stricter_counts(void **state)
{
	static const struct {
		const char *claim, *policy, *ceiling, *code;
	} rows[] = {
		{ "both have the reference",
		    "[git a]\n"
		    "repo = git.example.org/acme/tool\n"
		    "push = refs/heads/agent/*\n",
		    "[git c]\nrepo = git.example.org/acme/**\n"
		    "push = refs/heads/**\n",
		    "" },
		{ "the ceiling's are fewer",
		    "[git a]\n"
		    "repo = git.example.org/acme/tool\npush = refs/**\n",
		    "[git c]\nrepo = git.example.org/acme/**\n"
		    "push = refs/heads/ci/*\n",
		    "ceiling-git-ref" },
		{ "the ceiling fetches only",
		    "[git a]\n"
		    "repo = git.example.org/acme/tool\npush = refs/**\n",
		    "[git c]\nrepo = git.example.org/acme/**\n",
		    "ceiling-git-ref" },
		{ "the ceiling names the host whole",
		    "[git a]\n"
		    "repo = git.example.org/acme/tool\n"
		    "push = refs/heads/agent/*\n",
		    "[allow c]\nhost = git.example.org\n", "" },
		{ "the policy names the host whole",
		    "[allow a]\nhost = git.example.org\n",
		    "[git c]\nrepo = git.example.org/acme/**\n"
		    "push = refs/heads/ci/*\n",
		    "ceiling-git-ref" },
		{ "the policy is the stricter",
		    "[git a]\n"
		    "repo = git.example.org/acme/tool\n",
		    "[allow c]\nhost = git.example.org\n", "git-ref" },
	};
	char code[48], text[2][512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy *policy, *ceiling;
		struct policy_pair pair;
		struct verdict v;

		(void)snprintf(text[0], 512, POLICY_HEAD "%s", rows[i].policy);
		(void)snprintf(text[1], 512, POLICY_HEAD "%s", rows[i].ceiling);
		policy = make_policy(text[0]);
		ceiling = make_ceiling(text[1]);
		assert_true(policy != NULL && ceiling != NULL);
		pair = (struct policy_pair){ policy, ceiling };
		v = ask_push(&pair, GIT_CREATE, "refs/heads/agent/x");
		if (strcmp(verdict_code(&v, code), rows[i].code) != 0)
			fail_msg("%s: %s", rows[i].claim, code);
		v = ask_request(&pair, "git.example.org", 443, "POST",
		    "/acme/tool/git-receive-pack", NULL);
		if (v.action == ACTION_ALLOW && !v.reads_push)
			fail_msg("%s: nothing is read", rows[i].claim);
		policy_unref(policy);
		policy_unref(ceiling);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_says_what_it_means_or_is_refused),
		cmocka_unit_test(requests_are_git_s_own_or_refused),
		cmocka_unit_test(commands_are_judged_by_reference_and_deed),
		cmocka_unit_test(of_policy_and_ceiling_the_stricter_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
