/*
 * A request that gets a credential: which, in which place, on which
 * connection; and what is sent again with another.
 */
#include "inspect_fixture.h"

#include <stdio.h>

#include "base/clock.h"
#include "key_host.h"
#include "proxy/pool.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow api]\nhost = api.example.org\n" KEY_RULES

static int
setup(void **state)
{
	*state = fix_new(POLICY);
	return 0;
}

static int
teardown(void **state)
{
	clock_test_release();
	fix_free(*state);
	return 0;
}

static void
row_108_one_rule_with_a_credential_strips_for_all(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "key.example.org");
	o = fix_ask(f,
	    "GET /o/x HTTP/1.1\r\n" KEY_HOST
	    "Authorization: Bearer mine\r\nX-Api-Key: mine\r\n"
	    "Cookie: mine\r\nAccept-Encoding: gzip\r\n\r\n");
	assert_false(peer_has(o, "mine"));
	assert_false(peer_has(o, SECRET));
	assert_true(peer_has(o, "Accept-Encoding: gzip\r\n"));
	assert_int_equal(f->lease_count, 0);
	peer_say(o,
	    "HTTP/1.1 200 OK\r\nSet-Cookie: a\r\n"
	    "Content-Length: 2\r\n\r\nok");
	fix_until(f, peer_has(&f->guest, "Set-Cookie: a\r\n"));
	assert_string_equal(fix_last(f)->credential, "");
}

static void
elsewhere_the_guests_own_credential_goes_on(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "api.example.org");
	o = fix_ask(f,
	    "GET / HTTP/1.1\r\nHost: api.example.org\r\n"
	    "Authorization: Bearer mine\r\n\r\n");
	assert_true(peer_has(o, "Authorization: Bearer mine\r\n"));
}

static void
what_the_lease_strips_goes_and_its_own_field_is_overwritten(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	f->apply = LEASE_APPLY_HEADER;
	f->lease_field = "x-acme-auth";
	f->strip = "acme-session";
	fix_open_tls(f, "key.example.org");
	o = fix_ask(f,
	    "GET /k/x HTTP/1.1\r\n" KEY_HOST
	    "X-Acme-Auth: mine\r\nX-A: 1\r\nAcme_Session: mine\r\n"
	    "x_acme_auth: mine\r\nX-B: 2\r\n\r\n");
	assert_false(peer_has(o, "mine"));
	assert_true(peer_has(o, "X-A: 1\r\nX-B: 2\r\n"));
	assert_true(peer_has(o, "\r\nx-acme-auth: " SECRET "\r\n"));
}

/* Of two parameters some origins read the first, some the last. */
static void
a_credential_in_the_query_is_the_only_one_of_its_name(void **state)
{
	static const char *const rows[][2] = {
		{ "/k/x", "/k/x?apiKey=" },
		{ "/k/x?", "/k/x?apiKey=" },
		{ "/k/x?a=b", "/k/x?a=b&apiKey=" },
		{ "/k/x?apiKey=PLACEHOLDER&a=b", "/k/x?a=b&apiKey=" },
		{ "/k/x?a=1;apikey=PLACEHOLDER&api%4Bey[]=mine",
		    "/k/x?a=1&apiKey=" },
	};
	struct fix *f = *state;
	char request[512];

	f->apply = LEASE_APPLY_QUERY;
	f->lease_field = "apiKey";
	f->secret = "s3cr3t-canary/+&=%0123456789";
	f->placeholder = "PLACEHOLDER";
	fix_open_tls(f, "key.example.org");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct peer *o;

		(void)snprintf(request, sizeof(request),
		    "GET %s HTTP/1.1\r\n" KEY_HOST
		    "Authorization: Basic Z2l0OlBMQUNFSE9MREVS\r\n\r\n",
		    rows[i][0]);
		peer_clear(&f->guest);
		peer_say(&f->guest, request);
		o = fix_origin(f, 0);
		fix_until(f, peer_has(o, "\r\n\r\n"));
		(void)snprintf(request, sizeof(request),
		    "GET %ss3cr3t-canary%%2F%%2B%%26%%3D%%250123456789 "
		    "HTTP/1.1\r\n",
		    rows[i][1]);
		if (!peer_has(o, request) || peer_has(o, "uthorization"))
			fail_msg("%s", rows[i][0]);
		peer_say(o, "HTTP/1.1 204 No Content\r\n\r\n");
		fix_until(f, peer_has(&f->guest, "204"));
		assert_string_equal(fix_last(f)->path, rows[i][0]);
		peer_clear(o);
	}
}

