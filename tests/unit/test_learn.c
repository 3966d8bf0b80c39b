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
	enum audit_scheme scheme;
	const char *credential; /* NULL: none */
};

static int
add(struct learn *l, const struct asked *a)
{
	const struct learn_request r = { .host = a->host,
		.port = a->port,
		.scheme = a->scheme,
		.method = a->method,
		.target = a->target,
		.credential = a->credential == NULL ? "" : a->credential,
		.count = 1 };

	return learn_add(l, &r);
}

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
		assert_int_equal(add(l, &all[i]), 0);
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
		{ "GET", "api.example.org", 443, "/a?x=1", 0, NULL },
		{ "GET", "api.example.org", 443, "/a?x=2", 0, NULL },
		{ "POST", "api.example.org", 443, "/a", 0, NULL },
		{ "GET", "api.example.org", 443, "/b", 0, NULL },
		{ "GET", "plain.example.org", 80, "/", 0, NULL },
		{ "GET", "port.example.org", 8443, "/x%2Fy", 0, NULL },
		{ "GET", "odd.example.org", 443, "/a//b", 0, NULL },
		{ "GET", "odd.example.org", 443, "/c,d*", 0, NULL },
		{ "PUT", "star.example.org", 443, "/up/a*b", 0, NULL },
		{ "PUT", "star.example.org", 443, "/up/c", 0, NULL },
	};
	static const struct asked others[] = {
		{ "DELETE", "api.example.org", 443, "/a", 0, NULL },
		{ "POST", "api.example.org", 443, "/b", 0, NULL },
		{ "GET", "api.example.org", 443, "/c", 0, NULL },
		{ "GET", "api.example.org", 8443, "/a", 0, NULL },
		{ "GET", "www.example.org", 443, "/a", 0, NULL },
		{ "GET", "plain.example.org", 443, "/", 0, NULL },
		{ "PUT", "star.example.org", 443, "/down", 0, NULL },
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
	struct asked other = { .method = "GET",
		.host = "a.example.org",
		.port = 443,
		.target = "/pub/x" };
	struct policy *p;

	(void)state;
	for (int i = 0; i < 40; i++) {
		(void)snprintf(targets[i], sizeof(targets[i]), "/pub/v1/f%d",
		    i);
		all[i] = (struct asked){ .method = "GET",
			.host = "a.example.org",
			.port = 443,
			.target = targets[i] };
	}
	p = learn(all, 40);
	for (size_t i = 0; i < 40; i++)
		assert_int_equal(judge(p, &all[i]), ACTION_ALLOW);
	assert_int_equal(judge(p, &other), ACTION_DENY);
	assert_non_null(strstr(text, "path    = /pub/v1/** ; 40, 40 paths\n"));
	assert_non_null(strstr(text, "; 40 requests\n"));
	policy_unref(p);
}

