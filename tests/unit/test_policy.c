#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "conf/build.h"
#include "conf/policy.h"
#include "tests/unit/make_policy.h"
#include "wire/authority.h"
#include "wire/host.h"
#include "wire/path.h"

static struct verdict
ask_request(const struct policy_pair *pair, const char *host, uint16_t port,
    const char *method, const char *path, const char *query)
{
	struct path_reading reading = path_read(span_of(path));
	struct policy_request req = { .host = host,
		.port = port,
		.scheme = port == 80 ? SCHEME_HTTP : SCHEME_HTTPS,
		.method = span_of(method),
		.path = span_of(path),
		.query = span_of(query != NULL ? query : ""),
		.has_query = query != NULL,
		.is_ambiguous = reading.is_ambiguous,
		.has_encoded_slash = reading.has_encoded_slash };

	return policy_judge_request(pair, &req);
}

/* --- names: escapes.md rows 1-16 and 18 ---------------------------------- */

static const char names_policy[] =
    POLICY_HEAD "[allow exact]\nhost = api.github.com\n"
		"[allow one]\nhost = *.one.example.org\n"
		"[allow deep]\nhost = **.deep.example.org\n"
		"[allow dots]\nhost = accounts.google.com\n"
		"[allow parent]\nhost = *.github.com\n"
		"[allow puny]\nhost = xn--bcher-kva.example.org\n"
		"[deny child]\nhost = gist.github.com\nsay = no gists\n";

