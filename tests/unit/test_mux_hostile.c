/*
 * The relay between sessions and an agent that break the rules. A row of
 * either is a script against a VM in which one command runs; the agent ends
 * the VM, a session ends itself alone.
 */
#include "mux_support.h"

#include <malloc.h>

/* The command runs as stream 1 of session 0 and as `id` at the agent. */
struct attack {
	const char *claim;
	void (*run)(struct frame_link *l, uint32_t id);
	const char *want; /* a word of the reason */
};

static void
second_hello(struct frame_link *l, uint32_t id)
{
	(void)id;
	say_hello(l);
}

static void
says_state(struct frame_link *l, uint32_t id)
{
	(void)id;
	say(l, frame_state_encode,
	    &(struct frame_state){ .state = FRAME_VM_ENDED });
}

static void
says_poweroff(struct frame_link *l, uint32_t id)
{
	(void)id;
	say(l, frame_bare_encode, FRAME_POWEROFF, 0, 0);
}

static void
says_clock(struct frame_link *l, uint32_t id)
{
	(void)id;
	say(l, frame_clock_encode, 1);
}

static void
asks_for_a_command(struct frame_link *l, uint32_t id)
{
	const struct frame_exec e = make_exec();

	say(l, frame_exec_encode, id + 1, &e);
}

static void
uses_a_number_again(struct frame_link *l, uint32_t id)
{
	const struct frame_exec e = make_exec();

	say(l, frame_exec_encode, id, &e);
}

static void
unknown_stream(struct frame_link *l, uint32_t id)
{
	say_data(l, id + 1, FRAME_OUTPUT, 1);
}

static void
unknown_input(struct frame_link *l, uint32_t id)
{
	say_data(l, id + 1, FRAME_INPUT, 1);
}

static void
over_the_window(struct frame_link *l, uint32_t id)
{
	for (unsigned int i = 0; i < 5; i++)
		say_data(l, id, FRAME_OUTPUT, FRAME_PAYLOAD_MAX);
}

static void
input_over_the_window(struct frame_link *l, uint32_t id)
{
	for (unsigned int i = 0; i < 5; i++)
		say_data(l, id, FRAME_INPUT, FRAME_PAYLOAD_MAX);
}

static void
gives_back_what_was_not_sent(struct frame_link *l, uint32_t id)
{
	say(l, frame_window_encode, id, FRAME_INPUT, 1);
}

static void
gives_output_back_that_was_not_sent(struct frame_link *l, uint32_t id)
{
	say(l, frame_window_encode, id, FRAME_OUTPUT, 1);
}

/* All was sent by the guest, but some of it waits here. */
static void
gives_back_what_it_has_not_read(struct frame_link *l, uint32_t id)
{
	for (unsigned int i = 0; i < 4; i++) {
		say_data(&fx.agent, id, FRAME_OUTPUT, FRAME_PAYLOAD_MAX);
		say_data(&fx.agent, id, FRAME_ERROR, FRAME_PAYLOAD_MAX);
	}
	say(l, frame_window_encode, id, FRAME_OUTPUT, FRAME_WINDOW);
	say(l, frame_window_encode, id, FRAME_ERROR, FRAME_WINDOW);
}

static void
data_on_input(struct frame_link *l, uint32_t id)
{
	say_data(l, id, FRAME_INPUT, 1);
}

static void
data_on_output(struct frame_link *l, uint32_t id)
{
	say_data(l, id, FRAME_OUTPUT, 1);
}

static void
starts_twice(struct frame_link *l, uint32_t id)
{
	say(l, frame_started_encode, id, 7);
}

static void
after_the_end_of_output(struct frame_link *l, uint32_t id)
{
	say(l, frame_bare_encode, FRAME_EOF, id, FRAME_OUTPUT);
	say_data(l, id, FRAME_OUTPUT, 1);
}

static void
after_exit(struct frame_link *l, uint32_t id)
{
	say(l, frame_exit_encode, id,
	    &(struct frame_exit){ .end = FRAME_END_CODE });
	say_data(l, id, FRAME_OUTPUT, 1);
}

static void
claims_a_limit_that_is_ours(struct frame_link *l, uint32_t id)
{
	say(l, frame_exit_encode, id,
	    &(struct frame_exit){ .end = FRAME_END_CODE,
		.limit = FRAME_LIMIT_TIMEOUT });
}

static void
escape_sequence(struct frame_link *l, uint32_t id)
{
	say(l, frame_exit_encode, id,
	    &(struct frame_exit){ .end = FRAME_END_FAILED,
		.text = span_of("\033]0;owned\007") });
}

