/*
 * The guest's agent as an ordinary process: commands of every kind. What needs
 * a guest (boot, control groups, power) is in integration/test_guest.py.
 */
#include "agent_peer.h"

#include <signal.h>
#include <sys/stat.h>

static uint8_t big[1 << 24];

static int
setup(void **state)
{
	(void)state;
	host_start();
	host_hello();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	return host_end() != 0;
}

static const struct {
	const char *claim;
	const char *argv[4];
	const char *cwd, *user;
	enum frame_end end;
	uint32_t value;
	const char *text; /* a part of it */
} ends[] = {
	{ "code 0", { "true" }, "", "", FRAME_END_CODE, 0, "" },
	{ "code 7", { "sh", "-c", "exit 7" }, "", "", FRAME_END_CODE, 7, "" },
	{ "code 255", { "sh", "-c", "exit 255" }, "", "", FRAME_END_CODE, 255,
	    "" },
	{ "by its own signal", { "sh", "-c", "kill -9 $$" }, "", "",
	    FRAME_END_SIGNAL, 9, "" },
	{ "no such command", { "no-such-command" }, "", "", FRAME_END_NOT_FOUND,
	    0, "\"no-such-command\": no such command" },
	{ "no such file", { "/no/such/command" }, "", "", FRAME_END_NOT_FOUND,
	    0, "no such command" },
	{ "a file that is no program", { "/etc/passwd" }, "", "",
	    FRAME_END_NOT_RUN, 0, "Permission denied" },
	{ "a directory", { "/etc" }, "", "", FRAME_END_NOT_RUN, 0,
	    "Permission denied" },
	{ "an empty name", { "" }, "", "", FRAME_END_NOT_FOUND, 0, "" },
	{ "a folder that there is not", { "true" }, "/no/such", "",
	    FRAME_END_FAILED, 0, "\"/no/such\": No such file" },
	{ "a user that there is not", { "true" }, "", "no-such-user",
	    FRAME_END_FAILED, 0, "no user \"no-such-user\"" },
	{ "a name that a terminal would obey", { "\033[2J\xff" }, "", "",
	    FRAME_END_NOT_FOUND, 0, "\"\\x1b[2J\\xff\"" },
};

static void
says_how_a_command_ended(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(ends); i++) {
		struct task *t =
		    exec_with((struct frame_exec){ .cwd = span_of(ends[i].cwd),
				  .user = span_of(ends[i].user) },
			ends[i].argv, NULL);

		until(t->rules.exited);
		row_equal(ends[i].claim, t->end.end, ends[i].end);
		row_equal(ends[i].claim, t->end.value, ends[i].value);
		if (strstr(t->text, ends[i].text) == NULL)
			fail_msg("%s: \"%s\"", ends[i].claim, t->text);
		row_equal(ends[i].claim, t->rules.started,
		    ends[i].end <= FRAME_END_SIGNAL);
	}
}

static void
says_which_interpreter_is_missing(void **state)
{
	char path[] = "/tmp/tapward-test.XXXXXX";
	const char *const argv[] = { path, NULL };
	const int fd = mkstemp(path);
	struct task *t;

	(void)state;
	assert_int_equal(write(fd, "#!/no/such/shell\n", 17), 17);
	assert_int_equal(fchmod(fd, 0700), 0);
	(void)close(fd);
	t = exec_with((struct frame_exec){ .flags = 0 }, argv, NULL);
	until(t->rules.exited);
	(void)unlink(path);
	assert_int_equal(t->end.end, FRAME_END_NOT_RUN);
	assert_non_null(strstr(t->text, "interpreter"));
}

static void
keeps_output_and_errors_apart_and_whole(void **state)
{
	struct task *t = shell("printf 'a\\000\\377\\n'; "
			       "printf 'b\\001\\200\\r' >&2; exit 3");

	(void)state;
	until(t->rules.exited);
	assert_int_equal(t->end.value, 3);
	assert_int_equal(t->len[0], 4);
	assert_memory_equal(t->out[0], "a\0\377\n", 4);
	assert_int_equal(t->len[1], 4);
	assert_memory_equal(t->out[1], "b\1\200\r", 4);
}

static void
passes_much_through_a_command(void **state)
{
	const char *const argv[] = { "cat", NULL };
	struct task *t;

	(void)state;
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (uint8_t)(i * 2654435761u >> 13);
	t = exec_with((struct frame_exec){ .flags = 0 }, argv, NULL);
	t->input = (struct span){ big, sizeof(big) };
	t->input_ends = true;
	until(t->rules.exited);
	assert_int_equal(t->end.value, 0);
	assert_int_equal(t->len[0], sizeof(big));
	assert_memory_equal(t->out[0], big, sizeof(big));
}

