/*
 * What a sandbox was refused, told to whoever ran something in it: a line for
 * each host and reason, with the rule that would allow it.
 */
#ifndef TAPWARD_CLI_REFUSALS_H
#define TAPWARD_CLI_REFUSALS_H

#include <jansson.h>

#include "cli/cli.h"

/*
 * An array of objects: host, port, reason, count, rule (the text that would
 * allow it, or null where none of the repo's policy would). Owned; NULL when
 * the log cannot be read.
 */
json_t *refusals_read(const struct cli *cli, const char *name);
/* A line for each on stderr. */
void refusals_tell(const json_t *refusals);

#endif
