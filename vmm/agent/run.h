/*
 * What a process of a stream does between fork() and its work: a session of
 * its own, its place among the control groups, its user, its folder, its
 * environment. Everything here runs in the child.
 */
#ifndef TAPWARD_VMM_AGENT_RUN_H
#define TAPWARD_VMM_AGENT_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "vmm/agent/env.h"
#include "vmm/frame.h"

/* What a command has that does not say otherwise. */
struct run_defaults {
	struct env env;
	const char *workdir; /* NULL: the user's home, or / */
	const char *user;    /* as in struct frame_exec */
};

struct run {
	const struct run_defaults *defaults;
	struct span user, cwd; /* may be empty */
	/* of a command; argc strings and a NULL */
	char **argv;
	char **vars; /* NAME=VALUE, var_count of them */
	size_t var_count;
	bool tty; /* in_fd is a terminal to be its own, and all three */
	/* of a copy */
	struct span path;
	bool merge;
	/* what it gets: borrowed, moved to 0, 1 and 2 */
	int in_fd, out_fd, err_fd; /* -1: /dev/null */
	/*
	 * Why it did not work: u8 enum frame_end and text. A command that runs
	 * closes it without a word.
	 */
	int report_fd;
	int group_fd; /* cgroup.procs of its group, or -1 */
};

#define RUN_REPORT_MAX (1 + FRAME_TEXT_MAX)

__attribute__((noreturn)) void run_command(const struct run *r);
/* The archive comes on in_fd and is made at path. */
__attribute__((noreturn)) void run_put(const struct run *r);
/* The archive of path goes to out_fd. */
__attribute__((noreturn)) void run_get(const struct run *r);

#endif
