/*
 * Rates, and what a verdict says of budgets and ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "conf/budget.h"
#include "tests/unit/make_policy.h"

/* Knuth's MMIX constants: the same numbers every time. */
static uint32_t
next_random(uint64_t *seed)
{
	uint64_t product;

	(void)__builtin_mul_overflow(*seed, 6364136223846793005ull, &product);
	(void)__builtin_add_overflow(product, 1442695040888963407ull, seed);
	return (uint32_t)(*seed >> 33);
}

#define ASKED 20000

static void
a_rate_holds_in_every_span_of_its_length(void **state)
{
	static const struct budget rates[] = {
		{ .rate = 1, .rate_s = 1 },
		{ .rate = 100, .rate_s = 1 },
		{ .rate = 7, .rate_s = 60 },
		{ .rate = 100, .rate_s = 60 },
		{ .rate = 3, .rate_s = 3600 },
	};
	static uint64_t passed[ASKED];
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct budget_slot s = { .budget = rates[i] };
		uint64_t now = 123456789, span = rates[i].rate_s * 1000ull;
		size_t n = 0;

		for (size_t k = 0; k < ASKED; k++) {
			uint64_t wait = 0;

			now +=
			    next_random(&seed) % (2 * span / rates[i].rate + 2);
			if (budget_rate_left(&s, now, &wait) == 0) {
				assert_true(wait > 0 && wait <= span * 2);
				continue;
			}
			budget_rate_count(&s, now);
			if (n >= rates[i].rate)
				assert_true(
				    now - passed[n - rates[i].rate] >= span);
			passed[n++] = now;
		}
		/* Half of them come too fast; most of the rate is had. */
		assert_true(n > ASKED / 3);
	}
}

static void
a_rate_lets_through_again_when_it_said(void **state)
{
	struct budget_slot s = { .budget = { .rate = 2, .rate_s = 60 } };
	uint64_t wait = 0;

	(void)state;
	budget_rate_count(&s, 1000000);
	budget_rate_count(&s, 1000000);
	assert_int_equal(budget_rate_left(&s, 1000000, &wait), 0);
	assert_true(wait >= 60000 && wait < 62100);
	assert_int_equal(budget_rate_left(&s, 1000000 + wait - 1, &wait), 0);
	assert_true(wait <= 1);
	assert_int_equal(budget_rate_left(&s, 1000000 + 62100, &wait), 2);
}

static void
another_span_does_not_begin_anew(void **state)
{
	struct budget_slot s = { .budget = { .rate = 5, .rate_s = 60 } };
	struct budget hour = { .rate = 5, .rate_s = 3600 };
	uint64_t wait = 0;

	(void)state;
	for (int i = 0; i < 5; i++)
		budget_rate_count(&s, 1000000);
	budget_slot_set(&s, &hour, 1000000);
	assert_int_equal(budget_rate_left(&s, 1000000, &wait), 0);
	budget_slot_set(&s, &(struct budget){ .max_requests = 1 }, 1000000);
	budget_slot_set(&s, &hour, 1000000);
	assert_int_equal(budget_rate_left(&s, 1000000, &wait), 5);
}

static void
times_are_read_as_the_calendar_has_them(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} rows[] = {
		{ "1970-01-01T00:00Z", 0 },
		{ "2000-02-29T12:34:56Z", 951827696 },
		{ "2026-11-30T01:02Z", 1796000520 },
		{ "2100-03-01T00:00:00Z", 4107542400 },
		{ "9999-12-31T23:59:59Z", BUDGET_UNTIL_MAX },
	};
	static const char *const bad[] = { "", "2026", "2026-13-01T00:00Z",
		"2026-00-01T00:00Z", "2026-01-00T00:00Z", "2026-1-1T00:00Z",
		"2026-01-01T24:00Z", "2026-01-01T00:60Z",
		"2026-01-01T00:00:60Z", "2026-01-01T00:00Z ",
		"2026-01-01t00:00z", "2026-01-01T00:00+01:00",
		"12026-01-01T00:00Z", "2100-02-29T00:00Z" };
	uint64_t got = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_null(budget_parse_until(span_of(rows[i].text), &got));
		assert_int_equal(got, rows[i].want);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(budget_parse_until(span_of(bad[i]), &got));
}

/* --- verdicts --- */

#define POLICY                                                                 \
	"[policy]\nversion = 1\nmax-upload = 1GB\n"                            \
	"[allow a]\nhost = a.example.org\npath = /a/**\nmax-requests = 1\n"    \
	"[allow b]\nhost = a.example.org\npath = /**\nrate = 1/day\n"          \
	"until = 2030-01-01T00:00Z\n"                                          \
	"[allow c]\nhost = c.example.org\nport = 5432\nscheme = tcp\n"         \
	"until = 2031-01-01T00:00Z\n"                                          \
	"[allow d]\nhost = c.example.org\nport = 5432\nscheme = tcp\n"         \
	"[allow e]\nhost = e.example.org\nuntil = 2030-01-01T00:00Z\n"         \
	"[allow f]\nhost = e.example.org\npath = /f\n"

