/*
 * Calls of the control API: HTTP with JSON on the daemon's unix socket.
 */
#ifndef TAPWARD_CLI_CALL_H
#define TAPWARD_CLI_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/cli.h"

struct reply {
	unsigned int status;
	json_t *json; /* owned; NULL when the body is not JSON */
	int fd;       /* owned; -1 when none came */
};

void reply_done(struct reply *r);

/* As many as one request can bring. */
#define CALL_FDS_MAX 3

/*
 * A daemon that says nothing for so long is stopped, or out of its mind: its
 * own jobs take 20 s at most. TAPWARD_TIMEOUT, in seconds, is instead of both.
 */
#define CALL_PATIENCE_S 30
/* To start a monitor: disks are made, files are copied and checked. */
#define CALL_PATIENCE_VM_S 120

/* What is asked. All of it is borrowed. */
struct call {
	const char *method, *path;
	json_t *body; /* NULL: none */
	int fds[CALL_FDS_MAX];
	unsigned int fd_count;
	bool hides_findings;     /* of a policy that is not the caller's */
	unsigned int patience_s; /* for an answer; 0: CALL_PATIENCE_S */
};

/*
 * One request and its whole answer. No answer is an error, and one of 400 and
 * up is: its sentence and findings are printed on stderr. 0, or the exit
 * status.
 */
int call_or_complain(const struct cli *cli, const struct call *q,
    struct reply *ret);
/*
 * Asks for what must be refused, and says nothing: 0 if it was, CLI_FAILED if
 * it was not, CLI_NO_DAEMON without an answer.
 */
int call_refused(const struct cli *cli, const struct call *q,
    struct reply *ret);
/* The same for one without a body or descriptors, and without a word. */
int call_quietly(const struct cli *cli, const char *method, const char *path,
    struct reply *ret);
/* As the first, without a word. */
int call_quietly_for(const struct cli *cli, const struct call *q,
    struct reply *ret);
/* As the first, for one without a body or descriptors. */
int call_simply(const struct cli *cli, const char *method, const char *path,
    struct reply *ret);

/*
 * GETs path and gives each line of the answer to on_line (with its NUL instead
 * of the newline) until the end or until on_line returns non-zero, which is
 * returned. Otherwise 0, or an exit status with the error printed. follows: it
 * may be long from one line to the next.
 */
typedef int call_line(char *line, size_t len, void *arg);
int call_stream(const struct cli *cli, const char *path, bool follows,
    call_line *on_line, void *arg);

#endif
