/*
 * The roots that origins are verified against: one sealed memfd, made once by
 * the supervisor's side and shared by all gates, indexed by subject, because
 * parsed roots cost 3 MB a process.
 */
#ifndef TAPWARD_PROXY_ROOTS_H
#define TAPWARD_PROXY_ROOTS_H

#include <stddef.h>
#include <openssl/ssl.h>

#include "base/err.h"

struct roots;

/* Maps and checks the image in a sealed memfd (borrowed). 0 or -errno. */
int roots_map(int fd, struct roots **ret);
void roots_free(struct roots *r);
/* Makes ctx look up issuers in r on demand. r must outlive ctx. */
int roots_use(struct roots *r, SSL_CTX *ctx);

#endif
