/*
 * What a program in a jail sees: /usr that it can't write, two devices, a
 * small /run of its own, and nothing of the host. Wants root.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/jail.h"
#include "base/process.h"

#define UID 2130000011u

static char folder[] = "/tmp/tapward-jail-XXXXXX";

static int
make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	return 0;
}

static int
remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

/* Runs a line of sh in a jail; what it printed is the result. */
static void
run(const char *line, char *ret, size_t size, int *ret_status)
{
	const struct jail jail = { .folder = folder,
		.uid = UID,
		.run_bytes = 1 << 20,
		.disk_folder = "/tmp",
		.disk_bytes = 4096 };
	const char *const argv[] = { "sh", "-c", line, NULL };
	AUTO_CLOSE int pidfd = -1;
	int out[2];
	struct process_spec spec = {
		.path = "/bin/sh",
		.argv = argv,
		.netns_fd = -1,
		.jail = &jail,
	};
	siginfo_t info = { 0 };
	ssize_t n;
	size_t len = 0;
	pid_t pid;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	spec.stderr_fd = out[1];
	assert_int_equal(process_spawn(&spec, &pid, &pidfd), 0);
	(void)close(out[1]);
	while ((n = read(out[0], ret + len, size - 1 - len)) > 0)
		len += (size_t)n;
	ret[len] = '\0';
	(void)close(out[0]);
	assert_int_equal(waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED), 0);
	*ret_status = info.si_code == CLD_EXITED ? info.si_status : -1;
}

static void
prints(const char *line, const char *want)
{
	char got[4096], whole[512];
	int status;

	(void)snprintf(whole, sizeof(whole), "exec 1>&2; %s", line);
	run(whole, got, sizeof(got), &status);
	assert_string_equal(got, want);
}

static void
the_root_holds_a_few_names_and_no_more(void **state)
{
	(void)state;
	prints("cd / && echo .* * | tr ' ' '\\n' | grep -v -E "
	       "'^(\\.|\\.\\.|bin|sbin|lib.*)$'",
	    "dev\ndisk\nrun\nusr\n");
	prints("cd /dev && echo *",
	    access("/dev/kvm", F_OK) == 0 ? "kvm null urandom\n"
					  : "null urandom\n");
	prints("test -e /etc/passwd || test -e /proc/self || echo none",
	    "none\n");
}

static void
it_is_process_one_and_alone(void **state)
{
	(void)state;
	prints("echo $$", "1\n");
}

static void
only_run_and_disk_can_be_written(void **state)
{
	(void)state;
	prints("for f in /x /usr/x /dev/x /usr/bin/x; do (: >$f) 2>/dev/null "
	       "&& echo $f; done; echo done",
	    "done\n");
	prints(": >/run/x && : >>/disk && echo both", "both\n");
}

static void
run_holds_as_much_as_it_was_given(void **state)
{
	char got[512];
	int status;

	(void)state;
	run("head -c 4000000 /dev/urandom >/run/x", got, sizeof(got), &status);
	assert_int_not_equal(status, 0);
	assert_non_null(strstr(got, "No space left"));
}

/* A program that is left behind would go on with a guest that nobody holds. */
static void
what_it_started_ends_with_it(void **state)
{
	const struct jail jail = { .folder = folder,
		.uid = UID,
		.run_bytes = 1 << 20 };
	const char *const argv[] = { "sh", "-c",
		"setsid sleep 1000 & echo >&2; exec sleep 1000", NULL };
	AUTO_CLOSE int pidfd = -1;
	struct process_spec spec = {
		.path = "/bin/sh",
		.argv = argv,
		.netns_fd = -1,
		.jail = &jail,
	};
	struct pollfd p = { .events = POLLIN };
	int out[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	spec.stderr_fd = out[1];
	assert_int_equal(process_spawn(&spec, &pid, &pidfd), 0);
	(void)close(out[1]);
	assert_int_equal(read(out[0], &byte, 1), 1);
	assert_int_equal(process_end(pidfd, 5000), 0);
	/* The background one held the pipe, too: its end is read. */
	p.fd = out[0];
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(read(out[0], &byte, 1), 0);
	(void)close(out[0]);
}

static void
the_host_sees_none_of_its_mounts(void **state)
{
	char got[64];
	int status;
	struct stat st;

	(void)state;
	run("true", got, sizeof(got), &status);
	assert_int_equal(status, 0);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_nlink, 2); /* empty: nothing was left in it */
}

static void
a_program_from_outside_can_be_run_in_it(void **state)
{
	char path[64], got[64];
	const struct jail jail = { .folder = folder,
		.uid = UID,
		.run_bytes = 1 << 20 };
	const char *const argv[] = { "mine", "-c", "echo inside >&2", NULL };
	AUTO_CLOSE int pidfd = -1, from = -1, to = -1;
	struct process_spec spec = { .path = path,
		.argv = argv,
		.netns_fd = -1,
		.jail = &jail };
	siginfo_t info;
	struct stat st;
	int out[2];
	off_t at = 0;
	pid_t pid;

	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/tapward-jail-%d", getpid());
	from = open("/bin/sh", O_RDONLY);
	to = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
	assert_int_equal(fstat(from, &st), 0);
	while (at < st.st_size) {
		char buf[8192];
		ssize_t n = read(from, buf, sizeof(buf));

		assert_true(n > 0);
		assert_int_equal(fd_write_all(to, buf, (size_t)n), 0);
		at += n;
	}
	fd_close(&to);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	spec.stderr_fd = out[1];
	assert_int_equal(process_spawn(&spec, &pid, &pidfd), 0);
	(void)close(out[1]);
	assert_int_equal(read(out[0], got, sizeof(got)), 7);
	assert_memory_equal(got, "inside\n", 7);
	(void)close(out[0]);
	assert_int_equal(waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED), 0);
	assert_int_equal(unlink(path), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_root_holds_a_few_names_and_no_more),
		cmocka_unit_test(it_is_process_one_and_alone),
		cmocka_unit_test(only_run_and_disk_can_be_written),
		cmocka_unit_test(run_holds_as_much_as_it_was_given),
		cmocka_unit_test(what_it_started_ends_with_it),
		cmocka_unit_test(the_host_sees_none_of_its_mounts),
		cmocka_unit_test(a_program_from_outside_can_be_run_in_it),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