/* What a guest names, as the gate judges it: authority, then verdict. */
static void
names_are_judged_in_one_spelling(void **state)
{
	static const struct {
		const char *claim, *authority;
		int want; /* -1: no name at all, so never judged */
	} rows[] = {
		{ "the exact name", "api.github.com:443", ACTION_ALLOW },
		{ "1: a final dot is one name with it", "api.github.com.:443",
		    ACTION_ALLOW },
		{ "1: a final dot passes no deny rule", "gist.github.com.:443",
		    ACTION_DENY },
		{ "1: two final dots are no name", "api.github.com..:443", -1 },
		{ "2: capitals are the same name", "API.GitHub.Com:443",
		    ACTION_ALLOW },
		{ "2: capitals pass no deny rule", "GIST.github.com:443",
		    ACTION_DENY },
		{ "3: brackets round a name", "[api.github.com]:443", -1 },
		{ "3: two brackets", "[[api.github.com]]:443", -1 },
		{ "3: brackets round an address", "[127.0.0.1]:80", -1 },
		{ "5: a zone", "[::1%25.one.example.org]:80", -1 },
		{ "5: a zone without brackets", "::1%x.one.example.org", -1 },
		{ "6: no suffix without a label boundary",
		    "evil-api.github.com.evil.example:443", ACTION_DENY },
		{ "6: evilgithub.com is not github.com", "evilgithub.com:443",
		    ACTION_DENY },
		{ "6: a name with an allowed one in front",
		    "api.github.com.evil.example:443", ACTION_DENY },
		{ "7: a dot is a dot", "accountszgoogle.com:443", ACTION_DENY },
		{ "7: a dot within is a dot", "accounts.googlezcom:443",
		    ACTION_DENY },
		{ "8: *. matches one label", "a.one.example.org:443",
		    ACTION_ALLOW },
		{ "8: *. does not match the apex", "one.example.org:443",
		    ACTION_DENY },
		{ "8: *. does not match two labels", "a.b.one.example.org:443",
		    ACTION_DENY },
		{ "8: **. matches one label", "a.deep.example.org:443",
		    ACTION_ALLOW },
		{ "8: **. matches three labels", "a.b.c.deep.example.org:443",
		    ACTION_ALLOW },
		{ "8: **. does not match the apex", "deep.example.org:443",
		    ACTION_DENY },
		{ "8: **. keeps to label boundaries", "adeep.example.org:443",
		    ACTION_DENY },
		{ "9: a port within a name", "evil.com:443.one.example.org",
		    -1 },
		{ "9: text after brackets", "[::1]junk", -1 },
		{ "9: port 007", "api.github.com:007", -1 },
		{ "9: port -12", "api.github.com:-12", -1 },
		{ "9: port +443", "api.github.com:+443", -1 },
		{ "9: port 0", "api.github.com:0", -1 },
		{ "9: port 65536", "api.github.com:65536", -1 },
		{ "9: port by name", "api.github.com:https", -1 },
		{ "10: another port", "api.github.com:22", ACTION_DENY },
		{ "10: port 80 was not asked for", "api.github.com:80",
		    ACTION_DENY },
		{ "11: a Cyrillic letter", "g\xd1\x96thub.com:443", -1 },
		{ "11: a soft hyphen", "api.git\xc2\xadhub.com:443", -1 },
		{ "11: an A-label matches literally",
		    "xn--bcher-kva.example.org:443", ACTION_ALLOW },
		{ "11: an A-label is one label of a wildcard",
		    "xn--bcher-kva.one.example.org:443", ACTION_ALLOW },
		{ "12: a percent triplet", "%61pi.github.com:443", -1 },
		{ "12: an encoded dot", "api%2egithub.com:443", -1 },
		{ "14: deny under an allowed parent", "gist.github.com:443",
		    ACTION_DENY },
		{ "16: an empty label", "a..one.example.org:443", -1 },
		{ "16: a hyphen first", "-a.one.example.org:443", -1 },
		{ "16: a blank", "a b.one.example.org:443", -1 },
		{ "16: an underscore", "a_b.one.example.org:443", -1 },
		{ "16: a label of 64 bytes",
		    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		    "aaaaaa.one.example.org:443",
		    -1 },
		{ "18: two numbers", "127.1:443", -1 },
		{ "18: one number", "2130706433:443", -1 },
		{ "18: hexadecimal parts", "0x7f.0.0.1:443", -1 },
		{ "18: one hexadecimal number", "0x7f000001:443", -1 },
		{ "18: octal", "0177.0.0.1:443", -1 },
		{ "18: a dotted quad with a final dot", "127.0.0.1.:443", -1 },
		{ "18: zero", "0:443", -1 },
		{ "18: many zeroes", "00000177.1:443", -1 },
	};
	struct policy *p = make_policy(names_policy);
	struct policy_pair pair = { p, NULL };

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct authority a;
		int got = -1;

		if (authority_parse(span_of(rows[i].authority), &a) ==
		    AUTHORITY_OK)
			got = (int)policy_judge_connect(&pair, a.host,
			    a.has_port ? a.port : 443)
				  .action;
		if (got != rows[i].want)
			fail_msg("%s: %s gave %d", rows[i].claim,
			    rows[i].authority, got);
	}
	policy_unref(p);
}

/* 4: a NUL in a name. Spans carry it, so it is written apart. */
static void
row_4_a_nul_ends_no_name(void **state)
{
	static const char name[] = "evil.example\0.one.example.org";
	struct authority a;

	(void)state;
	assert_int_not_equal(authority_parse((struct span){ (const uint8_t *)
								name,
						 sizeof(name) - 1 },
				 &a),
	    AUTHORITY_OK);
}

/* 13: nothing allows nothing; 14 the other way round. */
static void
row_13_without_rules_everything_is_denied(void **state)
{
	struct policy *p = make_policy(POLICY_HEAD);
	struct policy_pair pair = { p, NULL }, none = { NULL, NULL };
	struct verdict v;

	(void)state;
	v = policy_judge_connect(&pair, "api.github.com", 443);
	assert_int_equal(v.action, ACTION_DENY);
	assert_int_equal(v.reason, REASON_NO_RULE);
	assert_string_equal(v.rule, "-");
	assert_string_equal(v.file, "tapward.ini");
	assert_int_equal(v.line, 1);
	v = policy_judge_connect(&none, "api.github.com", 443);
	assert_int_equal(v.action, ACTION_DENY);
	assert_int_equal(v.reason, REASON_NO_POLICY);
	/* a ceiling alone allows nothing either */
	none.ceiling = p;
	v = policy_judge_connect(&none, "api.github.com", 443);
	assert_int_equal(v.reason, REASON_NO_POLICY);
	policy_unref(p);
}

