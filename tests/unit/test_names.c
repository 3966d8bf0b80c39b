#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/make_policy.h"
#include "wire/authority.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_judged_in_one_spelling),
		cmocka_unit_test(row_4_a_nul_ends_no_name),
		cmocka_unit_test(row_13_without_rules_everything_is_denied),
		cmocka_unit_test(row_14_the_order_of_rules_counts_for_nothing),
		cmocka_unit_test(row_15_one_matcher_answers_every_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
