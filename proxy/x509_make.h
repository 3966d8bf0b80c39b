/*
 * Pieces of the certificates that we make: the sandbox's CA (tapward-ca) and
 * its leaves (the gate). Each returns true, or false when OpenSSL fails.
 */
#ifndef TAPWARD_PROXY_X509_MAKE_H
#define TAPWARD_PROXY_X509_MAKE_H

#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdint.h>

/* A new P-256 key whose encoding is quick; NULL on failure. */
EVP_PKEY *x509_make_key(void);
/* 126 random bits, positive (RFC 5280 4.1.2.2). */
bool x509_make_serial(X509 *x);
/* Both in seconds since 1970. */
bool x509_make_validity(X509 *x, int64_t not_before_s, int64_t not_after_s);
bool x509_make_name(X509_NAME *name, const char *common_name);
/* Critical. pathlen -1: none. */
bool x509_add_basic_constraints(X509 *x, bool is_ca, int pathlen);
/* bits as in KU_DIGITAL_SIGNATURE. Critical. */
bool x509_add_key_usage(X509 *x, uint32_t bits);
bool x509_add_server_auth(X509 *x);
/* From x's own key (RFC 5280 4.2.1.2, method 1). */
bool x509_add_subject_key_id(X509 *x);
/* The issuer's subject key identifier. */
bool x509_add_authority_key_id(X509 *x, const X509 *issuer);
bool x509_add_dns_name(X509 *x, const char *host);

#endif
