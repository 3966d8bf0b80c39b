/*
 * tapward-helper: what a helper program is left with, and that nothing of it
 * outlives whoever runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/process.h"

#define UID "2130000009"
#define DEADLINE_MS 20000

struct helper {
	pid_t pid;
	int pidfd, output;
};

static struct helper
start(const char *uid, const char *script, const char *in)
{
	const char *const argv[] = { TAPWARD_HELPER_PROGRAM, uid, UID,
		"/bin/sh", "-c", script, "sh", "an argument", NULL };
	/* Its leaks cannot be looked for in a PID namespace of its own. */
	const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/",
		"ASAN_OPTIONS=detect_leaks=0", NULL };
	struct helper h;
	int input[2], output[2], fds[2];
	struct process_spec spec = { .path = TAPWARD_HELPER_PROGRAM,
		.argv = argv,
		.env = env,
		.fds = fds,
		.fd_count = 2,
		.netns_fd = -1,
		.stderr_fd = -1 };

	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	assert_int_equal(fd_write_all(input[1], in, strlen(in)), 0);
	fds[0] = input[0];
	fds[1] = output[1];
	assert_int_equal(process_spawn(&spec, &h.pid, &h.pidfd), 0);
	(void)close(input[0]);
	(void)close(input[1]);
	(void)close(output[1]);
	h.output = output[0];
	return h;
}

/* All that it wrote, until nobody can write any more. */
static void
read_all(const struct helper *h, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	do {
		struct pollfd p = { .fd = h->output, .events = POLLIN };

		assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
		n = read(h->output, buf + len, size - 1 - len);
		assert_true(n >= 0);
		len += (size_t)n;
	} while (n > 0);
	buf[len] = '\0';
}

static int
end(const struct helper *h)
{
	int status;

	assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
	(void)close(h->pidfd);
	(void)close(h->output);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
leaves_it_nothing_but_what_it_needs(void **state)
{
	static const char script[] =
	    "read line; echo \"$line $1 $(id -u) $(id -G) $$\"; "
	    "grep -E '^(NoNewPrivs|CapPrm|CapEff|CapBnd):' /proc/self/status; "
	    "ls /proc/self/fd | tr '\\n' ' '; ulimit -c; env | sort; "
	    "echo secret >&2; cat /etc/shadow 2>/dev/null; exit 7";
	const struct helper h = start(UID, script, "what it is told\n");
	char buf[4096];

	(void)state;
	read_all(&h, buf, sizeof(buf));
	assert_int_equal(end(&h), 7);
	/* Process 1 of a namespace of its own. */
	assert_memory_equal(buf,
	    "what it is told an argument " UID " " UID " 1\n", 48);
	assert_non_null(strstr(buf, "NoNewPrivs:\t1\n"));
	assert_non_null(strstr(buf, "CapPrm:\t0000000000000000\n"));
	assert_non_null(strstr(buf, "CapEff:\t0000000000000000\n"));
	/* 3 is that of ls. */
	assert_non_null(strstr(buf, "0 1 2 3 0\n"));
	assert_non_null(strstr(buf, "HOME=/\n"));
	assert_null(strstr(buf, "TAPWARD"));
	assert_null(strstr(buf, "secret"));
	assert_null(strstr(buf, "root:"));
}

/* The pipe's end shows that whoever held it is gone. */
static void
ends_all_that_it_has_started(void **state)
{
	static const char script[] = "setsid sleep 1000 & echo there; "
				     "sleep 1000";
	const struct helper h = start(UID, script, "");
	char buf[64];

	(void)state;
	assert_int_equal(read(h.output, buf, 6), 6);
	assert_int_equal(process_signal(h.pidfd, SIGKILL), 0);
	read_all(&h, buf, sizeof(buf));
	assert_string_equal(buf, "");
	assert_int_equal(waitpid(h.pid, NULL, 0), h.pid);
	(void)close(h.pidfd);
	(void)close(h.output);
}

static void
is_never_root(void **state)
{
	const struct helper h = start("0", "echo there", "");
	char buf[64];

	(void)state;
	read_all(&h, buf, sizeof(buf));
	assert_string_equal(buf, "");
	assert_int_not_equal(end(&h), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_it_nothing_but_what_it_needs),
		cmocka_unit_test(ends_all_that_it_has_started),
		cmocka_unit_test(is_never_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
