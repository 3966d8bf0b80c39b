/*
 * SHA-256 (FIPS 180-4) and HMAC of it (RFC 2104) by OpenSSL. A library of its
 * own, so that only the programs that hash link libcrypto.
 */
#ifndef TAPWARD_BASE_DIGEST_H
#define TAPWARD_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define DIGEST_BYTES 32
#define DIGEST_HEX_SIZE 65 /* 64 digits and a NUL */

/* 0, or -EIO when the library fails (then nothing is written). */
int digest_sha256(const void *ptr, size_t len, uint8_t ret[DIGEST_BYTES]);
/* As digest_sha256(). ret may be where key is. */
int digest_hmac(struct span key, struct span data, uint8_t ret[DIGEST_BYTES]);
/*
 * The same with the key that prefix and key are one behind the other; both of
 * at most DIGEST_KEY_MAX_BYTES, or -E2BIG. No copy of it is left.
 */
#define DIGEST_KEY_MAX_BYTES 512
int digest_hmac_after(const char *prefix, struct span key, struct span data,
    uint8_t ret[DIGEST_BYTES]);
/* Of what was made with a secret; never optimised away. */
void digest_wipe(void *ptr, size_t len);
void digest_hex(const uint8_t digest[DIGEST_BYTES], char ret[DIGEST_HEX_SIZE]);

#endif
