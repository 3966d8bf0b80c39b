/*
 * Finding and reading a policy file as the caller.
 */
#ifndef TAPWARD_CLI_POLICY_FILE_H
#define TAPWARD_CLI_POLICY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct stat;

struct policy_file {
	char path[4096];
	char *text; /* owned */
	size_t len;
};

/*
 * Reads path, or without one (NULL) the nearest tapward.ini from the working
 * directory upwards, up to the root of the repository, never out of a folder
 * of another user. Symbolic links, devices, fifos and files over
 * max_bytes are refused with the reason in err. 0, -ENOENT when none was named
 * and there is none, or -EINVAL.
 */
int policy_file_read(const char *path, size_t max_bytes,
    struct policy_file *ret, struct err *err);
void policy_file_done(struct policy_file *f);

/* Of this folder: the caller's, also behind sudo(8), or root's. */
bool policy_folder_is_ours(const struct stat *st);

/* The last part of a path: what is shown as the policy's name. */
const char *policy_file_name(const struct policy_file *f);

#endif
