/*
 * How exchanges end, and what holds them up, between each version of HTTP and
 * each: early answers, resets, slow peers, half-closed ones.
 */
#include "side_peer.h"

#include <stdio.h>
#include <string.h>

#define POLICY                                                                 \
	"[policy]\nversion = 1\n[allow api]\nhost = api.example.org\n"         \
	"path = /**\nmethod = GET, HEAD, POST\n"

/* More than the kernel, TLS and all our buffers hold together. */
#define HUGE 4000000
#define HELD_MAX 2000000

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

struct pair {
	struct fix *f;
	struct side g, o;
};

/* The guest asks; the origin has the head. */
static void
begin(struct pair *p, struct fix *f, unsigned int versions,
    const struct side_message *ask)
{
	p->f = f;
	f->origin_is_h2 = (versions & 2) != 0;
	f->record_count = 0;
	side_guest(&p->g, f, (versions & 1) != 0);
	side_send(&p->g, ask);
	side_origin(&p->o, f, f->origin_is_h2, 0);
	fix_until(f, side_look(&p->o)->has_head);
}

static void
done(struct pair *p)
{
	side_done(&p->g);
	side_done(&p->o);
	fix_close(p->f);
	fix_forget_origins(p->f);
}

static const struct side_message get = { .method = "GET" };
static const struct side_message upload = { .method = "POST",
	.body = SIDE_STREAM,
	.size = 1000,
	.is_open = true };
static const struct side_message ok = { .status = 200,
	.body = SIDE_LENGTH,
	.size = 5 };

static void
an_early_answer_ends_the_upload(void **state)
{
	const struct side_message large = { .status = 413,
		.body = SIDE_LENGTH,
		.size = 5 };

	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		begin(&p, *state, v, &upload);
		side_send(&p.o, &large);
		fix_until(p.f, side_look(&p.g)->is_whole);
		assert_int_equal(p.g.body_len, 5);
		fix_until(p.f, p.f->record_count == 1);
		assert_int_equal(fix_last(p.f)->r.status, 413);
		/* RFC 9113 8.1: the guest may stop, with no harm done. */
		if (p.g.is_h2) {
			fix_until(p.f, side_look(&p.g)->is_cut);
			assert_int_equal(p.g.s->error, NGHTTP2_NO_ERROR);
		}
		if (p.o.is_h2)
			fix_until(p.f, side_look(&p.o)->is_cut);
		else
			fix_until(p.f, p.o.p->is_ended);
		done(&p);
	}
}

/* In HTTP/1 it looks like a guest that closed its direction only. */
static void
a_reset_of_the_guest_reaches_the_origin(void **state)
{
	for (unsigned int v = 1; v < 4; v += 2) {
		struct pair p;

		begin(&p, *state, v, v == 1 ? &get : &upload);
		side_reset(&p.g);
		if (p.o.is_h2) {
			fix_until(p.f, side_look(&p.o)->is_cut);
			assert_int_equal(p.o.s->error, NGHTTP2_CANCEL);
			assert_false(p.o.p->is_ended);
		} else {
			fix_until(p.f, p.o.p->is_ended);
		}
		fix_until(p.f, p.f->record_count == 1);
		assert_false(p.f->is_closed);
		done(&p);
	}
}

static void
a_reset_of_the_origin_is_a_502_or_shows(void **state)
{
	const struct side_message part = { .status = 200,
		.body = SIDE_STREAM,
		.size = 100,
		.is_open = true };

	for (unsigned int v = 0; v < 8; v++) {
		bool has_begun = v >= 4;
		struct pair p;

		begin(&p, *state, v % 4, &get);
		if (has_begun) {
			side_send(&p.o, &part);
			fix_until(p.f, side_look(&p.g)->body_len == 100);
		}
		side_reset(&p.o);
		fix_until(p.f,
		    has_begun ? side_look(&p.g)->is_cut
			      : side_look(&p.g)->is_whole);
		if (has_begun)
			assert_false(p.g.is_whole);
		else
			assert_non_null(strstr(p.g.head, "502"));
		fix_until(p.f, p.f->record_count == 1);
		assert_int_not_equal(fix_last(p.f)->r.reason, REASON_NONE);
		done(&p);
	}
}

static void
a_slow_guest_stops_the_origin(void **state)
{
	const struct side_message large = { .status = 200,
		.body = SIDE_LENGTH,
		.size = HUGE };

	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		begin(&p, *state, v, &get);
		side_send(&p.o, &large);
		p.g.p->is_slow = true;
		fix_settle(p.f);
		assert_true(p.o.p->out_at < HELD_MAX);
		p.g.p->is_slow = false;
		fix_until(p.f, side_look(&p.g)->is_whole);
		assert_true(p.g.body_sum == side_sum(HUGE));
		done(&p);
	}
}

