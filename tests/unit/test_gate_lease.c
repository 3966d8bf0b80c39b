/*
 * The gate's port to the broker.
 */
#include "gate_fixture.h"

#include <string.h>

#include "base/channel.h"
#include "base/clock.h"
#include "base/message.h"
#include "base/message_broker.h"
#include "proxy/lease.h"

#define POLICY "[policy]\nversion = 1\n[allow a]\nhost = a.example.org\n"

static int
setup(void **state)
{
	*state = fixture_new(POLICY, NULL);
	return 0;
}

static int
teardown(void **state)
{
	clock_test_release();
	fixture_free(*state);
	return 0;
}

struct leased {
	unsigned int count;
	enum reason reason;
	struct injection *in; /* no reference */
	char value[64];
};

static void
on_lease(enum reason reason, struct injection *in, void *arg)
{
	struct leased *l = arg;

	l->count++;
	l->reason = reason;
	l->in = in;
	memset(l->value, 0, sizeof(l->value));
	assert_int_equal(in == NULL, reason != REASON_NONE);
	if (in != NULL)
		memcpy(l->value, in->lease.value.ptr, in->lease.value.len);
}

static bool
has_lease(struct fixture *f, void *arg)
{
	(void)f;
	return ((struct leased *)arg)->count > 0;
}

static bool
has_request(struct fixture *f, void *arg)
{
	return f->lease_count >= *(size_t *)arg;
}

static struct lease_wait *
lease(struct fixture *f, struct leased *l, const char *host, bool *ret_is_done)
{
	struct message_lease_request req = { .credential = "npm",
		.port = 443,
		.method = "GET",
		.path = span_of("/x") };

	memcpy(req.host, host, strlen(host));
	*l = (struct leased){ 0 };
	return lease_get(&f->gate, &req, on_lease, l, ret_is_done);
}

