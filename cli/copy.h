/*
 * Files to and from a guest. What comes from one is made strictly below the
 * folder that was named, never onto what is there unless that was asked for.
 */
#ifndef TAPWARD_CLI_COPY_H
#define TAPWARD_CLI_COPY_H

#include <stdbool.h>

#include "cli/session.h"

struct copy {
	bool is_upload;
	const char *from, *to; /* as they were given */
	const char *user;      /* of the guest; NULL: root */
	bool merge;            /* onto what is there */
};

/* "A:B", or "A" for both; false for an empty part. Writes into text. */
bool copy_parse(char *text, bool is_upload, struct copy *ret);

/*
 * Errors are printed. 0, or the exit status. copy_check() tells beforehand what
 * would only be seen when a guest has booted, or a long command has run.
 */
int copy_check(const struct copy *c);
int copy_up(struct session *s, const struct copy *c);
int copy_down(struct session *s, const struct copy *c);

#endif
