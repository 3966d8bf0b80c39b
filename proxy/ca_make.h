/*
 * A sandbox's CA: a fresh P-256 key and a certificate that may sign leaves and
 * nothing else.
 */
#ifndef TAPWARD_PROXY_CA_MAKE_H
#define TAPWARD_PROXY_CA_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/secret.h"

/* Longest certificate in PEM. */
#define CA_CERT_MAX_BYTES 4096

struct ca_made {
	struct secret both;              /* PEM: key, then certificate */
	uint8_t cert[CA_CERT_MAX_BYTES]; /* PEM, certificate only */
	size_t cert_len;
};

/*
 * Valid from ten years ago, for guests and hosts whose clock is wrong, until
 * lifetime_s from now. 0 or -EIO when OpenSSL fails, -ENOMEM; ret->both is the
 * caller's to secret_done().
 */
int ca_make(const char *common_name, uint32_t lifetime_s, struct ca_made *ret);

#endif
