/*
 * Starting programs, see process.h.
 *
 * The child makes system calls only, from fork() to execve(): nothing that
 * could take a lock. A step that fails sends its errno through a pipe that
 * execve() closes, so that the parent learns either way.
 */
#include "base/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/jail.h"

/*
 * Descriptors wait here, above every number that the new program will see,
 * until they go to their places: so no place is overwritten before it was
 * read, in whatever order they come.
 */
#define PARKING_FIRST (PROCESS_FD_FIRST + PROCESS_FDS_MAX)

struct limit {
	__rlimit_resource_t what;
	uint64_t value;
};

/* In the child. */
static void
reset_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	/* EINVAL for SIGKILL, SIGSTOP and those of the C library. */
	for (int signo = 1; signo < NSIG; signo++)
		(void)sigaction(signo, &dfl, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child: fd, or /dev/null for -1, out of the way. */
static int
park(int fd, int null_fd)
{
	return fcntl(fd == -1 ? null_fd : fd, F_DUPFD_CLOEXEC, PARKING_FIRST);
}

/* In the child: 0 to 2 and the program's own to their places. */
static int
place_fds(const struct process_spec *spec, int null_fd)
{
	int parked[PROCESS_FD_FIRST + PROCESS_FDS_MAX];
	unsigned int count = PROCESS_FD_FIRST + spec->fd_count;
	int err = spec->stderr_fd;

	if (err == -1 && fcntl(STDERR_FILENO, F_GETFD) != -1)
		err = STDERR_FILENO;
	for (unsigned int i = 0; i < count; i++) {
		int from = i >= PROCESS_FD_FIRST
		    ? spec->fds[i - PROCESS_FD_FIRST]
		    : i == STDERR_FILENO                     ? err
		    : i == STDOUT_FILENO && spec->has_stdout ? spec->stdout_fd
							     : -1;

		parked[i] = park(from, null_fd);
		if (parked[i] == -1)
			return -errno;
	}
	for (unsigned int i = 0; i < count; i++)
		if (dup2(parked[i], (int)i) == -1)
			return -errno;
	/* Not closed at once: the report pipe is among them. */
	return close_range(count, ~0U, CLOSE_RANGE_CLOEXEC) == -1 ? -errno : 0;
}

static int
set_limit(struct limit limit)
{
	struct rlimit r = { limit.value, limit.value };

	return setrlimit(limit.what, &r) == -1 ? -errno : 0;
}

static uint64_t
file_limit(const struct process_limits *limits)
{
	struct stat st;

	return fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode)
	    ? 0
	    : limits->file_bytes;
}

/* In the child: after place_fds(), which wants more descriptors. */
static int
set_limits(const struct process_limits *limits)
{
	const struct limit all[] = {
		{ RLIMIT_NOFILE, limits->nofile },
		{ RLIMIT_MEMLOCK, limits->memlock_bytes },
		{ RLIMIT_AS, limits->as_bytes },
		{ RLIMIT_NPROC, limits->nproc },
		{ RLIMIT_FSIZE, file_limit(limits) },
	};
	int rc = set_limit((struct limit){ RLIMIT_CORE, 0 });

	for (size_t i = 0; rc == 0 && i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].value != 0)
			rc = set_limit(all[i]);
	return rc;
}

/* execve() changes neither array; its prototype is older than const. */
static char *const *
strings(const char *const *v)
{
	union {
		const char *const *ours;
		char *const *execs;
	} u = { .ours = v };

	return u.execs;
}

/* In the child: "0" is the process that writes it. */
static int
join_cgroups(const struct process_spec *spec)
{
	for (unsigned int i = 0; i < spec->cgroup_count; i++)
		if (write(spec->cgroup_fds[i], "0", 1) == -1)
			return -errno;
	return 0;
}

/* In the child. Returns only on failure: the -errno of the step. */
static int
become(const struct process_spec *spec)
{
	static char *no_env[] = { NULL };
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* By its descriptor, since a jail may not show its path. */
	int program = open(spec->path, O_PATH | O_CLOEXEC);
	char *const *env;
	int rc;

	if (null_fd == -1 || program == -1)
		return -errno;
	program = fcntl(program, F_DUPFD_CLOEXEC, PARKING_FIRST);
	if (program == -1)
		return -errno;
	reset_signals();
	/* A signal of the parent's terminal is the parent's to pass on. */
	if (setsid() == -1 || chdir("/") == -1)
		return -errno;
	if (spec->netns_fd != -1 && setns(spec->netns_fd, CLONE_NEWNET) == -1)
		return -errno;
	rc = join_cgroups(spec);
	if (rc == 0 && spec->jail != NULL)
		rc = jail_enter(spec->jail);
	if (rc == 0)
		rc = place_fds(spec, null_fd);
	if (rc == 0)
		rc = set_limits(&spec->limits);
	if (rc != 0)
		return rc;
	env = spec->env == NULL ? no_env : strings(spec->env);
	if (spec->jail == NULL)
		(void)execve(spec->path, strings(spec->argv), env);
	else
		(void)execveat(program, "", strings(spec->argv), env,
		    AT_EMPTY_PATH);
	return -errno;
}

