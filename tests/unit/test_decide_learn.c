/*
 * A sandbox that learns: what the ceiling decides in the place of the policy,
 * and what it does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/make_policy.h"

static const char policy[] = POLICY_HEAD
    "[allow web]\nhost = web.example.org\nmethod = GET\npath = /known/**\n"
    "credential = token\n"
    "[deny admin]\nhost = web.example.org\npath = /admin/**\n"
    "[ask pay]\nhost = pay.example.org\n"
    "[allow tunnel]\nhost = tunnel.example.org\ntls = passthrough\n"
    "[allow past]\nhost = past.example.org\nuntil = 2020-01-01T00:00:00Z\n"
    "[git tool]\nrepo = git.example.org/acme/tool\n";
static const char ceiling[] = POLICY_HEAD
    "[allow web]\nhost = web.example.org, past.example.org\n"
    "[allow pay]\nhost = pay.example.org\n"
    "[deny dump]\nhost = web.example.org\npath = /dump\n"
    "[allow new]\nhost = new.example.org\nmethod = GET, HEAD\n"
    "[ask held]\nhost = held.example.org\n"
    "[allow tunnels]\nhost = tunnel.example.org, pinned.example.org\n"
    "tls = passthrough\n"
    "[allow git]\nhost = git.example.org\n"
    "[allow db]\nhost = db.example.org\nscheme = tcp\nport = 5432\n"
    "[allow plain]\nhost = plain.example.org\nscheme = http\nport = 8080\n";

static const struct row {
	const char *claim, *host;
	uint16_t port;
	const char *method; /* NULL: the connection */
	const char *path;
	enum action action;
	const char *code;    /* "" where it is not denied */
	const char *learned; /* the policy's own reason; "" as ever */
	const char *rule;    /* that is told */
} rows[] = {
	{ "what the policy allows is the policy's", "web.example.org", 443,
	    "GET", "/known/a", ACTION_ALLOW, "", "", "web" },
	{ "a path that it does not name", "web.example.org", 443, "GET",
	    "/other", ACTION_ALLOW, "", "path", "web" },
	{ "a method that it does not name", "web.example.org", 443, "POST",
	    "/known/a", ACTION_ALLOW, "", "method", "web" },
	{ "a [deny] of the policy stays a denial", "web.example.org", 443,
	    "GET", "/admin/x", ACTION_DENY, "denied-by-rule", "", "admin" },
	{ "so does one of the ceiling", "web.example.org", 443, "GET", "/dump",
	    ACTION_DENY, "ceiling-denied-by-rule", "", "dump" },
	{ "an [ask] of the policy is asked", "pay.example.org", 443, "GET", "/",
	    ACTION_ASK, "", "", "pay" },
	{ "a rule that has ended has ended", "past.example.org", 443, "GET",
	    "/", ACTION_DENY, "until", "", "past" },
	{ "a host that it does not name", "new.example.org", 443, "GET", "/",
	    ACTION_ALLOW, "", "no-rule", "new" },
	{ "and the connection to it", "new.example.org", 443, NULL, NULL,
	    ACTION_ALLOW, "", "no-rule", "new" },
	{ "as far as the ceiling goes", "new.example.org", 443, "POST", "/",
	    ACTION_DENY, "ceiling-method", "", "new" },
	{ "a host that nobody names", "z.example.org", 443, NULL, NULL,
	    ACTION_DENY, "ceiling-no-rule", "", "-" },
	{ "a port that nobody names", "new.example.org", 8443, NULL, NULL,
	    ACTION_DENY, "ceiling-port", "", "new" },
	{ "what the ceiling asks is asked", "held.example.org", 443, "GET", "/",
	    ACTION_ASK, "", "no-rule", "held" },
	{ "raw tcp of the ceiling", "db.example.org", 5432, NULL, NULL,
	    ACTION_ALLOW, "", "no-rule", "db" },
	{ "plain http of the ceiling", "plain.example.org", 8080, NULL, NULL,
	    ACTION_ALLOW, "", "no-rule", "plain" },
	{ "another host of the ceiling's passthrough", "pinned.example.org",
	    443, "GET", "/", ACTION_ALLOW, "", "no-rule", "tunnels" },
	{ "what [git] rules do not fetch is learned", "git.example.org", 443,
	    "GET", "/acme/tool/HEAD", ACTION_ALLOW, "", "path", "git" },
	{ "what they do not push is not", "git.example.org", 443, "POST",
	    "/acme/tool/git-receive-pack", ACTION_DENY, "git-ref", "", "tool" },
	{ "nor to another repository", "git.example.org", 443, "POST",
	    "/acme/else/git-receive-pack", ACTION_DENY, "path", "", "tool" },
};

static struct verdict
ask(const struct policy_pair *pair, const struct row *row)
{
	return row->method != NULL
	    ? ask_request(pair, row->host, row->port, row->method, row->path,
		  NULL)
	    : policy_judge_connect(pair, row->host, row->port);
}

static void
check(const struct policy_pair *pair, const struct row *row)
{
	struct verdict v = ask(pair, row);
	char code[48];

	if (v.action != row->action ||
	    strcmp(verdict_code(&v, code), row->code) != 0 ||
	    strcmp(reason_code(v.learned.reason), row->learned) != 0 ||
	    strcmp(v.rule, row->rule) != 0)
		fail_msg("%s: %s \"%s\" by %s, learned \"%s\"", row->claim,
		    action_name(v.action), code, v.rule,
		    reason_code(v.learned.reason));
	/* What is learned is the ceiling's, without a secret, and seen. */
	if (v.learned.reason == REASON_NONE)
		return;
	assert_string_equal(v.file, "ceiling.ini");
	assert_string_equal(v.learned.file, "tapward.ini");
	assert_string_equal(v.credential, "");
	assert_int_equal(v.tls, TLS_MODE_INSPECT);
	assert_int_equal(v.widen & WIDEN_REDIRECT, 0);
}