static void
row_14_the_order_of_rules_counts_for_nothing(void **state)
{
	struct policy *a =
	    make_policy(POLICY_HEAD "[allow p]\nhost = *.example.org\n"
				    "[deny c]\nhost = gist.example.org\n");
	struct policy *b =
	    make_policy(POLICY_HEAD "[deny c]\nhost = gist.example.org\n"
				    "[allow p]\nhost = *.example.org\n");
	struct policy_pair pa = { a, NULL }, pb = { b, NULL };

	(void)state;
	assert_int_equal(policy_judge_connect(&pa, "gist.example.org", 443)
			     .reason,
	    REASON_DENIED_BY_RULE);
	assert_int_equal(policy_judge_connect(&pb, "gist.example.org", 443)
			     .reason,
	    REASON_DENIED_BY_RULE);
	assert_int_equal(policy_judge_connect(&pa, "a.example.org", 443).action,
	    ACTION_ALLOW);
	assert_int_equal(policy_judge_connect(&pb, "a.example.org", 443).action,
	    ACTION_ALLOW);
	policy_unref(a);
	policy_unref(b);
}

/* 15: DNS, connection, request and strip list ask one table. */
static void
row_15_one_matcher_answers_every_question(void **state)
{
	static const char *const hosts[] = { "npm.acme.example",
		"NPM.acme.example", "x.npm.acme.example", "acme.example" };
	struct policy *p = make_policy(POLICY_HEAD
	    "[allow npm]\nhost = npm.acme.example\ncredential = c\n");
	struct policy_pair pair = { p, NULL };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		bool connects =
		    policy_judge_connect(&pair, hosts[i], 443).action ==
		    ACTION_ALLOW;

		assert_int_equal(connects, i == 0);
		assert_int_equal(policy_has_credential_at(&pair, hosts[i], 443),
		    connects);
		assert_int_equal(ask_request(&pair, hosts[i], 443, "GET", "/",
				     NULL)
				     .action == ACTION_ALLOW,
		    connects);
	}
	assert_false(policy_has_credential_at(&pair, hosts[0], 8443));
	policy_unref(p);
}

/* --- requests ------------------------------------------------------------ */

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

static void
a_websocket_needs_a_rule_that_says_so(void **state)
{
	struct policy *p =
	    make_policy(POLICY_HEAD "[allow a]\nhost = a.example.org\n");
	struct policy_pair pair = { p, NULL };
	struct policy_request req = { .host = "a.example.org",
		.port = 443,
		.method = span_of("GET"),
		.path = span_of("/"),
		.is_websocket = true };

	(void)state;
	assert_int_equal(policy_judge_request(&pair, &req).reason,
	    REASON_WEBSOCKET);
	req.is_websocket = false;
	assert_int_equal(policy_judge_request(&pair, &req).reason, REASON_NONE);
	policy_unref(p);
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
	policy_unref(p);
}

/* --- policy and ceiling -------------------------------------------------- */

