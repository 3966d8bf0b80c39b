/*
 * What a guest changed of the files that it was given, as a patch for `git
 * apply` at the top of the repository. It is made of two archive streams: the
 * one that went in, and the one that came back, which nobody believes: its
 * bytes are only ever compared and quoted, by git in a repository of our own.
 *
 * New files that git would ignore there are left out, as is what is called
 * .git, and a new link that leads out of the tree.
 */
#ifndef TAPWARD_CLI_GIT_PATCH_H
#define TAPWARD_CLI_GIT_PATCH_H

#include <stddef.h>

#include "base/err.h"

struct git_view;

struct git_patch {
	const struct git_view *view; /* of what went in */
	int before_fd, after_fd;     /* the streams, from their starts */
	int out_fd;                  /* empty */
};

struct git_patch_totals {
	size_t files;   /* changed, new or gone */
	size_t ignored; /* new, and left out */
	size_t links;   /* that lead out: left as they were */
};

/* 0, or -errno with err set. Borrows all. */
int git_patch_make(const struct git_patch *p, struct git_patch_totals *ret,
    struct err *err);

#endif
