/*
 * From the log of a sandbox to a policy that lets through what it asked for.
 */
#ifndef TAPWARD_CLI_LEARNED_H
#define TAPWARD_CLI_LEARNED_H

#include "cli/cli.h"

/*
 * The text, the caller's: the policy, and in comments what is not in it and
 * why. Errors are printed. 0, or the exit status.
 */
int learned_policy(const struct cli *cli, const char *name, char **ret_text);

#endif
