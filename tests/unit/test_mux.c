/*
 * The relay between sessions and an agent that both keep the rules.
 */
#include "mux_support.h"

static void
relays_a_command(void **state)
{
	struct frame_link *l;
	struct frame_exit end;
	struct frame f;
	uint32_t id;

	(void)state;
	agent_is_ready();
	l = add_session(0);
	id = start(l, 40);
	say(l, frame_data_encode, 40, FRAME_INPUT, span_of("in"));
	f = expect_on(&fx.agent, FRAME_DATA, id, FRAME_INPUT);
	row_span("input", f.body, "in");
	say(&fx.agent, frame_window_encode, id, FRAME_INPUT, 2);
	(void)expect_on(l, FRAME_WINDOW_ADD, 40, FRAME_INPUT);
	say(&fx.agent, frame_data_encode, id, FRAME_ERROR, span_of("err"));
	f = expect_on(l, FRAME_DATA, 40, FRAME_ERROR);
	row_span("errors", f.body, "err");
	say(&fx.agent, frame_data_encode, id, FRAME_OUTPUT, span_of("out"));
	f = expect_on(l, FRAME_DATA, 40, FRAME_OUTPUT);
	row_span("output", f.body, "out");
	say(l, frame_window_encode, 40, FRAME_OUTPUT, 3);
	(void)expect_on(&fx.agent, FRAME_WINDOW_ADD, id, FRAME_OUTPUT);
	say(l, frame_signal_encode, 40, 15);
	(void)expect_on(&fx.agent, FRAME_SIGNAL, id, 0);
	say(l, frame_bare_encode, FRAME_EOF, 40, FRAME_INPUT);
	(void)expect_on(&fx.agent, FRAME_EOF, id, FRAME_INPUT);
	say(&fx.agent, frame_bare_encode, FRAME_EOF, id, FRAME_OUTPUT);
	(void)expect_on(l, FRAME_EOF, 40, FRAME_OUTPUT);
	say_exit(id, FRAME_END_CODE, 7);
	end = expect_exit(l, 40);
	assert_int_equal(end.value, 7);
	assert_int_equal(mux_stream_count(fx.mux), 0);
}

static void
records_what_ran_without_its_environment(void **state)
{
	struct frame_link *l;
	uint32_t id;

	(void)state;
	agent_is_ready();
	l = add_session(3);
	id = start(l, 1);
	say_data(l, 1, FRAME_INPUT, 5);
	(void)expect(&fx.agent, FRAME_DATA);
	say_data(&fx.agent, id, FRAME_OUTPUT, 6);
	say_exit(id, FRAME_END_SIGNAL, 9);
	(void)expect(l, FRAME_DATA);
	(void)expect_exit(l, 1);
	assert_int_equal(fx.records, 1);
	assert_int_equal(fx.record.session, 103);
	assert_int_equal(fx.record.kind, FRAME_EXEC);
	assert_int_equal(fx.record.end, FRAME_END_SIGNAL);
	assert_int_equal(fx.record.value, 9);
	assert_int_equal(fx.record.bytes_in, 5);
	assert_int_equal(fx.record.bytes_out, 6);
	assert_true(
	    span_eq(fx.record.command, (struct span)BYTES("echo\0hi\0")));
	id = start_put(l, 2);
	say_exit(id, FRAME_END_CODE, 0);
	(void)expect_exit(l, 2);
	assert_int_equal(fx.record.kind, FRAME_PUT);
	row_span("the path of a copy", fx.record.command, "/x");
}

static void
keeps_sessions_apart_that_use_the_same_numbers(void **state)
{
	struct frame_link *a, *b;
	uint32_t a_id, b_id;

	(void)state;
	agent_is_ready();
	a = add_session(0);
	b = add_session(1);
	a_id = start(a, 1);
	b_id = start(b, 1);
	assert_int_not_equal(a_id, b_id);
	say(&fx.agent, frame_data_encode, b_id, FRAME_OUTPUT, span_of("for b"));
	say_exit(a_id, FRAME_END_CODE, 1);
	row_span("its own", expect(b, FRAME_DATA).body, "for b");
	assert_int_equal(expect_exit(a, 1).value, 1);
	say_exit(b_id, FRAME_END_CODE, 2);
	assert_int_equal(expect_exit(b, 1).value, 2);
}