/* What it was sent comes back in a Location, or as text. */
static void
a_credential_in_the_query_does_not_come_back(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	f->apply = LEASE_APPLY_QUERY;
	f->lease_field = "key";
	f->secret = "s3cr3t-canary/+&=%0123456789";
	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	peer_say(o,
	    "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
	    "https://api.example.org/?key=s3cr3t-canary%2F%2B%26%3D%25"
	    "0123456789\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
	assert_true(peer_has(&f->guest, "Tapward-Reason: credential-leak"));
	assert_false(peer_has(&f->guest, "canary/"));
	assert_false(peer_has(&f->guest, "canary%"));
	fix_forget_origins(f);
	fix_close(f);
	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	peer_say(o,
	    "HTTP/1.1 404 Not Found\r\nContent-Length: 50\r\n\r\n"
	    "no /k/x?key=s3cr3t-canary%2f%2b%26%3d%250123456789");
	fix_until(f, peer_has(&f->guest, "no /k/x?key=***"));
	assert_false(peer_has(&f->guest, "canary"));
}

static void
row_54_connection_cannot_take_the_credential_away(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "key.example.org");
	o = fix_ask(f,
	    "GET /k/x HTTP/1.1\r\n" KEY_HOST
	    "Connection: authorization, host\r\n\r\n");
	assert_true(peer_has(o, "authorization: Bearer " SECRET "\r\n"));
	assert_true(peer_has(o, KEY_HOST));
}

static void
a_placeholder_inside_basic_is_replaced(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	f->placeholder = "PLACEHOLDER";
	fix_open_tls(f, "key.example.org");
	/* git:PLACEHOLDER */
	o = fix_ask(f,
	    "GET /k/x HTTP/1.1\r\n" KEY_HOST
	    "Authorization: Basic Z2l0OlBMQUNFSE9MREVS\r\n\r\n");
	assert_true(peer_has(o,
	    "authorization: Basic "
	    "Z2l0OnMzY3IzdC1jYW5hcnktMDEyMzQ1Njc4OWFiY2RlZg==\r\n"));
}