static void
a_preset_is_taken_where_it_fits(void **state)
{
	static const struct asked fits[] = {
		{ "GET", "proxy.golang.org", 443, "/golang.org/x/net/@v/list",
		    0, NULL },
		{ "GET", "proxy.golang.org", 443,
		    "/golang.org/x/net/@v/v0.1.0.mod", 0, NULL },
		{ "GET", "api.example.org", 443, "/a", 0, NULL },
	};
	static const struct asked wants_more[] = {
		{ "GET", "proxy.golang.org", 443, "/golang.org/x/net/@v/list",
		    0, NULL },
		{ "POST", "proxy.golang.org", 443, "/upload", 0, NULL },
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
		{ "GET", "", 443, "/", 0, NULL },
		{ "GET", "192.0.2.1", 443, "/", 0, NULL },
		{ "GET", "UPPER.example.org", 443, "/", 0, NULL },
		{ "get", "a.example.org", 443, "/", 0, NULL },
		{ "GET", "a.example.org", 443, "", 0, NULL },
		{ "GET", "a.example.org\nhost = b.example.org", 443, "/", 0,
		    NULL },
		{ "GET", "a.example.org", 0, "/", 0, NULL },
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
	struct asked a = { .method = "GET",
		.host = "a.example.org",
		.port = 443,
		.target = target };
	int rc = 0;

	(void)state;
	for (int i = 0; i <= LEARN_REQUESTS_MAX; i++) {
		(void)snprintf(target, sizeof(target), "/%d", i);
		assert_int_equal(rc, 0);
		rc = add(l, &a);
	}
	assert_int_equal(rc, -E2BIG);
	a.target = "/1";
	assert_int_equal(add(l, &a), 0);
	learn_free(l);
}

/* Each in a rule of its own, since each is another right. */
static void
what_is_spoken_and_with_what_is_kept(void **state)
{
	static const struct asked all[] = {
		{ "GET", "a.example.org", 443, "/feed", AUDIT_SCHEME_WSS,
		    NULL },
		{ "GET", "a.example.org", 443, "/page", AUDIT_SCHEME_HTTPS,
		    NULL },
		{ "GET", "a.example.org", 443, "/mine", AUDIT_SCHEME_HTTPS,
		    "token" },
		{ "GET", "plain.example.org", 8080, "/x", AUDIT_SCHEME_HTTP,
		    NULL },
		{ "", "db.example.org", 5432, "", AUDIT_SCHEME_TCP, NULL },
		{ "", "pin.example.org", 443, "", AUDIT_SCHEME_PASSTHROUGH,
		    NULL },
		{ "", "a.example.org", 443, "", AUDIT_SCHEME_PASSTHROUGH,
		    NULL },
	};
	static const char *const lines[] = {
		"websocket = yes\npath    = /feed ; 1\n",
		"path    = /mine ; 1\ncredential = token\n",
		"scheme  = http\nport    = 8080\n",
		"; 1 connections\nhost    = db.example.org\nscheme  = tcp\n",
		"host    = pin.example.org\ntls     = passthrough\n",
		"; not in here: a.example.org:443 by passthrough",
	};
	struct policy *p = learn(all, sizeof(all) / sizeof(all[0]));
	const struct policy_pair pair = { p, NULL };
	struct policy_request req = { .host = "a.example.org",
		.port = 443,
		.method = span_of("GET"),
		.path = span_of("/feed"),
		.is_websocket = true };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strstr(text, lines[i]) == NULL)
			fail_msg("%s is not in %s", lines[i], text);
	assert_int_equal(policy_judge_request(&pair, &req).action,
	    ACTION_ALLOW);
	req.path = span_of("/page");
	assert_int_equal(policy_judge_request(&pair, &req).action, ACTION_DENY);
	assert_string_equal(ask_request(&pair, "a.example.org", 443, "GET",
				"/page", NULL)
				.credential,
	    "");
	assert_string_equal(ask_request(&pair, "a.example.org", 443, "GET",
				"/mine", NULL)
				.credential,
	    "token");
	assert_int_equal(policy_judge_connect(&pair, "db.example.org", 5432)
			     .scheme,
	    SCHEME_TCP);
	assert_int_equal(policy_judge_connect(&pair, "pin.example.org", 443)
			     .tls,
	    TLS_MODE_PASSTHROUGH);
	policy_unref(p);
}

/* Smart HTTP by its repositories; where there was a push, as it was asked. */
static void
a_fetch_by_git_is_a_repository(void **state)
{
	static const struct asked all[] = {
		{ "GET", "git.example.org", 443,
		    "/a/b.git/info/refs?service=git-upload-pack", 0, NULL },
		{ "POST", "git.example.org", 443, "/a/b.git/git-upload-pack", 0,
		    NULL },
		{ "GET", "git.example.org", 443, "/a/b/raw", 0, NULL },
		{ "GET", "port.example.org", 8443,
		    "/c/info/refs?service=git-upload-pack", 0, NULL },
		{ "GET", "push.example.org", 443,
		    "/a/b/info/refs?service=git-upload-pack", 0, NULL },
		{ "POST", "push.example.org", 443, "/a/b/git-receive-pack", 0,
		    NULL },
	};
	static const struct asked others[] = {
		{ "POST", "git.example.org", 443, "/a/b/git-receive-pack", 0,
		    NULL },
		{ "POST", "git.example.org", 443, "/a/c/git-upload-pack", 0,
		    NULL },
	};
	struct policy *p = learn(all, sizeof(all) / sizeof(all[0]));

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (judge(p, &all[i]) != ACTION_ALLOW)
			fail_msg("%s%s: %s", all[i].host, all[i].target, text);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (judge(p, &others[i]) != ACTION_DENY)
			fail_msg("%s%s: %s", others[i].host, others[i].target,
			    text);
	assert_non_null(strstr(text,
	    "[git learned-1] ; 2 requests\n"
	    "repo    = git.example.org/a/b ; 2\n"));
	assert_non_null(strstr(text, "repo    = port.example.org:8443/c ; 1"));
	assert_null(strstr(text, "repo    = push.example.org"));
	policy_unref(p);
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
		cmocka_unit_test(what_is_spoken_and_with_what_is_kept),
		cmocka_unit_test(a_fetch_by_git_is_a_repository),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
