/*
 * A command whose output is gathered instead of shown: for programs that read
 * JSON. Bytes that are no UTF-8 become U+FFFD, since JSON has no other way.
 */
#ifndef TAPWARD_CLI_CAPTURE_H
#define TAPWARD_CLI_CAPTURE_H

#include <jansson.h>
#include <stdint.h>

#include "base/bytes.h"
#include "cli/session.h"

/* Output that is kept of one command; more of it ends the command. */
#define CAPTURE_OUTPUT_MAX (16ull << 20)

/*
 * Runs it with input as its standard input; in_fd, out_fd and err_fd of c are
 * not used, and output_max is at most CAPTURE_OUTPUT_MAX. *ret is the caller's:
 * exit_code, reason (or null), duration_ms, stdout, stderr. As session_run().
 */
int capture_run(struct session *s, const struct session_command *c,
    struct span input, struct session_end *ret_end, json_t **ret,
    struct err *err);

/* Bytes as a JSON string, repaired. New reference; NULL without memory. */
json_t *capture_text(struct span bytes);

#endif