static void
asks_nothing_of_an_agent_that_is_not_ready(void **state)
{
	const struct frame_exec e = make_exec();
	struct frame_link *l;
	struct frame f;
	bool has;

	(void)state;
	l = add_session(0);
	say(l, frame_exec_encode, 1, &e);
	say(l, frame_data_encode, 1, FRAME_ARGS, ARGS);
	(void)expect(&fx.agent, FRAME_HELLO);
	for (unsigned int i = 0; i < 20; i++)
		turn();
	assert_int_equal(frame_link_read(&fx.agent), -EAGAIN);
	say_hello(&fx.agent);
	f = expect(l, FRAME_STATE);
	assert_int_equal(f.body.ptr[0], FRAME_VM_READY);
	(void)expect(&fx.agent, FRAME_EXEC);
	(void)expect(&fx.agent, FRAME_DATA);
	assert_int_equal(frame_link_peek(&fx.agent, &f, &has), FRAME_OK);
	assert_false(has);
}

/* What a session that does not read costs: its windows, and no one else. */
static void
is_not_held_up_by_a_session_that_does_not_read(void **state)
{
	struct frame_link *slow, *quick;
	uint32_t slow_id, quick_id;

	(void)state;
	agent_is_ready();
	slow = add_session(0);
	quick = add_session(1);
	slow_id = start(slow, 1);
	quick_id = start(quick, 1);
	for (unsigned int i = 0; i < FRAME_WINDOW / FRAME_PAYLOAD_MAX; i++) {
		say_data(&fx.agent, slow_id, FRAME_OUTPUT, FRAME_PAYLOAD_MAX);
		say_data(&fx.agent, slow_id, FRAME_ERROR, FRAME_PAYLOAD_MAX);
	}
	for (unsigned int i = 0; i < 100; i++) {
		say_data(&fx.agent, quick_id, FRAME_OUTPUT, 20000);
		assert_int_equal(expect(quick, FRAME_DATA).head.len, 20000);
		say(quick, frame_window_encode, 1, FRAME_OUTPUT, 20000);
		(void)expect(&fx.agent, FRAME_WINDOW_ADD);
	}
	say_exit(slow_id, FRAME_END_CODE, 0);
	/* and what it did not read is there when it does */
	for (size_t got = 0; got < (size_t)2 * FRAME_WINDOW;)
		got += expect(slow, FRAME_DATA).head.len;
	(void)expect_exit(slow, 1);
}

static void
sends_both_outputs_in_turn(void **state)
{
	uint64_t seen[2] = { 0, 0 };
	struct frame_link *l;
	uint32_t id;

	(void)state;
	agent_is_ready();
	l = add_session(0);
	id = start(l, 1);
	for (unsigned int i = 0; i < 4; i++)
		say_data(&fx.agent, id, FRAME_OUTPUT, FRAME_PAYLOAD_MAX);
	say_data(&fx.agent, id, FRAME_ERROR, 10);
	while (seen[1] == 0) {
		const struct frame f = expect(l, FRAME_DATA);

		seen[f.head.channel == FRAME_ERROR] += f.head.len;
	}
	/* what a socket had taken before does not count */
	assert_true(seen[0] < FRAME_WINDOW);
}

/* A session with this many uploads, of which each sends all that it may. */
struct uploader {
	struct frame_link *l;
	uint32_t count;
	uint32_t credit[9]; /* of stream i */
};

static void
upload(struct uploader *u)
{
	struct frame f;
	uint32_t n;
	bool has;

	(void)frame_link_read(u->l);
	while (frame_link_next(u->l, &f, &has) == FRAME_OK && has) {
		assert_int_equal(f.head.type, FRAME_WINDOW_ADD);
		assert_int_equal(frame_window_decode(f.body, &n), FRAME_OK);
		u->credit[f.head.stream] += n;
	}
	for (uint32_t i = 1; i <= u->count; i++) {
		struct wr w = frame_link_writer(u->l);

		if (u->credit[i] < 20000)
			continue;
		frame_data_encode(&w, i, FRAME_INPUT,
		    (struct span){ mux_zeros, 20000 });
		frame_link_put(u->l, &w);
		u->credit[i] -= wr_ok(&w) ? 20000 : 0;
	}
	(void)frame_link_write(u->l);
	turn();
}

/* One with eight uploads has no more of the link than one with a single. */
static void
hears_sessions_in_turn(void **state)
{
	struct uploader u[2] = { { .count = 8 }, { .count = 1 } };
	uint64_t got[2] = { 0, 0 };
	uint32_t single = 0;

	(void)state;
	agent_is_ready();
	for (unsigned int i = 0; i < 2; i++) {
		u[i].l = add_session(i);
		for (uint32_t n = 1; n <= u[i].count; n++) {
			single = start_put(u[i].l, n);
			u[i].credit[n] = FRAME_WINDOW;
		}
	}
	while (got[0] + got[1] < 8000000) {
		struct frame f;
		bool has;

		upload(&u[0]);
		upload(&u[1]);
		if (!has_frame(&fx.agent))
			continue;
		(void)frame_link_next(&fx.agent, &f, &has);
		got[f.head.stream == single] += f.head.len;
		say(&fx.agent, frame_window_encode, f.head.stream, FRAME_INPUT,
		    f.head.len);
	}
	assert_in_range(got[1], 3000000, 5000000);
}

