/*
 * The roots that origins are verified against: one sealed memfd, made once by
 * the supervisor's side and shared by all gates, indexed by subject, because
 * parsed roots cost 3 MB a process.
 */
#ifndef TAPWARD_PROXY_ROOTS_H
#define TAPWARD_PROXY_ROOTS_H

#include <openssl/ssl.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct roots;

/* Maps and checks the image in a sealed memfd (borrowed). 0 or -errno. */
int roots_map(int fd, struct roots **ret);
void roots_unref(struct roots *r); /* NULL is fine */
/* The same over bytes in memory, which are borrowed. */
int roots_map_bytes(struct span image, struct roots **ret);
/* Makes ctx look up issuers in r on demand; it keeps a reference. */
int roots_use(struct roots *r, SSL_CTX *ctx);
size_t roots_count(const struct roots *r);

/*
 * The image of all certificates in a PEM bundle, for tapward-ca. What is no
 * certificate is passed over. The image is the caller's to free(). 0, -ENOENT
 * when the bundle holds none, or -ENOMEM.
 */
int roots_build(struct span pem, uint8_t **ret_image, size_t *ret_len,
    uint32_t *ret_count);

#endif
