#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/make_policy.h"

static const char requests_policy[] =
    POLICY_HEAD "[allow api]\n" /* line 3 */
		"host = api.example.org\n"
		"method = GET, HEAD\n"
		"path = /repos/acme/**\n"
		"path = /users/*/keys\n"
		"say = ask the platform team\n"
		"[deny secret]\n" /* line 9 */
		"host = api.example.org, wide.example.org\n"
		"path = /repos/acme/secret/**\n"
		"[allow git]\n" /* line 12 */
		"host = git.example.org\n"
		"method = GET\n"
		"path = /**/info/refs\n"
		"query = service=git-upload-pack\n"
		"[allow npm]\n" /* line 17 */
		"host = npm.example.org\n"
		"path = /@acme/**\n"
		"encoded-slash = yes\n"
		"[allow wide]\n" /* line 21 */
		"host = wide.example.org\n"
		"[deny push]\n" /* line 23 */
		"host = wide.example.org\n"
		"query = service=git-receive-pack\n"
		"[allow plain]\n" /* line 26 */
		"host = plain.example.org\n"
		"scheme = http\n";

static void
requests_are_judged_by_method_path_and_query(void **state)
{
	static const struct {
		const char *claim, *host;
		uint16_t port;
		const char *method, *path, *query;
		enum reason want; /* REASON_NONE: allowed */
		const char *rule;
		uint32_t line;
	} rows[] = {
		{ "a path below **", "api.example.org", 443, "GET",
		    "/repos/acme/x/y", NULL, REASON_NONE, "api", 3 },
		{ "a query is free without a query key", "api.example.org", 443,
		    "HEAD", "/repos/acme/x", "a=b", REASON_NONE, "api", 3 },
		{ "* stays inside a segment", "api.example.org", 443, "GET",
		    "/users/joe/keys", NULL, REASON_NONE, "api", 3 },
		{ "* does not cross one", "api.example.org", 443, "GET",
		    "/users/joe/x/keys", NULL, REASON_PATH, "api", 3 },
		{ "another method", "api.example.org", 443, "POST",
		    "/repos/acme/x", NULL, REASON_METHOD, "api", 3 },
		{ "a method is compared with its case", "api.example.org", 443,
		    "get", "/repos/acme/x", NULL, REASON_METHOD, "api", 3 },
		{ "another path", "api.example.org", 443, "GET",
		    "/repos/evil/x", NULL, REASON_PATH, "api", 3 },
		{ "a longer path", "api.example.org", 443, "GET",
		    "/x/repos/acme/y", NULL, REASON_PATH, "api", 3 },
		{ "another port", "api.example.org", 8443, "GET",
		    "/repos/acme/x", NULL, REASON_PORT, "api", 3 },
		{ "another host", "x.example.org", 443, "GET", "/", NULL,
		    REASON_NO_RULE, "-", 1 },
		{ "a deny rule by path", "api.example.org", 443, "GET",
		    "/repos/acme/secret/x", NULL, REASON_DENIED_BY_RULE,
		    "secret", 9 },
		{ "66: dot segments match no path rule", "api.example.org", 443,
		    "GET", "/repos/acme/../evil", NULL, REASON_DENIED_BY_RULE,
		    "secret", 9 },
		{ "66: an encoded dot passes no deny rule", "wide.example.org",
		    443, "GET", "/repos/acme/%2e/secret/x", NULL,
		    REASON_DENIED_BY_RULE, "secret", 9 },
		{ "66: an encoded slash passes no deny rule",
		    "wide.example.org", 443, "GET", "/repos/acme/secret%2fx",
		    NULL, REASON_DENIED_BY_RULE, "secret", 9 },
		{ "66: another case passes no deny rule", "wide.example.org",
		    443, "GET", "/Repos/ACME/%53ecret/x", NULL,
		    REASON_DENIED_BY_RULE, "secret", 9 },
		{ "66: an allow rule is exact", "api.example.org", 443, "GET",
		    "/Repos/acme/x", NULL, REASON_PATH, "api", 3 },
		{ "66: an empty segment matches no path rule",
		    "npm.example.org", 443, "GET", "/@acme//x", NULL,
		    REASON_PATH, "npm", 17 },
		{ "66: ';' matches no path rule", "npm.example.org", 443, "GET",
		    "/@acme/x;y", NULL, REASON_PATH, "npm", 17 },
		{ "an encoded slash where the rule opts in", "npm.example.org",
		    443, "GET", "/@acme%2fwidget", NULL, REASON_NONE, "npm",
		    17 },
		{ "an encoded slash counts as a slash", "npm.example.org", 443,
		    "GET", "/@evil%2fwidget", NULL, REASON_PATH, "npm", 17 },
		{ "an encoded slash where it does not", "git.example.org", 443,
		    "GET", "/a%2fb/info/refs", "service=git-upload-pack",
		    REASON_PATH, "git", 12 },
		{ "a query that fits", "git.example.org", 443, "GET",
		    "/a/b/info/refs", "service=git-upload-pack", REASON_NONE,
		    "git", 12 },
		{ "another query", "git.example.org", 443, "GET",
		    "/a/b/info/refs", "service=git-receive-pack", REASON_QUERY,
		    "git", 12 },
		{ "a query with more than the rule says", "git.example.org",
		    443, "GET", "/a/b/info/refs",
		    "service=git-upload-pack&service=git-receive-pack",
		    REASON_QUERY, "git", 12 },
		{ "no query where one is asked for", "git.example.org", 443,
		    "GET", "/a/b/info/refs", NULL, REASON_QUERY, "git", 12 },
		{ "a deny rule by query", "wide.example.org", 443, "GET", "/x",
		    "service=git-receive-pack", REASON_DENIED_BY_RULE, "push",
		    23 },
		{ "... in any case", "wide.example.org", 443, "GET", "/x",
		    "a=b&SERVICE=git-Receive-pack", REASON_DENIED_BY_RULE,
		    "push", 23 },
		{ "... finds it among others", "wide.example.org", 443, "GET",
		    "/x", "a=b&service=git-receive-pack&c",
		    REASON_DENIED_BY_RULE, "push", 23 },
		{ "... and in another spelling", "wide.example.org", 443, "GET",
		    "/x", "service=git%2Dreceive-pack", REASON_DENIED_BY_RULE,
		    "push", 23 },
		{ "... but lets others be", "wide.example.org", 443, "GET",
		    "/x", "service=git-upload-pack", REASON_NONE, "wide", 21 },
		{ "a host without limits", "wide.example.org", 443, "PATCH",
		    "/anything", NULL, REASON_NONE, "wide", 21 },
		{ "plain HTTP where it is asked for", "plain.example.org", 80,
		    "GET", "/", NULL, REASON_NONE, "plain", 26 },
		{ "... and not on 443", "plain.example.org", 443, "GET", "/",
		    NULL, REASON_PORT, "plain", 26 },
	};
	struct policy *p = make_policy(requests_policy);
	struct policy_pair pair = { p, NULL };

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v = ask_request(&pair, rows[i].host,
		    rows[i].port, rows[i].method, rows[i].path, rows[i].query);

		if (v.reason != rows[i].want ||
		    (v.action == ACTION_ALLOW) !=
			(rows[i].want == REASON_NONE) ||
		    strcmp(v.rule, rows[i].rule) != 0 ||
		    v.line != rows[i].line ||
		    strcmp(v.file, "tapward.ini") != 0)
			fail_msg("%s: %s %s by %s at %s:%u", rows[i].claim,
			    action_name(v.action), reason_code(v.reason),
			    v.rule, v.file, v.line);
	}
	assert_string_equal(ask_request(&pair, "api.example.org", 443, "POST",
				"/", NULL)
				.say,
	    "ask the platform team");
	policy_unref(p);
}

