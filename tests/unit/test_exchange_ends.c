/*
 * How exchanges end: slow peers, closes, time-outs, reloads, what is refused
 * on the way.
 */
#include "inspect_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proxy/pool.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow plain]\nhost = a.example.org\nport = 80\nscheme = http\n"      \
	"path = /**\n"                                                         \
	"[deny secret]\nhost = a.example.org\nport = 80\npath = /secret\n"

#define HOST "Host: a.example.org\r\n"
#define GET "GET / HTTP/1.1\r\n" HOST "\r\n"
#define OK2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

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

/* --- slow peers --- */

static void
a_slow_reader_stops_the_origin(void **state)
{
	struct fix *f = *state;
	static char body[4000000];
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, GET);
	peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n");
	peer_send(o, body, sizeof(body));
	f->guest.is_slow = true;
	fix_settle(f);
	/* What the kernel holds and two buffers of ours, no more. */
	assert_true(o->out_at < 1500000);
	f->guest.is_slow = false;
	fix_until(f, f->guest.in_len > sizeof(body));
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.down, sizeof(body));
}

static void
a_slow_origin_stops_the_guest(void **state)
{
	struct fix *f = *state;
	static char body[4000000];
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f,
	    "PUT / HTTP/1.1\r\n" HOST "Content-Length: 4000000\r\n\r\n");
	o->is_slow = true;
	peer_send(&f->guest, body, sizeof(body));
	fix_settle(f);
	assert_true(f->guest.out_at < 1500000);
	o->is_slow = false;
	fix_until(f, o->in_len > sizeof(body));
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
}

/* It takes the upload piece by piece: that it does is no leave to be read. */
static void
a_slow_reader_stops_the_origin_while_its_upload_goes_on(void **state)
{
	struct fix *f = *state;
	static char body[8000000];
	struct peer *o;
	size_t first, taken;

	fix_open_http(f);
	o = fix_ask(f,
	    "PUT / HTTP/1.1\r\n" HOST "Content-Length: 8000000\r\n\r\n");
	f->guest.is_slow = true;
	peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n");
	peer_send(o, body, sizeof(body));
	fix_settle(f);
	first = o->out_at;
	peer_send(&f->guest, body, sizeof(body));
	for (taken = o->in_len; o->in_len < sizeof(body); taken = o->in_len) {
		o->is_slow = true;
		fix_settle(f);
		o->is_slow = false;
		fix_until(f, o->in_len > taken);
	}
	assert_int_equal(o->out_at, first);
	f->guest.is_slow = false;
	fix_until(f, f->guest.in_len > sizeof(body));
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.up, sizeof(body));
	assert_int_equal(fix_last(f)->r.down, sizeof(body));
}

/* The answer is whole, and the exchange over, but half of it is with us. */
static void
a_guest_that_never_reads_the_rest_is_left(void **state)
{
	struct fix *f = *state;
	static char body[4000000];
	struct peer *o;

	f->gate.limits.relay_idle_timeout_ms = 100;
	f->gate.limits.wait_bytes = sizeof(body);
	fix_open_http(f);
	o = fix_ask(f, GET);
	f->guest.is_slow = true;
	peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n");
	peer_send(o, body, sizeof(body));
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
	/* Nor does it keep us busy with the next request. */
	peer_say(&f->guest, GET);
	assert_in_range(fix_wakes(f), 1, 4);
	fix_until(f, f->is_closed);
	assert_int_equal(f->origin_count, 1);
}

/* What waits, waits without a wake-up. */
static void
nothing_spins_while_it_waits(void **state)
{
	struct fix *f = *state;
	static char much[1000000];
	struct peer *o;

	memset(much, '\n', sizeof(much));
	fix_open_http(f);
	fix_settle(f);
	assert_in_range(fix_wakes(f), 1, 3);
	/* The next requests, while an answer is waited for. */
	o = fix_ask(f, GET);
	peer_send(&f->guest, much, sizeof(much));
	fix_settle(f);
	assert_in_range(fix_wakes(f), 1, 3);
	/* The guest's end of stream then. */
	fix_close(f);
	fix_forget_origins(f);
	fix_open_http(f);
	o = fix_ask(f, GET);
	peer_end(&f->guest);
	fix_settle(f);
	assert_in_range(fix_wakes(f), 1, 3);
	/* An upload that the origin does not read. */
	fix_close(f);
	fix_forget_origins(f);
	fix_open_http(f);
	o = fix_ask(f,
	    "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1000000\r\n\r\n");
	o->is_slow = true;
	peer_send(&f->guest, much, sizeof(much));
	fix_settle(f);
	assert_in_range(fix_wakes(f), 1, 3);
	/* And one that is refused, to a guest that reads nothing. */
	fix_close(f);
	fix_forget_origins(f);
	fix_open_http(f);
	peer_say(&f->guest,
	    "PUT /secret HTTP/1.1\r\n" HOST "Content-Length: 10\r\n\r\n");
	fix_settle(f);
	assert_in_range(fix_wakes(f), 1, 3);
}

