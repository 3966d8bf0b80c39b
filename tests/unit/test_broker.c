/*
 * The broker from a gate's question to a lease, or to why not.
 */
#include "tests/unit/broker_support.h"
#include "tests/unit/caught_log.h"

static const struct {
	const char *claim, *credential, *host, *method, *path;
	uint16_t port;
	uint8_t scheme;
	enum reason want;
	const char *detail;
} rows[] = {
	{ "what the definition binds", "npm", "npm.acme.example", "GET",
	    "/pkg/a", 443, SCHEME_HTTPS, REASON_NONE, "grant" },
	{ "another method of it", "npm", "npm.acme.example", "HEAD", "/pkg/a/b",
	    443, SCHEME_HTTPS, REASON_NONE, "grant" },
	{ "an encoded slash that the rule did not opt into", "npm",
	    "npm.acme.example", "GET", "/pkg/@scope%2Fname", 443, SCHEME_HTTPS,
	    REASON_CREDENTIAL_MISUSE, "policy" },
	{ "a method that only the policy allows", "npm", "npm.acme.example",
	    "POST", "/pkg/a", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "method" },
	{ "a method that only the definition allows", "free",
	    "npm.acme.example", "PUT", "/pkg/a", 443, SCHEME_HTTPS,
	    REASON_CREDENTIAL_MISUSE, "policy" },
	{ "TRACE, though nothing is bound", "free", "free.acme.example",
	    "TRACE", "/", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "method" },
	{ "... in any case of its letters", "free", "free.acme.example",
	    "Trace", "/", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "method" },
	{ "... by the name that IIS has for it", "free", "free.acme.example",
	    "TRACK", "/", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "method" },
	{ "OPTIONS", "free", "free.acme.example", "OPTIONS", "/", 443,
	    SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE, "method" },
	{ "a path that only the policy allows", "npm", "npm.acme.example",
	    "GET", "/token/x", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "path" },
	{ "a path where tokens are minted", "npm", "npm.acme.example", "GET",
	    "/pkg/-/token/x", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "deny-path" },
	{ "... in any case of its letters", "npm", "npm.acme.example", "GET",
	    "/pkg/-/Token/x", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "deny-path" },
	{ "a path with dot segments", "npm", "npm.acme.example", "GET",
	    "/pkg/../pkg/a", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "path" },
	{ "a path with a semicolon and dots", "npm", "npm.acme.example", "GET",
	    "/pkg/..;/a", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE, "path" },
	{ "the query that the rule wants", "free", "asked.acme.example", "GET",
	    "/?service=read", 443, SCHEME_HTTPS, REASON_NONE, "grant" },
	{ "another query", "free", "asked.acme.example", "GET",
	    "/?service=write", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "policy" },
	{ "no query where the rule wants one", "free", "asked.acme.example",
	    "GET", "/", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE, "policy" },
	{ "a host that only the policy names for it", "npm", "two.acme.example",
	    "GET", "/pkg/a", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "host" },
	{ "a port that only the policy names", "npm", "npm.acme.example", "GET",
	    "/pkg/a", 8443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE, "port" },
	{ "plain HTTP", "npm", "npm.acme.example", "GET", "/pkg/a", 443,
	    SCHEME_HTTP, REASON_CREDENTIAL_MISUSE, "scheme" },
	{ "a host where the policy names none", "npm", "www.acme.example",
	    "GET", "/", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "policy-credential" },
	{ "a credential of another host", "npm", "free.acme.example", "GET",
	    "/pkg/a", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE,
	    "policy-credential" },
	{ "a host that no rule names", "npm", "evil.example", "GET", "/pkg/a",
	    443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE, "policy" },
	{ "one that others were granted", "alien", "alien.acme.example", "GET",
	    "/", 443, SCHEME_HTTPS, REASON_CREDENTIAL_MISUSE, "not-granted" },
	{ "one that is not defined", "none", "none.acme.example", "GET", "/",
	    443, SCHEME_HTTPS, REASON_CREDENTIAL_UNAVAILABLE, "not-defined" },
};

