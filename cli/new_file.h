/*
 * A file that is there whole or not at all, whatever becomes of its writer,
 * and never instead of one that is there unless that is asked for.
 */
#ifndef TAPWARD_CLI_NEW_FILE_H
#define TAPWARD_CLI_NEW_FILE_H

#include <stdbool.h>

#include "base/err.h"

struct new_file {
	int fd; /* for writing */
	/* private */
	const char *path;
	bool has_name; /* where files without one cannot be had */
	char *temp;    /* owned: its name until it replaces another; or NULL */
};

/* What would go wrong later, told now: it exists, or its folder does not. */
int new_file_check(const char *path, struct err *err);
/* path is borrowed until new_file_done(). 0 or -errno with err set. */
int new_file_open(const char *path, struct new_file *ret, struct err *err);
/*
 * The same for one that takes the place of a regular file at path, if there
 * is one: it has another name beside it until new_file_keep() renames it.
 */
int new_file_replace(const char *path, struct new_file *ret, struct err *err);
/* It is complete: it gets its name. 0 or -errno with err set. */
int new_file_keep(struct new_file *f, struct err *err);
/* What was not kept is gone. */
void new_file_done(struct new_file *f);

#endif