static void
runs_many_at_once(void **state)
{
	struct task *t[FRAME_STREAMS_MAX];
	char script[64];

	(void)state;
	for (unsigned int i = 0; i < FRAME_STREAMS_MAX; i++) {
		(void)snprintf(script, sizeof(script),
		    "read line; echo %u $line; exit %u", i, i);
		t[i] = shell(script);
	}
	for (unsigned int i = 0; i < FRAME_STREAMS_MAX; i++)
		until(t[i]->rules.started);
	for (unsigned int i = 0; i < FRAME_STREAMS_MAX; i++)
		t[i]->input = span_of("go\n");
	for (unsigned int i = 0; i < FRAME_STREAMS_MAX; i++) {
		until(t[i]->rules.exited);
		(void)snprintf(script, sizeof(script), "%u go\n", i);
		assert_string_equal(out_of(t[i]), script);
		assert_int_equal(t[i]->end.value, i);
	}
}

/* One that does not read holds up itself alone. */
static void
is_not_held_up_by_output_that_nobody_reads(void **state)
{
	struct task *slow = shell("yes"), *quick;

	(void)state;
	slow->keeps = true;
	until(slow->rules.credit[FRAME_OUTPUT] == 0);
	quick = shell("echo quick");
	until(quick->rules.exited);
	assert_string_equal(out_of(quick), "quick\n");
	assert_int_equal(slow->len[0], FRAME_WINDOW);
	host_say(slow, frame_bare_encode, FRAME_RESET, slow->id, 0);
	until(slow->rules.exited);
	assert_int_equal(slow->end.value, SIGKILL);
}

static void
does_not_wait_for_a_command_that_reads_nothing(void **state)
{
	struct task *t = shell("exec <&-; sleep 0.1; echo done");

	(void)state;
	t->input = (struct span){ big, sizeof(big) };
	until(t->rules.exited);
	assert_string_equal(out_of(t), "done\n");
}

static void
does_not_wait_for_what_a_command_leaves_behind(void **state)
{
	struct task *t = shell("sleep 1000 & echo $!; echo left >&2");
	pid_t left;

	(void)state;
	until(t->rules.exited);
	assert_string_equal((char *)t->out[1], "left\n");
	left = (pid_t)strtol(out_of(t), NULL, 10);
	assert_true(left > 1);
	assert_int_equal(kill(left, SIGKILL), 0);
}

/* All that was written before the end, though much of it waits in the pipe. */
static void
loses_nothing_at_the_end(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		struct task *t =
		    shell("head -c 300000 /dev/zero; echo end >&2; exit 5");

		until(t->rules.exited);
		assert_int_equal(t->len[0], 300000);
		assert_string_equal((char *)t->out[1], "end\n");
	}
}

static void
gives_environment_and_folder(void **state)
{
	static const char *const argv[] = { "sh", "-c",
		"echo $BASE $ADDED; pwd; echo $HOME >&2", NULL };
	static const char *const vars[] = { "ADDED=a b", "HOME=/elsewhere",
		NULL };
	struct task *t =
	    exec_with((struct frame_exec){ .cwd = span_of("/usr") }, argv,
		vars);

	(void)state;
	until(t->rules.exited);
	assert_string_equal(out_of(t), "base a b\n/usr\n");
	assert_string_equal((char *)t->out[1], "/elsewhere\n");
	t = shell("pwd");
	until(t->rules.exited);
	assert_string_equal(out_of(t), "/\n");
}

static void
gives_no_descriptor_beside_the_three(void **state)
{
	struct task *other = shell("cat"), *t;

	(void)state;
	until(other->rules.started);
	t = shell("ls /proc/self/fd | tr '\\n' ' '");
	until(t->rules.exited);
	assert_string_equal(out_of(t), "0 1 2 3 "); /* 3 is that of ls */
	other->input_ends = true;
	until(other->rules.exited);
}

static void
becomes_another_user(void **state)
{
	static const char *const argv[] = { "sh", "-c",
		"id -u; id -g; id -G; echo $HOME", NULL };
	struct task *t;

	(void)state;
	if (geteuid() != 0)
		skip();
	t = exec_with((struct frame_exec){ .user = span_of("4711:4712") }, argv,
	    NULL);
	until(t->rules.exited);
	assert_string_equal(out_of(t), "4711\n4712\n4712\n/\n");
	t = exec_with((struct frame_exec){ .user = span_of("daemon") }, argv,
	    NULL);
	until(t->rules.exited);
	assert_string_equal(out_of(t), "1\n1\n1\n/usr/sbin\n");
}