/* --- ends and time --- */

static void
a_refused_upload_is_not_drained_for_ever(void **state)
{
	struct fix *f = *state;
	static char body[3000000];

	fix_open_http(f);
	peer_say(&f->guest,
	    "PUT /secret HTTP/1.1\r\n" HOST "Content-Length: 3000000\r\n\r\n");
	peer_send(&f->guest, body, sizeof(body));
	fix_until(f, f->is_closed);
	/* A MiB while draining, one while lingering, and what sockets hold. */
	assert_true(f->guest.out_at < 2700000);
}

static void
a_refused_chunked_upload_is_read_to_its_end(void **state)
{
	struct fix *f = *state;

	fix_open_http(f);
	peer_say(&f->guest,
	    "PUT /secret HTTP/1.1\r\n" HOST
	    "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 403 "));
	fix_settle(f);
	assert_false(f->guest.is_ended);
	peer_say(&f->guest, "3\r\ndef\r\n0\r\n\r\n");
	fix_until(f, f->guest.is_ended && f->is_closed);
}

/* RFC 9112 9.6: what comes after the end would reset it. */
static void
an_answer_that_ends_waits_for_what_the_guest_sends_meanwhile(void **state)
{
	static const struct {
		const char *request;
		bool is_last;
	} rows[] = {
		/* Refused, and who knows what the guest takes to follow. */
		{ "CONNECT a.example.org:80 HTTP/1.1\r\n"
		  "Host: a.example.org:80\r\n\r\n",
		    false },
		/* No request follows one that says so. */
		{ "GET /secret HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n",
		    true },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fix_open_http(f);
		peer_say(&f->guest, rows[i].request);
		fix_until(f, peer_has(&f->guest, "HTTP/1.1 4"));
		fix_settle(f);
		assert_true(f->guest.is_ended);
		assert_int_equal(f->is_closed, rows[i].is_last);
		if (!rows[i].is_last) {
			peer_say(&f->guest, GET);
			fix_settle(f);
			assert_false(f->is_closed);
			peer_end(&f->guest);
			fix_until(f, f->is_closed);
		}
		fix_close(f);
	}
}

static void
half_a_close_of_the_guest_lets_the_answer_come(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, GET);
	peer_end(&f->guest);
	fix_settle(f);
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok") && f->is_closed);
}

static void
a_guest_that_ends_in_its_body_ends_the_origin(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f,
	    "PUT / HTTP/1.1\r\n" HOST "Content-Length: 10\r\n\r\nabc");
	fix_until(f, f->guest.out_at == f->guest.out_len);
	peer_end(&f->guest);
	fix_until(f, o->is_ended && f->is_closed);
	assert_int_equal(fix_last(f)->r.reason, REASON_BAD_REQUEST);
	assert_string_equal(fix_last(f)->detail, "the body ended early");
}

static void
a_guest_that_goes_ends_its_exchange(void **state)
{
	struct fix *f = *state;
	static char body[500000];
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, GET);
	peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n");
	peer_send(o, body, 1000);
	fix_until(f, peer_has(&f->guest, "500000"));
	peer_drop(&f->guest);
	peer_send(o, body, sizeof(body) - 1000);
	fix_until(f, f->is_closed && o->is_ended);
	assert_int_equal(f->record_count, 1);
	assert_string_equal(fix_last(f)->detail,
	    "the guest closed its connection");
}

static void
an_idle_connection_is_closed_without_a_word(void **state)
{
	struct fix *f = *state;

	f->gate.limits.idle_timeout_ms = 30;
	fix_open_http(f);
	fix_until(f, f->is_closed);
	assert_int_equal(f->guest.in_len, 0);
	assert_int_equal(f->record_count, 0);
}

static void
a_head_that_does_not_come_is_408(void **state)
{
	struct fix *f = *state;

	f->gate.limits.head_timeout_ms = 30;
	fix_open_http(f);
	peer_say(&f->guest, "GET / HTT");
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 408 "));
	assert_int_equal(fix_last(f)->r.reason, REASON_TIMEOUT);
}

static void
an_origin_that_is_silent_is_504(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	f->gate.limits.relay_idle_timeout_ms = 30;
	fix_open_http(f);
	o = fix_ask(f, GET);
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 504 "));
	fix_until(f, o->is_ended);
	assert_int_equal(fix_last(f)->r.reason, REASON_TIMEOUT);
}

/* --- refusals on the way --- */

