/*
 * Policies that are learned let through what was asked for, and little else.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conf/learn.h"
#include "conf/presets.h"
#include "tests/unit/make_policy.h"

static char text[LEARN_TEXT_MAX_BYTES + 1];

struct asked {
	const char *method, *host;
	uint16_t port;
	const char *target;
};

static enum action
judge(const struct policy *p, const struct asked *a)
{
	struct policy_pair pair = { p, NULL };
	char path[512];
	size_t len = strcspn(a->target, "?");

	assert_true(len < sizeof(path));
	memcpy(path, a->target, len);
	path[len] = '\0';
	return ask_request(&pair, a->host, a->port, a->method, path,
	    a->target[len] == '?' ? a->target + len + 1 : NULL)
	    .action;
}

/* The policy, compiled. */
static struct policy *
learn(const struct asked *all, size_t n)
{
	struct learn *l = learn_new();
	struct wr w = wr_init(text, LEARN_TEXT_MAX_BYTES);
	struct policy *p;

	assert_non_null(l);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(learn_add(l, all[i].host, all[i].port,
				     all[i].method, all[i].target),
		    0);
	assert_int_equal(learn_write(l, &w), 0);
	text[w.len] = '\0';
	learn_free(l);
	p = make_policy_with("tapward.ini", text, false, presets_find);
	if (p == NULL)
		fail_msg("%s", text);
	return p;
}

static void
what_was_asked_for_is_let_through(void **state)
{
	static const struct asked all[] = {
		{ "GET", "api.example.org", 443, "/a?x=1" },
		{ "GET", "api.example.org", 443, "/a?x=2" },
		{ "POST", "api.example.org", 443, "/a" },
		{ "GET", "api.example.org", 443, "/b" },
		{ "GET", "plain.example.org", 80, "/" },
		{ "GET", "port.example.org", 8443, "/x%2Fy" },
		{ "GET", "odd.example.org", 443, "/a//b" },
		{ "GET", "odd.example.org", 443, "/c,d*" },
		{ "PUT", "star.example.org", 443, "/up/a*b" },
		{ "PUT", "star.example.org", 443, "/up/c" },
	};
	static const struct asked others[] = {
		{ "DELETE", "api.example.org", 443, "/a" },
		{ "POST", "api.example.org", 443, "/b" },
		{ "GET", "api.example.org", 443, "/c" },
		{ "GET", "api.example.org", 8443, "/a" },
		{ "GET", "www.example.org", 443, "/a" },
		{ "GET", "plain.example.org", 443, "/" },
		{ "PUT", "star.example.org", 443, "/down" },
	};
	struct policy *p = learn(all, sizeof(all) / sizeof(all[0]));

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (judge(p, &all[i]) != ACTION_ALLOW)
			fail_msg("%s %s%s: %s", all[i].method, all[i].host,
			    all[i].target, text);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (judge(p, &others[i]) != ACTION_DENY)
			fail_msg("%s %s%s: %s", others[i].method,
			    others[i].host, others[i].target, text);
	assert_non_null(strstr(text, "path    = /a ; 3\n"));
	policy_unref(p);
}

static void
many_paths_become_a_folder(void **state)
{
	struct asked all[40];
	char targets[40][32];
	struct asked other = { "GET", "a.example.org", 443, "/pub/x" };
	struct policy *p;

	(void)state;
	for (int i = 0; i < 40; i++) {
		(void)snprintf(targets[i], sizeof(targets[i]), "/pub/v1/f%d",
		    i);
		all[i] =
		    (struct asked){ "GET", "a.example.org", 443, targets[i] };
	}
	p = learn(all, 40);
	for (size_t i = 0; i < 40; i++)
		assert_int_equal(judge(p, &all[i]), ACTION_ALLOW);
	assert_int_equal(judge(p, &other), ACTION_DENY);
	assert_non_null(strstr(text, "path    = /pub/v1/**\n"));
	assert_non_null(strstr(text, "; 40 requests\n"));
	policy_unref(p);
}

static void
a_preset_is_taken_where_it_fits(void **state)
{
	static const struct asked fits[] = {
		{ "GET", "proxy.golang.org", 443, "/golang.org/x/net/@v/list" },
		{ "GET", "proxy.golang.org", 443,
		    "/golang.org/x/net/@v/v0.1.0.mod" },
		{ "GET", "api.example.org", 443, "/a" },
	};
	static const struct asked wants_more[] = {
		{ "GET", "proxy.golang.org", 443, "/golang.org/x/net/@v/list" },
		{ "POST", "proxy.golang.org", 443, "/upload" },
	};
	struct policy *p = learn(fits, 3);

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(judge(p, &fits[i]), ACTION_ALLOW);
	assert_non_null(strstr(text, "preset  = go"));
	assert_non_null(strstr(text, " ; 2 requests\n"));
	assert_null(strstr(text, "host    = proxy.golang.org"));
	policy_unref(p);
	/* One that is not enough is not taken beside a rule. */
	p = learn(wants_more, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(judge(p, &wants_more[i]), ACTION_ALLOW);
	assert_null(strstr(text, "preset"));
	policy_unref(p);
}

static void
what_is_no_request_is_left_out(void **state)
{
	static const struct asked all[] = {
		{ "GET", "", 443, "/" },
		{ "GET", "192.0.2.1", 443, "/" },
		{ "GET", "UPPER.example.org", 443, "/" },
		{ "get", "a.example.org", 443, "/" },
		{ "GET", "a.example.org", 443, "" },
		{ "GET", "a.example.org\nhost = b.example.org", 443, "/" },
		{ "GET", "a.example.org", 0, "/" },
	};
	struct policy *p = learn(all, sizeof(all) / sizeof(all[0]));

	(void)state;
	assert_string_equal(text, "[policy]\nversion = 1\n");
	policy_unref(p);
}

static void
so_many_are_told_apart(void **state)
{
	struct learn *l = learn_new();
	char target[32];
	int rc = 0;

	(void)state;
	for (int i = 0; i <= LEARN_REQUESTS_MAX; i++) {
		(void)snprintf(target, sizeof(target), "/%d", i);
		assert_int_equal(rc, 0);
		rc = learn_add(l, "a.example.org", 443, "GET", target);
	}
	assert_int_equal(rc, -E2BIG);
	assert_int_equal(learn_add(l, "a.example.org", 443, "GET", "/1"), 0);
	learn_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_asked_for_is_let_through),
		cmocka_unit_test(many_paths_become_a_folder),
		cmocka_unit_test(a_preset_is_taken_where_it_fits),
		cmocka_unit_test(what_is_no_request_is_left_out),
		cmocka_unit_test(so_many_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