static void
the_stricter_of_both_files_counts(void **state)
{
	static const char policy[] = POLICY_HEAD
	    "[allow a]\nhost = a.example.org, b.example.org, c.example.org, "
	    "d.example.org\nmethod = GET, POST\n"
	    "[allow e]\nhost = e.example.org\ntls = passthrough\n"
	    "[allow f]\nhost = f.example.org\ntls = passthrough\n"
	    "[allow g]\nhost = g.example.org\nscheme = http\n"
	    "[allow h]\nhost = h.example.org\nscheme = tcp\nport = 5432\n"
	    "[allow i]\nhost = i.example.org\nscheme = http\n"
	    "[allow j]\nhost = j.example.org\npath = /@a/**\n"
	    "encoded-slash = yes\n";
	static const char ceiling[] =
	    POLICY_HEAD "[allow a]\nhost = a.example.org\n"
			"[allow b]\nhost = b.example.org\nmethod = GET\n"
			"[deny c]\nhost = c.example.org\n"
			"[allow c2]\nhost = c.example.org\n"
			"[allow e]\nhost = e.example.org\n"
			"[allow f]\nhost = f.example.org\ntls = passthrough\n"
			"[allow g]\nhost = g.example.org\nport = 8080\n"
			"[allow h]\nhost = h.example.org\nport = 5432\n"
			"[allow i]\nhost = i.example.org\nscheme = http\n"
			"[allow j]\nhost = j.example.org\npath = /**\n";
	static const struct {
		const char *claim, *host;
		uint16_t port;
		const char *method; /* NULL: the connection */
		const char *code, *file;
	} rows[] = {
		{ "both allow", "a.example.org", 443, "GET", "",
		    "tapward.ini" },
		{ "the policy is the stricter", "a.example.org", 443, "PUT",
		    "method", "tapward.ini" },
		{ "the ceiling is the stricter", "b.example.org", 443, "POST",
		    "ceiling-method", "ceiling.ini" },
		{ "the ceiling denies by a rule", "c.example.org", 443, NULL,
		    "ceiling-denied-by-rule", "ceiling.ini" },
		{ "the ceiling does not name it", "d.example.org", 443, NULL,
		    "ceiling-no-rule", "ceiling.ini" },
		{ "the policy does not name it", "z.example.org", 443, NULL,
		    "no-rule", "tapward.ini" },
		{ "passthrough of one is inspected", "e.example.org", 443, NULL,
		    "", "tapward.ini" },
		{ "passthrough of both holds", "f.example.org", 443, NULL, "",
		    "tapward.ini" },
		{ "http that the ceiling does not give", "g.example.org", 80,
		    NULL, "ceiling-port", "ceiling.ini" },
		{ "tcp that the ceiling has as https", "h.example.org", 5432,
		    NULL, "ceiling-port", "ceiling.ini" },
		{ "http of both holds", "i.example.org", 80, NULL, "",
		    "tapward.ini" },
	};
	struct policy *p = make_policy(policy), *c = make_ceiling(ceiling);
	struct policy_pair pair = { p, c };
	char code[48];

	(void)state;
	assert_true(p != NULL && c != NULL);
	assert_true(policy_is_ceiling(c) && !policy_is_ceiling(p));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v = rows[i].method != NULL
		    ? ask_request(&pair, rows[i].host, rows[i].port,
			  rows[i].method, "/", NULL)
		    : policy_judge_connect(&pair, rows[i].host, rows[i].port);

		if (strcmp(verdict_code(&v, code), rows[i].code) != 0 ||
		    (v.action == ACTION_ALLOW) != (code[0] == '\0') ||
		    strcmp(v.file, rows[i].file) != 0)
			fail_msg("%s: %s \"%s\" by %s of %s", rows[i].claim,
			    action_name(v.action), code, v.rule, v.file);
	}
	assert_int_equal(policy_judge_connect(&pair, "e.example.org", 443).tls,
	    TLS_MODE_INSPECT);
	assert_int_equal(policy_judge_connect(&pair, "f.example.org", 443).tls,
	    TLS_MODE_PASSTHROUGH);
	/* encoded-slash of one file is no right */
	assert_string_equal(verdict_code(&(struct verdict){ .by_ceiling = true,
					     .reason = ask_request(&pair,
						 "j.example.org", 443, "GET",
						 "/@a%2fb", NULL)
							   .reason },
				code),
	    "ceiling-path");
	policy_unref(p);
	policy_unref(c);
}

/* --- properties ---------------------------------------------------------- */

