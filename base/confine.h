/*
 * How each of our programs gives away what it does not need, in two steps:
 * confine_enter() first thing in main(), before any byte of anybody is read;
 * confine_seal() when the libraries are loaded and the descriptors are there.
 */
#ifndef TAPWARD_BASE_CONFINE_H
#define TAPWARD_BASE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One system call a program may make, and what for. */
struct confine_call {
	const char *name;
	const char *why;
};

/* One of which only some values of an argument are let through. */
struct confine_limited {
	const char *name;
	unsigned int arg;
	uint64_t mask;  /* the bits that are compared ... */
	uint64_t value; /* ... with these */
	const char *why;
};

struct confine_profile {
	const char *program;
	const struct confine_call *calls; /* beside confine_common */
	size_t call_count;
	/* NULL: none; several rows of one call: any of them lets it through */
	const struct confine_limited *limited;
	size_t limited_count;
};

/*
 * Enters root_fd as the root directory and closes it (-1: keeps the root),
 * takes uid and gid for good with no supplementary groups and no
 * capabilities, sets no_new_privs, RLIMIT_CORE 0, not dumpable, umask 077.
 * Dies on any failure: a process that is not confined must not run. Uid 0 and
 * gid 0 are refused.
 */
void confine_enter(int root_fd, uid_t uid, gid_t gid);
/*
 * The same for one that a service manager started as the user, with the root
 * that it is to have and without capabilities: takes the rest away itself, and
 * dies if the manager gave it more.
 */
void confine_enter_given(void);

/*
 * Installs the seccomp allow-list: the calls every program makes (memory,
 * clocks, epoll, read, write, exit, see confine.c) and those of the profile.
 * Any other call kills the process (SIGSYS); TAPWARD_SECCOMP=log in the
 * environment makes the kernel log them instead, for development builds only.
 * The time zone is UTC from here on: the C library could not read another.
 */
void confine_seal(const struct confine_profile *profile);

/*
 * The filter of this profile lets the call through, if only with some
 * arguments. For tests, which make every other call and must die of it.
 */
bool confine_allows(const struct confine_profile *profile, const char *name);

#endif