static void
a_slow_origin_stops_the_guest(void **state)
{
	const struct side_message large = { .method = "POST",
		.body = SIDE_LENGTH,
		.size = HUGE };

	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		begin(&p, *state, v, &large);
		p.o.p->is_slow = true;
		fix_settle(p.f);
		assert_true(p.g.p->out_at < HELD_MAX);
		p.o.p->is_slow = false;
		fix_until(p.f, side_look(&p.o)->is_whole);
		assert_true(p.o.body_sum == side_sum(HUGE));
		side_send(&p.o, &ok);
		fix_until(p.f, side_look(&p.g)->is_whole);
		done(&p);
	}
}

/* Written in small pieces, with trailers, both ways. */
static void
a_slow_writer_is_waited_for(void **state)
{
	const struct side_message ask = { .method = "POST",
		.body = SIDE_STREAM,
		.size = 500,
		.trailer = "x-up" };
	const struct side_message answer = { .status = 200,
		.body = SIDE_STREAM,
		.size = 500,
		.trailer = "x-down" };

	for (unsigned int v = 0; v < 8; v++) {
		struct fix *f = *state;
		size_t burst = v < 4 ? 1 : 7;
		struct pair p = { .f = f };

		f->origin_is_h2 = (v & 2) != 0;
		f->record_count = 0;
		side_guest(&p.g, f, (v & 1) != 0);
		f->guest.burst = burst;
		side_send(&p.g, &ask);
		side_origin(&p.o, f, f->origin_is_h2, 0);
		p.o.p->burst = burst;
		fix_until(f, side_look(&p.o)->is_whole);
		side_send(&p.o, &answer);
		fix_until(f, side_look(&p.g)->is_whole);
		assert_true(p.o.body_sum == side_sum(500));
		assert_true(p.g.body_sum == side_sum(500));
		done(&p);
	}
}

/* What the guest asked for before it closed its direction is answered. */
static void
a_half_closed_guest_gets_its_answer(void **state)
{
	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		begin(&p, *state, v, &get);
		fix_until(p.f, p.g.p->out_at == p.g.p->out_len);
		fix_settle(p.f);
		peer_end(p.g.p);
		fix_settle(p.f);
		side_send(&p.o, &ok);
		fix_until(p.f, side_look(&p.g)->is_whole);
		fix_until(p.f, p.f->is_closed);
		done(&p);
	}
}

static void
half_a_request_ends_with_its_connection(void **state)
{
	for (unsigned int v = 1; v < 4; v += 2) {
		struct pair p;

		begin(&p, *state, v, &upload);
		fix_settle(p.f);
		peer_end(p.g.p);
		fix_until(p.f, p.f->is_closed && p.f->record_count == 1);
		done(&p);
	}
}

/* No window opens for what is left of the answer: it is waited for in vain. */
static void
a_half_closed_guest_with_no_window_left_is_gone(void **state)
{
	const struct side_message large = { .status = 200,
		.body = SIDE_STREAM,
		.size = 3000000 };

	for (unsigned int v = 1; v < 4; v += 2) {
		struct pair p;

		begin(&p, *state, v, &get);
		p.g.h2->keeps_window = true;
		side_send(&p.o, &large);
		fix_settle(p.f);
		assert_int_equal(side_look(&p.g)->body_len, 65535);
		peer_end(p.g.p);
		fix_until(p.f, p.f->is_closed && p.f->record_count == 1);
		assert_string_equal(fix_last(p.f)->detail,
		    "the guest closed its connection");
		if (p.o.is_h2)
			fix_until(p.f, side_look(&p.o)->is_cut);
		else
			fix_until(p.f, p.o.p->is_ended);
		done(&p);
	}
}

/* The first byte goes out at once, not with the next. */
static void
each_piece_of_a_stream_goes_on_at_once(void **state)
{
	const struct side_message one = { .status = 200,
		.fields = "content-type: text/event-stream\n",
		.body = SIDE_STREAM,
		.size = 1,
		.is_open = true };

	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		begin(&p, *state, v, &get);
		side_send(&p.o, &one);
		fix_until(p.f, side_look(&p.g)->body_len == 1);
		assert_false(p.g.is_whole);
		/* And nobody is woken up while nothing comes. */
		fix_settle(p.f);
		assert_in_range(fix_wakes(p.f), 1, 3);
		side_end(&p.o);
		fix_until(p.f, side_look(&p.g)->is_whole);
		done(&p);
	}
}

static void
a_new_policy_ends_what_it_does_not_allow(void **state)
{
	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		begin(&p, *state, v, &get);
		fix_set_policy(p.f,
		    "[policy]\nversion = 1\n[allow x]\n"
		    "host = web.example.org\n");
		fix_until(p.f, side_look(&p.g)->is_whole);
		assert_non_null(strstr(p.g.head, "503"));
		assert_int_equal(fix_last(p.f)->r.reason,
		    REASON_POLICY_RELOADED);
		fix_until(p.f, p.o.p->is_ended);
		fix_set_policy(p.f, POLICY);
		done(&p);
	}
}

