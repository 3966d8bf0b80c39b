#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf/asked.h"
#include "tests/unit/make_policy.h"

static const char policy_text[] = POLICY_HEAD "[ask publish]\n"
					      "host = api.example.org\n"
					      "method = POST, PUT\n"
					      "credential = key\n"
					      "[allow read]\n"
					      "host = mixed.example.org\n"
					      "method = GET\n"
					      "[ask write]\n"
					      "host = mixed.example.org\n"
					      "method = POST\n"
					      "[ask other]\n"
					      "host = other.example.org\n"
					      "method = POST\n";
static const char ceiling_text[] =
    POLICY_HEAD "[ask publish]\n"
		"host = api.example.org\n"
		"method = PUT\n"
		"[allow rest]\n"
		"host = api.example.org, mixed.example.org\n"
		"method = GET, POST\n";

static struct message_ask_allowed
allowed(const char *host, const char *method, const char *target)
{
	struct message_ask_allowed m = { .sandbox = "s",
		.seconds = 60,
		.subject = { .port = 443, .credential = "key" } };

	(void)snprintf(m.subject.host, sizeof(m.subject.host), "%s", host);
	(void)snprintf(m.subject.method, sizeof(m.subject.method), "%s",
	    method);
	(void)snprintf(m.subject.target, sizeof(m.subject.target), "%s",
	    target);
	return m;
}

static struct policy_request
request(const char *method, const char *path, const char *query)
{
	return (struct policy_request){ .host = "api.example.org",
		.port = 443,
		.method = span_of(method),
		.path = span_of(path),
		.query = span_of(query == NULL ? "" : query),
		.has_query = query != NULL };
}

/* An answer is for one question, to the byte. */
static void
an_answer_is_for_what_was_asked(void **state)
{
	static const struct {
		const char *claim, *method, *path, *query;
		bool is_websocket;
		enum action want;
	} rows[] = {
		{ "the same", "POST", "/v1/x", "a=1", false, ACTION_ALLOW },
		{ "another method", "PUT", "/v1/x", "a=1", false, ACTION_ASK },
		{ "another path", "POST", "/v1/x/", "a=1", false, ACTION_ASK },
		{ "less of the path", "POST", "/v1/", "a=1", false,
		    ACTION_ASK },
		{ "another query", "POST", "/v1/x", "a=2", false, ACTION_ASK },
		{ "more of a query", "POST", "/v1/x", "a=1&b", false,
		    ACTION_ASK },
		{ "none", "POST", "/v1/x", NULL, false, ACTION_ASK },
		{ "an empty one", "POST", "/v1/x", "", false, ACTION_ASK },
		{ "what no rule asks about", "GET", "/v1/x", "a=1", false,
		    ACTION_DENY },
	};
	const struct message_ask_allowed m =
	    allowed("api.example.org", "POST", "/v1/x?a=1");
	struct policy *p = make_policy(policy_text);
	const struct policy_pair pair = { p, NULL };
	struct asked all;

	(void)state;
	asked_init(&all);
	assert_int_equal(asked_add(&all, &m), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_request req =
		    request(rows[i].method, rows[i].path, rows[i].query);
		struct verdict v;

		req.is_websocket = rows[i].is_websocket;
		v = asked_request(&all, policy_judge_request(&pair, &req),
		    &req);
		if (v.action != rows[i].want)
			fail_msg("%s: %s", rows[i].claim,
			    action_name(v.action));
	}
	asked_done(&all);
	policy_unref(p);
}