/* The broker hears which lease an origin did not take, the guest sees why. */
static void
a_401_is_told_to_the_broker(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	peer_say(o, "HTTP/1.1 403 Forbidden\r\nContent-Length: 1\r\n\r\nx");
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 403 "));
	assert_int_equal(f->rejected_count, 0);
	peer_clear(&f->guest);
	peer_clear(o);
	peer_say(&f->guest, KEY_GET);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	peer_say(o, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 1\r\n\r\nx");
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 401 "));
	assert_int_equal(f->rejected_count, 1);
}

#define NEXT "n3xt-canary-0123456789abcdefghi"
#define NO                                                                     \
	"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\n"            \
	"Content-Length: 3\r\n\r\nold"

/* A value that ended early: the guest sees neither it nor the 401. */
static void
what_is_answered_401_is_sent_again_with_another_value(void **state)
{
	static const char *const requests[] = {
		KEY_GET,
		"POST /k/x HTTP/1.1\r\n" KEY_HOST "Content-Length: 0\r\n\r\n",
	};
	struct fix *f = *state;

	for (size_t i = 0; i < 2; i++) {
		size_t records = f->record_count;
		struct peer *o;

		f->renew_boot_ms = 1;
		f->secret = SECRET;
		f->next_secret = NEXT;
		f->is_lease_late = i == 1;
		fix_open_tls(f, "key.example.org");
		o = fix_ask(f, requests[i]);
		assert_true(peer_has(o, "Bearer " SECRET "\r\n"));
		f->renew_boot_ms = UINT64_MAX;
		peer_say(o, NO);
		o = fix_origin(f, 1);
		fix_until(f, peer_has(o, "\r\n\r\n"));
		assert_true(peer_has(o, "Bearer " NEXT "\r\n"));
		peer_say(o, OK2);
		fix_until(f, peer_has(&f->guest, "ok"));
		assert_false(peer_has(&f->guest, "401"));
		assert_false(peer_has(&f->guest, "old"));
		assert_int_equal(f->rejected_count, i + 1);
		assert_int_equal(f->record_count, records + 1);
		assert_int_equal(fix_last(f)->r.status, 200);
		fix_close(f);
		fix_forget_origins(f);
	}
}

/* Once: who refuses the next one, too, is heard. */
static void
a_second_401_is_the_guests(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	f->renew_boot_ms = 1;
	f->next_secret = NEXT;
	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	peer_say(o, NO);
	o = fix_origin(f, 1);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	peer_say(o, NO);
	fix_until(f, peer_has(&f->guest, "old"));
	assert_true(peer_has(&f->guest, "HTTP/1.1 401 "));
	assert_int_equal(f->origin_count, 2);
	assert_int_equal(f->rejected_count, 2);
}

/* Nor is what nobody mints, what is gone, or what was renewed just now. */
static void
what_cannot_be_sent_again_is_not(void **state)
{
	static const struct {
		const char *claim, *request;
		uint64_t renew_boot_ms;
	} rows[] = {
		{ "a value that is never another", KEY_GET, 0 },
		{ "one that was renewed just now", KEY_GET, UINT64_MAX },
		{ "a body that is gone",
		    "POST /k/x HTTP/1.1\r\n" KEY_HOST
		    "Content-Length: 4\r\n\r\nbody",
		    1 },
		{ "a body whose rest has not come",
		    "POST /k/x HTTP/1.1\r\n" KEY_HOST
		    "Content-Length: 9\r\n\r\nbody",
		    1 },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct peer *o;

		f->renew_boot_ms = rows[i].renew_boot_ms;
		fix_open_tls(f, "key.example.org");
		o = fix_ask(f, rows[i].request);
		peer_say(o, NO);
		fix_until(f, peer_has(&f->guest, "old"));
		if (!peer_has(&f->guest, "HTTP/1.1 401 ") ||
		    f->origin_count != 1 || f->rejected_count != i + 1)
			fail_msg("%s", rows[i].claim);
		fix_close(f);
		fix_forget_origins(f);
	}
}

static void
a_lease_that_is_refused_refuses_the_request(void **state)
{
	static const struct {
		enum reason reason;
		const char *status;
	} rows[] = {
		{ REASON_CREDENTIAL_UNAVAILABLE, "HTTP/1.1 503 " },
		{ REASON_CREDENTIAL_MISUSE, "HTTP/1.1 403 " },
	};
	struct fix *f = *state;

	fix_open_tls(f, "key.example.org");
	for (size_t i = 0; i < 4; i++) {
		f->is_lease_late = i % 2 == 1;
		f->lease_refusal = rows[i / 2].reason;
		peer_clear(&f->guest);
		peer_say(&f->guest, KEY_GET);
		fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
		assert_true(peer_has(&f->guest, rows[i / 2].status));
		fix_until(f, peer_has(&f->guest, ": canary ("));
	}
	assert_int_equal(f->origin_count, 0);
	assert_int_equal(f->record_count, 4);
}

static void
a_lease_that_comes_late_is_used(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	f->is_lease_late = true;
	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	assert_true(peer_has(o, SECRET));
}

static void
a_guest_that_goes_while_the_broker_thinks_leaves_nothing(void **state)
{
	struct fix *f = *state;

	f->is_lease_late = true;
	fix_open_tls(f, "key.example.org");
	fix_until(f, f->guest.is_shaken);
	peer_say(&f->guest, KEY_GET);
	fix_until(f, f->guest.out_at == f->guest.out_len);
	fix_close(f);
	assert_int_equal(f->origin_count, 0);
}

static void
row_104_options_carries_none(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "key.example.org");
	o = fix_ask(f,
	    "OPTIONS /k/x HTTP/1.1\r\n" KEY_HOST
	    "Authorization: Bearer mine\r\n\r\n");
	assert_false(peer_has(o, "uthorization"));
	assert_int_equal(f->lease_count, 0);
}

