/*
 * What a sandbox did, out of the records of the audit log: by host, by rule,
 * by reason, by credential and over time. No I/O. Records may be anybody's
 * bytes; what is kept of them is bounded, and what was left out is counted.
 */
#ifndef TAPWARD_CLI_REPORT_H
#define TAPWARD_CLI_REPORT_H

#include <jansson.h>
#include <stdint.h>

#include "base/bytes.h"

/* Rows of a table; what comes after is told as a number. */
#define REPORT_ROWS_MAX 400
/* Different requests that one row of refusals keeps. */
#define REPORT_ASKED_MAX 48

struct report;

/*
 * Of the sandbox name; of that name's generations the last that the log knows,
 * or the given one. NULL when memory is short.
 */
struct report *report_new(const char *name, uint64_t generation);
void report_free(struct report *r); /* NULL is fine */
/*
 * A line of the log. Records of other sandboxes, and what is no record, change
 * nothing; those in which the daemon owns up to a loss count for all.
 */
void report_take(struct report *r, struct span line);
/*
 * All of it as `report --json` prints it; owned. NULL when no record is of
 * that sandbox, or memory is short. r is of no further use.
 */
json_t *report_finish(struct report *r);

#endif