__attribute__((noreturn)) static void
run_child(const struct process_spec *spec, int report_fd)
{
	/* Below the parking place it could be overwritten. */
	int fd = fcntl(report_fd, F_DUPFD_CLOEXEC, PARKING_FIRST);
	int rc = fd == -1 ? -errno : become(spec);

	(void)fd_write_all(fd == -1 ? report_fd : fd, &rc, sizeof(rc));
	_exit(127);
}

/*
 * fork(), or for a jail one into new namespaces, which glibc has no call for.
 * The child makes system calls only, so that the C library need not know.
 */
static pid_t
fork_into(bool has_jail)
{
	const unsigned long flags =
	    SIGCHLD | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;

	return has_jail ? (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0) : fork();
}

/* With every signal blocked: no handler of ours runs in the child. */
static pid_t
fork_quietly(bool has_jail)
{
	sigset_t all, before;
	pid_t pid;
	int saved;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork_into(has_jail);
	saved = errno;
	if (pid != 0)
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return pid;
}

/* Waits until exec has happened. 0, or the -errno that the child reported. */
static int
await_exec(int report_fd)
{
	int rc = 0;
	ssize_t n;

	do
		n = read(report_fd, &rc, sizeof(rc));
	while (n == -1 && errno == EINTR);
	if (n == 0)
		return 0;
	return n == (ssize_t)sizeof(rc) ? rc : -EIO;
}

static void
reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
}

int
process_spawn(const struct process_spec *spec, pid_t *ret_pid, int *ret_pidfd)
{
	AUTO_CLOSE int report = -1, report_child = -1, pidfd = -1;
	int pipe_fds[2];
	pid_t pid;
	int rc;

	assert(spec->fd_count <= PROCESS_FDS_MAX);
	if (spec->path[0] != '/')
		return -EINVAL;
	if (pipe2(pipe_fds, O_CLOEXEC) == -1)
		return -errno;
	report = pipe_fds[0];
	report_child = pipe_fds[1];
	pid = fork_quietly(spec->jail != NULL);
	if (pid == -1)
		return -errno;
	if (pid == 0)
		run_child(spec, report_child);
	fd_close(&report_child);
	rc = await_exec(report);
	if (rc == 0)
		rc = process_open(pid, &pidfd);
	if (rc != 0) {
		(void)kill(pid, SIGKILL);
		reap(pid);
		return rc;
	}
	*ret_pid = pid;
	*ret_pidfd = steal_fd(&pidfd);
	return 0;
}

int
process_open(pid_t pid, int *ret_pidfd)
{
	int fd = pidfd_open(pid, 0);

	if (fd == -1)
		return -errno;
	*ret_pidfd = fd;
	return 0;
}

/* Decimal digits up to a blank. */
static uint64_t
take_ticks(struct rd *r)
{
	uint64_t v = 0;
	int c;

	if (rd_peek(r) == -1 || !ascii_is_digit((uint8_t)rd_peek(r)))
		rd_fail(r);
	while ((c = rd_peek(r)) != -1 && ascii_is_digit((uint8_t)c)) {
		if (v > (UINT64_MAX - 9) / 10)
			rd_fail(r);
		v = v * 10 + (uint64_t)(c - '0');
		rd_skip(r, 1);
	}
	return v;
}

/*
 * proc(5): the name, in round brackets, may hold blanks and brackets; what
 * follows the last bracket does not. Field 3 is the first after it.
 */
static int
parse_start_time(const char *stat, size_t len, uint64_t *ret_ticks)
{
	const char *name_end = memrchr(stat, ')', len);
	struct rd r;
	uint64_t ticks;

	if (name_end == NULL)
		return -EIO;
	r = rd_init(name_end + 1, len - (size_t)(name_end + 1 - stat));
	for (int blanks = 0; blanks < 22 - 2 && rd_ok(&r);)
		if (rd_u8(&r) == ' ')
			blanks++;
	ticks = take_ticks(&r);
	if (!rd_ok(&r))
		return -EIO;
	*ret_ticks = ticks;
	return 0;
}

int
process_start_time(pid_t pid, uint64_t *ret_ticks)
{
	AUTO_FREE char *stat = NULL;
	AUTO_CLOSE int fd = -1;
	char path[64];
	size_t len;
	int rc;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return -errno;
	rc = fd_read_all(fd, 4096, &stat, &len);
	return rc != 0 ? rc : parse_start_time(stat, len, ret_ticks);
}

int
process_signal(int pidfd, int signo)
{
	return pidfd_send_signal(pidfd, signo, NULL, 0) == -1 ? -errno : 0;
}

/* Waits for the end. 0, -ETIMEDOUT or -errno. */
static int
await_end(int pidfd, int timeout_ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	uint64_t end_ms = clock_mono_ms() + (uint64_t)timeout_ms;

	for (;;) {
		int n = poll(&p, 1, timeout_ms);
		if (n > 0)
			return 0;
		if (n == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
		timeout_ms = clock_mono_ms() < end_ms
		    ? (int)(end_ms - clock_mono_ms())
		    : 0;
	}
}

int
process_end(int pidfd, int timeout_ms)
{
	siginfo_t info;
	int rc = process_signal(pidfd, SIGKILL);

	assert(timeout_ms >= 0);
	if (rc != 0 && rc != -ESRCH)
		return rc;
	rc = await_end(pidfd, timeout_ms);
	if (rc != 0)
		return rc;
	/* ECHILD: it is another's child, or was reaped before. */
	if (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) == -1 &&
	    errno != ECHILD)
		return -errno;
	return 0;
}
