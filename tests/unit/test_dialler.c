/*
 * The dialler from a gate's question to its answer. Numbers in the rows are
 * those of the catalogue of known escapes.
 */
#include "tests/unit/dialler_support.h"

#include "base/clock.h"
#include "tests/unit/dialler_zone.h"

static void
hands_back_a_connection_and_writes_it_down(void **state)
{
	struct world *w = world_ready(zone);
	const struct answer *a = dial_and_wait(w, "good.origin.example");

	(void)state;
	assert_origin_reached(w, a);
	assert_int_equal(w->record_count, 1);
	assert_int_equal(w->records[0].verdict, ACTION_ALLOW);
	assert_string_equal(w->records[0].rule, "web");
	assert_string_equal(w->records[0].host, "good.origin.example");
	assert_string_equal(w->records[0].address, a->m.address);
	world_free(w);
}

/* Nothing leaves for these: no question, no connection. */
static const struct {
	const char *claim, *host;
	int port_offset;
	uint8_t scheme;
	enum reason want;
} denied_rows[] = {
	{ "a host that no rule names", "denied.example", 0, SCHEME_HTTPS,
	    REASON_NO_RULE },
	{ "6: a suffix without a label boundary", "evilorigin.example", 0,
	    SCHEME_HTTPS, REASON_NO_RULE },
	{ "8: the name under a wildcard", "origin.example", 0, SCHEME_HTTPS,
	    REASON_NO_RULE },
	{ "10: another port", "good.origin.example", 1, SCHEME_HTTPS,
	    REASON_PORT },
	{ "raw TCP to a host that is to be inspected", "good.origin.example", 0,
	    SCHEME_TCP, REASON_NO_RULE },
	{ "plain HTTP to it", "good.origin.example", 0, SCHEME_HTTP,
	    REASON_NO_RULE },
	{ "34: localhost", "localhost", 0, SCHEME_HTTPS, REASON_NO_RULE },
	{ "34: a name below localhost", "foo.localhost", 0, SCHEME_HTTPS,
	    REASON_NO_RULE },
	{ "35: a single label", "metadata", 0, SCHEME_HTTPS, REASON_NO_RULE },
};

static void
asks_no_nameserver_for_what_is_denied(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(denied_rows) / sizeof(denied_rows[0]);
	     i++) {
		struct world *w = world_ready(zone);

		dial_as(w, 1, denied_rows[i].host,
		    (uint16_t)(w->port + denied_rows[i].port_offset),
		    denied_rows[i].scheme);
		wait_for_count(w, &w->answer_count, 1);
		wait_for_count(w, &w->record_count, 1);
		if (w->answers[0].m.reason != denied_rows[i].want)
			fail_msg("%s: %s", denied_rows[i].claim,
			    reason_code(w->answers[0].m.reason));
		assert_int_equal(w->records[0].verdict, ACTION_DENY);
		assert_int_equal(w->records[0].reason, denied_rows[i].want);
		assert_int_equal(nameserver_count(w->ns), 0);
		world_free(w);
	}
}

/* An honest gate never sends these. */
static const struct {
	const char *claim, *host;
} dishonest_rows[] = {
	{ "1: a final dot", "good.origin.example." },
	{ "2: upper case", "GOOD.origin.example" },
	{ "3: brackets round a name", "[good.origin.example]" },
	{ "5: a zone", "::1%25.origin.example" },
	{ "9: a port in the name", "good.origin.example:443" },
	{ "11: no ASCII", "g\xc3\xb6od.origin.example" },
	{ "12: percent", "%67ood.origin.example" },
	{ "16: an empty label", "good..origin.example" },
	{ "16: a leading hyphen", "-x.origin.example" },
	{ "16: a blank", "a b.origin.example" },
	{ "16: no name at all", "" },
	{ "17: an IPv4 literal", "1.2.3.4" },
	{ "17: an IPv6 literal", "[2606:4700::1111]" },
	{ "18: two parts", "127.1" },
	{ "18: one number", "2130706433" },
	{ "18: hexadecimal", "0x7f.0.0.1" },
	{ "18: hexadecimal in one", "0x7f000001" },
	{ "18: octal", "0177.0.0.1" },
	{ "18: with a final dot", "127.0.0.1." },
	{ "18: nought", "0" },
	{ "19: mapped", "::ffff:169.254.169.254" },
	{ "32: the metadata literal", "169.254.169.254" },
};

