/*
 * What a guest may not bring where its sandbox is granted a credential: the
 * rows that the gate holds, and requests through it. escapes 108 and 122.
 */
#include "inspect_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOST "api.example.org"
#define NAMES "x-acme-key x-acme-token"

/* The policy names no credential at all but at named.example.org. */
#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow files]\nhost = " HOST "\n"                                     \
	"[allow alt]\nhost = " HOST "\nport = 8443\n"                          \
	"[allow plain]\nhost = plain.example.org\nport = 80\n"                 \
	"scheme = http\n"                                                      \
	"[allow key]\nhost = named.example.org\npath = /k/**\n"                \
	"credential = canary\n"                                                \
	"[allow open]\nhost = named.example.org\npath = /o/**\n"

static int
setup(void **state)
{
	*state = fix_new(POLICY);
	return 0;
}

static int
teardown(void **state)
{
	fix_free(*state);
	return 0;
}

/* --- the rows --- */

static int
tell_grant(struct grants *g, const struct message_grant *m)
{
	static uint8_t buf[GRANT_BODY_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	message_grant_encode(&w, m);
	r = rd_init(buf, w.len);
	return grants_on_grant(g, &r);
}

static int
tell_whole(struct grants *g, uint32_t count)
{
	const struct message_grants_whole m = { count };
	uint8_t buf[8];
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	message_grants_whole_encode(&w, &m);
	r = rd_init(buf, w.len);
	return grants_on_whole(g, &r);
}

/* Two credentials at one host, of which one has another port, too. */
static struct grants *
some_grants(void)
{
	static const struct message_grant all[] = {
		{ .port = 443,
		    .host_count = 2,
		    .hosts = { "a.example.org", "b.example.org" },
		    .name_count = 2,
		    .names = { "x-one", "authorization" },
		    .placeholder = "PLACEHOLDER-1" },
		{ .port = 443,
		    .host_count = 1,
		    .hosts = { "b.example.org" },
		    .name_count = 1,
		    .names = { "x-two" },
		    .parameter = "key",
		    .placeholder = "PLACEHOLDER-2" },
		{ .port = 8443,
		    .host_count = 1,
		    .hosts = { "b.example.org" },
		    .name_count = 1,
		    .names = { "x-three" } },
	};
	struct grants *g = grants_new();

	assert_non_null(g);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(tell_grant(g, &all[i]), 0);
	assert_int_equal(tell_whole(g, 3), 0);
	return g;
}

static const struct {
	const char *claim, *host;
	uint16_t port;
	const char *name;
	bool want;
} rows[] = {
	{ "the name at the host", "a.example.org", 443, "x-one", true },
	{ "without case", "a.example.org", 443, "X-ONE", true },
	{ "with an underscore", "a.example.org", 443, "X_One", true },
	{ "the second name", "a.example.org", 443, "Authorization", true },
	{ "the row's second host", "b.example.org", 443, "x-one", true },
	{ "the second row of one host", "b.example.org", 443, "x_two", true },
	{ "which is not the other host's", "a.example.org", 443, "x-two",
	    false },
	{ "nor the other port's", "b.example.org", 8443, "x-two", false },
	{ "a port has its own", "b.example.org", 8443, "x-three", true },
	{ "a host is no name", "b.example.org", 443, "b.example.org", false },
	{ "a name is no host", "x-one", 443, "authorization", false },
	{ "nothing at another port", "a.example.org", 80, "x-one", false },
	{ "nor below the host", "c.a.example.org", 443, "x-one", false },
	{ "nor above it", "example.org", 443, "x-one", false },
	{ "a longer name is another", "a.example.org", 443, "x-one-more",
	    false },
};

static const struct {
	const char *claim, *host;
	uint16_t port;
	const char *text;
	bool want;
} places[] = {
	{ "where it is for", "a.example.org", 443, "x PLACEHOLDER-1 y", false },
	{ "its second host", "b.example.org", 443, "PLACEHOLDER-1", false },
	{ "two for one host", "b.example.org", 443,
	    "PLACEHOLDER-1PLACEHOLDER-2", false },
	{ "of a credential for another host", "a.example.org", 443,
	    "x PLACEHOLDER-2 y", true },
	{ "beside one that may be there", "a.example.org", 443,
	    "PLACEHOLDER-1, PLACEHOLDER-2", true },
	{ "another port", "b.example.org", 8443, "PLACEHOLDER-1", true },
	{ "a host without a credential", "c.example.org", 443, "PLACEHOLDER-1",
	    true },
	{ "part of one", "c.example.org", 443, "PLACEHOLDER-", false },
	{ "in another case", "c.example.org", 443, "placeholder-1", false },
	{ "nothing", "c.example.org", 443, "", false },
};

static void
knows_where_a_placeholder_may_be(void **state)
{
	struct grants *g = some_grants();

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (grants_misplaced(g, places[i].host, places[i].port,
			span_of(places[i].text)) != places[i].want)
			fail_msg("%s", places[i].claim);
	grants_free(g);
}

static void
knows_what_goes_where(void **state)
{
	struct grants *g = some_grants();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (grants_strip(g, rows[i].host, rows[i].port,
			span_of(rows[i].name)) != rows[i].want)
			fail_msg("%s", rows[i].claim);
	assert_true(
	    grants_strip_parameter(g, "b.example.org", 443, span_of("k%65y")));
	assert_false(
	    grants_strip_parameter(g, "b.example.org", 443, span_of("keys")));
	assert_false(
	    grants_strip_parameter(g, "b.example.org", 8443, span_of("key")));
	/* Which has none, and none that is nothing. */
	assert_false(
	    grants_strip_parameter(g, "a.example.org", 443, span_of("key")));
	assert_false(
	    grants_strip_parameter(g, "a.example.org", 443, span_of("")));
	assert_true(grants_have(g, "a.example.org", 443));
	assert_false(grants_have(g, "a.example.org", 8443));
	assert_false(grants_have(g, "c.example.org", 443));
	grants_free(g);
}

static void
takes_a_set_over_when_it_is_whole(void **state)
{
	const struct message_grant more = { .port = 443,
		.host_count = 1,
		.hosts = { "new.example.org" } };
	struct grants *g = grants_new();

	(void)state;
	assert_false(grants_are_known(g));
	assert_int_equal(tell_grant(g, &more), 0);
	assert_false(grants_are_known(g));
	assert_false(grants_have(g, "new.example.org", 443));
	grants_forget_next(g);
	/* Of the one that went none is left over. */
	assert_int_equal(tell_whole(g, 1), -EBADMSG);
	assert_false(grants_are_known(g));
	assert_int_equal(tell_whole(g, 0), 0);
	assert_true(grants_are_known(g));
	grants_free(g);

	g = some_grants();
	assert_int_equal(tell_grant(g, &more), 0);
	assert_true(grants_have(g, "a.example.org", 443));
	assert_int_equal(tell_whole(g, 1), 0);
	assert_false(grants_have(g, "a.example.org", 443));
	assert_true(grants_have(g, "new.example.org", 443));
	grants_free(g);
}

static void
takes_no_more_than_there_can_be(void **state)
{
	const struct message_grant m = { .port = 443,
		.host_count = 1,
		.hosts = { "a.example.org" } };
	struct grants *g = grants_new();

	(void)state;
	for (size_t i = 0; i < GRANTS_MAX; i++)
		assert_int_equal(tell_grant(g, &m), 0);
	assert_int_equal(tell_grant(g, &m), -EBADMSG);
	assert_int_equal(tell_whole(g, GRANTS_MAX), 0);
	grants_free(g);
}

/* --- requests --- */

#define REQUEST(path, host, fields)                                            \
	"GET " path " HTTP/1.1\r\nHost: " host "\r\n" fields "\r\n"
/* Every spelling of what goes, around what stays. */
#define BROUGHT                                                                \
	"X-Acme-Key: mine\r\nX-A: 1\r\nx_acme_key: mine\r\n"                   \
	"X-ACME_Token: mine\r\nAuthorization: Bearer mine\r\n"                 \
	"Proxy-Authorization: mine\r\nCookie: mine\r\n"                        \
	"X-Api-Key: mine\r\nX-B: 2\r\n"

static void
row_108_a_grant_strips_though_no_rule_names_it(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_grant(f, HOST, 443, NAMES);
	fix_open_tls(f, HOST);
	o = fix_ask(f, REQUEST("/x", HOST, BROUGHT));
	assert_false(peer_has(o, "mine"));
	assert_true(peer_has(o,
	    "GET /x HTTP/1.1\r\nHost: " HOST "\r\nX-A: 1\r\nX-B: 2\r\n\r\n"));
	assert_int_equal(f->lease_count, 0);
}

static void
row_122_no_upload_arrives_with_a_key_of_another_account(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_grant(f, HOST, 443, "x-acme-key");
	fix_open_tls(f, HOST);
	o = fix_ask(f,
	    "POST /v1/files HTTP/1.1\r\nHost: " HOST "\r\n"
	    "x-acme-key: attacker\r\nContent-Length: 4\r\n"
	    "X-Stays: 1\r\n\r\ndata");
	fix_until(f, peer_has(o, "\r\n\r\ndata"));
	assert_false(peer_has(o, "attacker"));
	assert_true(peer_has(o, "X-Stays: 1\r\n"));
}

static void
row_108_with_another_rule_of_a_host_that_has_one(void **state)
{
	static const char *const paths[] = { "/k/x", "/o/x" };
	struct fix *f = *state;
	char request[512];

	fix_grant(f, "named.example.org", 443, NAMES);
	fix_open_tls(f, "named.example.org");
	for (size_t i = 0; i < 2; i++) {
		struct peer *o;

		(void)snprintf(request, sizeof(request),
		    "GET %s HTTP/1.1\r\nHost: named.example.org\r\n" BROUGHT
		    "\r\n",
		    paths[i]);
		peer_clear(&f->guest);
		o = fix_ask(f, request);
		assert_false(peer_has(o, "mine"));
		assert_true(peer_has(o, "X-A: 1\r\nX-B: 2\r\n"));
		assert_int_equal(peer_has(o, f->secret), i == 0);
		peer_say(o, "HTTP/1.1 204 No Content\r\n\r\n");
		fix_until(f, peer_has(&f->guest, "204"));
	}
}

static void
nothing_goes_where_nothing_is_granted(void **state)
{
	static const char text[] = "X-Acme-Key: mine\r\nX-A: 1\r\n"
				   "x_acme_key: mine\r\n";
	struct fix *f = *state;
	struct peer *o;

	/* Not at this port, and not at that host. */
	fix_grant(f, HOST, 8443, NAMES);
	fix_open_tls(f, HOST);
	o = fix_ask(f, REQUEST("/x", HOST, BROUGHT));
	assert_true(peer_has(o, text));
	fix_close(f);
	fix_forget_origins(f);
	fix_open_http(f);
	o = fix_ask(f, REQUEST("/x", "plain.example.org", BROUGHT));
	assert_true(peer_has(o, text));
}

static void
a_parameter_goes_though_no_rule_names_it(void **state)
{
	static const char *const queries[][2] = {
		{ "/x?key=mine&a=1", "/x?a=1" },
		{ "/x?a=1&key=mine;K%65y[]=mine&b", "/x?a=1&b" },
		{ "/x?a=1;KEY=mine", "/x?a=1" },
		{ "/x?key=mine", "/x" },
		{ "/x?a=key", "/x?a=key" },
		{ "/x?", "/x?" },
	};
	struct fix *f = *state;
	char request[256];

	f->grant_parameter = "key";
	fix_grant(f, HOST, 443, NAMES);
	fix_open_tls(f, HOST);
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		struct peer *o;

		(void)snprintf(request, sizeof(request),
		    "GET %s HTTP/1.1\r\nHost: " HOST "\r\n\r\n", queries[i][0]);
		peer_clear(&f->guest);
		peer_say(&f->guest, request);
		o = fix_origin(f, 0);
		fix_until(f, peer_has(o, "\r\n\r\n"));
		(void)snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n",
		    queries[i][1]);
		if (!peer_has(o, request))
			fail_msg("%s", queries[i][0]);
		peer_say(o, "HTTP/1.1 204 No Content\r\n\r\n");
		fix_until(f, peer_has(&f->guest, "204"));
		peer_clear(o);
	}
}

