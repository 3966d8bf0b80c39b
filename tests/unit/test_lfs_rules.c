/*
 * LFS of [git] rules: what may be asked, what an answer may grant, and what
 * whoever holds that grant may do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/compile_rows.h"
#include "tests/unit/make_policy.h"

#define OID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define REPO "[git a]\nrepo = git.example.org/acme/tool\n"
#define LFS REPO "lfs = yes\n"
#define PUSH "push = refs/heads/agent/*\n"
#define STORE "lfs-host = *.s3.example.net\n"
#define BATCH "/acme/tool.git/info/lfs/objects/batch"
#define OBJECT "/acme/tool.git/info/lfs/objects/" OID

static void
a_rule_says_what_it_means_or_is_refused(void **state)
{
	static const struct row rows[] = {
		{ "LFS", POLICY_HEAD LFS, NULL },
		{ "with all that it takes", POLICY_HEAD LFS PUSH STORE, NULL },
		{ "none of it", POLICY_HEAD REPO "lfs = no\n", NULL },
		{ "neither", POLICY_HEAD REPO "lfs = 1\n",
		    "t.ini:5: lfs = 1: write `yes` or `no`" },
		{ "a host without LFS", POLICY_HEAD REPO STORE,
		    "t.ini:5: the rule has no `lfs = yes`" },
		{ "a host that is an address",
		    POLICY_HEAD LFS "lfs-host = 192.0.2.1\n",
		    "t.ini:6: lfs-host = 192.0.2.1: " },
		{ "a whole public suffix", POLICY_HEAD LFS "lfs-host = *.com\n",
		    "t.ini:6: lfs-host = *.com: " },
		{ "a host of an allow rule",
		    POLICY_HEAD "[allow a]\nhost = a.example.org\n" STORE,
		    "t.ini:5: lfs-host does not belong into [allow]" },
	};

	(void)state;
	TRY(rows);
}

static struct policy *policy, *ceiling;

/* A policy, and a ceiling unless that is NULL, until done(). */
static struct policy_pair
pair_of(const char *rules, const char *most)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), POLICY_HEAD "%s", rules);
	policy = make_policy(text);
	assert_non_null(policy);
	ceiling = NULL;
	if (most != NULL) {
		(void)snprintf(text, sizeof(text), POLICY_HEAD "%s", most);
		ceiling = make_ceiling(text);
		assert_non_null(ceiling);
	}
	return (struct policy_pair){ policy, ceiling };
}

static void
done(void)
{
	policy_unref(policy);
	policy_unref(ceiling);
}