static void
all_rules_that_match_count(void **state)
{
	static const char ceiling[] =
	    "[policy]\nversion = 1\n"
	    "[allow all]\nhost = **.example.org\nmax-connections = 2\n";
	struct policy *p = make_policy(POLICY), *c = make_ceiling(ceiling);
	struct policy_pair pair = { p, c };
	struct policy_budget b;
	struct verdict v;

	(void)state;
	v = ask_request(&pair, "a.example.org", 443, "GET", "/a/x", NULL);
	assert_int_equal(v.action, ACTION_ALLOW);
	assert_int_equal(v.budgets[VERDICT_POLICY], 7);
	assert_int_equal(v.budgets[VERDICT_CEILING], 1);
	v = ask_request(&pair, "a.example.org", 443, "GET", "/b", NULL);
	assert_int_equal(v.budgets[VERDICT_POLICY], 5);
	v = ask_request(&pair, "z.example.org", 443, "GET", "/b", NULL);
	assert_int_equal(v.action, ACTION_DENY);
	assert_int_equal(v.budgets[VERDICT_POLICY], 0);
	assert_int_equal(v.budgets[VERDICT_CEILING], 0);

	assert_true(policy_budget_at(p, 0, &b));
	assert_string_equal(b.rule, "-");
	assert_int_equal(b.budget.max_upload, 1000000000);
	assert_true(policy_budget_at(p, 2, &b));
	assert_string_equal(b.rule, "b");
	assert_int_equal(b.line, 8);
	assert_int_equal(b.budget.rate, 1);
	assert_int_equal(b.budget.rate_s, 86400);
	assert_false(policy_budget_at(p, 5, &b));
	policy_unref(p);
	policy_unref(c);
}

static void
an_end_denies_what_its_rule_matches(void **state)
{
	static const struct {
		const char *claim, *host;
		uint16_t port;
		const char *path; /* NULL: the connection */
		uint64_t at_s;
		enum reason want;
		const char *rule;
	} rows[] = {
		{ "before the end", "a.example.org", 443, "/a/x", 1893455999,
		    REASON_NONE, "a" },
		{ "at the end, though another rule has none", "a.example.org",
		    443, "/a/x", 1893456000, REASON_UNTIL, "b" },
		{ "the connection goes on: a rule has no end", "a.example.org",
		    443, NULL, 1893456000, REASON_NONE, "a" },
		{ "nothing is seen inside: the first end counts",
		    "c.example.org", 5432, NULL, 1924992000, REASON_UNTIL,
		    "c" },
		{ "and not before", "c.example.org", 5432, NULL, 1924991999,
		    REASON_NONE, "c" },
		{ "a connection whose last rule has none", "e.example.org", 443,
		    NULL, 1893456000, REASON_NONE, "e" },
		{ "but its request has", "e.example.org", 443, "/x", 1893456000,
		    REASON_UNTIL, "e" },
	};
	struct policy *p = make_policy(POLICY);
	struct policy_pair pair = { p, NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v;

		clock_test_set(1000, 1000, rows[i].at_s * 1000);
		v = rows[i].path == NULL
		    ? policy_judge_connect(&pair, rows[i].host, rows[i].port)
		    : ask_request(&pair, rows[i].host, rows[i].port, "GET",
			  rows[i].path, NULL);
		if (v.reason != rows[i].want ||
		    strcmp(v.rule, rows[i].rule) != 0)
			fail_msg("%s: %s by %s", rows[i].claim,
			    reason_code(v.reason), v.rule);
	}
	clock_test_release();
	policy_unref(p);
}

static void
the_end_of_a_file_is_the_end_of_all(void **state)
{
	static const char ceiling[] =
	    "[policy]\nversion = 1\nuntil = 2030-01-01T00:00Z\n"
	    "[allow all]\nhost = **.example.org\n";
	struct policy *p = make_policy(
	    "[policy]\nversion = 1\n[allow a]\nhost = a.example.org\n");
	struct policy *c = make_ceiling(ceiling);
	struct policy_pair pair = { p, c };
	struct verdict v;
	char code[48];

	(void)state;
	clock_test_set(1000, 1000, 1893455999000);
	v = policy_judge_connect(&pair, "a.example.org", 443);
	assert_int_equal(v.action, ACTION_ALLOW);
	clock_test_set(1000, 1000, 1893456000000);
	v = policy_judge_connect(&pair, "a.example.org", 443);
	assert_string_equal(verdict_code(&v, code), "ceiling-until");
	assert_string_equal(v.rule, "-");
	assert_int_equal(v.line, 1);
	clock_test_release();
	policy_unref(p);
	policy_unref(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_holds_in_every_span_of_its_length),
		cmocka_unit_test(a_rate_lets_through_again_when_it_said),
		cmocka_unit_test(another_span_does_not_begin_anew),
		cmocka_unit_test(times_are_read_as_the_calendar_has_them),
		cmocka_unit_test(all_rules_that_match_count),
		cmocka_unit_test(an_end_denies_what_its_rule_matches),
		cmocka_unit_test(the_end_of_a_file_is_the_end_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
