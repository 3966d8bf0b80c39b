/*
 * Starting our own programs: fork and exec with an exact set of descriptors,
 * limits and an empty environment.
 */
#ifndef TAPWARD_BASE_PROCESS_H
#define TAPWARD_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The child finds fds[i] as descriptor 3 + i. */
#define PROCESS_FD_FIRST 3
#define PROCESS_FDS_MAX 16

/* 0 leaves a limit as it is. */
struct process_limits {
	uint64_t nofile;
	uint64_t memlock_bytes;
	uint64_t as_bytes;
	uint64_t nproc;
	/*
	 * How large a file may grow that it was handed to write. Not kept where
	 * standard error is a file: that holds the log of all, and whoever
	 * writes it to a file has bounded nothing.
	 */
	uint64_t file_bytes;
};

struct jail;

struct process_spec {
	const char *path;        /* of the program, from the root */
	const char *const *argv; /* NULL-terminated; argv[0] included */
	const char *const *env;  /* NULL-terminated; NULL: empty */
	const int *fds;          /* borrowed; -1 leaves a gap (/dev/null) */
	unsigned int fd_count;   /* at most PROCESS_FDS_MAX */
	int netns_fd;            /* entered before exec; -1: stays */
	int stderr_fd;           /* -1: inherited */
	bool has_stdout;         /* stdout_fd is one; else /dev/null */
	int stdout_fd;
	struct process_limits limits;
	/*
	 * NULL: the root that we have. Else it is process 1 of a PID namespace
	 * of its own, so that all it starts end with it, and sees only the
	 * jail; the program itself may lie outside. IPC and host name are
	 * its own, too.
	 */
	const struct jail *jail;
	const int *cgroup_fds; /* cgroup.procs files that it joins; borrowed */
	unsigned int cgroup_count;
};

/*
 * Starts it in a session of its own, in the folder "/", with no signal blocked
 * or ignored, standard input on /dev/null, and every other
 * descriptor closed. RLIMIT_CORE is 0 always. Returns when exec has happened:
 * 0, or the -errno of the step that failed. The pidfd is the caller's, who
 * must not ignore SIGCHLD. No PDEATHSIG: it may outlive us.
 */
int process_spawn(const struct process_spec *spec, pid_t *ret_pid,
    int *ret_pidfd);

/* Opens a pidfd for a process that is not our child. 0 or -errno. */
int process_open(pid_t pid, int *ret_pidfd);
/*
 * Start time of a process in clock ticks after boot (proc(5), field 22), to
 * tell it from a later one with the same pid. 0 or -errno.
 */
int process_start_time(pid_t pid, uint64_t *ret_ticks);
/* kill() by pidfd. 0 or -errno; -ESRCH once it is gone. */
int process_signal(int pidfd, int signo);
/*
 * Ends it with SIGKILL and reaps it if it is our child, within timeout_ms.
 * 0 also if it was gone; -ETIMEDOUT; else -errno.
 */
int process_end(int pidfd, int timeout_ms);

#endif
