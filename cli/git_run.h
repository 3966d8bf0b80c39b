/*
 * git(1) as a tool for files that somebody else wrote. It never runs in a
 * repository that was found, but in one of our own (struct git_scratch), whose
 * configuration we wrote: no filter, hook, fsmonitor, textconv, diff driver,
 * remote, alias or credential of anybody's. The caller's signals wait while
 * there is one, so that it is always removed.
 */
#ifndef TAPWARD_CLI_GIT_RUN_H
#define TAPWARD_CLI_GIT_RUN_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>

#include "base/err.h"

/* Zeroed: none. */
struct git_scratch {
	char folder[64]; /* "" when there is none */
	char dir[80];    /* the repository */
	char tree[80];   /* an empty working tree */
	sigset_t signals_before;
};

/* 0 or -errno with err set. is_sha256: what its objects are named by. */
int git_scratch_init(struct git_scratch *s, bool is_sha256, struct err *err);
void git_scratch_done(struct git_scratch *s);
/*
 * Copies folder/name, if it is a regular file of at most max bytes, to the
 * scratch's to, "dir/..." or "tree/..."; the folders above it are made. 0,
 * -ENOENT for no such file, or another -errno.
 */
int git_scratch_copy(const struct git_scratch *s, const char *folder,
    const char *name, size_t max, const char *to);
/* Makes what "a/b/" or "a/b/FILE" lies in. 0 or -errno. */
int git_scratch_folders(const struct git_scratch *s, const char *to);
/* A new file in it, for writing, and its folders. 0 or -errno. */
int git_scratch_create(const struct git_scratch *s, const char *to,
    int *ret_fd);

struct git_run {
	const struct git_scratch *scratch;
	const char *tree;   /* working tree; NULL: none */
	const char *folder; /* where it runs; NULL: in the repository */
	/* The caller's own: which files are to be ignored. */
	bool has_user_config;
	int fine;   /* highest exit status that is no failure */
	int in_fd;  /* -1: nothing */
	int out_fd; /* from its present end on */
};

/*
 * argv, NULL-terminated, without "git". 0, or -errno with err set to what it
 * said last. It is ended after two minutes of CPU, ten of time, or by a signal
 * that waits: patterns and texts can be made that take git for ever.
 */
int git_run(const struct git_run *g, const char *const *argv, struct err *err);

/* A file without a name, for reading and writing, as large as disks allow. */
int git_file_new(int *ret_fd, struct err *err);

#endif