static void
ends_a_command_that_takes_too_long(void **state)
{
	struct frame_exec e = make_exec();
	struct frame_exit end;
	struct frame_link *l;
	uint32_t id;

	(void)state;
	agent_is_ready();
	l = add_session(0);
	e.timeout_ms = 50;
	id = exec_as(l, 1, &e);
	say(&fx.agent, frame_started_encode, id, 7);
	(void)expect(l, FRAME_STARTED);
	(void)expect_on(&fx.agent, FRAME_RESET, id, 0);
	/* the session may still talk: it does not know */
	say_data(l, 1, FRAME_INPUT, 10);
	say_data(&fx.agent, id, FRAME_OUTPUT, 3);
	say_exit(id, FRAME_END_SIGNAL, 9);
	(void)expect(l, FRAME_DATA);
	end = expect_exit(l, 1);
	assert_int_equal(end.end, FRAME_END_SIGNAL);
	assert_int_equal(end.limit, FRAME_LIMIT_TIMEOUT);
	assert_int_equal(fx.record.limit, FRAME_LIMIT_TIMEOUT);
	say_data(l, 1, FRAME_INPUT, 10);
	(void)start(l, 2);
}

static void
cuts_output_at_its_limit(void **state)
{
	struct frame_exec e = make_exec();
	struct frame_link *l;
	uint32_t id;

	(void)state;
	agent_is_ready();
	l = add_session(0);
	e.output_max = 1000;
	id = exec_as(l, 1, &e);
	say(&fx.agent, frame_started_encode, id, 7);
	(void)expect(l, FRAME_STARTED);
	say_data(&fx.agent, id, FRAME_OUTPUT, 600);
	assert_int_equal(expect(l, FRAME_DATA).head.len, 600);
	say_data(&fx.agent, id, FRAME_ERROR, 400);
	assert_int_equal(expect(l, FRAME_DATA).head.len, 400);
	say_data(&fx.agent, id, FRAME_OUTPUT, 1);
	(void)expect_on(&fx.agent, FRAME_RESET, id, 0);
	say_data(&fx.agent, id, FRAME_OUTPUT, 5000);
	say_exit(id, FRAME_END_SIGNAL, 9);
	assert_int_equal(expect_exit(l, 1).limit, FRAME_LIMIT_OUTPUT);
}

static void
resets_what_runs_for_a_session_that_is_gone(void **state)
{
	struct frame_link *l;
	uint32_t ids[2];

	(void)state;
	agent_is_ready();
	l = add_session(0);
	ids[0] = start(l, 1);
	ids[1] = start_put(l, 2);
	say_data(&fx.agent, ids[0], FRAME_OUTPUT, 60000);
	frame_link_done(l);
	(void)expect_on(&fx.agent, FRAME_RESET, ids[0], 0);
	(void)expect_on(&fx.agent, FRAME_RESET, ids[1], 0);
	until(mux_session_count(fx.mux) == 0);
	assert_int_equal(mux_stream_count(fx.mux), 2);
	say_data(&fx.agent, ids[0], FRAME_OUTPUT, 60000);
	say_exit(ids[0], FRAME_END_SIGNAL, 9);
	say_exit(ids[1], FRAME_END_FAILED, 0);
	until(mux_stream_count(fx.mux) == 0);
	assert_int_equal(fx.records, 2);
	assert_int_equal(fx.faults, 0);
}

/* Also while it waits for the agent to be ready, and more waits unread. */
static void
sees_a_session_go_that_it_does_not_read(void **state)
{
	const struct frame_exec e = make_exec();
	struct frame_link *l;
	struct wr w;

	(void)state;
	l = add_session(0);
	say(l, frame_exec_encode, 1, &e);
	for (unsigned int i = 0; i < 100; i++) {
		w = frame_link_writer(l);
		frame_data_encode(&w, 1, FRAME_INPUT,
		    (struct span){ mux_zeros, 60000 });
		frame_link_put(l, &w);
		(void)frame_link_write(l);
		turn();
	}
	assert_true(frame_link_waiting(l) > 0);
	frame_link_done(l);
	until(mux_session_count(fx.mux) == 0);
}

