/*
 * A policy file, read and compiled as the caller: for commands that ask one
 * without a daemon.
 */
#ifndef TAPWARD_CLI_LOADED_H
#define TAPWARD_CLI_LOADED_H

#include <stdbool.h>

#include "cli/policy_file.h"
#include "conf/compile.h"
#include "conf/policy.h"

/* A ceiling may hold millions of names. */
#define LOADED_CEILING_MAX_BYTES POLICY_IMAGE_MAX_BYTES

/* On the heap: findings are 32 KiB. */
struct loaded {
	struct policy_file file;
	struct compile_input input; /* what was compiled; borrows from file */
	struct compile_result result;
	struct policy *policy;
};

/*
 * The policy at path (NULL: the nearest tapward.ini), or NULL with what is
 * wrong printed. Warnings are printed, too, but not of what a review asks.
 */
struct loaded *loaded_read(const char *path, bool is_ceiling);
/* The same, as a sandbox has it that learns (policy_learns()). */
struct loaded *loaded_read_learning(const char *path, bool is_ceiling);
void loaded_free(struct loaded *l); /* NULL is fine */

#endif