static void
no_frame(struct frame_link *l, uint32_t id)
{
	static const char text[] = "login: root\r\nPassword: ";
	struct wr w = frame_link_writer(l);

	(void)id;
	wr_text(&w, text);
	frame_link_put(l, &w);
	flush(l);
}

static void
length_of_4_gib(struct frame_link *l, uint32_t id)
{
	struct wr w = frame_link_writer(l);

	wr_u32(&w, UINT32_MAX);
	wr_u8(&w, FRAME_DATA);
	wr_u8(&w, FRAME_OUTPUT);
	wr_u16(&w, 0);
	wr_u32(&w, id);
	frame_link_put(l, &w);
	flush(l);
}

static void
command_that_cannot_be(struct frame_link *l, uint32_t id)
{
	say(l, frame_exec_encode, id + 1, &(struct frame_exec){ .argc = 0 });
}

static void
talks_after_reset(struct frame_link *l, uint32_t id)
{
	say(l, frame_bare_encode, FRAME_RESET, id, 0);
	say_data(l, id, FRAME_INPUT, 1);
}

static void
closes(struct frame_link *l, uint32_t id)
{
	(void)id;
	(void)shutdown(l->fd, SHUT_RDWR);
}

/* Its session resets the command; the agent says nothing. */
static void
does_not_answer_a_reset(struct frame_link *l, uint32_t id)
{
	(void)l;
	(void)id;
	say(&fx.sessions[0], frame_bare_encode, FRAME_RESET, 1, 0);
}

/* The sessions have input for it that it does not take. */
static void
does_not_read(struct frame_link *l, uint32_t id)
{
	(void)l;
	(void)id;
	for (uint32_t n = 2; n < 12; n++) {
		say(&fx.sessions[0], frame_copy_encode, FRAME_PUT, n,
		    &(struct frame_copy){ .path = span_of("/x") });
		for (unsigned int i = 0; i < 4; i++) {
			struct wr w = frame_link_writer(&fx.sessions[0]);

			frame_data_encode(&w, n, FRAME_INPUT,
			    (struct span){ mux_zeros, FRAME_PAYLOAD_MAX });
			frame_link_put(&fx.sessions[0], &w);
			(void)frame_link_write(&fx.sessions[0]);
			turn();
		}
		if (frame_link_waiting(&fx.sessions[0]) > 0)
			return;
	}
	fail_msg("the link never filled");
}

static const struct attack agents[] = {
	{ "a second HELLO", second_hello, "HELLO" },
	{ "the VM's state", says_state, "STATE" },
	{ "POWEROFF", says_poweroff, "POWEROFF" },
	{ "CLOCK", says_clock, "CLOCK" },
	{ "a command of its own", asks_for_a_command, "EXEC" },
	{ "a command on the same stream", uses_a_number_again, "EXEC" },
	{ "a stream that there is not", unknown_stream, "stream" },
	{ "more than its window", over_the_window, "window" },
	{ "a window for what was not sent", gives_back_what_was_not_sent,
	    "window" },
	{ "its own window widened", gives_output_back_that_was_not_sent,
	    "channel" },
	{ "DATA the wrong way", data_on_input, "channel" },
	{ "two starts", starts_twice, "STARTED" },
	{ "output after its end", after_the_end_of_output, "when" },
	{ "output after EXIT", after_exit, "stream" },
	{ "a limit that is not its to claim", claims_a_limit_that_is_ours,
	    "EXIT" },
	{ "a text for a terminal to obey", escape_sequence, "EXIT" },
	{ "bytes that are no frame", no_frame, "no frame" },
	{ "a length of 4 GiB", length_of_4_gib, "no frame" },
	{ "RESET", talks_after_reset, "RESET" },
	{ "an end without a word", closes, "gone" },
	{ "silence after RESET", does_not_answer_a_reset, "not ended" },
	{ "a port that it does not read", does_not_read, "read nothing" },
};

static void
ends_the_vm_of_an_agent_that_breaks_the_rules(void **state)
{
	for (size_t i = 0; i < ROWS(agents); i++) {
		struct frame_link *l;
		uint32_t id;

		agent_is_ready();
		l = add_session(0);
		id = start(l, 1);
		agents[i].run(&fx.agent, id);
		until(fx.faults == 1);
		if (strstr(fx.fault, agents[i].want) == NULL)
			fail_msg("%s: \"%s\"", agents[i].claim, fx.fault);
		for (const char *p = fx.fault; *p != '\0'; p++)
			assert_in_range(*p, 0x20, 0x7e);
		/* the caller ends it, and the session hears of it */
		mux_state(fx.mux, FRAME_VM_ENDED, FRAME_LIMIT_NONE, fx.fault);
		while (next_type(l) != FRAME_STATE)
			;
		assert_int_equal(fx.faults, 1);
		assert_int_equal(mux_teardown(state) | mux_setup(state), 0);
	}
}