static void
refuses_more_streams_and_sessions_than_may_be(void **state)
{
	struct frame_link *l;
	struct frame_exit end;
	uint32_t first = 0;
	int fds[2];

	(void)state;
	agent_is_ready();
	for (unsigned int i = 0; i < MUX_SESSIONS_MAX; i++)
		(void)add_session(i);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			     fds),
	    0);
	assert_int_equal(mux_add_session(fx.mux, fds[0], 0), -EUSERS);
	(void)close(fds[1]);
	l = &fx.sessions[0];
	for (uint32_t i = 1; i <= FRAME_STREAMS_MAX; i++) {
		const uint32_t id = start_put(l, i);

		first = i == 1 ? id : first;
	}
	say(l, frame_copy_encode, FRAME_PUT, 1000,
	    &(struct frame_copy){ .path = span_of("/x") });
	end = expect_exit(l, 1000);
	assert_int_equal(end.end, FRAME_END_FAILED);
	assert_true(end.text.len > 0);
	/* it is over, and what was sent to it meanwhile is nothing */
	say_data(l, 1000, FRAME_INPUT, 10);
	say_exit(first, FRAME_END_CODE, 0);
	(void)expect_exit(l, 1);
	(void)start_put(l, 1001);
}

static void
tells_all_when_the_vm_ends(void **state)
{
	struct frame_link *a, *b;
	struct frame_exit end;
	struct frame_state st;
	uint32_t id;

	(void)state;
	agent_is_ready();
	a = add_session(0);
	b = add_session(1);
	id = start(a, 1);
	(void)start_put(b, 1);
	say_data(&fx.agent, id, FRAME_OUTPUT, 50000);
	until(has_frame(a));
	mux_state(fx.mux, FRAME_VM_ENDED, FRAME_LIMIT_DURATION,
	    "its time is over");
	for (size_t got = 0; got < 50000;)
		got += expect(a, FRAME_DATA).head.len;
	end = expect_exit(a, 1);
	assert_int_equal(end.end, FRAME_END_FAILED);
	assert_int_equal(end.limit, FRAME_LIMIT_DURATION);
	row_span("the reason", end.text, "its time is over");
	assert_int_equal(frame_state_decode(expect(a, FRAME_STATE).body, &st),
	    FRAME_OK);
	assert_int_equal(st.state, FRAME_VM_ENDED);
	row_span("and of the VM", st.text, "its time is over");
	(void)expect_exit(b, 1);
	(void)expect(b, FRAME_STATE);
	until(fx.drained == 1);
	assert_int_equal(fx.records, 2);
	say(a, frame_copy_encode, FRAME_PUT, 9,
	    &(struct frame_copy){ .path = span_of("/x") });
	for (unsigned int i = 0; i < 20; i++)
		turn();
	assert_int_equal(mux_stream_count(fx.mux), 0);
	assert_int_equal(fx.drained, 1);
	assert_int_equal(fx.faults, 0);
}

static void
passes_states_clock_and_the_end_on(void **state)
{
	struct frame_link *l;
	uint64_t us;

	(void)state;
	mux_clock(fx.mux, 5);
	agent_is_ready();
	l = add_session(0);
	mux_clock(fx.mux, 1769817600500000);
	assert_int_equal(frame_clock_decode(expect(&fx.agent, FRAME_CLOCK).body,
			     &us),
	    FRAME_OK);
	assert_int_equal(us, 1769817600500000);
	mux_state(fx.mux, FRAME_VM_STOPPING, FRAME_LIMIT_NONE, "asked to stop");
	mux_poweroff(fx.mux);
	(void)expect_on(&fx.agent, FRAME_POWEROFF, 0, 0);
	assert_int_equal(expect(l, FRAME_STATE).body.ptr[0], FRAME_VM_STOPPING);
}

int
main(void)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, mux_setup, mux_teardown)
	const struct CMUnitTest tests[] = {
		CLAIM(relays_a_command),
		CLAIM(records_what_ran_without_its_environment),
		CLAIM(keeps_sessions_apart_that_use_the_same_numbers),
		CLAIM(asks_nothing_of_an_agent_that_is_not_ready),
		CLAIM(is_not_held_up_by_a_session_that_does_not_read),
		CLAIM(sends_both_outputs_in_turn),
		CLAIM(hears_sessions_in_turn),
		CLAIM(ends_a_command_that_takes_too_long),
		CLAIM(cuts_output_at_its_limit),
		CLAIM(resets_what_runs_for_a_session_that_is_gone),
		CLAIM(sees_a_session_go_that_it_does_not_read),
		CLAIM(refuses_more_streams_and_sessions_than_may_be),
		CLAIM(tells_all_when_the_vm_ends),
		CLAIM(passes_states_clock_and_the_end_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