static void
signals_the_whole_group(void **state)
{
	struct task *t = shell("(trap 'echo child; exit' TERM; echo up; "
			       "while :; do sleep 0.05; done) & "
			       "trap 'wait; exit 3' TERM; wait; wait");

	(void)state;
	until(strcmp(out_of(t), "up\n") == 0);
	host_say(t, frame_signal_encode, t->id, SIGTERM);
	until(t->rules.exited);
	assert_int_equal(t->end.value, 3);
	assert_string_equal(out_of(t), "up\nchild\n");
}

static void
kills_all_of_it_on_reset(void **state)
{
	struct task *t = shell("trap '' TERM HUP INT; sleep 1000 & echo $!; "
			       "wait");
	pid_t child;

	(void)state;
	until(t->len[0] > 0 && t->out[0][t->len[0] - 1] == '\n');
	child = (pid_t)strtol(out_of(t), NULL, 10);
	host_say(t, frame_bare_encode, FRAME_RESET, t->id, 0);
	until(t->rules.exited);
	assert_int_equal(t->end.end, FRAME_END_SIGNAL);
	assert_int_equal(t->end.value, SIGKILL);
	until(kill(child, 0) == -1);
}

/* In one write, so that its process is just forked, and not itself yet. */
static void
kills_what_is_reset_as_it_starts(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		struct task *t = shell("trap '' TERM HUP INT; sleep 1000");

		host_say(t, frame_bare_encode, FRAME_RESET, t->id, 0);
		until(t->rules.exited);
		assert_int_equal(t->end.end, FRAME_END_SIGNAL);
		assert_int_equal(t->end.value, SIGKILL);
	}
}

static void
forgets_what_is_reset_before_it_starts(void **state)
{
	struct task *t = task_new();

	(void)state;
	host_say(t, frame_exec_encode, t->id,
	    &(struct frame_exec){ .argc = 1, .args_bytes = 5 });
	host_say(t, frame_data_encode, t->id, FRAME_ARGS, span_of("tru"));
	host_say(t, frame_bare_encode, FRAME_RESET, t->id, 0);
	until(t->rules.exited);
	assert_int_equal(t->end.end, FRAME_END_FAILED);
}

static void
wants_the_arguments_that_were_said(void **state)
{
	static const struct {
		uint16_t argc;
		struct span args;
	} rows[] = {
		{ 2, BYTES("true\0") },
		{ 1, BYTES("true\0extra\0") },
		{ 1, BYTES("true") },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct task *t = task_new();

		host_say(t, frame_exec_encode, t->id,
		    &(struct frame_exec){ .argc = rows[i].argc,
			.args_bytes = (uint32_t)rows[i].args.len });
		host_say(t, frame_data_encode, t->id, FRAME_ARGS, rows[i].args);
		until(t->rules.exited);
		assert_int_equal(t->end.end, FRAME_END_FAILED);
		assert_non_null(strstr(t->text, "arguments"));
	}
}

static void
gives_a_terminal_with_a_size(void **state)
{
	struct task *t = shell_tty("tty >/dev/null && stty size; "
				   "trap 'stty size; exit 4' WINCH; echo up; "
				   "while :; do sleep 0.05; done");

	(void)state;
	until(strstr(out_of(t), "up\r\n") != NULL);
	assert_string_equal(out_of(t), "40 100\r\nup\r\n");
	host_say(t, frame_resize_encode, t->id, 50, 132);
	until(t->rules.exited);
	assert_string_equal(out_of(t), "40 100\r\nup\r\n50 132\r\n");
	assert_int_equal(t->end.value, 4);
}

static void
gives_a_terminal_that_interrupts_and_ends(void **state)
{
	struct task *t = shell_tty("trap 'echo int; exit 6' INT; echo up; "
				   "while :; do sleep 0.05; done");

	(void)state;
	until(strstr(out_of(t), "up\r\n") != NULL);
	t->input = span_of("\003");
	until(t->rules.exited);
	assert_int_equal(t->end.value, 6);
	assert_non_null(strstr(out_of(t), "int\r\n"));
	t = shell_tty("stty -echo; echo up; cat; echo end");
	until(strstr(out_of(t), "up\r\n") != NULL);
	t->input = span_of("line\n");
	until(strstr(out_of(t), "line\r\n") != NULL);
	t->input_ends = true;
	until(t->rules.exited);
	assert_string_equal(out_of(t), "up\r\nline\r\nend\r\n");
}

