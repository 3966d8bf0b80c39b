/*
 * The gate's port to the broker, as far as it hears what is granted.
 */
#include "gate_fixture.h"

#include <string.h>

#include "base/channel.h"
#include "base/message.h"
#include "base/message_lease.h"
#include "proxy/lease.h"

#define POLICY "[policy]\nversion = 1\n[allow a]\nhost = a.example.org\n"
#define HOST "a.example.org"

static int
setup(void **state)
{
	*state = fixture_new(POLICY, NULL);
	return 0;
}

static int
teardown(void **state)
{
	fixture_free(*state);
	return 0;
}

struct told {
	unsigned int count;
	enum reason reason;
};

static void
on_told(enum reason reason, struct injection *in, void *arg)
{
	struct told *t = arg;

	assert_null(in);
	t->count++;
	t->reason = reason;
}

static bool
is_told(struct fixture *f, void *arg)
{
	(void)f;
	return ((struct told *)arg)->count > 0;
}

static bool
knows_grants(struct fixture *f, void *arg)
{
	(void)arg;
	return lease_grants(&f->gate) != NULL;
}

static bool
broker_is_gone(struct fixture *f, void *arg)
{
	(void)arg;
	return f->broker == NULL;
}

static void
send_grant(struct fixture *f)
{
	const struct message_grant m = { .port = 443,
		.host_count = 1,
		.hosts = { HOST },
		.name_count = 1,
		.names = { "x-acme-key" } };
	static uint8_t buf[GRANT_BODY_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	message_grant_encode(&w, &m);
	assert_int_equal(chan_send(f->broker, MSG_GRANT, 0, &w, NULL, 0), 0);
}

static void
send_whole(struct fixture *f, uint32_t count)
{
	const struct message_grants_whole m = { count };
	uint8_t buf[8];
	struct wr w = wr_init(buf, sizeof(buf));

	message_grants_whole_encode(&w, &m);
	assert_int_equal(chan_send(f->broker, MSG_GRANTS_WHOLE, 0, &w, NULL, 0),
	    0);
}

static bool
is_stripped(const struct fixture *f)
{
	const struct grants *g = lease_grants(&f->gate);

	return g != NULL && grants_strip(g, HOST, 443, span_of("x_acme_key"));
}

static void
tells_all_that_wait_when_the_set_is_whole(void **state)
{
	struct fixture *f = *state;
	struct told told[3] = { { 0 } };
	struct lease_wait *w[3];

	assert_null(lease_grants(&f->gate));
	for (size_t i = 0; i < 3; i++) {
		w[i] = lease_await_grants(&f->gate, on_told, &told[i]);
		assert_non_null(w[i]);
	}
	lease_cancel(w[1]);
	send_grant(f);
	fixture_turn(f);
	assert_null(lease_grants(&f->gate));
	assert_int_equal(told[0].count, 0);
	send_whole(f, 1);
	fixture_until(f, is_told, &told[2]);
	assert_int_equal(told[0].count, 1);
	assert_int_equal(told[1].count, 0);
	assert_int_equal(told[0].reason, REASON_NONE);
	assert_int_equal(told[2].reason, REASON_NONE);
	assert_true(is_stripped(f));
}

static void
gives_up_on_a_broker_that_does_not_say(void **state)
{
	struct fixture *f = *state;
	struct told told = { 0 };

	f->gate.limits.connect_timeout_ms = 20;
	(void)lease_await_grants(&f->gate, on_told, &told);
	fixture_until(f, is_told, &told);
	assert_int_equal(told.reason, REASON_CREDENTIAL_UNAVAILABLE);
}

static void
on_other_closed(struct chan *c, void *arg)
{
	struct fixture *f = arg;

	chan_free(c);
	f->broker = NULL;
}

static void
meet_another_broker(struct fixture *f)
{
	int fds[2];

	assert_int_equal(chan_pair(fds), 0);
	assert_int_equal(lease_port_set(&f->gate, fds[0]), 0);
	f->broker = chan_new(f->base, fds[1], NULL, 0, on_other_closed, f);
	assert_non_null(f->broker);
}

/* Which is there within a moment: the supervisor starts it again. */
static void
waits_for_the_broker_that_comes_next(void **state)
{
	struct fixture *f = *state;
	struct told before = { 0 }, after = { 0 };

	(void)lease_await_grants(&f->gate, on_told, &before);
	chan_free(f->broker);
	f->broker = NULL;
	for (int i = 0; i < 5; i++)
		fixture_turn(f);
	(void)lease_await_grants(&f->gate, on_told, &after);
	assert_int_equal(before.count + after.count, 0);
	meet_another_broker(f);
	send_whole(f, 0);
	fixture_until(f, is_told, &before);
	fixture_until(f, is_told, &after);
	assert_int_equal(before.reason, REASON_NONE);
	assert_int_equal(after.reason, REASON_NONE);
}

static bool
has_no_grant(struct fixture *f, void *arg)
{
	(void)arg;
	return !grants_have(lease_grants(&f->gate), HOST, 443);
}

/* Names are no secret, and to forget them would let a guest's key through. */
static void
holds_what_a_broker_said_that_is_gone(void **state)
{
	struct fixture *f = *state;
	struct told told = { 0 };

	send_grant(f);
	send_whole(f, 1);
	fixture_until(f, knows_grants, NULL);
	lease_forget_all(&f->gate);
	assert_true(is_stripped(f));
	/* The half of a set that was sent when it went counts for nothing. */
	send_grant(f);
	fixture_turn(f);
	chan_free(f->broker);
	f->broker = NULL;
	f->gate.limits.connect_timeout_ms = 20;
	(void)lease_await_grants(&f->gate, on_told, &told);
	fixture_until(f, is_told, &told);
	assert_true(is_stripped(f));
	meet_another_broker(f);
	send_whole(f, 0);
	fixture_until(f, has_no_grant, NULL);
}

/* An answer that nobody asked for is not what they wait for. */
static void
a_lease_of_no_number_tells_no_grants(void **state)
{
	struct fixture *f = *state;
	struct message_lease m = { .lease_id = 1,
		.expires_boot_ms = UINT64_MAX };
	struct told told = { 0 };
	static uint8_t buf[LEASE_BODY_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct lease_wait *wait;

	wait = lease_await_grants(&f->gate, on_told, &told);
	assert_int_equal(secret_set(&m.value, "sesame", 6), 0);
	message_lease_encode(&w, &m);
	secret_done(&m.value);
	assert_int_equal(chan_send(f->broker, MSG_LEASE, 0, &w, NULL, 0), 0);
	fixture_turn(f);
	assert_int_equal(told.count, 0);
	assert_null(lease_grants(&f->gate));
	lease_cancel(wait);
}

static void
drops_a_broker_that_counts_wrong(void **state)
{
	struct fixture *f = *state;

	send_grant(f);
	send_whole(f, 2);
	fixture_until(f, broker_is_gone, NULL);
	assert_null(lease_grants(&f->gate));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tells_all_that_wait_when_the_set_is_whole),
		TEST(gives_up_on_a_broker_that_does_not_say),
		TEST(waits_for_the_broker_that_comes_next),
		TEST(holds_what_a_broker_said_that_is_gone),
		TEST(a_lease_of_no_number_tells_no_grants),
		TEST(drops_a_broker_that_counts_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