static struct verdict
ask_websocket(const struct policy_pair *pair, const char *host,
    const char *path, bool is_websocket)
{
	struct policy_request req = { .host = host,
		.port = 443,
		.method = span_of("GET"),
		.path = span_of(path),
		.is_websocket = is_websocket };

	return policy_judge_request(pair, &req);
}

static void
a_websocket_needs_a_rule_that_says_so(void **state)
{
	static const char text[] = POLICY_HEAD
	    "[allow plain]\nhost = a.example.org, c.example.org\n" /* 3 */
	    "[allow ws]\nhost = a.example.org, b.example.org\n"    /* 5 */
	    "path = /ws/**\nwebsocket = yes\n"
	    "[allow no]\nhost = d.example.org\nwebsocket = no\n"  /* 9 */
	    "[deny bad]\nhost = a.example.org\npath = /ws/bad\n"; /* 12 */
	static const struct {
		const char *claim, *host, *path;
		bool is_websocket;
		enum reason want;
		uint32_t line;
	} rows[] = {
		{ "the rule that says so decides", "a.example.org", "/ws/x",
		    true, REASON_NONE, 5 },
		{ "others are as they were", "a.example.org", "/ws/x", false,
		    REASON_NONE, 3 },
		{ "a rule that does not is named", "a.example.org", "/x", true,
		    REASON_WEBSOCKET, 3 },
		{ "the only rule does not", "c.example.org", "/", true,
		    REASON_WEBSOCKET, 3 },
		{ "a rule that says no", "d.example.org", "/", true,
		    REASON_WEBSOCKET, 9 },
		{ "the path counts, too", "b.example.org", "/x", true,
		    REASON_PATH, 5 },
		{ "a deny rule holds over it", "a.example.org", "/ws/bad", true,
		    REASON_DENIED_BY_RULE, 12 },
	};
	struct policy *p = make_policy(text);
	struct policy_pair pair = { p, NULL };

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v = ask_websocket(&pair, rows[i].host,
		    rows[i].path, rows[i].is_websocket);

		if (v.reason != rows[i].want || v.line != rows[i].line ||
		    (v.action == ACTION_ALLOW) != (rows[i].want == REASON_NONE))
			fail_msg("%s: %s at line %u", rows[i].claim,
			    reason_code(v.reason), v.line);
	}
	policy_unref(p);
}