static void
the_ceiling_decides_what_no_rule_does(void **state)
{
	struct policy *p = make_learning(policy);
	struct policy *c = make_learning_ceiling(ceiling);
	const struct policy_pair pair = { p, c };
	struct verdict v;

	(void)state;
	assert_true(p != NULL && c != NULL && policy_pair_learns(&pair));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&pair, &rows[i]);
	/* The policy's own words hold as ever. */
	v = ask(&pair, &rows[0]);
	assert_string_equal(v.credential, "token");
	v = policy_judge_connect(&pair, "tunnel.example.org", 443);
	assert_int_equal(v.tls, TLS_MODE_PASSTHROUGH);
	v = policy_judge_connect(&pair, "pinned.example.org", 443);
	assert_int_equal(v.tls, TLS_MODE_INSPECT);
	assert_int_equal(policy_judge_connect(&pair, "db.example.org", 5432)
			     .scheme,
	    SCHEME_TCP);
	policy_unref(p);
	policy_unref(c);
}

/* Both have to say so; else all is as if nobody had. */
static void
nothing_is_learned_unless_both_say_so(void **state)
{
	struct policy *p[2] = { make_policy(policy), make_learning(policy) };
	struct policy *c[3] = { make_ceiling(ceiling),
		make_learning_ceiling(ceiling), NULL };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < 3; k++) {
			const struct policy_pair pair = { p[i], c[k] };
			struct verdict v;

			if (i == 1 && k == 1)
				continue;
			assert_false(policy_pair_learns(&pair));
			v = ask_request(&pair, "new.example.org", 443, "GET",
			    "/", NULL);
			assert_int_equal(v.action, ACTION_DENY);
			assert_int_equal(v.reason, REASON_NO_RULE);
			assert_int_equal(v.learned.reason, REASON_NONE);
			assert_int_equal(policy_ports(&pair, NULL, 0), 1);
			assert_int_equal(policy_tcp_all(&pair, NULL, 0), 0);
		}
	for (size_t i = 0; i < 2; i++) {
		policy_unref(p[i]);
		policy_unref(c[i]);
	}
}

static void
one_that_is_taken_out_of_learning_is_as_any_other(void **state)
{
	struct policy *p = make_learning(policy), *after;
	struct policy *c = make_learning_ceiling(ceiling);
	struct policy_pair pair = { p, c };
	uint8_t *image;
	size_t len;

	(void)state;
	assert_int_equal(policy_copy_unlearned(p, &image, &len), 0);
	assert_int_equal(policy_map_bytes(image, len, &after), 0);
	assert_false(policy_learns(after));
	assert_string_equal(policy_digest(after), policy_digest(p));
	pair.policy = after;
	assert_int_equal(policy_judge_connect(&pair, "new.example.org", 443)
			     .reason,
	    REASON_NO_RULE);
	assert_string_equal(ask(&pair, &rows[0]).credential, "token");
	policy_unref(after);
	policy_unref(p);
	policy_unref(c);
	free(image);
}

/* Ports and addresses, and the budget of the whole policy. */
static void
the_network_is_opened_for_what_may_be_learned(void **state)
{
	struct policy *p = make_learning(
	    POLICY_HEAD "max-requests = 5\n[allow a]\nhost = a.example.org\n"
			"port = 443, 9000\n"
			"[allow own]\nhost = own.example.org\nscheme = tcp\n"
			"port = 22\n");
	struct policy *c = make_learning_ceiling(ceiling);
	const struct policy_pair pair = { p, c };
	static const uint16_t expected[] = { 22, 443, 5432, 8080, 9000 };
	struct policy_tcp tcp[2], found;
	uint16_t ports[8];
	uint32_t db;

	(void)state;
	assert_int_equal(policy_ports(&pair, ports, 8), 5);
	assert_memory_equal(ports, expected, sizeof(expected));
	assert_int_equal(policy_tcp_all(&pair, tcp, 2), 2);
	assert_string_equal(tcp[0].host, "own.example.org");
	assert_string_equal(tcp[1].host, "db.example.org");
	db = policy_tcp_address(&pair, "db.example.org");
	assert_int_equal(db, tcp[1].address);
	assert_true(policy_tcp_find(&pair, db, 5432, &found));
	assert_false(policy_tcp_find(&pair, db, 22, &found));
	assert_int_equal(policy_judge_name(&pair, "db.example.org").action,
	    ACTION_ALLOW);
	assert_int_equal(policy_judge_name(&pair, "z.example.org").action,
	    ACTION_DENY);
	assert_int_not_equal(ask_request(&pair, "new.example.org", 443, "GET",
				 "/", NULL)
				 .budgets[VERDICT_POLICY],
	    0);
	policy_unref(p);
	policy_unref(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ceiling_decides_what_no_rule_does),
		cmocka_unit_test(nothing_is_learned_unless_both_say_so),
		cmocka_unit_test(
		    one_that_is_taken_out_of_learning_is_as_any_other),
		cmocka_unit_test(the_network_is_opened_for_what_may_be_learned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