static void
grants_what_policy_grant_and_definition_allow(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_ready();
		const struct answer *a = &w->answers[0];
		const struct record *r = &w->records[0];

		request(w, rows[i].credential, rows[i].host, rows[i].port,
		    rows[i].scheme, rows[i].method, rows[i].path);
		wait_for_count(w, &w->answer_count, 1);
		wait_for_count(w, &w->record_count, 1);
		if (a->reason != rows[i].want ||
		    strcmp(r->detail, rows[i].detail) != 0)
			fail_msg("%s: %s %s", rows[i].claim,
			    reason_code(a->reason), r->detail);
		assert_int_equal(r->reason, rows[i].want);
		assert_string_equal(r->credential, rows[i].credential);
		assert_int_equal(r->verdict,
		    rows[i].want == REASON_NONE ? ACTION_ALLOW : ACTION_DENY);
		/* What is refused holds nothing. */
		if (rows[i].want == REASON_NONE)
			assert_ptr_equal(strstr(a->value, CANARY), a->value);
		else
			assert_string_equal(a->value, "");
		assert_int_equal(a->lease_id, r->lease);
		world_free(w);
	}
}

static struct message_broker_credential *
free_for_websocket(void)
{
	struct message_broker_credential *m = unbound();

	m->serves_websocket = true;
	return m;
}

static void
row_121_lends_to_a_websocket_what_is_defined_for_one(void **state)
{
	struct world *w = world_ready();

	(void)state;
	w->asks_websocket = true;
	/* The rule does not say so, or the definition does not. */
	assert_int_equal(ask_npm(w)->reason, REASON_CREDENTIAL_MISUSE);
	assert_int_equal(ask_free(w)->reason, REASON_WEBSOCKET);
	wait_for_count(w, &w->record_count, 2);
	assert_string_equal(w->records[0].detail, "policy");
	assert_string_equal(w->records[1].detail, "definition");
	assert_int_equal(w->records[1].reason, REASON_WEBSOCKET);
	w->asks_websocket = false;
	assert_false(ask_free(w)->serves_websocket);
	/* Another definition: what was lent by the old one ends. */
	send_definition(w, free_for_websocket(), CANARY "-free");
	send_configured(w, 1);
	wait_for_count(w, &w->revoked_count, 1);
	w->asks_websocket = true;
	assert_string_equal(ask_free(w)->value, CANARY "-free");
	assert_true(w->answers[w->answer_count - 1].serves_websocket);
	world_free(w);
}

static void
says_how_a_value_is_put_in_and_until_when(void **state)
{
	struct world *w;
	const struct answer *a;

	(void)state;
	clock_test_set(1000, 50000, 1000);
	w = world_ready();
	a = ask_npm(w);
	assert_int_equal(a->apply, LEASE_APPLY_BEARER);
	assert_int_equal(a->strip_count, 1);
	assert_int_equal(a->strip_response_count, 1);
	assert_string_equal(a->strip_response, "x-session");
	assert_true(a->keeps_set_cookie);
	assert_int_equal(a->expires_boot_ms, 50000 + LEASE_S * 1000);
	assert_false(a->any_request);
	a = ask_free(w);
	assert_true(a->any_request);
	assert_string_equal(a->value, CANARY "-free");
	assert_string_equal(w->records[0].rule, "npm");
	world_free(w);
}

static void
writes_a_lease_down_once_until_it_ends(void **state)
{
	struct world *w;
	uint64_t first;

	(void)state;
	clock_test_set(1000, 50000, 1000);
	w = world_ready();
	first = ask_npm(w)->lease_id;
	clock_test_advance(LEASE_S * 1000 - 1);
	assert_int_equal(ask_npm(w)->lease_id, first);
	assert_int_equal(w->answers[1].expires_boot_ms, 50000 + LEASE_S * 1000);
	assert_int_equal(w->record_count, 1);
	clock_test_advance(1);
	assert_int_not_equal(ask_npm(w)->lease_id, first);
	wait_for_count(w, &w->record_count, 2);
	assert_string_equal(w->records[1].detail, "grant");
	world_free(w);
}