static void
a_websocket_needs_both_files(void **state)
{
	struct policy *yes = make_policy(
	    POLICY_HEAD "[allow a]\nhost = a.example.org\nwebsocket = yes\n");
	struct policy *no =
	    make_ceiling(POLICY_HEAD "[allow a]\nhost = a.example.org\n");
	struct policy_pair pairs[] = { { yes, yes }, { yes, no }, { no, yes },
		{ no, no } };
	static const char *const codes[] = { "", "ceiling-websocket",
		"websocket", "websocket" };
	char code[48];

	(void)state;
	assert_true(yes != NULL && no != NULL);
	for (size_t i = 0; i < 4; i++) {
		struct verdict v =
		    ask_websocket(&pairs[i], "a.example.org", "/", true);

		assert_string_equal(verdict_code(&v, code), codes[i]);
	}
	policy_unref(yes);
	policy_unref(no);
}

/* A connection is opened when some request on it could be allowed. */
static void
a_connection_is_denied_only_when_all_of_it_is(void **state)
{
	struct policy *p = make_policy(
	    POLICY_HEAD "[allow all]\nhost = *.example.org\n"
			"[deny part]\nhost = a.example.org\nmethod = POST\n"
			"[deny whole]\nhost = b.example.org\n"
			"[deny port]\nhost = c.example.org\nport = 8443\n");
	struct policy_pair pair = { p, NULL };

	(void)state;
	assert_int_equal(policy_judge_connect(&pair, "a.example.org", 443)
			     .action,
	    ACTION_ALLOW);
	assert_int_equal(ask_request(&pair, "a.example.org", 443, "POST", "/",
			     NULL)
			     .reason,
	    REASON_DENIED_BY_RULE);
	/* frameworks write a method in capitals before they look at it */
	assert_int_equal(ask_request(&pair, "a.example.org", 443, "Post", "/",
			     NULL)
			     .reason,
	    REASON_DENIED_BY_RULE);
	assert_int_equal(policy_judge_connect(&pair, "b.example.org", 443)
			     .reason,
	    REASON_DENIED_BY_RULE);
	/* without a port a deny rule covers every one */
	assert_int_equal(policy_judge_connect(&pair, "b.example.org", 22)
			     .reason,
	    REASON_DENIED_BY_RULE);
	assert_int_equal(policy_judge_connect(&pair, "c.example.org", 443)
			     .action,
	    ACTION_ALLOW);
	assert_int_equal(policy_judge_connect(&pair, "c.example.org", 8443)
			     .reason,
	    REASON_DENIED_BY_RULE);
	policy_unref(p);
}