static void
ends_a_gate_that_sends_no_canonical_name(void **state)
{
	(void)state;
	for (size_t i = 0;
	     i < sizeof(dishonest_rows) / sizeof(dishonest_rows[0]); i++) {
		struct world *w = world_ready(zone);

		dial(w, 1, dishonest_rows[i].host);
		wait_for_gate_end(w);
		if (w->answer_count != 0 || nameserver_count(w->ns) != 0)
			fail_msg("%s", dishonest_rows[i].claim);
		/* Only this one: the next sandbox has its way out. */
		chan_free(w->recorder);
		attach(w, "two", POLICY, NULL);
		assert_origin_reached(w,
		    dial_and_wait(w, "good.origin.example"));
		world_free(w);
	}
}

static void
ends_a_gate_that_breaks_the_protocol(void **state)
{
	struct world *w = world_ready(zone);

	(void)state;
	dial(w, 7, "silent.origin.example");
	dial(w, 7, "silent.origin.example");
	wait_for_gate_end(w);
	assert_int_equal(w->answer_count, 0);
	chan_free(w->recorder);
	attach(w, "two", POLICY, NULL);
	dial_as(w, 1, "good.origin.example", w->port, 3);
	wait_for_gate_end(w);
	world_free(w);
}

static const struct {
	const char *claim, *host, *address, *detail;
} refused_rows[] = {
	{ "22: private", "v10.origin.example", "10.0.0.1", "private" },
	{ "22: loopback not excepted", "v127.origin.example", FORBIDDEN,
	    "loopback" },
	{ "22: unspecified", "v0.origin.example", "0.0.0.0", NULL },
	{ "22: link-local", "v169.origin.example", "169.254.7.7", NULL },
	{ "22: multicast", "v224.origin.example", "224.0.0.1", NULL },
	{ "22: unique local", "fc00.origin.example", "[fc00::1]", NULL },
	{ "23: carrier NAT", "cgnat.origin.example", "100.100.1.1", NULL },
	{ "24: the host's own", "own.origin.example", "192.0.2.10", "own" },
	{ "25: the guests' network", "guest.origin.example", "100.64.0.2",
	    "guest-range" },
	{ "25: synthetic", "synthetic.origin.example", "198.18.0.9",
	    "guest-range" },
	{ "25: the resolver", "resolver.origin.example", NAMESERVER,
	    "resolver" },
	{ "21: metadata", "meta.origin.example", "169.254.169.254",
	    "metadata" },
	{ "21: metadata by IPv6", "meta6.origin.example", "[fd00:ec2::254]",
	    "metadata" },
	{ "19: mapped, of an excepted one", "mapped.origin.example",
	    "[::ffff:127.0.0.2]", NULL },
	{ "19: compatible", "compat.origin.example", "[::127.0.0.2]", NULL },
	{ "19: translated", "translated.origin.example", "[::ffff:0:127.0.0.2]",
	    NULL },
	{ "20: NAT64", "nat64.origin.example", "[64:ff9b::a9fe:a9fe]", NULL },
	{ "20: local NAT64", "local64.origin.example", "[64:ff9b:1::a00:1]",
	    NULL },
	{ "20: 6to4", "6to4.origin.example", "[2002:7f00:1::1]", NULL },
	{ "20: Teredo", "teredo.origin.example", "[2001:0:1::1]", NULL },
	{ "27: one of two", "mixed.origin.example", "169.254.169.254",
	    "metadata" },
	{ "27: one of two families", "mixed6.origin.example", "[fe80::1]",
	    NULL },
	{ "28: at the end of a chain", "inward.origin.example", "10.0.0.5",
	    "private" },
};

static bool
begins_with_address(const char *text, const char *address)
{
	const size_t len = strlen(address);

	return strncmp(text, address, len) == 0 && text[len] == ':';
}

