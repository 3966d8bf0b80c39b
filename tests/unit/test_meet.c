#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conf/build.h"
#include "tests/unit/make_policy.h"

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

static void
random_text(uint64_t *seed, char text[2048])
{
	size_t len = (size_t)snprintf(text, 2048, "%s", POLICY_HEAD);
	unsigned int rules = 1 + next_random(seed) % 5;

	for (unsigned int i = 0; i < rules; i++)
		len += random_rule(seed, i, text + len, 2048 - len);
}

static struct policy *
random_policy(uint64_t *seed, bool is_ceiling)
{
	char text[2048];

	random_text(seed, text);
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

/* 186, and DESIGN: 100,000 questions to 400 random pairs of files. */
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
		for (int i = 0; i < 250; i++) {
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

/*
 * A sandbox that learns: what its policy allows stays so, what a rule denies
 * stays denied, all else is what the ceiling says, and never more.
 */
static void
check_learned(const struct verdict *v, const struct verdict *policy,
    const struct verdict *ceiling)
{
	assert_true(v->action <= ceiling->action);
	assert_string_equal(v->credential, "");
	if (policy->action == ACTION_ALLOW) {
		assert_int_equal(v->action, ceiling->action);
		assert_int_equal(v->learned.reason, REASON_NONE);
	} else if (policy->reason == REASON_DENIED_BY_RULE) {
		assert_int_equal(v->action, ACTION_DENY);
		assert_int_equal(v->learned.reason, REASON_NONE);
	} else {
		assert_int_equal(v->action, ceiling->action);
		assert_true(v->action == ACTION_ALLOW || v->by_ceiling);
		assert_int_equal(v->learned.reason,
		    v->action == ACTION_ALLOW ? policy->reason : REASON_NONE);
		assert_int_equal(v->widen & ~ceiling->widen, 0);
	}
}

static void
what_is_learned_is_never_wider_than_the_ceiling(void **state)
{
	uint64_t seed = 20261201;
	unsigned int learned = 0, denied = 0;

	(void)state;
	for (int n = 0; n < 400; n++) {
		char policy[2048], ceiling[2048];
		struct policy_pair pairs[3] = { { NULL, NULL } };

		random_text(&seed, policy);
		random_text(&seed, ceiling);
		pairs[0].policy = pairs[1].policy = make_learning(policy);
		pairs[0].ceiling = pairs[2].policy =
		    make_learning_ceiling(ceiling);
		assert_true(policy_pair_learns(&pairs[0]));
		for (int i = 0; i < 250; i++) {
			struct verdict one[2];
			struct verdict v = random_question(&seed, pairs, one);

			check_learned(&v, &one[0], &one[1]);
			learned += v.learned.reason != REASON_NONE;
			denied += v.action == ACTION_DENY;
		}
		policy_unref((struct policy *)(uintptr_t)pairs[1].policy);
		policy_unref((struct policy *)(uintptr_t)pairs[2].policy);
	}
	print_message("%u of 100000 were learned, %u denied\n", learned,
	    denied);
	assert_true(learned > 1000 && denied > 1000);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stricter_of_both_files_counts),
		cmocka_unit_test(
		    policy_and_ceiling_are_never_wider_than_either),
		cmocka_unit_test(
		    what_is_learned_is_never_wider_than_the_ceiling),
		cmocka_unit_test(deny_beats_ask_beats_allow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