static void
plain_http_is_no_way_around_it(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_grant(f, "plain.example.org", 80, NAMES);
	fix_open_http(f);
	o = fix_ask(f, REQUEST("/x", "plain.example.org", BROUGHT));
	assert_false(peer_has(o, "mine"));
}

static void
what_is_granted_anew_counts_for_the_next_request(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, HOST);
	o = fix_ask(f, REQUEST("/x", HOST, "X-Acme-Key: mine\r\n"));
	assert_true(peer_has(o, "X-Acme-Key: mine\r\n"));
	peer_clear(o);
	peer_say(o, "HTTP/1.1 204 No Content\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "204"));
	fix_grant(f, HOST, 443, NAMES);
	peer_say(&f->guest, REQUEST("/y", HOST, "X-Acme-Key: mine\r\n"));
	fix_until(f, peer_has(o, "\r\n\r\n"));
	assert_true(peer_has(o, "GET /y "));
	assert_false(peer_has(o, "mine"));
}

static void
waits_until_it_was_told(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_grant(f, HOST, 443, NAMES);
	f->is_untold = true;
	fix_open_tls(f, HOST);
	o = fix_ask(f, REQUEST("/x", HOST, BROUGHT));
	assert_false(f->is_untold);
	assert_false(peer_has(o, "mine"));
	assert_true(peer_has(o, "X-A: 1\r\nX-B: 2\r\n"));
}