static void
its_questions_are_known_by_their_paths(void **state)
{
	static const struct {
		const char *claim, *policy, *method, *path, *query;
		enum reason want;
		bool reads;
	} rows[] = {
		{ "a question about objects", LFS, "POST", BATCH, NULL,
		    REASON_NONE, true },
		{ "... of a rule without LFS", REPO PUSH, "POST", BATCH, NULL,
		    REASON_PATH, false },
		{ "... by another method", LFS, "GET", BATCH, NULL,
		    REASON_METHOD, false },
		{ "... with a query", LFS, "POST", BATCH, "x=1", REASON_QUERY,
		    false },
		{ "... of another repository", LFS, "POST",
		    "/acme/other/info/lfs/objects/batch", NULL, REASON_PATH,
		    false },
		{ "locks", LFS PUSH, "GET", "/acme/tool/info/lfs/locks",
		    "path=a&limit=1", REASON_NONE, false },
		{ "... without a query", LFS PUSH, "GET",
		    "/acme/tool/info/lfs/locks", NULL, REASON_NONE, false },
		{ "... where nothing is pushed", LFS, "GET",
		    "/acme/tool/info/lfs/locks", NULL, REASON_GIT_REF, false },
		{ "a lock", LFS PUSH, "POST", "/acme/tool/info/lfs/locks", NULL,
		    REASON_NONE, true },
		{ "... with a query", LFS PUSH, "POST",
		    "/acme/tool/info/lfs/locks", "a=b", REASON_QUERY, false },
		{ "whose they are", LFS PUSH, "POST",
		    "/acme/tool/info/lfs/locks/verify", NULL, REASON_NONE,
		    true },
		{ "one that is given back", LFS PUSH, "POST",
		    "/acme/tool/info/lfs/locks/7/unlock", NULL, REASON_NONE,
		    true },
		{ "... where nothing is pushed", LFS, "POST",
		    "/acme/tool/info/lfs/locks/7/unlock", NULL, REASON_GIT_REF,
		    false },
		{ "an object that nobody named", LFS PUSH, "GET", OBJECT, NULL,
		    REASON_PATH, false },
		{ "what is said of one", LFS PUSH, "POST",
		    "/acme/tool/info/lfs/verify", NULL, REASON_PATH, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_pair pair = pair_of(rows[i].policy, NULL);
		struct verdict v = ask_request(&pair, "git.example.org", 443,
		    rows[i].method, rows[i].path, rows[i].query);

		if (v.reason != rows[i].want || v.reads_lfs != rows[i].reads)
			fail_msg("%s: %s", rows[i].claim,
			    reason_code(v.reason));
		done();
	}
}

static struct policy_request
request(const char *host, const char *method, const char *path)
{
	return (struct policy_request){ .host = host,
		.port = 443,
		.method = span_of(method),
		.path = span_of(path) };
}

static void
what_writes_is_judged_as_a_push(void **state)
{
	static const struct {
		const char *claim, *policy, *ref;
		enum git_operation op;
		bool is_allowed;
	} rows[] = {
		{ "no reference", LFS PUSH, "", GIT_UPDATE, true },
		{ "one that may be pushed", LFS PUSH, "refs/heads/agent/x",
		    GIT_UPDATE, true },
		{ "another", LFS PUSH, "refs/heads/main", GIT_UPDATE, false },
		{ "no reference at all", LFS PUSH, "HEAD", GIT_UPDATE, false },
		{ "where nothing is pushed", LFS, "", GIT_UPDATE, false },
		{ "by force", LFS PUSH, "", GIT_FORCE, false },
		{ "... which is given", LFS PUSH "force = yes\n", "", GIT_FORCE,
		    true },
		{ "a deed of no LFS", LFS PUSH "delete = yes\n", "", GIT_DELETE,
		    false },
		{ "where another rule allows all",
		    LFS "[allow b]\nhost = git.example.org\n", "", GIT_UPDATE,
		    true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_pair pair = pair_of(rows[i].policy, NULL);
		struct policy_request req =
		    request("git.example.org", "POST", BATCH);
		struct policy_command cmd = { .operation = rows[i].op,
			.ref = span_of(rows[i].ref) };
		struct verdict v = policy_judge_push(&pair, &req, &cmd);

		if ((v.action == ACTION_ALLOW) != rows[i].is_allowed ||
		    (!rows[i].is_allowed && v.reason != REASON_GIT_REF))
			fail_msg("%s: %s", rows[i].claim,
			    reason_code(v.reason));
		done();
	}
}

#define OWN "git.example.org", 443
#define S3 "x.s3.example.net", 443
#define ALL "[allow all]\nhost = git.example.org, x.s3.example.net\n"

static void
an_answer_grants_what_both_files_name(void **state)
{
	static const struct {
		const char *claim, *policy, *ceiling, *host;
		uint16_t port;
		bool writes, is_granted;
	} rows[] = {
		{ "at its own host", LFS, NULL, OWN, false, true },
		{ "... at another port of it", LFS, NULL, "git.example.org",
		    8443, false, false },
		{ "... to write", LFS, NULL, OWN, true, false },
		{ "... where a push may", LFS PUSH, NULL, OWN, true, true },
		{ "at a host that is named", LFS STORE, NULL, S3, false, true },
		{ "... at another port of it", LFS STORE, NULL,
		    "x.s3.example.net", 8443, false, false },
		{ "... to write", LFS PUSH STORE, NULL, S3, true, true },
		{ "at one that is not", LFS STORE, NULL, "y.example.net", 443,
		    false, false },
		{ "at the wildcard's own name", LFS STORE, NULL,
		    "s3.example.net", 443, false, false },
		{ "by another rule's name",
		    LFS
		    "[git b]\nrepo = git.example.org/b/c\nlfs = yes\n" STORE,
		    NULL, S3, false, false },
		{ "by a rule without LFS", REPO, NULL, OWN, false, false },
		{ "by no [git] rule", ALL, NULL, S3, false, false },
		{ "the ceiling has it, too", LFS STORE, LFS STORE, S3, false,
		    true },
		{ "the ceiling's hosts are others", LFS STORE, LFS, S3, false,
		    false },
		{ "the ceiling lets nothing be pushed", LFS PUSH STORE,
		    LFS STORE, S3, true, false },
		{ "the ceiling is of hosts", LFS STORE, ALL, S3, false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_pair pair =
		    pair_of(rows[i].policy, rows[i].ceiling);
		struct policy_request req =
		    request("git.example.org", "POST", BATCH);
		struct policy_lfs lfs;

		if (policy_lfs_grants(&pair, &req, rows[i].host, rows[i].port,
			rows[i].writes, &lfs) != rows[i].is_granted)
			fail_msg("%s", rows[i].claim);
		done();
	}
}

static void
a_grant_opens_what_the_policy_in_force_still_names(void **state)
{
	static const struct policy_lfs own = { false, true, { "a", "" } },
				       away = { false, false, { "a", "" } },
				       up = { true, false, { "a", "" } },
				       both = { false, false, { "a", "a" } };
	static const struct {
		const char *claim, *policy, *ceiling;
		const struct policy_lfs *lfs;
		const char *host, *method, *path;
		bool is_allowed;
		const char *credential;
	} rows[] = {
		{ "elsewhere", LFS STORE, NULL, &away, "x.s3.example.net",
		    "GET", "/x", true, "" },
		{ "... without the rule's credential",
		    LFS STORE "credential = c\n", NULL, &away,
		    "x.s3.example.net", "GET", OBJECT, true, "" },
		{ "its host is not named any more", LFS, NULL, &away,
		    "x.s3.example.net", "GET", "/x", false, "" },
		{ "nor is the rule",
		    "[git b]\nrepo = git.example.org/acme/tool\n"
		    "lfs = yes\n" STORE,
		    NULL, &away, "x.s3.example.net", "GET", "/x", false, "" },
		{ "nor may anything be pushed", LFS STORE, NULL, &up,
		    "x.s3.example.net", "PUT", "/x", false, "" },
		{ "which it may", LFS PUSH STORE, NULL, &up, "x.s3.example.net",
		    "PUT", "/x", true, "" },
		{ "a deny rule stands against it",
		    LFS STORE "[deny d]\nhost = x.s3.example.net\n", NULL,
		    &away, "x.s3.example.net", "GET", "/x", false, "" },
		{ "... and one to be asked",
		    LFS STORE "[ask d]\nhost = x.s3.example.net\n", NULL, &away,
		    "x.s3.example.net", "GET", "/x", false, "" },
		{ "at its own host", LFS "credential = c\n", NULL, &own,
		    "git.example.org", "GET", OBJECT, true, "c" },
		{ "... of another repository", LFS "credential = c\n", NULL,
		    &own, "git.example.org", "GET",
		    "/acme/other/info/lfs/objects/" OID, true, "" },
		{ "... at a path that is not LFS's", LFS "credential = c\n",
		    NULL, &own, "git.example.org", "GET", "/acme/tool/x", true,
		    "" },
		{ "... that is a push", LFS PUSH, NULL, &own, "git.example.org",
		    "POST", "/acme/other/git-receive-pack", false, "" },
		{ "... of a rule without LFS now", REPO, NULL, &own,
		    "git.example.org", "GET", OBJECT, false, "" },
		{ "the ceiling has it, too", LFS STORE, LFS STORE, &both,
		    "x.s3.example.net", "GET", "/x", true, "" },
		{ "the ceiling has not", LFS STORE, LFS, &both,
		    "x.s3.example.net", "GET", "/x", false, "" },
		{ "the ceiling has it by another rule", LFS STORE, ALL, &away,
		    "x.s3.example.net", "GET", "/x", true, "" },
		{ "the ceiling has nothing of it", LFS STORE, LFS, &away,
		    "x.s3.example.net", "GET", "/x", false, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_pair pair =
		    pair_of(rows[i].policy, rows[i].ceiling);
		struct policy_request req =
		    request(rows[i].host, rows[i].method, rows[i].path);
		struct verdict v = policy_judge_lfs(&pair, &req, rows[i].lfs);

		if ((v.action == ACTION_ALLOW) != rows[i].is_allowed ||
		    strcmp(v.credential, rows[i].credential) != 0)
			fail_msg("%s: %s", rows[i].claim,
			    reason_code(v.reason));
		/* A dialler opens the way if a gate is let through. */
		v = policy_judge_redirect(&pair, rows[i].host, 443, NULL);
		if (rows[i].is_allowed && v.action != ACTION_ALLOW)
			fail_msg("%s: is not dialled", rows[i].claim);
		done();
	}
}

static void
a_broker_lends_for_what_could_be_granted(void **state)
{
	static const struct {
		const char *claim, *policy, *ceiling, *method, *path;
		bool is_allowed;
	} rows[] = {
		{ "an object", LFS, NULL, "GET", OBJECT, true },
		{ "... of GitLab's", LFS, NULL, "GET",
		    "/acme/tool.git/gitlab-lfs/objects/" OID, true },
		{ "... by a rule without LFS", REPO, NULL, "GET", OBJECT,
		    false },
		{ "... by another method", LFS PUSH, NULL, "DELETE", OBJECT,
		    false },
		{ "... of another repository", LFS, NULL, "GET",
		    "/acme/other/info/lfs/objects/" OID, false },
		{ "an upload", LFS PUSH, NULL, "PUT", OBJECT, true },
		{ "... where nothing is pushed", LFS, NULL, "PUT", OBJECT,
		    false },
		{ "what is said of one", LFS PUSH, NULL, "POST",
		    "/acme/tool/info/lfs/verify", true },
		{ "... by another method", LFS PUSH, NULL, "GET",
		    "/acme/tool/info/lfs/verify", false },
		{ "what is not LFS's", LFS PUSH, NULL, "GET", "/acme/tool/x",
		    false },
		{ "the ceiling has it, too", LFS, LFS, "GET", OBJECT, true },
		{ "the ceiling has no LFS", LFS, REPO, "GET", OBJECT, false },
		{ "the ceiling is of hosts", LFS, ALL, "GET", OBJECT, true },
		{ "a deny rule stands against it",
		    LFS "[deny d]\nhost = git.example.org\npath = /acme/**\n",
		    NULL, "GET", OBJECT, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_pair pair =
		    pair_of(rows[i].policy, rows[i].ceiling);
		struct policy_request req =
		    request("git.example.org", rows[i].method, rows[i].path);
		struct verdict v = policy_judge_object(&pair, &req);

		if ((v.action == ACTION_ALLOW) != rows[i].is_allowed)
			fail_msg("%s: %s", rows[i].claim,
			    reason_code(v.reason));
		done();
	}
}

static void
what_redirects_are_followed_is_not_said_by_it(void **state)
{
	struct policy_pair pair = pair_of(LFS STORE, NULL);
	struct policy_request req = request("git.example.org", "POST", BATCH);
	struct policy_request get = request("x.s3.example.net", "GET", "/x");

	(void)state;
	assert_int_equal(policy_redirect_s(&pair, &req, "x.s3.example.net"), 0);
	assert_int_equal(policy_judge_redirect(&pair, "x.s3.example.net", 443,
			     &get)
			     .action,
	    ACTION_DENY);
	assert_int_equal(policy_judge_connect(&pair, "x.s3.example.net", 443)
			     .action,
	    ACTION_DENY);
	done();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_says_what_it_means_or_is_refused),
		cmocka_unit_test(its_questions_are_known_by_their_paths),
		cmocka_unit_test(what_writes_is_judged_as_a_push),
		cmocka_unit_test(an_answer_grants_what_both_files_name),
		cmocka_unit_test(
		    a_grant_opens_what_the_policy_in_force_still_names),
		cmocka_unit_test(a_broker_lends_for_what_could_be_granted),
		cmocka_unit_test(what_redirects_are_followed_is_not_said_by_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