static void
refuses_an_answer_with_one_refused_address(void **state)
{
	struct world *w = world_ready(zone);

	(void)state;
	for (size_t i = 0; i < sizeof(refused_rows) / sizeof(refused_rows[0]);
	     i++) {
		const struct answer *a = dial_and_wait(w, refused_rows[i].host);
		const struct record *r = &w->records[w->record_count - 1];

		if (a->m.reason != REASON_PRIVATE_ADDRESS ||
		    r->reason != REASON_PRIVATE_ADDRESS)
			fail_msg("%s: %s", refused_rows[i].claim,
			    reason_code(a->m.reason));
		/* Some are written in another way by RFC 5952. */
		if (refused_rows[i].detail != NULL) {
			assert_true(begins_with_address(a->m.address,
			    refused_rows[i].address));
			assert_string_equal(r->detail, refused_rows[i].detail);
		}
		assert_string_equal(r->address, a->m.address);
	}
	assert_int_equal(accept(w->origin, NULL, NULL), -1);
	world_free(w);
}

static void
never_dials_what_a_second_answer_says(void **state)
{
	struct world *w = world_ready(zone);

	(void)state;
	/* 26: the first answer is kept, its TTL of 0 notwithstanding. */
	assert_origin_reached(w, dial_and_wait(w, "twice.origin.example"));
	assert_origin_reached(w, dial_and_wait(w, "twice.origin.example"));
	assert_int_equal(nameserver_count_of(w->ns, "twice.origin.example"), 2);
	/* Everything is forgotten, and the second answer is another. */
	send_config(w);
	assert_int_equal(dial_and_wait(w, "twice.origin.example")->m.reason,
	    REASON_PRIVATE_ADDRESS);
	assert_int_equal(nameserver_count_of(w->ns, "twice.origin.example"), 4);
	world_free(w);
}

static const struct {
	const char *claim, *host;
	bool is_reached;
} answer_rows[] = {
	{ "28: a chain of four", "chain.origin.example", true },
	{ "28: a loop", "loop.origin.example", false },
	{ "28: a chain of ten", "long.origin.example", false },
	{ "a truncated answer is asked for by TCP", "tc.origin.example", true },
	{ "33: an empty datagram is no answer", "empty.origin.example", true },
	{ "33: nor is one to another question", "poison.origin.example", true },
	{ "33: two questions", "two.origin.example", false },
	{ "a failing nameserver", "fail.origin.example", false },
	{ "a name that is not", "nothing.origin.example", false },
	{ "no answer for AAAA", "half.origin.example", true },
};

static void
takes_only_an_answer_to_its_question(void **state)
{
	struct world *w = world_ready(zone);

	(void)state;
	w->config->limits.resolve_timeout_ms = 1500;
	send_config(w);
	for (size_t i = 0; i < sizeof(answer_rows) / sizeof(answer_rows[0]);
	     i++) {
		const struct answer *a = dial_and_wait(w, answer_rows[i].host);

		if (answer_rows[i].is_reached)
			assert_origin_reached(w, a);
		else if (a->m.reason != REASON_RESOLVE_FAILED)
			fail_msg("%s: %s", answer_rows[i].claim,
			    reason_code(a->m.reason));
	}
	assert_int_equal(nameserver_count_tcp(w->ns), 2);
	world_free(w);
}