static void
an_exchange_that_does_not_move_times_out(void **state)
{
	struct fix *f = *state;

	f->gate.limits.relay_idle_timeout_ms = 50;
	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		begin(&p, f, v, &get);
		fix_until(f, side_look(&p.g)->is_whole);
		assert_non_null(strstr(p.g.head, "504"));
		done(&p);
	}
}

/* A burst waits for the first connection, which carries all of it. */
static void
a_burst_is_one_handshake_if_the_origin_speaks_h2(void **state)
{
	struct fix *f = *state;
	struct side g, o;

	f->origin_is_h2 = true;
	side_guest(&g, f, true);
	for (unsigned int i = 0; i < 40; i++)
		side_send(&g, &get);
	side_origin(&o, f, true, 0);
	fix_until(f, o.h2->count == 40);
	assert_int_equal(f->origin_count, 1);
	/* One that is given up leaves the others. */
	side_reset(&g);
	fix_until(f, f->record_count == 1);
	side_done(&g);
	side_done(&o);
}

/* One that does not is dialled several times, and none is refused. */
static void
a_burst_to_an_origin_of_http1_is_answered_whole(void **state)
{
	struct fix *f = *state;
	size_t answered = 0;
	struct side g;

	side_guest(&g, f, true);
	for (unsigned int i = 0; i < 40; i++)
		side_send(&g, &get);
	fix_until(f, f->origin_count == 1);
	while (answered < 40) {
		fix_turn(f);
		for (size_t i = 0; i < f->origin_count; i++) {
			struct peer *o = &f->origins[i];

			if (!peer_has(o, "\r\n\r\n"))
				continue;
			peer_clear(o);
			peer_say(o, "HTTP/1.1 204 X\r\n\r\n");
			answered++;
		}
	}
	fix_until(f, f->record_count == 40);
	for (unsigned int i = 0; i < 40; i++)
		fix_until(f, g.h2->streams[i].is_ended);
	side_done(&g);
}

/* They wait, they are not refused; those that are given up leave the line. */
/* Not one after another, each for as long as the dialler takes. */
static void
a_burst_to_an_origin_that_is_not_there_shares_its_fate(void **state)
{
	struct fix *f = *state;
	struct side g;

	f->dial_refusal = REASON_ORIGIN_UNREACHABLE;
	side_guest(&g, f, true);
	for (unsigned int i = 0; i < 20; i++)
		side_send(&g, &get);
	fix_until(f, f->record_count == 20);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(f->records[i].r.reason,
		    REASON_ORIGIN_UNREACHABLE);
	assert_in_range(f->dial_count, 1, 2);
	/* The next is asked for anew. */
	f->dial_refusal = REASON_NONE;
	side_send(&g, &get);
	fix_until(f, f->origin_count == 1);
	side_done(&g);
}

static void
a_burst_that_is_given_up_dials_no_more(void **state)
{
	struct fix *f = *state;
	struct side g;

	side_guest(&g, f, true);
	for (unsigned int i = 0; i < 20; i++)
		side_send(&g, &get);
	fix_until(f, f->origin_count == 1);
	fix_close(f);
	assert_int_equal(f->record_count, 20);
	fix_settle(f);
	assert_in_range(f->origin_count, 1, 17);
	side_done(&g);
}

/* A recorder that cannot follow holds requests up, it does not refuse them. */
static void
a_guest_is_not_read_while_the_audit_is_behind(void **state)
{
	struct fix *f = *state;
	struct pair p;

	begin(&p, f, 3, &get);
	f->is_audit_behind = true;
	side_send(&p.g, &get);
	fix_settle(f);
	assert_int_equal(p.o.h2->count, 1);
	f->is_audit_behind = false;
	fix_until(f, p.o.h2->count == 2);
	done(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_early_answer_ends_the_upload),
		TEST(a_reset_of_the_guest_reaches_the_origin),
		TEST(a_reset_of_the_origin_is_a_502_or_shows),
		TEST(a_slow_guest_stops_the_origin),
		TEST(a_slow_origin_stops_the_guest),
		TEST(a_slow_writer_is_waited_for),
		TEST(a_half_closed_guest_gets_its_answer),
		TEST(half_a_request_ends_with_its_connection),
		TEST(a_half_closed_guest_with_no_window_left_is_gone),
		TEST(each_piece_of_a_stream_goes_on_at_once),
		TEST(a_new_policy_ends_what_it_does_not_allow),
		TEST(an_exchange_that_does_not_move_times_out),
		TEST(a_burst_is_one_handshake_if_the_origin_speaks_h2),
		TEST(a_burst_to_an_origin_of_http1_is_answered_whole),
		TEST(a_burst_to_an_origin_that_is_not_there_shares_its_fate),
		TEST(a_burst_that_is_given_up_dials_no_more),
		TEST(a_guest_is_not_read_while_the_audit_is_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
