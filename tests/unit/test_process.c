#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process.h"
#include "tests/unit/count_fds.h"

/* Long enough for a loaded machine; never waited for when all is well. */
#define DEADLINE_MS 30000

/*
 * The started program is this one: its argument says what it writes to its
 * highest descriptor, which is the test's pipe.
 */
static void
report_fds(FILE *out)
{
	char path[64], target[256];

	for (int fd = 0; fd < 1024; fd++) {
		ssize_t n;

		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		if (n == -1)
			continue;
		target[n] = '\0';
		target[strcspn(target, "[ ")] = '\0';
		(void)fprintf(out, "%d %s\n", fd, target);
	}
}

static void
report_state(FILE *out)
{
	struct rlimit core, nofile, memlock;
	char cwd[PATH_MAX];
	sigset_t mask;
	int odd = 0, entries = 0;

	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int signo = 1; signo < NSIG; signo++) {
		struct sigaction sa;

		if (sigismember(&mask, signo) == 1 ||
		    (sigaction(signo, NULL, &sa) == 0 &&
			sa.sa_handler == SIG_IGN))
			odd++;
	}
	while (environ[entries] != NULL)
		entries++;
	(void)getrlimit(RLIMIT_CORE, &core);
	(void)getrlimit(RLIMIT_NOFILE, &nofile);
	(void)getrlimit(RLIMIT_MEMLOCK, &memlock);
	(void)fprintf(out,
	    "cwd=%s leader=%d signals=%d env=%d core=%d nofile=%d memlock=%d\n",
	    getcwd(cwd, sizeof(cwd)), getsid(0) == getpid(), odd, entries,
	    (int)core.rlim_max, (int)nofile.rlim_max, (int)memlock.rlim_max);
}

static void
report_env(FILE *out)
{
	for (char **e = environ; *e != NULL; e++)
		(void)fprintf(out, "%s\n", *e);
}

static void
report_netns(FILE *out)
{
	struct stat st;

	if (stat("/proc/self/ns/net", &st) == 0)
		(void)fprintf(out, "%lu\n", (unsigned long)st.st_ino);
}

/* One byte more at the end of the first file. */
static void
report_grow(FILE *out)
{
	int rc = 0;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (lseek(PROCESS_FD_FIRST, 0, SEEK_END) == -1 ||
	    write(PROCESS_FD_FIRST, "x", 1) == -1)
		rc = errno;
	(void)fprintf(out, "%s\n", strerrorname_np(rc));
}

static const struct {
	const char *name;
	void (*report)(FILE *out);
} reports[] = {
	{ "fds", report_fds },
	{ "state", report_state },
	{ "env", report_env },
	{ "netns", report_netns },
	{ "grow", report_grow },
};

static int
report(const char *what)
{
	int fd = 1023;
	FILE *out;

	while (fd > 2 && fcntl(fd, F_GETFD) == -1)
		fd--;
	out = fdopen(fd, "w");
	if (out == NULL)
		return 1;
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		if (strcmp(reports[i].name, what) == 0)
			reports[i].report(out);
	return fclose(out);
}