static void
gives_up_on_a_silent_nameserver(void **state)
{
	struct world *w = world_ready(zone);
	const uint64_t begin = clock_mono_ms();

	(void)state;
	w->config->limits.resolve_timeout_ms = 100;
	send_config(w);
	assert_int_equal(dial_and_wait(w, "silent.origin.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	assert_true(clock_mono_ms() - begin < 5000);
	/* A late flight is joined, not doubled. */
	assert_int_equal(dial_and_wait(w, "silent.origin.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	assert_int_equal(nameserver_count_of(w->ns, "silent.origin.example"),
	    2);
	world_free(w);
}

static void
asks_once_for_all_that_want_a_name(void **state)
{
	struct world *w = world_ready(zone);

	(void)state;
	for (uint32_t id = 1; id <= 5; id++)
		dial(w, id, "good.origin.example");
	wait_for_count(w, &w->answer_count, 5);
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	assert_int_equal(nameserver_count(w->ns), 2);
	/* That a name is not there is known for a while too. */
	(void)dial_and_wait(w, "nothing.origin.example");
	(void)dial_and_wait(w, "nothing.origin.example");
	assert_int_equal(nameserver_count(w->ns), 4);
	world_free(w);
}

static void
judges_each_dial_though_the_name_is_known(void **state)
{
	struct world *w = world_ready(zone);

	(void)state;
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	chan_free(w->gate);
	chan_free(w->recorder);
	attach(w, "two",
	    "[policy]\nversion = 1\n"
	    "[allow other]\nhost = other.origin.example\nport = @\n",
	    NULL);
	assert_int_equal(dial_and_wait(w, "good.origin.example")->m.reason,
	    REASON_NO_RULE);
	world_free(w);
}

static void
obeys_the_stricter_of_policy_and_ceiling(void **state)
{
	struct world *w = world_ready(zone);
	const struct answer *a;

	(void)state;
	chan_free(w->gate);
	chan_free(w->recorder);
	attach(w, "one", POLICY,
	    "[policy]\nversion = 1\n"
	    "[allow other]\nhost = other.origin.example\nport = @\n");
	a = dial_and_wait(w, "good.origin.example");
	assert_int_equal(a->m.reason, REASON_NO_RULE);
	assert_true(a->m.by_ceiling);
	assert_int_equal(nameserver_count(w->ns), 0);
	assert_origin_reached(w, dial_and_wait(w, "other.origin.example"));
	world_free(w);
}

static void
writes_down_what_a_gate_cancels(void **state)
{
	struct world *w = world_ready(zone);

	(void)state;
	dial(w, 1, "silent.origin.example");
	assert_int_equal(chan_send(w->gate, MSG_DIAL_CANCEL, 1, NULL, NULL, 0),
	    0);
	/* One that was answered long ago is no fault. */
	assert_int_equal(chan_send(w->gate, MSG_DIAL_CANCEL, 99, NULL, NULL, 0),
	    0);
	wait_for_count(w, &w->record_count, 1);
	assert_string_equal(w->records[0].detail, "cancelled");
	assert_string_equal(w->records[0].host, "silent.origin.example");
	assert_int_equal(w->answer_count, 0);
	world_free(w);
}

static void
send_policy(struct world *w, uint64_t generation, int policy)
{
	struct message_dialler_sandbox m = { .sandbox = "one",
		.generation = generation };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));
	const unsigned int before = w->done_count;

	message_dialler_sandbox_encode(&body, &m);
	assert_int_equal(chan_send(w->supervisor, MSG_DIALLER_POLICY, 3, &body,
			     &policy, 1),
	    0);
	(void)close(policy);
	wait_for_count(w, &w->done_count, before + 1);
}

static void
refuses_open_dials_that_a_new_policy_denies(void **state)
{
	static const char none[] =
	    "[policy]\nversion = 1\n"
	    "[allow other]\nhost = other.origin.example\nport = @\n";
	struct world *w = world_ready(zone);

	(void)state;
	dial(w, 1, "silent.origin.example");
	while (nameserver_count(w->ns) == 0)
		turn(w);
	/* A generation that is not there, and what is no policy. */
	send_policy(w, 2, policy_of(w, none, false));
	assert_false(w->done.ok);
	send_policy(w, 1, open("/dev/null", O_RDONLY | O_CLOEXEC));
	assert_false(w->done.ok);
	assert_int_equal(w->answer_count, 0);
	send_policy(w, 1, policy_of(w, none, false));
	assert_true(w->done.ok);
	wait_for_count(w, &w->answer_count, 1);
	assert_int_equal(w->answers[0].m.reason, REASON_NO_RULE);
	world_free(w);
}

static void
dials_nothing_that_cannot_be_written_down(void **state)
{
	struct world *w = world_ready(zone);
	uint8_t buf[8];
	struct wr body = wr_init(buf, sizeof(buf));

	(void)state;
	message_audit_state_encode(&body, false);
	assert_int_equal(chan_send(w->recorder, MSG_AUDIT_STATE, 0, &body, NULL,
			     0),
	    0);
	assert_int_equal(dial_and_wait(w, "good.origin.example")->m.reason,
	    REASON_AUDIT_UNAVAILABLE);
	chan_free(w->recorder);
	w->recorder = NULL;
	dial(w, 9, "good.origin.example");
	wait_for_count(w, &w->answer_count, 2);
	assert_int_equal(w->answers[1].m.reason, REASON_AUDIT_UNAVAILABLE);
	assert_int_equal(nameserver_count(w->ns), 0);
	world_free(w);
}

static void
dials_nothing_before_it_knows_the_host(void **state)
{
	static const char *const own[] = { "127.0.0.1", NULL };
	struct world *w = world_new(zone);

	(void)state;
	attach(w, "one", POLICY, NULL);
	assert_int_equal(dial_and_wait(w, "good.origin.example")->m.reason,
	    REASON_ORIGIN_UNREACHABLE);
	send_config(w);
	assert_int_equal(dial_and_wait(w, "good.origin.example")->m.reason,
	    REASON_ORIGIN_UNREACHABLE);
	assert_int_equal(nameserver_count(w->ns), 0);
	send_addresses(w, own);
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	world_free(w);
}

static void
goes_on_to_the_next_address(void **state)
{
	static const char *const own[] = { "127.0.0.1", "2001:4860::8888",
		NULL };
	struct world *w = world_ready(zone);

	(void)state;
	/* IPv6 comes first there, and nobody listens on it. */
	send_addresses(w, own);
	assert_origin_reached(w, dial_and_wait(w, "both.origin.example"));
	/* Nobody listens at all. */
	(void)close(w->origin);
	w->origin = listen_on(ORIGIN, 0);
	assert_int_equal(dial_and_wait(w, "both.origin.example")->m.reason,
	    REASON_ORIGIN_UNREACHABLE);
	world_free(w);
}

static void
asks_again_when_the_resolvers_change(void **state)
{
	struct world *w = world_ready(zone);
	const uint16_t port = w->config->resolvers[0].port;

	(void)state;
	w->config->resolver_count = 0;
	send_config(w);
	assert_int_equal(dial_and_wait(w, "good.origin.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	/* To a port where nobody answers, then to the right one. */
	w->config->resolver_count = 1;
	w->config->resolvers[0].port = w->port;
	send_config(w);
	dial(w, 50, "other.origin.example");
	w->config->resolvers[0].port = port;
	send_config(w);
	wait_for_count(w, &w->answer_count, 2);
	assert_int_equal(w->answers[1].id, 50);
	world_free(w);
}

static void
ends_a_gate_when_its_sandbox_is_detached(void **state)
{
	struct message_dialler_detach m = { .sandbox = "one", .generation = 2 };
	struct world *w = world_ready(zone);
	uint8_t buf[MESSAGE_SMALL_BYTES];

	(void)state;
	dial(w, 1, "silent.origin.example");
	for (m.generation = 2; m.generation >= 1; m.generation--) {
		struct wr body = wr_init(buf, sizeof(buf));

		/* The other generation is none of ours. */
		assert_non_null(w->gate);
		message_dialler_detach_encode(&body, &m);
		assert_int_equal(chan_send(w->supervisor, MSG_DIALLER_DETACH, 0,
				     &body, NULL, 0),
		    0);
		send_config(w);
	}
	wait_for_gate_end(w);
	assert_int_equal(w->answer_count, 0);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hands_back_a_connection_and_writes_it_down),
		cmocka_unit_test(asks_no_nameserver_for_what_is_denied),
		cmocka_unit_test(ends_a_gate_that_sends_no_canonical_name),
		cmocka_unit_test(ends_a_gate_that_breaks_the_protocol),
		cmocka_unit_test(refuses_an_answer_with_one_refused_address),
		cmocka_unit_test(never_dials_what_a_second_answer_says),
		cmocka_unit_test(takes_only_an_answer_to_its_question),
		cmocka_unit_test(gives_up_on_a_silent_nameserver),
		cmocka_unit_test(asks_once_for_all_that_want_a_name),
		cmocka_unit_test(judges_each_dial_though_the_name_is_known),
		cmocka_unit_test(obeys_the_stricter_of_policy_and_ceiling),
		cmocka_unit_test(writes_down_what_a_gate_cancels),
		cmocka_unit_test(refuses_open_dials_that_a_new_policy_denies),
		cmocka_unit_test(dials_nothing_that_cannot_be_written_down),
		cmocka_unit_test(dials_nothing_before_it_knows_the_host),
		cmocka_unit_test(goes_on_to_the_next_address),
		cmocka_unit_test(asks_again_when_the_resolvers_change),
		cmocka_unit_test(ends_a_gate_when_its_sandbox_is_detached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
