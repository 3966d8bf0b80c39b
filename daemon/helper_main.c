/*
 * tapward-helper: becomes the helper program of a credential. Started by
 * tapwardd as root, as: tapward-helper UID GID PROGRAM ARGUMENT..., with
 * descriptor 3 the helper's standard input and 4 its standard output.
 *
 * The helper is process 1 of a PID namespace, so that all it starts ends with
 * it, and it ends with us: whoever kills us kills all of it. It has its uid and
 * no other group, no capability and no way to one, no core, bounded files, CPU
 * and processes, and no descriptor but three; what it says on standard error
 * goes nowhere, since it may say its secret there.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/log.h"

#define AREA "helper"
#define FIRST_ARGUMENT 3

enum {
	FD_INPUT = 3,
	FD_OUTPUT = 4,
};

struct bound {
	__rlimit_resource_t what;
	rlim_t most;
};

static const struct bound bounds[] = {
	{ RLIMIT_CORE, 0 },
	{ RLIMIT_CPU, 10 },
	{ RLIMIT_NOFILE, 256 },
	{ RLIMIT_FSIZE, 16u << 20 },
	{ RLIMIT_NPROC, 256 },
};

static unsigned int
read_id(const char *text)
{
	unsigned long n = 0;

	for (; ascii_is_digit((uint8_t)*text) && n < 0xfffffff0ul / 10; text++)
		n = n * 10 + (unsigned long)(*text - '0');
	if (*text != '\0' || n == 0)
		die(AREA, "started by hand; tapwardd starts this program");
	return (unsigned int)n;
}

static void
place(int from, int to)
{
	if (from == -1 || dup2(from, to) == -1)
		die(AREA, "descriptors: %s", strerrorname_np(errno));
}

static void
drop(unsigned int uid, unsigned int gid)
{
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		const struct rlimit r = { bounds[i].most, bounds[i].most };

		if (setrlimit(bounds[i].what, &r) == -1)
			die(AREA, "limits: %s", strerrorname_np(errno));
	}
	if (setgroups(0, NULL) == -1 || setresgid(gid, gid, gid) == -1 ||
	    setresuid(uid, uid, uid) == -1)
		die(AREA, "its uid: %s", strerrorname_np(errno));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		die(AREA, "privileges: %s", strerrorname_np(errno));
	(void)umask(077);
}

/* In process 1. Does not return. */
static void
become(unsigned int uid, unsigned int gid, char **argv)
{
	place(FD_INPUT, STDIN_FILENO);
	place(FD_OUTPUT, STDOUT_FILENO);
	place(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
	if (close_range(FD_INPUT, ~0u, 0) == -1)
		die(AREA, "descriptors: %s", strerrorname_np(errno));
	drop(uid, gid);
	/* After the uid, which clears it. The one who waits may be gone. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 ||
	    fcntl(STDIN_FILENO, F_GETFD) == -1)
		_exit(127);
	(void)execv(argv[0], argv);
	_exit(127);
}

int
main(int argc, char **argv)
{
	unsigned int uid, gid;
	int status;
	pid_t pid;

	log_init("tapward-helper", log_level_from_env());
	if (argc <= FIRST_ARGUMENT || getuid() != 0)
		die(AREA, "started by hand; tapwardd starts this program");
	uid = read_id(argv[1]);
	gid = read_id(argv[2]);
	if (unshare(CLONE_NEWPID) == -1)
		die(AREA, "namespace: %s", strerrorname_np(errno));
	pid = fork();
	if (pid == -1)
		die(AREA, "fork: %s", strerrorname_np(errno));
	if (pid == 0)
		become(uid, gid, argv + FIRST_ARGUMENT);
	/* Else its end would not be seen at the other end of the pipe. */
	(void)close(FD_INPUT);
	(void)close(FD_OUTPUT);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			die(AREA, "wait: %s", strerrorname_np(errno));
	/* A shell's way to say a signal. */
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