/* Starts this program with spec (and its fds and a pipe); what it wrote. */
static const char *
run(struct process_spec spec, const char *what)
{
	const char *const argv[] = { "test", what, NULL };
	static char text[4096];
	AUTO_CLOSE int pidfd = -1, from = -1;
	int fds[PROCESS_FDS_MAX], ends[2];
	size_t len = 0;
	pid_t pid;
	ssize_t n;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	from = ends[0];
	for (unsigned int i = 0; i < spec.fd_count; i++)
		fds[i] = spec.fds[i];
	spec.fds = fds;
	/* cppcheck-suppress unreadVariable ; by way of spec.fds */
	fds[spec.fd_count++] = ends[1];
	spec.path = "/proc/self/exe";
	spec.argv = argv;
	assert_int_equal(process_spawn(&spec, &pid, &pidfd), 0);
	(void)close(ends[1]);
	while ((n = read(from, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return text;
}

static const struct process_spec plain = { .netns_fd = -1, .stderr_fd = -1 };

/* A descriptor numbered at least at, whose name can be told. */
static int
named(const char *name, int at)
{
	AUTO_CLOSE int fd = memfd_create(name, MFD_CLOEXEC);
	int placed = fcntl(fd, F_DUPFD_CLOEXEC, at);

	assert_int_not_equal(placed, -1);
	return placed;
}

static void
descriptors_reach_their_places(void **state)
{
	/* They lie in each other's way: every place is another's source. */
	AUTO_CLOSE int err = named("err", 3);
	AUTO_CLOSE int a = named("a", 3);
	AUTO_CLOSE int b = named("b", 3);
	AUTO_CLOSE int c = named("c", 3);
	AUTO_CLOSE int high = named("high", 300);
	int fds[] = { c, b, -1, high, a, a };
	struct process_spec spec = plain;

	(void)state;
	spec.fds = fds;
	spec.fd_count = 6;
	spec.stderr_fd = err;
	assert_string_equal(run(spec, "fds"),
	    "0 /dev/null\n1 /dev/null\n2 /memfd:err\n3 /memfd:c\n"
	    "4 /memfd:b\n5 /dev/null\n6 /memfd:high\n7 /memfd:a\n"
	    "8 /memfd:a\n9 pipe:\n");
}

static void
as_many_descriptors_as_there_may_be(void **state)
{
	AUTO_CLOSE int a = named("a", 3);
	int fds[PROCESS_FDS_MAX];
	struct process_spec spec = plain;
	char want[1024];
	size_t len;

	(void)state;
	spec.fds = fds;
	spec.fd_count = PROCESS_FDS_MAX - 1;
	spec.stderr_fd = a;
	len = (size_t)snprintf(want, sizeof(want),
	    "0 /dev/null\n1 /dev/null\n2 /memfd:a\n");
	for (int i = 0; i < PROCESS_FDS_MAX - 1; i++) {
		/* cppcheck-suppress unreadVariable ; by way of spec.fds */
		fds[i] = a;
		len += (size_t)snprintf(want + len, sizeof(want) - len,
		    "%d /memfd:a\n", 3 + i);
	}
	(void)snprintf(want + len, sizeof(want) - len, "%d pipe:\n",
	    3 + PROCESS_FDS_MAX - 1);
	assert_string_equal(run(spec, "fds"), want);
}

static void
nothing_of_ours_is_inherited(void **state)
{
	struct process_spec spec = plain;
	AUTO_CLOSE int leak = named("leak", 3);
	sigset_t set, before;

	(void)state;
	assert_int_equal(fd_set_cloexec(leak, false), 0);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
	(void)signal(SIGUSR2, SIG_IGN);
	spec.limits.nofile = 100;
	spec.limits.memlock_bytes = 65536;
	assert_string_equal(run(spec, "state"),
	    "cwd=/ leader=1 signals=0 env=0 core=0 nofile=100 "
	    "memlock=65536\n");
	/* And ours is as it was. */
	(void)sigprocmask(SIG_SETMASK, NULL, &set);
	assert_int_equal(sigismember(&set, SIGUSR1), 1);
	assert_int_equal(sigismember(&set, SIGTERM), 0);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)signal(SIGUSR2, SIG_DFL);
}

/* As one that was taken over might fill a disk that is everybody's. */
static void
a_file_grows_no_further_than_it_may(void **state)
{
	AUTO_CLOSE int file = named("file", 3), log = named("log", 3);
	AUTO_CLOSE int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct process_spec spec = plain;

	(void)state;
	assert_int_equal(ftruncate(file, 8192), 0);
	spec.fds = &file;
	spec.fd_count = 1;
	spec.limits.file_bytes = 8192;
	spec.stderr_fd = null_fd;
	assert_string_equal(run(spec, "grow"), "EFBIG\n");
	/* Then the log would end there, too. */
	spec.stderr_fd = log;
	assert_string_equal(run(spec, "grow"), "0\n");
}

static void
the_environment_is_what_it_is_given(void **state)
{
	static const char *const env[] = { "A=1", "B=2", NULL };
	struct process_spec spec = plain;

	(void)state;
	spec.env = env;
	assert_string_equal(run(spec, "env"), "A=1\nB=2\n");
}

static void
enters_a_network_namespace(void **state)
{
	AUTO_CLOSE int ours = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int other = -1;
	struct process_spec spec = plain;
	char want[32];
	struct stat st;

	(void)state;
	if (unshare(CLONE_NEWNET) == -1)
		skip(); /* not root */
	other = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_int_equal(setns(ours, CLONE_NEWNET), 0);
	assert_int_equal(fstat(other, &st), 0);
	(void)snprintf(want, sizeof(want), "%lu\n", (unsigned long)st.st_ino);
	spec.netns_fd = other;
	assert_string_equal(run(spec, "netns"), want);
	assert_int_equal(fstat(ours, &st), 0);
	(void)snprintf(want, sizeof(want), "%lu\n", (unsigned long)st.st_ino);
	assert_string_equal(run(plain, "netns"), want);
}

static void
a_step_that_fails_leaves_nothing(void **state)
{
	static const char *const argv[] = { "x", NULL };
	static const int closed_fd[] = { 999 };
	static const int nulls[PROCESS_FDS_MAX] = { 0 };
	static const struct {
		const char *claim;
		int want;
		struct process_spec spec;
	} rows[] = {
		{ "no such program", -ENOENT,
		    { .path = "/nonexistent",
			.netns_fd = -1,
			.stderr_fd = -1 } },
		{ "none, with every place taken", -ENOENT,
		    { .path = "/nonexistent",
			.netns_fd = -1,
			.stderr_fd = -1,
			.fds = nulls,
			.fd_count = PROCESS_FDS_MAX } },
		{ "not a program", -EACCES,
		    { .path = "/dev/null", .netns_fd = -1, .stderr_fd = -1 } },
		{ "a path that depends on the folder", -EINVAL,
		    { .path = "bin/true", .netns_fd = -1, .stderr_fd = -1 } },
		{ "a descriptor that is closed", -EBADF,
		    { .path = "/bin/true",
			.netns_fd = -1,
			.stderr_fd = -1,
			.fds = closed_fd,
			.fd_count = 1 } },
		{ "a standard error that is closed", -EBADF,
		    { .path = "/bin/true", .netns_fd = -1, .stderr_fd = 999 } },
		{ "a namespace that is none", -EINVAL,
		    { .path = "/bin/true", .netns_fd = 1, .stderr_fd = -1 } },
		{ "a namespace that is closed", -EBADF,
		    { .path = "/bin/true", .netns_fd = 999, .stderr_fd = -1 } },
	};
	int before = count_fds();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct process_spec spec = rows[i].spec;
		int pidfd = -1;
		pid_t pid = -1;

		spec.argv = argv;
		print_message("%s\n", rows[i].claim);
		assert_int_equal(process_spawn(&spec, &pid, &pidfd),
		    rows[i].want);
		assert_int_equal(pid, -1);
		assert_int_equal(pidfd, -1);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		assert_int_equal(errno, ECHILD);
		assert_int_equal(count_fds(), before);
	}
}

static pid_t
start_sleeper(int *ret_pidfd)
{
	static const char *const argv[] = { "sleep", "1000", NULL };
	struct process_spec spec = plain;
	pid_t pid;

	spec.path = "/bin/sleep";
	spec.argv = argv;
	assert_int_equal(process_spawn(&spec, &pid, ret_pidfd), 0);
	return pid;
}

static void
ending_a_process_reaps_it(void **state)
{
	AUTO_CLOSE int pidfd = -1, again = -1;
	pid_t pid = start_sleeper(&pidfd);

	(void)state;
	assert_int_equal(process_open(pid, &again), 0);
	assert_int_equal(process_signal(again, 0), 0);
	assert_int_equal(process_end(again, DEADLINE_MS), 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(process_signal(pidfd, SIGTERM), -ESRCH);
	assert_int_equal(process_end(pidfd, DEADLINE_MS), 0);
	assert_int_equal(process_open(pid, &again), -ESRCH);
}

static void
a_start_time_tells_processes_apart(void **state)
{
	AUTO_CLOSE int pidfd = -1;
	uint64_t ours, same, theirs;
	char name[16];
	pid_t pid = start_sleeper(&pidfd);

	(void)state;
	assert_int_equal(process_start_time(getpid(), &ours), 0);
	assert_int_equal(process_start_time(pid, &theirs), 0);
	assert_true(ours > 0 && theirs >= ours);
	assert_int_equal(process_end(pidfd, DEADLINE_MS), 0);
	assert_int_equal(process_start_time(pid, &theirs), -ENOENT);
	/* A name that looks like fields shifts none. */
	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	assert_int_equal(prctl(PR_SET_NAME, "a) S 1 2 (b)"), 0);
	assert_int_equal(process_start_time(getpid(), &same), 0);
	assert_int_equal(prctl(PR_SET_NAME, name), 0);
	assert_true(same == ours);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_reach_their_places),
		cmocka_unit_test(as_many_descriptors_as_there_may_be),
		cmocka_unit_test(nothing_of_ours_is_inherited),
		cmocka_unit_test(a_file_grows_no_further_than_it_may),
		cmocka_unit_test(the_environment_is_what_it_is_given),
		cmocka_unit_test(enters_a_network_namespace),
		cmocka_unit_test(a_step_that_fails_leaves_nothing),
		cmocka_unit_test(ending_a_process_reaps_it),
		cmocka_unit_test(a_start_time_tells_processes_apart),
	};

	if (argc == 2)
		return report(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
