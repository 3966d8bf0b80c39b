/*
 * Policies beside a report: a file is what the records were made under if its
 * digest says so, and only then is its text shown.
 */
#ifndef TAPWARD_CLI_REPORT_POLICY_H
#define TAPWARD_CLI_REPORT_POLICY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/*
 * Adds "text" and "file" to the policy of report with the digest of the file
 * at path (NULL: the nearest tapward.ini). 0 if there is one and it fits, else
 * -EINVAL with err set.
 */
int report_policy_add(json_t *report, const char *path, struct err *err);
/*
 * Names, as "unused_rules", the rules of the last policy that decided nothing,
 * if its text is known.
 */
void report_policy_review(json_t *report);

#endif