static void
refuses_when_it_is_not_told(void **state)
{
	static const char *const hosts[] = { HOST, "named.example.org" };
	struct fix *f = *state;
	char request[128];

	f->is_untold = true;
	f->untold = REASON_CREDENTIAL_UNAVAILABLE;
	for (size_t i = 0; i < 2; i++) {
		fix_open_tls(f, hosts[i]);
		(void)snprintf(request, sizeof(request),
		    "GET /o/x HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
		peer_say(&f->guest, request);
		fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
		assert_true(peer_has(&f->guest, "HTTP/1.1 503 "));
		assert_true(peer_has(&f->guest,
		    "Tapward-Reason: credential-unavailable\r\n"));
		fix_close(f);
	}
	assert_int_equal(f->origin_count, 0);
	assert_int_equal(f->record_count, 2);
	assert_int_equal(fix_last(f)->r.reason, REASON_CREDENTIAL_UNAVAILABLE);
}

static void
a_guest_that_goes_while_it_waits_leaves_nothing(void **state)
{
	struct fix *f = *state;

	f->is_untold = true;
	fix_open_tls(f, HOST);
	fix_until(f, f->guest.is_shaken);
	peer_say(&f->guest, REQUEST("/x", HOST, ""));
	fix_until(f, f->guest.out_at == f->guest.out_len);
	fix_close(f);
	assert_int_equal(f->origin_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_what_goes_where),
		cmocka_unit_test(knows_where_a_placeholder_may_be),
		cmocka_unit_test(takes_a_set_over_when_it_is_whole),
		cmocka_unit_test(takes_no_more_than_there_can_be),
		TEST(row_108_a_grant_strips_though_no_rule_names_it),
		TEST(row_122_no_upload_arrives_with_a_key_of_another_account),
		TEST(row_108_with_another_rule_of_a_host_that_has_one),
		TEST(nothing_goes_where_nothing_is_granted),
		TEST(a_parameter_goes_though_no_rule_names_it),
		TEST(plain_http_is_no_way_around_it),
		TEST(what_is_granted_anew_counts_for_the_next_request),
		TEST(waits_until_it_was_told),
		TEST(refuses_when_it_is_not_told),
		TEST(a_guest_that_goes_while_it_waits_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
