/*
 * SHA-256 (FIPS 180-4) by OpenSSL. A library of its own, so that only the
 * programs that hash link libcrypto.
 */
#ifndef TAPWARD_BASE_DIGEST_H
#define TAPWARD_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES 32
#define DIGEST_HEX_SIZE 65 /* 64 digits and a NUL */

/* 0, or -EIO when the library fails (then nothing is written). */
int digest_sha256(const void *ptr, size_t len, uint8_t ret[DIGEST_BYTES]);
void digest_hex(const uint8_t digest[DIGEST_BYTES], char ret[DIGEST_HEX_SIZE]);

#endif