static void
broker_answers(struct fixture *f, const char *value, bool any_request,
    uint64_t lifetime_ms)
{
	static uint8_t buf[LEASE_BODY_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct message_lease m = { .lease_id = 1,
		.expires_boot_ms = clock_boot_ms() + lifetime_ms,
		.renew_boot_ms = f->renew_boot_ms,
		.any_request = any_request };

	assert_int_equal(secret_set(&m.value, value, strlen(value)), 0);
	message_lease_encode(&w, &m);
	secret_done(&m.value);
	assert_int_equal(chan_send(f->broker, MSG_LEASE, f->lease_id, &w, NULL,
			     0),
	    0);
}

/* Asks, and has it answered by the broker. */
static void
fetch(struct fixture *f, struct leased *l, const char *value, bool any_request,
    uint64_t lifetime_ms)
{
	size_t want = f->lease_count + 1;
	bool is_done;

	assert_non_null(lease(f, l, "a.example.org", &is_done));
	assert_false(is_done);
	fixture_until(f, has_request, &want);
	broker_answers(f, value, any_request, lifetime_ms);
	fixture_until(f, has_lease, l);
}

static void
keeps_a_lease_that_serves_any_request(void **state)
{
	struct fixture *f = *state;
	struct leased l;
	bool is_done;

	fetch(f, &l, "open-sesame", true, 60000);
	assert_string_equal(l.value, "open-sesame");
	assert_null(lease(f, &l, "a.example.org", &is_done));
	assert_true(is_done);
	assert_string_equal(l.value, "open-sesame");
	assert_int_equal(f->lease_count, 1);
	/* For another host it asks. */
	lease_cancel(lease(f, &l, "b.example.org", &is_done));
	assert_false(is_done);
}

static void
asks_anew_for_each_request_otherwise(void **state)
{
	struct fixture *f = *state;
	struct leased l;

	fetch(f, &l, "value-one", false, 60000);
	fetch(f, &l, "value-two", false, 60000);
	assert_string_equal(l.value, "value-two");
	assert_int_equal(f->lease_count, 2);
}

/* The same lease is in memory once, and no longer than somebody has it. */
static void
shares_a_lease_among_those_that_use_it(void **state)
{
	struct fixture *f = *state;
	struct leased l, m;
	struct injection *in;

	clock_test_set(1000, 1000, 1000);
	fetch(f, &l, "value-one", false, 60000);
	assert_true(LIST_EMPTY(&f->gate.leases));
	fetch(f, &l, "value-one", true, 60000);
	in = injection_ref(LIST_FIRST(&f->gate.leases));
	assert_ptr_equal(l.in, in);
	assert_int_equal(in->refs, 2); /* ours, and the kept one's */
	lease_forget_all(&f->gate);
	assert_int_equal(in->refs, 1);
	fetch(f, &m, "value-one", false, 60000);
	assert_ptr_equal(m.in, in);
	fetch(f, &m, "value-two", false, 60000);
	assert_ptr_not_equal(m.in, in);
	injection_unref(in);
	assert_true(LIST_EMPTY(&f->gate.leases));
}

static void
takes_a_value_that_cannot_be_looked_for_as_none(void **state)
{
	struct fixture *f = *state;
	struct leased l;

	fetch(f, &l, "short", true, 60000);
	assert_int_equal(l.reason, REASON_CREDENTIAL_UNAVAILABLE);
	assert_true(LIST_EMPTY(&f->gate.leases));
}

static void
does_not_use_a_lease_after_its_end(void **state)
{
	struct fixture *f = *state;
	struct leased l;

	clock_test_set(1000, 1000, 1000);
	fetch(f, &l, "open-sesame", true, 5000);
	clock_test_advance(5000);
	fetch(f, &l, "fresh-one", true, 5000);
	assert_string_equal(l.value, "fresh-one");
	/* One that comes too late is none. */
	clock_test_advance(5000);
	fetch(f, &l, "stale-one", true, 0);
	assert_int_equal(l.reason, REASON_CREDENTIAL_UNAVAILABLE);
}

static void
broker_revokes(struct fixture *f, const char *credential)
{
	uint8_t buf[128];
	struct wr w = wr_init(buf, sizeof(buf));
	struct message_lease_revoked m = { { 0 } };

	memcpy(m.credential, credential, strlen(credential));
	message_lease_revoked_encode(&w, &m);
	assert_int_equal(chan_send(f->broker, MSG_LEASE_REVOKED, 0, &w, NULL,
			     0),
	    0);
	fixture_turn(f);
}

static void
forgets_what_was_revoked(void **state)
{
	struct fixture *f = *state;
	struct leased l;
	bool is_done;

	fetch(f, &l, "open-sesame", true, 60000);
	broker_revokes(f, "another");
	assert_string_equal(f->pool_revoked, "another");
	(void)lease(f, &l, "a.example.org", &is_done);
	assert_true(is_done);
	broker_revokes(f, "npm");
	assert_string_equal(f->pool_revoked, "npm");
	fetch(f, &l, "fresh-one", true, 60000);
	broker_revokes(f, "");
	assert_string_equal(f->pool_revoked, "");
	fetch(f, &l, "fresher-one", true, 60000);
	lease_forget_all(&f->gate);
	fetch(f, &l, "freshest-one", true, 60000);
	assert_string_equal(l.value, "freshest-one");
}

/* It was on its way when everything was to be forgotten. */
static void
does_not_keep_what_was_asked_for_before_a_reload(void **state)
{
	struct fixture *f = *state;
	size_t want = 1;
	struct leased l;
	bool is_done;

	(void)lease(f, &l, "a.example.org", &is_done);
	fixture_until(f, has_request, &want);
	lease_forget_all(&f->gate);
	broker_answers(f, "old-value", true, 60000);
	fixture_until(f, has_lease, &l);
	fetch(f, &l, "new-value", true, 60000);
	assert_string_equal(l.value, "new-value");
}

static void
has_no_lease_without_a_broker(void **state)
{
	struct fixture *f = *state;
	struct leased kept, l;
	bool is_done;

	fetch(f, &kept, "open-sesame", true, 60000);
	f->gate.limits.connect_timeout_ms = 20;
	(void)lease(f, &l, "b.example.org", &is_done);
	chan_free(f->broker);
	f->broker = NULL;
	fixture_until(f, has_lease, &l);
	assert_int_equal(l.reason, REASON_CREDENTIAL_UNAVAILABLE);
	/* Not the kept one either: nobody could revoke it. */
	(void)lease(f, &l, "a.example.org", &is_done);
	assert_false(is_done);
	fixture_until(f, has_lease, &l);
	assert_int_equal(l.reason, REASON_CREDENTIAL_UNAVAILABLE);
}

/* One that was asked of it, and one that came while there was none. */
static void
asks_the_broker_that_comes_next(void **state)
{
	struct fixture *f = *state;
	struct leased kept, before, gone, after;
	struct lease_wait *cancelled;
	size_t want;
	bool is_done;

	fetch(f, &kept, "open-sesame", true, 60000);
	want = f->lease_count + 1;
	(void)lease(f, &before, "b.example.org", &is_done);
	fixture_until(f, has_request, &want);
	chan_free(f->broker);
	f->broker = NULL;
	for (int i = 0; i < 5; i++)
		fixture_turn(f);
	cancelled = lease(f, &gone, "a.example.org", &is_done);
	(void)lease(f, &after, "a.example.org", &is_done);
	assert_false(is_done);
	lease_cancel(cancelled);
	fixture_new_broker(f);
	want += 2;
	fixture_until(f, has_request, &want);
	broker_answers(f, "new-value-two", false, 60000);
	fixture_until(f, has_lease, &after);
	assert_string_equal(after.value, "new-value-two");
	assert_int_equal(before.count, 0);
	f->lease_id--;
	broker_answers(f, "new-value-one", false, 60000);
	fixture_until(f, has_lease, &before);
	assert_string_equal(before.value, "new-value-one");
	assert_int_equal(gone.count, 0);
}

/* What was answered 401 is asked for anew, if that gives another. */
static void
keeps_no_lease_that_was_rejected(void **state)
{
	struct fixture *f = *state;
	struct leased l;
	bool is_done;

	fetch(f, &l, "open-sesame", true, 60000);
	lease_rejected(&f->gate, 1);
	(void)lease(f, &l, "a.example.org", &is_done);
	assert_true(is_done);
	lease_forget_all(&f->gate);
	f->renew_boot_ms = 1;
	fetch(f, &l, "open-sesame", true, 60000);
	lease_rejected(&f->gate, 2);
	(void)lease(f, &l, "a.example.org", &is_done);
	assert_true(is_done);
	lease_rejected(&f->gate, 1);
	lease_cancel(lease(f, &l, "a.example.org", &is_done));
	assert_false(is_done);
}

static void
gives_up_on_a_silent_broker(void **state)
{
	struct fixture *f = *state;
	struct leased l;
	bool is_done;

	f->gate.limits.connect_timeout_ms = 20;
	(void)lease(f, &l, "a.example.org", &is_done);
	fixture_until(f, has_lease, &l);
	assert_int_equal(l.reason, REASON_CREDENTIAL_UNAVAILABLE);
}

/* What a callee does in there cannot pull the lease away from it. */
static void
forget_in_callee(enum reason reason, struct injection *in, void *arg)
{
	struct fixture *f = arg;

	lease_forget_all(&f->gate);
	assert_int_equal(reason, REASON_NONE);
	assert_true(span_is(secret_span(&in->lease.value), "open-sesame"));
}

static void
lends_a_lease_until_the_callee_returns(void **state)
{
	struct fixture *f = *state;
	struct message_lease_request req = { .credential = "npm",
		.host = "a.example.org",
		.port = 443,
		.method = "GET",
		.path = span_of("/x") };
	struct leased l;
	bool is_done;

	fetch(f, &l, "open-sesame", true, 60000);
	assert_null(lease_get(&f->gate, &req, forget_in_callee, f, &is_done));
	assert_true(is_done);
	lease_cancel(lease(f, &l, "a.example.org", &is_done));
	assert_false(is_done);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(keeps_a_lease_that_serves_any_request),
		TEST(asks_anew_for_each_request_otherwise),
		TEST(shares_a_lease_among_those_that_use_it),
		TEST(takes_a_value_that_cannot_be_looked_for_as_none),
		TEST(does_not_use_a_lease_after_its_end),
		TEST(forgets_what_was_revoked),
		TEST(does_not_keep_what_was_asked_for_before_a_reload),
		TEST(has_no_lease_without_a_broker),
		TEST(asks_the_broker_that_comes_next),
		TEST(keeps_no_lease_that_was_rejected),
		TEST(gives_up_on_a_silent_broker),
		TEST(lends_a_lease_until_the_callee_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