static uint32_t
next_random(uint64_t *seed)
{
	/* Knuth's MMIX constants; the wrap is spelled out */
	uint64_t product;

	(void)__builtin_mul_overflow(*seed, 6364136223846793005ULL, &product);
	(void)__builtin_add_overflow(product, 1442695040888963407ULL, seed);
	return (uint32_t)(*seed >> 33);
}

static const char *
pick(uint64_t *seed, const char *const *words, size_t n)
{
	return words[next_random(seed) % n];
}

static size_t
random_rule(uint64_t *seed, unsigned int i, char *buf, size_t size)
{
	static const char *const kinds[] = { "allow", "allow", "deny" };
	static const char *const hosts[] = { "a.x.org", "b.x.org", "*.x.org",
		"**.x.org", "c.b.x.org", "*.b.x.org" };
	static const char *const methods[] = { "", "method = GET\n",
		"method = GET, POST\n" };
	static const char *const paths[] = { "", "path = /a/**\n",
		"path = /a/*\n", "path = /a/b\npath = /c\n",
		"path = /a/**\nencoded-slash = yes\n" };
	static const char *const ports[] = { "", "port = 443, 8443\n",
		"port = 8443\n" };
	static const char *const queries[] = { "", "", "query = q=*\n" };

	return (size_t)snprintf(buf, size, "[%s r%u]\nhost = %s\n%s%s%s%s",
	    pick(seed, kinds, 3), i, pick(seed, hosts, 6),
	    pick(seed, methods, 3), pick(seed, paths, 5), pick(seed, ports, 3),
	    pick(seed, queries, 3));
}

static struct policy *
random_policy(uint64_t *seed, bool is_ceiling)
{
	char text[2048];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s", POLICY_HEAD);
	unsigned int rules = 1 + next_random(seed) % 5;

	for (unsigned int i = 0; i < rules; i++)
		len += random_rule(seed, i, text + len, sizeof(text) - len);
	return is_ceiling ? make_ceiling(text) : make_policy(text);
}

static struct verdict
random_question(uint64_t *seed, struct policy_pair pairs[3],
    struct verdict ret_alone[2])
{
	static const char *const hosts[] = { "a.x.org", "b.x.org", "c.b.x.org",
		"x.org", "d.c.b.x.org", "z.org" };
	static const char *const methods[] = { "GET", "POST", "PUT" };
	static const char *const paths[] = { "/a/b", "/a/b/c", "/c", "/",
		"/a%2fb", "/a/../c", "/a//b" };
	static const char *const queries[] = { NULL, "q=1", "q=1&r=2",
		"q=%31" };
	const char *host = pick(seed, hosts, 6);
	const char *method = pick(seed, methods, 3);
	const char *path = pick(seed, paths, 7);
	const char *query = pick(seed, queries, 4);
	uint16_t port = next_random(seed) % 2 ? 443 : 8443;
	bool is_request = next_random(seed) % 4 != 0;
	struct verdict v[3];

	for (int i = 0; i < 3; i++)
		v[i] = is_request
		    ? ask_request(&pairs[i], host, port, method, path, query)
		    : policy_judge_connect(&pairs[i], host, port);
	ret_alone[0] = v[1];
	ret_alone[1] = v[2];
	return v[0];
}

/* 186, and DESIGN: 20,000 questions to 400 random pairs of files. */
static void
policy_and_ceiling_are_never_wider_than_either(void **state)
{
	uint64_t seed = 20261129;
	unsigned int allowed = 0, by_ceiling = 0;

	(void)state;
	for (int n = 0; n < 400; n++) {
		struct policy *p = random_policy(&seed, false);
		struct policy *c = random_policy(&seed, true);
		struct policy_pair pairs[3] = { { p, c }, { p, NULL },
			{ c, NULL } };

		assert_true(p != NULL && c != NULL);
		for (int i = 0; i < 50; i++) {
			struct verdict one[2];
			struct verdict v = random_question(&seed, pairs, one);
			enum action least = one[0].action < one[1].action
			    ? one[0].action
			    : one[1].action;

			assert_int_equal(v.action, least);
			if (v.action == ACTION_ALLOW)
				assert_int_equal(v.widen,
				    one[0].widen & one[1].widen);
			assert_int_equal(v.action == ACTION_ALLOW,
			    v.reason == REASON_NONE);
			allowed += v.action == ACTION_ALLOW;
			by_ceiling += v.by_ceiling;
		}
		policy_unref(p);
		policy_unref(c);
	}
	/* the questions are worth asking */
	assert_true(allowed > 500 && by_ceiling > 500);
}