static void
ends_the_vm_of_an_agent_that_does_not_say_hello(void **state)
{
	(void)state;
	say(&fx.agent, frame_started_encode, 1, 7);
	until(fx.faults == 1);
	assert_int_equal(fx.ready, 0);
}

static void
ends_the_vm_of_an_agent_of_another_version(void **state)
{
	(void)state;
	say(&fx.agent, frame_hello_encode,
	    &(struct frame_hello){ FRAME_VERSION + 1, 0 });
	until(fx.faults == 1);
	assert_int_equal(fx.ready, 0);
}

static const struct attack sessions[] = {
	{ "a second HELLO", second_hello, NULL },
	{ "the VM's state", says_state, NULL },
	{ "POWEROFF", says_poweroff, NULL },
	{ "CLOCK", says_clock, NULL },
	{ "a number again", uses_a_number_again, NULL },
	{ "a stream that there is not", unknown_input, NULL },
	{ "more than its window", input_over_the_window, NULL },
	{ "a window for what was not sent", gives_output_back_that_was_not_sent,
	    NULL },
	{ "a window for what it has not read", gives_back_what_it_has_not_read,
	    NULL },
	{ "its own window widened", gives_back_what_was_not_sent, NULL },
	{ "DATA the wrong way", data_on_output, NULL },
	{ "STARTED", starts_twice, NULL },
	{ "EXIT", after_exit, NULL },
	{ "bytes that are no frame", no_frame, NULL },
	{ "a length of 4 GiB", length_of_4_gib, NULL },
	{ "a command that cannot be", command_that_cannot_be, NULL },
	{ "input after RESET", talks_after_reset, NULL },
	{ "an end without a word", closes, NULL },
};

static void
ends_a_session_that_breaks_the_rules_alone(void **state)
{
	for (size_t i = 0; i < ROWS(sessions); i++) {
		struct frame_link *good, *bad;
		uint32_t good_id, bad_id;

		agent_is_ready();
		good = add_session(0);
		bad = add_session(1);
		bad_id = start(bad, 1);
		assert_int_equal(bad_id, 1); /* as the session has it */
		sessions[i].run(bad, 1);
		until(is_closed(bad));
		while (next_type(&fx.agent) != FRAME_RESET)
			;
		say_exit(bad_id, FRAME_END_SIGNAL, 9);
		good_id = start(good, 1);
		say_exit(good_id, FRAME_END_CODE, 0);
		(void)expect_exit(good, 1);
		row_equal(sessions[i].claim, fx.faults, 0);
		row_equal(sessions[i].claim, mux_stream_count(fx.mux), 0);
		assert_int_equal(mux_teardown(state) | mux_setup(state), 0);
	}
}

static void
wants_hello_of_a_session_first(void **state)
{
	const struct frame_exec e = make_exec();
	struct frame_link *l = &fx.sessions[0];
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			     fds),
	    0);
	assert_int_equal(mux_add_session(fx.mux, fds[0], 0), 0);
	assert_int_equal(frame_link_init(l, fds[1]), 0);
	agent_is_ready();
	say(l, frame_exec_encode, 1, &e);
	until(is_closed(l));
}