/* What the ceiling asks is not answered by an answer for the policy alone. */
static void
an_answer_never_opens_more_than_the_ceiling(void **state)
{
	static const struct {
		const char *claim, *method;
		bool by_host;
		enum action want;
	} rows[] = {
		{ "the ceiling allows: the owner answers", "POST", false,
		    ACTION_ALLOW },
		{ "the ceiling asks, too: not the owner", "PUT", false,
		    ACTION_ASK },
		{ "but the host", "PUT", true, ACTION_ALLOW },
	};
	struct policy *p = make_policy(policy_text);
	struct policy *c = make_ceiling(ceiling_text);
	const struct policy_pair pair = { p, c };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct message_ask_allowed m =
		    allowed("api.example.org", rows[i].method, "/");
		struct policy_request req = request(rows[i].method, "/", NULL);
		struct verdict v = policy_judge_request(&pair, &req);
		struct asked all;

		m.by_host = rows[i].by_host;
		asked_init(&all);
		assert_int_equal(asked_add(&all, &m), 0);
		assert_int_equal(v.action, ACTION_ASK);
		v = asked_request(&all, v, &req);
		if (v.action != rows[i].want)
			fail_msg("%s: %s", rows[i].claim,
			    action_name(v.action));
		asked_done(&all);
	}
	policy_unref(p);
	policy_unref(c);
}

/* A dialler connects where something was allowed, and nowhere else. */
static void
a_host_is_dialled_when_something_of_it_was_allowed(void **state)
{
	static const struct {
		const char *claim, *host;
		uint16_t port;
		enum action before, after;
	} rows[] = {
		{ "only asked about", "api.example.org", 443, ACTION_ASK,
		    ACTION_ALLOW },
		{ "another rule allows it", "mixed.example.org", 443,
		    ACTION_ALLOW, ACTION_ALLOW },
		{ "another host", "other.example.org", 443, ACTION_ASK,
		    ACTION_ASK },
		{ "no rule", "no.example.org", 443, ACTION_DENY, ACTION_DENY },
	};
	const struct message_ask_allowed m =
	    allowed("api.example.org", "POST", "/");
	struct policy *p = make_policy(policy_text);
	const struct policy_pair pair = { p, NULL };
	struct asked all;

	(void)state;
	asked_init(&all);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v =
		    policy_judge_dial(&pair, rows[i].host, rows[i].port);

		if (v.action != rows[i].before)
			fail_msg("%s: before: %s", rows[i].claim,
			    action_name(v.action));
		/* a gate that says it follows a redirect gets no further */
		v = policy_judge_redirect(&pair, rows[i].host, rows[i].port,
		    NULL);
		if (v.action != rows[i].before)
			fail_msg("%s: as a redirect: %s", rows[i].claim,
			    action_name(v.action));
	}
	assert_int_equal(asked_add(&all, &m), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v = asked_dial(&all,
		    policy_judge_dial(&pair, rows[i].host, rows[i].port),
		    rows[i].host, rows[i].port);

		if (v.action != rows[i].after)
			fail_msg("%s: after: %s", rows[i].claim,
			    action_name(v.action));
	}
	asked_done(&all);
	policy_unref(p);
}

/* Its time is its own, and the oldest makes room. */
static void
an_answer_ends(void **state)
{
	struct message_ask_allowed m =
	    allowed("api.example.org", "POST", "/first");
	struct policy *p = make_policy(policy_text);
	const struct policy_pair pair = { p, NULL };
	struct policy_request req = request("POST", "/first", NULL);
	struct asked all;

	(void)state;
	asked_init(&all);
	m.seconds = 0;
	assert_int_equal(asked_add(&all, &m), 0);
	assert_int_equal(asked_request(&all, policy_judge_request(&pair, &req),
			     &req)
			     .action,
	    ACTION_ASK);
	m.seconds = 60;
	assert_int_equal(asked_add(&all, &m), 0);
	assert_int_equal(asked_request(&all, policy_judge_request(&pair, &req),
			     &req)
			     .action,
	    ACTION_ALLOW);
	(void)strcpy(m.subject.target, "/other");
	for (int i = 0; i < ASKED_MAX; i++)
		assert_int_equal(asked_add(&all, &m), 0);
	assert_int_equal(all.count, ASKED_MAX);
	assert_int_equal(asked_request(&all, policy_judge_request(&pair, &req),
			     &req)
			     .action,
	    ACTION_ASK);
	asked_done(&all);
	policy_unref(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_for_what_was_asked),
		cmocka_unit_test(an_answer_never_opens_more_than_the_ceiling),
		cmocka_unit_test(
		    a_host_is_dialled_when_something_of_it_was_allowed),
		cmocka_unit_test(an_answer_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
