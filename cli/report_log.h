/*
 * The audit log as a report reads it: from the daemon or from files, with its
 * chain checked on the way wherever all of it can be read.
 */
#ifndef TAPWARD_CLI_REPORT_LOG_H
#define TAPWARD_CLI_REPORT_LOG_H

#include <stdbool.h>

#include "base/audit_verify.h"
#include "cli/cli.h"
#include "cli/report.h"

enum report_chain {
	REPORT_CHAIN_UNCHECKED, /* records of others are not the caller's */
	REPORT_CHAIN_WHOLE,
	REPORT_CHAIN_BROKEN,
};

struct report_log {
	enum report_chain chain;
	enum audit_verify_result fault; /* what broke it, at ... */
	uint64_t fault_line;            /* ... this line, from 1 */
	uint64_t first_seq;             /* over 1: the log begins later */
	struct audit_verify verify;
};

/*
 * Feeds every record of the daemon's log that the caller may read. 0, or an
 * exit status with the error printed; a broken chain is no error.
 */
int report_log_ask(const struct cli *cli, const char *name, struct report *r,
    struct report_log *ret);
/* The same of log files, the oldest first; "-" is standard input. */
int report_log_read(char *const *paths, size_t count, struct report *r,
    struct report_log *ret);
/* As an object for report_finish()'s. Owned. */
json_t *report_log_json(const struct report_log *l);

#endif