static void
loses_nothing_of_a_terminal(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		struct task *t = shell_tty("stty -opost; "
					   "head -c 100000 /dev/zero; exit 5");

		until(t->rules.exited);
		assert_int_equal(t->len[0], 100000);
		assert_int_equal(t->end.value, 5);
	}
}

static void
ignores_what_was_sent_before_an_exit_was_seen(void **state)
{
	struct task *t = shell("exit 0"), *next;

	(void)state;
	until(t->rules.exited);
	host_say(NULL, frame_data_encode, t->id, FRAME_INPUT, span_of("x"));
	host_say(NULL, frame_signal_encode, t->id, 9);
	host_say(NULL, frame_bare_encode, FRAME_RESET, t->id, 0);
	next = shell("exit 1");
	until(next->rules.exited);
	assert_int_equal(next->end.value, 1);
}

static void
kills_all_when_its_host_is_gone(void **state)
{
	struct task *t = shell("sleep 1000 & echo $!; wait");
	pid_t child;

	until(t->len[0] > 0 && t->out[0][t->len[0] - 1] == '\n');
	child = (pid_t)strtol(out_of(t), NULL, 10);
	assert_int_equal(host_end(), 0);
	/* whoever reaps it now: it is no child of ours */
	for (const uint64_t end_ms = clock_mono_ms() + DEADLINE_MS;
	     kill(child, 0) == 0;) {
		assert_true(clock_mono_ms() < end_ms);
		(void)poll(NULL, 0, 10);
	}
	assert_int_equal(setup(state), 0);
}

static void
ends_when_it_is_told_to(void **state)
{
	struct task *t = shell("sleep 1000");

	until(t->rules.started);
	host_say(NULL, frame_bare_encode, FRAME_POWEROFF, 0, 0);
	assert_int_equal(frame_link_write(&host.link), 0);
	while (frame_link_read(&host.link) != -EPIPE)
		host.link.in_len = 0;
	assert_int_equal(host_end(), 1);
	assert_int_equal(setup(state), 0);
}

static void
does_not_serve_a_host_that_breaks_the_rules(void **state)
{
	static const struct span rows[] = {
		BYTES("GET / HTTP/1.1\r\n\r\n"),
		BYTES("\0\0\0\1\x30\0\0\0\0\0\0\x09x"), /* stream 9 */
		BYTES("\0\0\0\0\x15\0\0\0\0\0\0\x09"),  /* RESET of it */
		BYTES("\0\0\0\x08\1\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0"), /* HELLO */
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct task *t = shell("exit 0");
		struct wr w;

		until(t->rules.exited);
		w = frame_link_writer(&host.link);
		wr_bytes(&w, rows[i].ptr, rows[i].len);
		frame_link_put(&host.link, &w);
		assert_int_equal(frame_link_write(&host.link), 0);
		while (frame_link_read(&host.link) != -EPIPE)
			host.link.in_len = 0;
		assert_int_equal(host_end(), 0);
		assert_int_equal(setup(state), 0);
	}
}

int
main(void)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CLAIM(says_how_a_command_ended),
		CLAIM(says_which_interpreter_is_missing),
		CLAIM(keeps_output_and_errors_apart_and_whole),
		CLAIM(passes_much_through_a_command),
		CLAIM(runs_many_at_once),
		CLAIM(is_not_held_up_by_output_that_nobody_reads),
		CLAIM(does_not_wait_for_a_command_that_reads_nothing),
		CLAIM(does_not_wait_for_what_a_command_leaves_behind),
		CLAIM(loses_nothing_at_the_end),
		CLAIM(gives_environment_and_folder),
		CLAIM(gives_no_descriptor_beside_the_three),
		CLAIM(becomes_another_user),
		CLAIM(signals_the_whole_group),
		CLAIM(kills_all_of_it_on_reset),
		CLAIM(kills_what_is_reset_as_it_starts),
		CLAIM(forgets_what_is_reset_before_it_starts),
		CLAIM(wants_the_arguments_that_were_said),
		CLAIM(gives_a_terminal_with_a_size),
		CLAIM(gives_a_terminal_that_interrupts_and_ends),
		CLAIM(loses_nothing_of_a_terminal),
		CLAIM(ignores_what_was_sent_before_an_exit_was_seen),
		CLAIM(kills_all_when_its_host_is_gone),
		CLAIM(ends_when_it_is_told_to),
		CLAIM(does_not_serve_a_host_that_breaks_the_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
