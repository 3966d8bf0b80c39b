/*
 * Calls of the control API: HTTP with JSON on the daemon's unix socket.
 */
#ifndef TAPWARD_CLI_CALL_H
#define TAPWARD_CLI_CALL_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/cli.h"

struct reply {
	unsigned int status;
	json_t *json; /* owned; NULL when the body is not JSON */
	int fd;       /* owned; -1 when none came */
};

void reply_done(struct reply *r);

/*
 * One request and its whole answer. body is borrowed and may be NULL; fd goes
 * with it unless it is -1. No answer is an error, and one of 400 and up is:
 * its sentence and findings are printed on stderr. 0, or the exit status.
 */
int call_or_complain(const struct cli *cli, const char *method,
    const char *path, json_t *body, int fd, struct reply *ret);

/*
 * GETs path and gives each line of the answer to on_line (with its NUL instead
 * of the newline) until the end or until on_line returns non-zero, which is
 * returned. Otherwise 0, or an exit status with the error printed.
 */
typedef int call_line(char *line, size_t len, void *arg);
int call_stream(const struct cli *cli, const char *path, call_line *on_line,
    void *arg);

#endif