/* --- ask, which the language does not have yet ---------------------------- */

static void
add_rule(struct model *m, const char *name, enum action action,
    enum scheme scheme, const char *host)
{
	struct model_rule r = { .action = action, .scheme = scheme, .line = 9 };
	struct model_host h = { .rule = (uint32_t)m->rules.count,
		.kind = PATTERN_EXACT };
	uint16_t port = scheme == SCHEME_TCP ? 5432 : 443;

	r.ports = (struct image_run){ (uint32_t)m->ports.count, 1 };
	assert_int_equal(model_add_string(m, span_of(name), &r.name), 0);
	assert_int_equal(model_add_string(m, span_of(host), &h.name), 0);
	assert_int_equal(vec_push(&m->ports, &port), 0);
	assert_int_equal(vec_push(&m->rules, &r), 0);
	assert_int_equal(vec_push(&m->hosts, &h), 0);
}

static void
deny_beats_ask_beats_allow(void **state)
{
	struct model m;
	uint32_t file;
	uint8_t *image;
	size_t len;
	struct err err;
	struct policy *p,
	    *c = make_ceiling(POLICY_HEAD "[allow a]\nhost = **.example.org\n");
	struct policy_pair pair = { NULL, NULL };

	(void)state;
	assert_int_equal(model_init(&m), 0);
	assert_int_equal(model_add_string(&m, span_of("m.ini"), &file), 0);
	assert_int_equal(vec_push(&m.files, &file), 0);
	add_rule(&m, "allow1", ACTION_ALLOW, SCHEME_HTTPS, "a.example.org");
	add_rule(&m, "ask1", ACTION_ASK, SCHEME_HTTPS, "a.example.org");
	add_rule(&m, "ask2", ACTION_ASK, SCHEME_HTTPS, "b.example.org");
	add_rule(&m, "deny2", ACTION_DENY, SCHEME_HTTPS, "b.example.org");
	add_rule(&m, "ask3", ACTION_ASK, SCHEME_TCP, "c.example.org");
	assert_int_equal(build_image(&m, &image, &len, &err), 0);
	assert_int_equal(policy_map_bytes(image, len, &p), 0);
	pair.policy = p;
	/* an inspected connection is opened, its requests are asked for */
	assert_int_equal(policy_judge_connect(&pair, "a.example.org", 443)
			     .action,
	    ACTION_ALLOW);
	assert_int_equal(ask_request(&pair, "a.example.org", 443, "GET", "/",
			     NULL)
			     .action,
	    ACTION_ASK);
	assert_int_equal(ask_request(&pair, "b.example.org", 443, "GET", "/",
			     NULL)
			     .action,
	    ACTION_DENY);
	assert_int_equal(policy_judge_connect(&pair, "c.example.org", 5432)
			     .action,
	    ACTION_ASK);
	/* the ceiling allows, so the policy's question stands */
	pair.ceiling = c;
	assert_int_equal(ask_request(&pair, "a.example.org", 443, "GET", "/",
			     NULL)
			     .action,
	    ACTION_ASK);
	policy_unref(p);
	policy_unref(c);
	free(image);
	model_done(&m);
}

/* --- what else an image tells --------------------------------------------- */