/* Bytes that are allocated; 0 under a sanitizer, which does not tell. */
static size_t
heap(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* Every stream full, none of it read; then a flood over it. */
static void
holds_no_more_than_the_windows(void **state)
{
	const size_t before = heap();
	struct frame_link *l;
	uint32_t ids[FRAME_STREAMS_MAX];

	(void)state;
	agent_is_ready();
	l = add_session(0);
	for (uint32_t i = 0; i < FRAME_STREAMS_MAX; i++)
		ids[i] = start(l, i + 1);
	for (uint32_t i = 0; i < FRAME_STREAMS_MAX; i++) {
		for (unsigned int n = 0; n < 4; n++) {
			say_data(&fx.agent, ids[i], FRAME_OUTPUT,
			    FRAME_PAYLOAD_MAX);
			say_data(&fx.agent, ids[i], FRAME_ERROR,
			    FRAME_PAYLOAD_MAX);
		}
	}
	turn();
	assert_true(
	    heap() - before < (size_t)FRAME_STREAMS_MAX * 2 * FRAME_WINDOW +
		8 * FRAME_LINK_BYTES);
	/* it does wait: what is measured is there */
	assert_true(before == 0 ||
	    heap() - before > (size_t)FRAME_STREAMS_MAX * FRAME_WINDOW);
	say_data(&fx.agent, ids[0], FRAME_OUTPUT, 1);
	until(fx.faults == 1);
	/* and none of it when the session is gone */
	frame_link_done(l);
	until(mux_session_count(fx.mux) == 0);
	assert_true(heap() <= before + 4 * FRAME_LINK_BYTES);
}

/* Half a million frames of a byte, each read and given back. */
static void
stays_flat_under_small_frames(void **state)
{
	struct frame_link *l;
	size_t before, got = 0;
	uint32_t id;

	(void)state;
	agent_is_ready();
	l = add_session(0);
	id = start(l, 1);
	before = heap();
	for (unsigned int n = 0; n < 100; n++) {
		struct wr w = frame_link_writer(&fx.agent);

		for (unsigned int i = 0; i < 5000; i++)
			frame_data_encode(&w, id, FRAME_OUTPUT, span_of("x"));
		assert_true(wr_ok(&w));
		frame_link_put(&fx.agent, &w);
		flush(&fx.agent);
		for (got = 0; got < 5000;)
			got += expect(l, FRAME_DATA).head.len;
		say(l, frame_window_encode, 1, FRAME_OUTPUT, 5000);
		(void)expect(&fx.agent, FRAME_WINDOW_ADD);
	}
	assert_true(heap() <= before + FRAME_WINDOW);
	assert_int_equal(fx.faults, 0);
}

/* In time it begins what it is asked, or is asked to drop it. */
static void
resets_what_is_not_begun(void **state)
{
	const struct frame_exec e = make_exec();
	const struct frame_copy c = { .path = span_of("/x") };
	struct frame_link *l;
	struct frame_exit end;
	uint32_t id;

	(void)state;
	agent_is_ready();
	l = add_session(0);
	id = exec_as(l, 1, &e);
	(void)expect_on(&fx.agent, FRAME_RESET, id, 0);
	say(&fx.agent, frame_exit_encode, id,
	    &(struct frame_exit){ .end = FRAME_END_FAILED,
		.text = span_of("it was reset") });
	end = expect_exit(l, 1);
	assert_int_equal(end.end, FRAME_END_FAILED);
	assert_non_null(
	    memmem(end.text.ptr, end.text.len, "did not begin", 13));
	assert_int_equal(fx.faults, 0);
	say(l, frame_copy_encode, FRAME_GET, 2, &c);
	(void)expect(&fx.agent, FRAME_GET);
	(void)expect(&fx.agent, FRAME_RESET);
	until(fx.faults == 1);
	assert_non_null(strstr(fx.fault, "not ended"));
}

/* It is the session that keeps the agent waiting. */
static void
does_not_hurry_a_session(void **state)
{
	const struct frame_exec e = make_exec();
	const uint64_t end_ms = clock_mono_ms() + 4 * BEGIN_MS;
	struct frame_link *l;
	uint32_t id;

	(void)state;
	agent_is_ready();
	l = add_session(0);
	say(l, frame_exec_encode, 1, &e);
	(void)expect(&fx.agent, FRAME_EXEC);
	id = start_put(l, 2);
	say_data(l, 2, FRAME_INPUT, 100);
	(void)expect_on(&fx.agent, FRAME_DATA, id, FRAME_INPUT);
	(void)start(l, 3);
	while (clock_mono_ms() < end_ms)
		turn();
	assert_false(has_frame(&fx.agent));
	/* Now it is the agent's turn. */
	say(l, frame_bare_encode, FRAME_EOF, 2, FRAME_INPUT);
	(void)expect(&fx.agent, FRAME_EOF);
	(void)expect_on(&fx.agent, FRAME_RESET, id, 0);
}

static int
setup_hasty(void **state)
{
	mux_begin_ms = BEGIN_MS;
	return mux_setup(state);
}

static int
teardown_hasty(void **state)
{
	mux_begin_ms = 0;
	return mux_teardown(state);
}

int
main(void)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, mux_setup, mux_teardown)
	const struct CMUnitTest tests[] = {
		CLAIM(ends_the_vm_of_an_agent_that_breaks_the_rules),
		CLAIM(ends_the_vm_of_an_agent_that_does_not_say_hello),
		CLAIM(ends_the_vm_of_an_agent_of_another_version),
		CLAIM(ends_a_session_that_breaks_the_rules_alone),
		CLAIM(wants_hello_of_a_session_first),
		CLAIM(holds_no_more_than_the_windows),
		CLAIM(stays_flat_under_small_frames),
		cmocka_unit_test_setup_teardown(resets_what_is_not_begun,
		    setup_hasty, teardown_hasty),
		cmocka_unit_test_setup_teardown(does_not_hurry_a_session,
		    setup_hasty, teardown_hasty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
