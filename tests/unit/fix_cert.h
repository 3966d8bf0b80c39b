/*
 * Certificates of those whom a test plays.
 */
#ifndef TAPWARD_TESTS_UNIT_FIX_CERT_H
#define TAPWARD_TESTS_UNIT_FIX_CERT_H

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "proxy/ca_make.h"

enum fix_cert {
	FIX_CERT_GOOD,
	FIX_CERT_OTHER_NAME,
	FIX_CERT_EXPIRED,
	FIX_CERT_SELF_SIGNED,
	FIX_CERT_COMMON_NAME, /* no SAN */
	FIX_CERT_PARTIAL,     /* "f*.example.org" */
	FIX_CERT_COUNT
};

/* Both are the caller's. */
void fix_read_ca(const struct ca_made *ca, EVP_PKEY **ret_key, X509 **ret_cert);
/* A certificate by ca, for host, and its new key. */
X509 *fix_make_cert(const struct ca_made *ca, const char *host,
    enum fix_cert kind, EVP_PKEY **ret_key);

#endif