static void
what_the_dialler_refuses_is_told(void **state)
{
	static const enum reason reasons[] = { REASON_PRIVATE_ADDRESS,
		REASON_RESOLVE_FAILED, REASON_ORIGIN_UNREACHABLE,
		REASON_TIMEOUT };
	struct fix *f = *state;
	char want[64];

	fix_open_http(f);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		f->dial_refusal = reasons[i];
		peer_say(&f->guest, GET);
		(void)snprintf(want, sizeof(want), "Tapward-Reason: %s\r\n",
		    reason_code(reasons[i]));
		fix_until(f, peer_has(&f->guest, want));
		assert_int_equal(fix_last(f)->r.reason, reasons[i]);
	}
	assert_false(f->is_closed);
}

static void
nothing_begins_without_an_audit_log(void **state)
{
	struct fix *f = *state;

	f->is_audit_full = true;
	fix_open_http(f);
	peer_say(&f->guest, GET);
	fix_until(f, peer_has(&f->guest, "audit-unavailable"));
	assert_int_equal(f->origin_count, 0);
}

static void
a_reload_ends_what_is_no_longer_allowed(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, GET);
	fix_set_policy(f, POLICY);
	fix_settle(f);
	assert_false(o->is_ended);
	fix_set_policy(f, "[policy]\nversion = 1\n");
	fix_until(f, o->is_ended && peer_has(&f->guest, "policy-reloaded"));
	assert_int_equal(fix_last(f)->r.reason, REASON_POLICY_RELOADED);
	/* And what was idle is not used under the new one. */
	assert_int_equal(pool_count(&f->gate), 0);
}

/* --- uploads --- */

static void
a_chunked_upload_that_waits_for_its_answer_goes_on(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f,
	    "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
	peer_say(o,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "2\r\nok\r\n");
	fix_until(f, peer_has(&f->guest, "2\r\nok\r\n"));
	peer_say(&f->guest, "3\r\nabc\r\n");
	fix_until(f, peer_has(o, "3\r\nabc\r\n"));
}

static void
a_chunked_upload_that_waits_for_100_is_not_looked_at(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f,
	    "POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 100 "));
	peer_say(&f->guest, "3\r\nabc\r\n0\r\n\r\n");
	fix_until(f, peer_has(o, "3\r\nabc\r\n0\r\n\r\n"));
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
}

/* More than is looked at, so that it goes on without an end. */
static void
a_large_chunked_upload_is_not_held(void **state)
{
	static char body[40000];
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	peer_say(&f->guest,
	    "POST / HTTP/1.1\r\n" HOST
	    "Transfer-Encoding: chunked\r\n\r\n9c40\r\n");
	memset(body, 'a', sizeof(body));
	peer_send(&f->guest, body, sizeof(body));
	o = fix_origin(f, 0);
	fix_until(f, o->in_len > sizeof(body));
	peer_say(&f->guest, "\r\n0\r\n\r\n");
	fix_until(f, peer_has(o, "0\r\n\r\n"));
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
}

static void
a_chunked_upload_that_ends_early_reaches_nobody(void **state)
{
	struct fix *f = *state;

	fix_open_http(f);
	peer_say(&f->guest,
	    "POST / HTTP/1.1\r\n" HOST
	    "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	fix_until(f, f->guest.out_at == f->guest.out_len);
	peer_end(&f->guest);
	fix_until(f, f->is_closed);
	assert_true(peer_has(&f->guest, "HTTP/1.1 400 "));
	assert_int_equal(f->origin_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_slow_reader_stops_the_origin),
		TEST(a_slow_origin_stops_the_guest),
		TEST(a_slow_reader_stops_the_origin_while_its_upload_goes_on),
		TEST(a_guest_that_never_reads_the_rest_is_left),
		TEST(nothing_spins_while_it_waits),
		TEST(a_refused_upload_is_not_drained_for_ever),
		TEST(a_refused_chunked_upload_is_read_to_its_end),
		TEST(
		    an_answer_that_ends_waits_for_what_the_guest_sends_meanwhile),
		TEST(half_a_close_of_the_guest_lets_the_answer_come),
		TEST(a_guest_that_ends_in_its_body_ends_the_origin),
		TEST(a_guest_that_goes_ends_its_exchange),
		TEST(an_idle_connection_is_closed_without_a_word),
		TEST(a_head_that_does_not_come_is_408),
		TEST(an_origin_that_is_silent_is_504),
		TEST(what_the_dialler_refuses_is_told),
		TEST(nothing_begins_without_an_audit_log),
		TEST(a_reload_ends_what_is_no_longer_allowed),
		TEST(a_chunked_upload_that_waits_for_its_answer_goes_on),
		TEST(a_chunked_upload_that_waits_for_100_is_not_looked_at),
		TEST(a_large_chunked_upload_is_not_held),
		TEST(a_chunked_upload_that_ends_early_reaches_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
