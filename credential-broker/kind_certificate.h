/*
 * The key of a client certificate: what it signs, and what of it is told.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_KIND_CERTIFICATE_H
#define TAPWARD_CREDENTIAL_BROKER_KIND_CERTIFICATE_H

#include "base/bytes.h"
#include "base/message_sign.h"
#include "credential-broker/credential.h"
#include "wire/tls_proof.h"

/* "sha256:" and hexadecimal digits, and a NUL. */
#define CERTIFICATE_FINGERPRINT_SIZE 72

/* Of its leaf; c is of this kind, and loaded. */
const char *certificate_fingerprint(const struct credential *c);
/* When it ends, CLOCK_BOOTTIME; a time that is past once it has. */
uint64_t certificate_end_boot_ms(const struct credential *c);
/*
 * Signs text by the scheme. *ret_len is how many bytes went into ret. 0, or
 * -EINVAL: the key is of another sort.
 */
int certificate_sign(const struct credential *c,
    const struct tls_scheme *scheme, struct span text,
    uint8_t ret[SIGN_SIGNATURE_MAX], size_t *ret_len);

#endif
