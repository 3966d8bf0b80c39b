/*
 * The gate's three ports: to the dialler, the broker and the recorder.
 */
#include "gate_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/message_broker.h"
#include "count_fds.h"
#include "proxy/audit.h"
#include "proxy/dial.h"
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

/* --- dialler --- */

struct outcome {
	unsigned int count;
	enum reason reason;
	int fd;
};

static void
on_dialed(const struct message_dialed *d, int fd, void *arg)
{
	struct outcome *o = arg;

	o->count++;
	o->reason = d->reason;
	o->fd = fd;
}

static bool
has_outcome(struct fixture *f, void *arg)
{
	(void)f;
	return ((struct outcome *)arg)->count > 0;
}

static struct dial *
dial(struct fixture *f, struct outcome *o)
{
	*o = (struct outcome){ .fd = -1 };
	return dial_start(&f->gate, "a.example.org", 443, SCHEME_HTTPS, false,
	    on_dialed, o);
}

static void
hands_over_the_connection(void **state)
{
	struct fixture *f = *state;
	struct outcome o;

	assert_non_null(dial(f, &o));
	assert_int_equal(o.count, 0);
	fixture_until(f, has_outcome, &o);
	assert_int_equal(o.reason, REASON_NONE);
	assert_true(o.fd != -1);
	assert_string_equal(f->dials[0].host, "a.example.org");
	fd_close(&o.fd);
}

static void
says_that_the_dialler_is_away_from_the_loop(void **state)
{
	struct fixture *f = *state;
	struct outcome open, late;

	f->dialling = FIXTURE_DIAL_HOLD;
	assert_non_null(dial(f, &open));
	fixture_turn(f);
	chan_free(f->dialler);
	f->dialler = NULL;
	fixture_until(f, has_outcome, &open);
	assert_int_equal(open.reason, REASON_ORIGIN_UNREACHABLE);
	assert_non_null(dial(f, &late));
	assert_int_equal(late.count, 0);
	fixture_until(f, has_outcome, &late);
	assert_int_equal(late.reason, REASON_ORIGIN_UNREACHABLE);
}

static void
gives_up_after_the_time_out(void **state)
{
	struct fixture *f = *state;
	struct outcome o;

	f->dialling = FIXTURE_DIAL_HOLD;
	f->gate.limits.connect_timeout_ms = 20;
	assert_non_null(dial(f, &o));
	fixture_until(f, has_outcome, &o);
	assert_int_equal(o.reason, REASON_TIMEOUT);
	while (f->cancel_count == 0)
		fixture_turn(f);
}

static void
closes_what_comes_after_a_cancel(void **state)
{
	struct fixture *f = *state;
	struct outcome o;
	struct dial *d = dial(f, &o);
	int before = count_fds();

	dial_cancel(d);
	while (f->cancel_count == 0)
		fixture_turn(f);
	fixture_turn(f);
	assert_int_equal(o.count, 0);
	assert_int_equal(count_fds(), before);
	/* One that was never sent, too. */
	chan_free(f->dialler);
	f->dialler = NULL;
	fixture_turn(f);
	dial_cancel(dial(f, &o));
	fixture_turn(f);
	assert_int_equal(o.count, 0);
}

static bool
dialler_is_gone(struct fixture *f, void *arg)
{
	(void)arg;
	return f->dialler == NULL;
}

/* An answer without its descriptor, and one with a descriptor too many. */
static void
drops_a_dialler_that_breaks_the_protocol(void **state)
{
	static const struct {
		enum reason reason;
		unsigned int fd_count;
	} rows[] = { { REASON_NONE, 0 }, { REASON_RESOLVE_FAILED, 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *f = fixture_new(POLICY, NULL);
		struct message_dialed m = { .reason = rows[i].reason };
		uint8_t buf[256];
		struct wr w = wr_init(buf, sizeof(buf));
		int fd = 0;

		message_dialed_encode(&w, &m);
		assert_int_equal(chan_send(f->dialler, MSG_DIALED, 1, &w, &fd,
				     rows[i].fd_count),
		    0);
		fixture_until(f, dialler_is_gone, NULL);
		fixture_free(f);
	}
}

/* --- broker --- */

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

/* --- recorder --- */

static void
send_records(struct fixture *f, unsigned int count, unsigned int first)
{
	for (unsigned int i = 0; i < count; i++) {
		struct audit_record r = audit_record_init(AUDIT_REQUEST);

		r.ms = first + i;
		audit_send(&f->gate, &r);
	}
}

static bool
has_ready_port(struct fixture *f, void *arg)
{
	(void)arg;
	return audit_is_ready(&f->gate);
}

/* In order, none lost, and nothing new begins while many wait. */
static void
keeps_records_for_a_recorder_that_is_slow(void **state)
{
	struct fixture *f = *state;
	unsigned int sent = 0;

	assert_true(audit_is_ready(&f->gate));
	while (audit_is_ready(&f->gate) && sent < 1000)
		send_records(f, 1, sent++);
	/* The channel holds some hundred, and the line as many as it may. */
	assert_in_range(sent, 512, 999);
	send_records(f, 20, sent);
	sent += 20;
	(void)fixture_wait_record(f, sent);
	for (unsigned int i = 0; i < sent; i++)
		assert_int_equal(f->records[i].r.ms, i);
	fixture_until(f, has_ready_port, NULL);
}

static void
takes_records_over_to_the_next_recorder(void **state)
{
	struct fixture *f = *state;

	chan_free(f->recorder);
	f->recorder = NULL;
	fixture_turn(f);
	assert_false(audit_is_ready(&f->gate));
	send_records(f, 3, 0);
	fixture_new_recorder(f);
	(void)fixture_wait_record(f, 3);
	fixture_until(f, has_ready_port, NULL);
}

static void
tells_how_many_records_were_lost(void **state)
{
	struct fixture *f = *state;
	const struct fixture_record *rec;
	uint64_t before;

	chan_free(f->recorder);
	f->recorder = NULL;
	fixture_turn(f);
	send_records(f, 1024 + 7, 0);
	fixture_new_recorder(f);
	rec = fixture_wait_record(f, 1025);
	assert_string_equal(rec->detail, "gate lost 7 records");
	assert_int_equal(rec->r.event, AUDIT_LIFECYCLE);
	/* Not again at once: the recorder takes only so many. */
	before = clock_mono_ms();
	chan_free(f->recorder);
	f->recorder = NULL;
	fixture_turn(f);
	f->record_count = 0;
	send_records(f, 1024 + 3, 0);
	fixture_new_recorder(f);
	rec = fixture_wait_record(f, 1025);
	assert_string_equal(rec->detail, "gate lost 3 records");
	assert_true(clock_mono_ms() - before >= AUDIT_GAP_MS - 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hands_over_the_connection),
		TEST(says_that_the_dialler_is_away_from_the_loop),
		TEST(gives_up_after_the_time_out),
		TEST(closes_what_comes_after_a_cancel),
		cmocka_unit_test(drops_a_dialler_that_breaks_the_protocol),
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
		TEST(keeps_records_for_a_recorder_that_is_slow),
		TEST(takes_records_over_to_the_next_recorder),
		TEST(tells_how_many_records_were_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
