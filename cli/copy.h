/*
 * Files to and from a guest. What comes from one is made strictly below the
 * folder that was named, never onto what is there unless that was asked for.
 */
#ifndef TAPWARD_CLI_COPY_H
#define TAPWARD_CLI_COPY_H

#include <stdbool.h>

#include "cli/session.h"

struct git_view;

struct copy {
	bool is_upload;
	const char *from, *to; /* as they were given */
	const char *user;      /* of the guest; NULL: root */
	bool merge;            /* onto what is there */
	bool is_git;           /* of a folder: what git sees of it */
	bool keeps;            /* what went up, for copy_patch() */
	/* private: of copy_check() and copy_up(), until copy_done() */
	struct git_view *view;
	int before_fd;
};
#define COPY_NONE                                                              \
	{                                                                      \
		.before_fd = -1                                                \
	}

/* "A:B", or "A" for both; false for an empty part. Writes into text. */
bool copy_parse(char *text, bool is_upload, struct copy *ret);

/*
 * Errors are printed. 0, or the exit status. copy_check() comes first: it tells
 * what would only be seen when a guest has booted, or a long command has run.
 */
int copy_check(struct copy *c);
int copy_up(struct session *s, struct copy *c);
int copy_down(struct session *s, const struct copy *c);
void copy_done(struct copy *c);

/* The commit of the repository that it is of, or ""; borrows. */
const char *copy_commit(const struct copy *c);
/*
 * What the guest changed of a folder that went up, with is_git and keeps, into
 * path: see cli/git_patch.h. To be told beforehand by new_file_check().
 */
int copy_patch(struct session *s, const struct copy *c, const char *path);

#endif
