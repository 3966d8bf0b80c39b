/*
 * The lines of a file of the audit log that was moved aside, compressed by
 * gzip or not.
 */
#ifndef TAPWARD_CLI_LOG_LINES_H
#define TAPWARD_CLI_LOG_LINES_H

#include <stddef.h>

/* No line of ours is as long; one that is ends the reading. */
#define LOG_LINES_MAX ((size_t)1 << 20)

/* line has no newline, and a NUL at len. Anything but 0 ends the reading. */
typedef int log_lines_take(char *line, size_t len, void *arg);

/*
 * "-" is standard input. 0, what take said, or CLI_FAILED with the error
 * printed. What follows the last newline is a line, too.
 */
int log_lines_read(const char *path, log_lines_take *take, void *arg);

#endif