static void
a_connection_is_used_again_for_the_same_credential_only(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
	peer_clear(&f->guest);
	peer_clear(o);
	/* Without one: another connection, so that none is left behind. */
	o = fix_ask(f, "GET /o/x HTTP/1.1\r\n" KEY_HOST "\r\n");
	assert_int_equal(f->origin_count, 2);
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
	peer_clear(&f->guest);
	peer_say(&f->guest, KEY_GET);
	fix_until(f, peer_has(&f->origins[0], "\r\n\r\n"));
	assert_true(peer_has(&f->origins[0], SECRET));
	assert_int_equal(f->origin_count, 2);
}

/* It keeps the lease as long as it is there. */
static void
an_idle_connection_ends_with_its_lease(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	f->gate.limits.idle_timeout_ms = 3600000;
	f->lease_ms = 50;
	/* Or it ends on a busy machine before it is used. */
	clock_test_set(clock_mono_ms(), clock_boot_ms(), clock_wall_ms());
	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
	assert_int_equal(pool_count(&f->gate), 1);
	clock_test_advance(50);
	fix_until(f, o->is_ended);
	assert_int_equal(pool_count(&f->gate), 0);
	/* The guest's own goes on, with another lease. */
	peer_clear(&f->guest);
	o = fix_ask(f, KEY_GET);
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
	assert_int_equal(f->lease_count, 2);
}

static void
no_connection_outlives_a_revocation(void **state)
{
	struct fix *f = *state;
	struct peer *o, *plain;

	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	peer_say(o, OK2);
	fix_until(f, pool_count(&f->gate) == 1);
	plain = fix_ask(f, "GET /o/x HTTP/1.1\r\n" KEY_HOST "\r\n");
	peer_say(plain, OK2);
	fix_until(f, pool_count(&f->gate) == 2);
	pool_revoke(&f->gate, "another");
	assert_int_equal(pool_count(&f->gate), 2);
	pool_revoke(&f->gate, "canary");
	assert_int_equal(pool_count(&f->gate), 1);
	fix_until(f, o->is_ended);
	/* One that is busy then does not come back; one without a key does. */
	o = fix_ask(f, KEY_GET);
	pool_revoke(&f->gate, NULL);
	assert_int_equal(pool_count(&f->gate), 1);
	peer_say(o, OK2);
	fix_until(f, o->is_ended);
	assert_int_equal(pool_count(&f->gate), 1);
	assert_false(plain->is_ended);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(row_108_one_rule_with_a_credential_strips_for_all),
		TEST(elsewhere_the_guests_own_credential_goes_on),
		TEST(
		    what_the_lease_strips_goes_and_its_own_field_is_overwritten),
		TEST(a_credential_in_the_query_is_the_only_one_of_its_name),
		TEST(a_credential_in_the_query_does_not_come_back),
		TEST(row_54_connection_cannot_take_the_credential_away),
		TEST(a_placeholder_inside_basic_is_replaced),
		TEST(a_401_is_told_to_the_broker),
		TEST(what_is_answered_401_is_sent_again_with_another_value),
		TEST(a_second_401_is_the_guests),
		TEST(what_cannot_be_sent_again_is_not),
		TEST(a_lease_that_is_refused_refuses_the_request),
		TEST(a_lease_that_comes_late_is_used),
		TEST(a_guest_that_goes_while_the_broker_thinks_leaves_nothing),
		TEST(row_104_options_carries_none),
		TEST(a_connection_is_used_again_for_the_same_credential_only),
		TEST(an_idle_connection_ends_with_its_lease),
		TEST(no_connection_outlives_a_revocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