static void
a_credential_goes_with_every_rule_that_matches(void **state)
{
	struct policy *p = make_policy(POLICY_HEAD
	    "[allow read]\nhost = npm.acme.example\n"
	    "[allow own]\nhost = npm.acme.example\npath = /@acme/**\n"
	    "credential = npm-acme\n");
	struct policy_pair pair = { p, NULL };
	const char *file = NULL;

	(void)state;
	assert_string_equal(ask_request(&pair, "npm.acme.example", 443, "GET",
				"/@acme/x", NULL)
				.credential,
	    "npm-acme");
	assert_string_equal(ask_request(&pair, "npm.acme.example", 443, "GET",
				"/left-pad", NULL)
				.credential,
	    "");
	assert_true(policy_has_credential_at(&pair, "npm.acme.example", 443));
	assert_string_equal(policy_credential_at(p, 0), "npm-acme");
	assert_string_equal(policy_credential_at(p, 1), "");
	assert_int_not_equal(policy_credential_line(p, "npm-acme", &file), 0);
	assert_string_equal(file, policy_file(p));
	assert_int_equal(policy_credential_line(p, "nobody", &file), 0);
	policy_unref(p);
}

/* A policy made to be slow is cut short, and never to somebody's gain. */
static void
patterns_made_to_be_slow_end_in_a_denial(void **state)
{
	static uint8_t text[POLICY_TEXT_MAX_BYTES];
	static char path[8192];
	struct wr w = wr_init(text, sizeof(text));
	struct policy *p;
	struct policy_pair pair = { NULL, NULL };
	const char *const heads[] = {
		POLICY_HEAD "[allow slow]\nhost = a.example.org\n",
		"path = /aaaa**\n[allow any]\nhost = b.example.org\n"
		"[deny slow2]\nhost = b.example.org\n",
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		wr_text(&w, heads[i]);
		for (int k = 0; k < 200; k++)
			wr_fmt(&w,
			    "path = /**a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b%d\n",
			    k);
	}
	wr_u8(&w, 0);
	assert_true(wr_ok(&w));
	p = make_policy((const char *)text);
	pair.policy = p;
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	assert_int_equal(ask_request(&pair, "a.example.org", 443, "GET", path,
			     NULL)
			     .reason,
	    REASON_PATH);
	assert_int_equal(ask_request(&pair, "b.example.org", 443, "GET", path,
			     NULL)
			     .reason,
	    REASON_DENIED_BY_RULE);
	/* a path as people have them is judged whole */
	path[100] = '\0';
	assert_int_equal(ask_request(&pair, "b.example.org", 443, "GET", path,
			     NULL)
			     .reason,
	    REASON_NONE);
	policy_unref(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_judged_by_method_path_and_query),
		cmocka_unit_test(a_websocket_needs_a_rule_that_says_so),
		cmocka_unit_test(a_websocket_needs_both_files),
		cmocka_unit_test(a_connection_is_denied_only_when_all_of_it_is),
		cmocka_unit_test(
		    a_credential_goes_with_every_rule_that_matches),
		cmocka_unit_test(patterns_made_to_be_slow_end_in_a_denial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
