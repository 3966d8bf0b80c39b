/*
 * How an open WebSocket ends: each way by itself, by whoever breaks it off, by
 * time, by a reload; and how it waits for a slow reader.
 */
#include "tunnel_support.h"

#include <stdlib.h>

static void
each_way_ends_by_itself(void **state)
{
	struct fix *f = *state;
	struct peer *o = open_websocket(f);

	/* The origin first. */
	peer_say(o, "bye");
	fix_until(f, o->out_at == o->out_len);
	peer_end(o);
	fix_until(f, f->guest.is_ended);
	came(&f->guest, "bye");
	assert_int_equal(f->record_count, 0);
	peer_say(&f->guest, "still here");
	fix_until(f, peer_has(o, "still here"));
	assert_int_equal(fix_wakes(f) > 3, 0);
	peer_end(&f->guest);
	fix_until(f, f->record_count == 1 && o->is_ended && f->is_closed);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
	assert_int_equal(fix_last(f)->r.up, 10);
	fix_close(f);
	fix_forget_origins(f);
	/* The guest first, while the origin is slow. */
	o = open_websocket(f);
	o->is_slow = true;
	for (int i = 0; i < 20000; i++)
		peer_say(&f->guest, "0123456789");
	fix_settle(f);
	o->is_slow = false;
	fix_until(f, f->guest.out_at == f->guest.out_len);
	o->is_slow = true;
	peer_end(&f->guest);
	fix_settle(f);
	o->is_slow = false;
	fix_until(f, o->is_ended);
	assert_int_equal(o->in_len, 200000);
	assert_int_equal(fix_wakes(f) > 3, 0);
	peer_say(o, "done");
	fix_until(f, peer_has(&f->guest, "done"));
	peer_end(o);
	fix_until(f, f->record_count == 2 && f->is_closed);
	assert_int_equal(fix_last(f)->r.up, 200000);
}

static void
an_end_before_the_answer_is_passed_on_behind_it(void **state)
{
	struct fix *f = *state;

	for (int is_explicit = 0; is_explicit < 2; is_explicit++) {
		struct peer *o;

		if (is_explicit)
			fix_open_explicit(f);
		else
			fix_open_http(f);
		peer_say(&f->guest,
		    is_explicit
			? "GET http://a.example.org/ws HTTP/1.1\r\n" HOST
			      UPGRADE KEY "\r\nlast"
			: ASK "last");
		o = fix_origin(f, (size_t)is_explicit);
		fix_until(f, f->guest.out_at == f->guest.out_len);
		peer_end(&f->guest);
		fix_until(f, peer_has(o, "\r\n\r\n"));
		fix_settle(f);
		assert_false(o->is_ended);
		peer_clear(o);
		peer_say(o, OPEN "more");
		fix_until(f, o->is_ended);
		came(o, "last");
		fix_until(f, peer_has(&f->guest, "more"));
		peer_end(o);
		fix_until(f, f->is_closed);
		assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
		assert_int_equal(fix_last(f)->r.up, 4);
		fix_close(f);
	}
}

static void
whoever_breaks_off_ends_it_for_both(void **state)
{
	struct fix *f = *state;
	struct peer *o = open_websocket(f);

	peer_drop(&f->guest);
	fix_until(f, f->is_closed || o->is_ended);
	if (!f->is_closed) {
		/* It looks like an end in order until something is sent. */
		peer_say(o, "are you there?");
		fix_until(f, f->is_closed);
	}
	fix_until(f, o->is_ended && f->record_count == 1);
	assert_int_equal(fix_last(f)->r.verdict, ACTION_ALLOW);
	assert_string_equal(fix_last(f)->detail,
	    "the guest closed its connection");
	fix_close(f);
	fix_forget_origins(f);
	fix_offer(f, "\x08http/1.1");
	fix_open_tls(f, "t.example.org");
	o = fix_ask(f,
	    "GET /ws HTTP/1.1\r\nHost: t.example.org\r\n" UPGRADE KEY "\r\n");
	peer_say(o, OPEN "\x81\x01x");
	fix_until(f, peer_has(&f->guest, "\x81\x01x"));
	/* No close_notify: WebSocket says by itself what is whole. */
	peer_drop(o);
	fix_until(f, f->guest.is_ended);
	peer_end(&f->guest);
	fix_until(f, f->is_closed && f->record_count == 2);
	assert_int_equal(fix_last(f)->r.verdict, ACTION_ALLOW);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
}

static void
a_tunnel_without_a_byte_ends(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	f->gate.limits.relay_idle_timeout_ms = 60;
	o = open_websocket(f);
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_TIMEOUT);
	assert_int_equal(fix_last(f)->r.status, 101);
	fix_until(f, o->is_ended && f->is_closed);
	assert_int_equal(f->guest.in_len, 0);
}

static void
a_slow_reader_holds_the_other_end_back(void **state)
{
	static uint8_t block[65536];
	struct fix *f = *state;
	struct peer *o = open_websocket(f);
	const size_t total = 64 * sizeof(block);

	memset(block, 'd', sizeof(block));
	f->guest.is_slow = true;
	for (size_t i = 0; i < total; i += sizeof(block))
		peer_send(o, block, sizeof(block));
	fix_settle(f);
	/* What is not on its way waits at the origin. */
	assert_true(o->out_at < total / 2);
	assert_int_equal(fix_wakes(f) > 3, 0);
	/* Which does not hold the other way up. */
	peer_say(&f->guest, "up");
	fix_until(f, peer_has(o, "up"));
	f->guest.is_slow = false;
	fix_until(f, f->guest.in_len == total);
	o->is_slow = true;
	for (size_t i = 0; i < total; i += sizeof(block))
		peer_send(&f->guest, block, sizeof(block));
	fix_settle(f);
	assert_true(f->guest.out_at < total / 2);
	assert_int_equal(fix_wakes(f) > 3, 0);
	peer_say(o, "down");
	fix_until(f, peer_has(&f->guest, "down"));
	o->is_slow = false;
	fix_until(f, o->in_len == total + 2);
}

static void
a_reload_ends_what_is_denied_now(void **state)
{
	struct fix *f = *state;
	struct peer *o = open_websocket(f);

	/* Another text that says the same. */
	fix_set_policy(f, POLICY "say = x\n");
	fix_settle(f);
	assert_false(o->is_ended);
	peer_say(o, "on");
	fix_until(f, peer_has(&f->guest, "on"));
	fix_set_policy(f,
	    "[policy]\nversion = 1\n"
	    "[allow plain]\nhost = a.example.org\nport = 80\nscheme = http\n");
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_POLICY_RELOADED);
	assert_int_equal(fix_last(f)->r.status, 101);
	fix_until(f, o->is_ended && f->is_closed);
	came(&f->guest, "on");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_way_ends_by_itself),
		TEST(an_end_before_the_answer_is_passed_on_behind_it),
		TEST(whoever_breaks_off_ends_it_for_both),
		TEST(a_tunnel_without_a_byte_ends),
		TEST(a_slow_reader_holds_the_other_end_back),
		TEST(a_reload_ends_what_is_denied_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
