/* What people expect of a policy is asked as a guest would ask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/expect.h"
#include "tests/unit/make_policy.h"

static const char rules[] =
    POLICY_HEAD "[allow api]\nhost = api.example.org\nmethod = GET\n"
		"path = /repos/**\n"
		"[git w]\nrepo = git.example.org/acme/w\n"
		"push = refs/heads/agent/*\n";

static void
expectations_are_met_or_told(void **state)
{
	static const struct {
		const char *claim, *text;
		size_t asked, failed;
		const char *want; /* what is said; NULL: nothing is */
	} rows[] = {
		{ "a verdict that is so",
		    "[expect a]\nurl = https://api.example.org/repos/x\n"
		    "verdict = allow\nrule = api\n",
		    1, 0, NULL },
		{ "one that is not",
		    "[expect a]\nurl = https://api.example.org/x\n"
		    "verdict = allow\n",
		    1, 1,
		    "t.ini:1: [expect a] GET https://api.example.org/x: allow "
		    "is expected, deny by reason path it is, by api "
		    "(tapward.ini:3)\n"
		    "    to change it: add `path = /x` to [allow api]" },
		{ "a reason that is not",
		    "[expect a]\nurl = https://api.example.org/x\n"
		    "verdict = deny\nreason = method\n",
		    1, 1, "reason method is expected, path it is" },
		{ "a rule that is not",
		    "[expect a]\nurl = https://api.example.org/repos/x\n"
		    "verdict = allow\nrule = other\n",
		    1, 1, "rule other is expected, api it is" },
		{ "each URL with each method",
		    "[expect a]\nurl = https://api.example.org/repos/x\n"
		    "url = https://api.example.org/repos/y\n"
		    "method = GET, PUT, DELETE\nverdict = deny\n",
		    6, 2, "deny is expected, allow it is" },
		{ "two sections, and others between",
		    "[expect a]\nurl = https://b.example.org/\n"
		    "verdict = deny\nreason = no-rule\n"
		    "[allow x]\nhost = x.example.org\n"
		    "[expect b]\nurl = b.example.org\nverdict = deny\n",
		    2, 0, NULL },
		{ "a push that may be",
		    "[expect a]\nurl = git.example.org/acme/w\n"
		    "push = refs/heads/agent/x\nverdict = allow\n",
		    1, 0, NULL },
		{ "and one that may not",
		    "[expect a]\nurl = https://git.example.org/acme/w.git\n"
		    "push = refs/heads/agent/x\noperation = delete\n"
		    "verdict = deny\nreason = git-ref\n",
		    1, 0, NULL },
		{ "nothing", "; no section\n", 0, 0, NULL },
	};
	struct policy *p = make_policy(rules);
	struct policy_pair pair = { p, NULL };
	static uint8_t buf[8192];

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wr w = wr_init(buf, sizeof(buf) - 1);
		struct expect_output out = { .lines = &w };
		struct expect_report report = { 0, 0 };
		struct err err = { "" };
		int rc = expect_run("t.ini", span_of(rows[i].text), &pair, &out,
		    &report, &err);

		buf[w.len] = '\0';
		if (rc != 0 || report.asked != rows[i].asked ||
		    report.failed != rows[i].failed ||
		    (rows[i].want == NULL
			    ? w.len != 0
			    : strstr((char *)buf, rows[i].want) == NULL))
			fail_msg("%s: %d %s, %zu asked, %zu failed: %s",
			    rows[i].claim, rc, err.text, report.asked,
			    report.failed, (char *)buf);
	}
	policy_unref(p);
}

static void
what_cannot_be_asked_is_an_error(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "[expect a]\nverdict = deny\n",
		    "t.ini:1: [expect a] names no url" },
		{ "[expect a]\nurl = https://a.example.org/\n",
		    "t.ini:1: [expect a] expects nothing" },
		{ "[expect a]\nurl = https://a.example.org/\nverdict = no\n",
		    "t.ini:3: verdict = no: a verdict is" },
		{ "[expect a]\nurl = ftp://a.example.org/\nverdict = deny\n",
		    "t.ini:1: [expect a] ftp://a.example.org/: schemes are" },
		{ "[expect a]\nurl = a.example.org\nmethod = get\n",
		    "t.ini:3: method = get: a method is written in capitals" },
		{ "[expect a]\nurl = a.example.org\nhost = b\n",
		    "t.ini:3: host = b: not a key of [expect NAME]" },
		{ "[expect a]\nurl = a.example.org/x/y\npush = main\n"
		  "verdict = deny\n",
		    "t.ini:1: [expect a] a.example.org/x/y: main: " },
		{ "[expect a]\nurl = a.example.org\noperation = force\n"
		  "verdict = deny\n",
		    "t.ini:1: [expect a] has an operation and no push" },
		{ "[expect a]\nurl = a.example.org\noperation = x\n",
		    "t.ini:3: operation = x: an operation is" },
		{ "[expect a]\nurl = a.example.org\npush = refs/heads/x\n"
		  "method = PUT\nverdict = deny\n",
		    "t.ini:1: [expect a] has push and method" },
	};
	struct policy *p = make_policy(rules);
	struct policy_pair pair = { p, NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct expect_output out = { .lines = NULL };
		struct expect_report report = { 0, 0 };
		struct err err = { "" };
		int rc = expect_run("t.ini", span_of(rows[i].text), &pair, &out,
		    &report, &err);

		if (rc != -EINVAL ||
		    strncmp(err.text, rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("%s: %d %s", rows[i].want, rc, err.text);
	}
	policy_unref(p);
}

/* In a policy they decide nothing, and a slip in a key is an error. */
static void
a_policy_may_hold_expectations(void **state)
{
	static const char good[] =
	    POLICY_HEAD "[allow a]\nhost = a.example.org\n"
			"[expect b]\nurl = https://b.example.org/\n"
			"verdict = allow\n";
	static const char bad[] = POLICY_HEAD "[expect b]\nurll = x\n";
	struct policy *p = make_policy(good);
	struct policy_pair pair = { p, NULL };

	(void)state;
	assert_non_null(p);
	assert_int_equal(policy_rule_count(p), 1);
	assert_int_equal(policy_judge_connect(&pair, "b.example.org", 443)
			     .action,
	    ACTION_DENY);
	policy_unref(p);
	assert_null(make_policy(bad));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expectations_are_met_or_told),
		cmocka_unit_test(what_cannot_be_asked_is_an_error),
		cmocka_unit_test(a_policy_may_hold_expectations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
