/*
 * What a source of a secret holds: a file that the supervisor opened.
 */
#ifndef TAPWARD_BASE_SOURCE_H
#define TAPWARD_BASE_SOURCE_H

#include "base/err.h"
#include "base/secret.h"

/* Longest that one may be: a key of RSA 4096 in PEM, a JWT, and some. */
#define SOURCE_MAX_BYTES 16384

/*
 * Reads fd (borrowed) from its beginning; line ends after the value are not
 * part of it. text is how the source is written in the configuration. 0, or
 * -errno and what is wrong, without a byte of the secret.
 */
int source_load(int fd, const char *text, struct secret *ret, struct err *err);

#endif
