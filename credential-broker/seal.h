/*
 * What is written to a disk of a credential, sealed (AES-256-GCM) by a key that
 * only the credential's own secrets make (HKDF, RFC 5869): the file alone is
 * worth nothing, and whoever has the secrets could mint anew anyway.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_SEAL_H
#define TAPWARD_CREDENTIAL_BROKER_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/secret.h"

struct credential;

/* What sealing adds: a nonce before, a tag after. */
#define SEAL_MORE_BYTES 28

/*
 * context is bound to it: what it is, and which. ret has room for
 * what.len + SEAL_MORE_BYTES. False: it could not be.
 */
bool seal(const struct credential *c, struct span context, struct span what,
    uint8_t *ret);
/* False: it was not sealed so, or by other secrets, or was changed. */
bool seal_open(const struct credential *c, struct span context,
    struct span sealed, struct secret *ret);

#endif