static void
tcp_hosts_have_addresses_of_their_own(void **state)
{
	static const char text[] =
	    POLICY_HEAD "[allow db]\nhost = db.example.org, cache.example.org\n"
			"scheme = tcp\nport = 5432, 6379\n"
			"[allow web]\nhost = web.example.org\n";
	struct policy *p = make_policy(text), *again = make_policy(text);
	struct policy_tcp tcp, found;
	uint32_t db, cache;
	uint16_t ports[4];

	(void)state;
	assert_true(p != NULL && again != NULL);
	db = policy_tcp_address(p, "db.example.org");
	cache = policy_tcp_address(p, "cache.example.org");
	assert_int_equal(db >> 16, 0xc612);
	assert_int_equal(cache >> 16, 0xc612);
	assert_int_not_equal(db, cache);
	/* the address follows from the name, not from the compile */
	assert_int_equal(db, policy_tcp_address(again, "db.example.org"));
	assert_int_equal(policy_tcp_address(p, "web.example.org"), 0);
	assert_int_equal(policy_tcp_address(p, "x.example.org"), 0);
	assert_true(policy_tcp_find(p, db, 5432, &found));
	assert_string_equal(found.host, "db.example.org");
	assert_true(policy_tcp_find(p, cache, 6379, &found));
	assert_string_equal(found.host, "cache.example.org");
	assert_false(policy_tcp_find(p, db, 443, &found));
	assert_true(policy_tcp_at(p, 3, &tcp));
	assert_false(policy_tcp_at(p, 4, &tcp));
	assert_int_equal(policy_ports(p, ports, 4), 3);
	assert_int_equal(ports[0], 443);
	assert_int_equal(ports[1], 5432);
	assert_int_equal(ports[2], 6379);
	assert_int_equal(policy_ports(p, ports, 1), 3);
	policy_unref(p);
	policy_unref(again);
}

static void
an_image_that_was_changed_is_refused(void **state)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	struct compile_input in = { .display_name = "t",
		.text =
		    span_of(POLICY_HEAD "[allow a]\nhost = a.example.org\n") };
	struct policy *p;
	AUTO_CLOSE int fd = -1;

	(void)state;
	assert_int_equal(compile_policy(&in, r), 0);
	assert_int_equal(policy_map_bytes(r->image, r->image_len, &p), 0);
	assert_string_equal(policy_file(p), "t");
	assert_int_equal(strlen(policy_digest(p)), 64);
	assert_int_equal(policy_rule_count(p), 1);
	assert_int_equal(policy_host_count(p), 1);
	policy_unref(policy_ref(p));
	policy_unref(p);
	assert_int_equal(policy_map_bytes(r->image, r->image_len - 1, &p),
	    -EBADMSG);
	assert_int_equal(policy_map_bytes(r->image, 10, &p), -EBADMSG);
	r->image[8]++;
	assert_int_equal(policy_map_bytes(r->image, r->image_len, &p), -EPROTO);
	r->image[8]--;
	/* a count of the header */
	r->image[68]++;
	assert_int_equal(policy_map_bytes(r->image, r->image_len, &p),
	    -EBADMSG);
	/* not sealed */
	fd = memfd_create("x", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(policy_map(fd, &p), -EBADMSG);
	compile_result_done(r);
	free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_judged_in_one_spelling),
		cmocka_unit_test(row_4_a_nul_ends_no_name),
		cmocka_unit_test(row_13_without_rules_everything_is_denied),
		cmocka_unit_test(row_14_the_order_of_rules_counts_for_nothing),
		cmocka_unit_test(row_15_one_matcher_answers_every_question),
		cmocka_unit_test(requests_are_judged_by_method_path_and_query),
		cmocka_unit_test(a_websocket_needs_a_rule_that_says_so),
		cmocka_unit_test(a_connection_is_denied_only_when_all_of_it_is),
		cmocka_unit_test(
		    a_credential_goes_with_every_rule_that_matches),
		cmocka_unit_test(the_stricter_of_both_files_counts),
		cmocka_unit_test(
		    policy_and_ceiling_are_never_wider_than_either),
		cmocka_unit_test(deny_beats_ask_beats_allow),
		cmocka_unit_test(tcp_hosts_have_addresses_of_their_own),
		cmocka_unit_test(an_image_that_was_changed_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