static void
ends_leases_of_what_changed_and_only_those(void **state)
{
	struct world *w = world_ready();

	(void)state;
	(void)ask_npm(w);
	(void)ask_free(w);
	configure(w, CANARY "\n");
	assert_int_equal(w->revoked_count, 0);
	configure(w, CANARY "-2");
	wait_for_count(w, &w->revoked_count, 1);
	wait_for_count(w, &w->record_count, 3);
	assert_string_equal(w->revoked, "npm");
	assert_string_equal(w->records[2].detail, "revoke");
	assert_int_equal(w->records[2].lease, w->answers[0].lease_id);
	assert_string_equal(ask_npm(w)->value, CANARY "-2");
	/* None is left. */
	send_configured(w, 0);
	assert_true(w->done.ok);
	wait_for_count(w, &w->revoked_count, 3);
	assert_int_equal(ask_npm(w)->reason, REASON_CREDENTIAL_UNAVAILABLE);
	world_free(w);
}

static void
ends_leases_with_policy_and_sandbox(void **state)
{
	struct message_broker_policy p = { .sandbox = "ci-one",
		.generation = 1 };
	struct message_broker_detach d = { .sandbox = "ci-one",
		.generation = 1 };
	struct world *w = world_ready();
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));
	int fd = policy_memfd("[policy]\nversion = 1\n"
			      "[allow web]\nhost = www.acme.example\n",
	    false);

	(void)state;
	(void)ask_npm(w);
	message_broker_policy_encode(&body, &p);
	assert_int_equal(chan_send(w->supervisor, MSG_BROKER_POLICY, 3, &body,
			     &fd, 1),
	    0);
	(void)close(fd);
	wait_for_count(w, &w->revoked_count, 1);
	assert_string_equal(w->revoked, "");
	assert_int_equal(ask_npm(w)->reason, REASON_CREDENTIAL_MISUSE);
	chan_free(w->gate);
	chan_free(w->recorder);
	attach(w, "ci-one");
	(void)ask_npm(w);
	body = wr_init(buf, sizeof(buf));
	message_broker_detach_encode(&body, &d);
	assert_int_equal(chan_send(w->supervisor, MSG_BROKER_DETACH, 0, &body,
			     NULL, 0),
	    0);
	while (w->gate != NULL ||
	    strcmp(w->records[w->record_count - 1].detail, "revoke") != 0)
		turn(w);
	world_free(w);
}

static void
grants_nothing_that_cannot_be_written_down(void **state)
{
	struct world *w = world_ready();
	uint8_t buf[8];
	struct wr body = wr_init(buf, sizeof(buf));

	(void)state;
	message_audit_state_encode(&body, false);
	assert_int_equal(chan_send(w->recorder, MSG_AUDIT_STATE, 0, &body, NULL,
			     0),
	    0);
	assert_int_equal(ask_npm(w)->reason, REASON_AUDIT_UNAVAILABLE);
	assert_int_equal(ask_npm(w)->reason, REASON_AUDIT_UNAVAILABLE);
	world_free(w);
}

/* Which is not what its policy names: that is not in it. */
static struct message_broker_credential *
unnamed(void)
{
	static struct message_broker_credential m;

	bind_to_host(&m, "unnamed", "unnamed.acme.example");
	m.port = 8443;
	m.apply = LEASE_APPLY_HEADER;
	(void)snprintf(m.field, sizeof(m.field), "x-acme-token");
	(void)snprintf(m.strip[0], sizeof(m.strip[0]), "x-acme-key");
	return &m;
}

static void
tells_what_is_granted_without_being_asked(void **state)
{
	struct world *w = world_ready();
	const struct message_grant *g = &w->grants[1];

	(void)state;
	wait_for_count(w, &w->told_count, 1);
	/* Not the one of others. */
	assert_int_equal(w->grant_count, 2);
	assert_string_equal(w->grants[0].hosts[0], "npm.acme.example");
	assert_int_equal(w->grants[0].port, 443);
	assert_string_equal(w->grants[0].names[0], "authorization");
	assert_int_equal(w->grants[1].host_count, 2);
	/* And anew when they are others; revoked, though none had a lease. */
	send_definition(w, alien(), CANARY);
	send_definition(w, npm(), CANARY);
	send_definition(w, unnamed(), CANARY);
	send_configured(w, 3);
	wait_for_count(w, &w->told_count, 2);
	assert_int_equal(w->revoked_count, 1);
	assert_string_equal(w->revoked, "free");
	assert_int_equal(w->grant_count, 2);
	assert_string_equal(g->hosts[0], "unnamed.acme.example");
	assert_int_equal(g->port, 8443);
	assert_int_equal(g->name_count, 2);
	assert_string_equal(g->names[0], "x-acme-key");
	assert_string_equal(g->names[1], "x-acme-token");
	send_configured(w, 0);
	wait_for_count(w, &w->told_count, 3);
	assert_int_equal(w->grant_count, 0);
	world_free(w);
}

/* A gate that is told nothing refuses: see tests of the gate. */
static void
tells_nothing_before_it_knows(void **state)
{
	struct world *w = world_new();

	(void)state;
	attach(w, "ci-one");
	assert_int_equal(ask_npm(w)->reason, REASON_CREDENTIAL_UNAVAILABLE);
	assert_int_equal(w->told_count, 0);
	configure(w, CANARY);
	wait_for_count(w, &w->told_count, 1);
	assert_int_equal(w->grant_count, 2);
	world_free(w);
}

static void
ends_a_gate_that_sends_no_canonical_name(void **state)
{
	static const char *const hosts[] = { "NPM.acme.example",
		"npm.acme.example.", "10.0.0.1", "a b",
		"npm.acme.example:443" };

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct world *w = world_ready();

		request(w, "npm", hosts[i], 443, SCHEME_HTTPS, "GET", "/pkg/a");
		while (w->gate != NULL)
			turn(w);
		assert_int_equal(w->answer_count, 0);
		chan_free(w->recorder);
		attach(w, "ci-two");
		assert_int_equal(ask_npm(w)->reason, REASON_NONE);
		world_free(w);
	}
}

/* A gate that was taken over asks, and reads no answer. */
static void
keeps_no_heap_of_values_for_a_gate_that_does_not_read(void **state)
{
	static const struct message_lease_request m = { .credential = "free",
		.host = "free.acme.example",
		.port = 443,
		.scheme = SCHEME_HTTPS,
		.method = "GET",
		.path = { (const uint8_t *)"/a", 2 } };
	struct world *w = world_ready();
	uint8_t buf[256] = { CHAN_VERSION, 0, 0, MSG_LEASE_REQUEST, 0, 0, 0,
		1 };
	struct wr body =
	    wr_init(buf + CHAN_HEADER_BYTES, sizeof(buf) - CHAN_HEADER_BYTES);
	size_t len;
	int fd, sent = 0;

	(void)state;
	message_lease_request_encode(&body, &m);
	len = CHAN_HEADER_BYTES + body.len;
	chan_free(w->gate);
	chan_free(w->recorder);
	fd = attach_fd(w, "ci-two");
	/* In the end the kernel takes no more questions: nobody reads them. */
	while (
	    send(fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len) {
		sent++;
		for (int i = 0; i < 4; i++)
			(void)event_base_loop(w->base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(errno, EAGAIN);
	assert_in_range(sent, 2, CHAN_QUEUE_MAX);
	w->gate = NULL;
	(void)close(fd);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grants_what_policy_grant_and_definition_allow),
		cmocka_unit_test(
		    row_121_lends_to_a_websocket_what_is_defined_for_one),
		cmocka_unit_test(says_how_a_value_is_put_in_and_until_when),
		cmocka_unit_test(writes_a_lease_down_once_until_it_ends),
		cmocka_unit_test(ends_leases_of_what_changed_and_only_those),
		cmocka_unit_test(ends_leases_with_policy_and_sandbox),
		cmocka_unit_test(grants_nothing_that_cannot_be_written_down),
		cmocka_unit_test(tells_what_is_granted_without_being_asked),
		cmocka_unit_test(tells_nothing_before_it_knows),
		cmocka_unit_test(ends_a_gate_that_sends_no_canonical_name),
		cmocka_unit_test(
		    keeps_no_heap_of_values_for_a_gate_that_does_not_read),
	};

	return cmocka_run_group_tests(tests, catch_log, look_through_log);
}
