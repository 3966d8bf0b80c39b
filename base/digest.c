/*
 * SHA-256, see digest.h.
 */
#include "base/digest.h"

#include <errno.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

int
digest_sha256(const void *ptr, size_t len, uint8_t ret[DIGEST_BYTES])
{
	uint8_t md[EVP_MAX_MD_SIZE];
	unsigned int md_len;

	/* No configuration file: we may have no files, and it names modules. */
	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		return -EIO;
	if (EVP_Digest(ptr, len, md, &md_len, EVP_sha256(), NULL) != 1 ||
	    md_len != DIGEST_BYTES)
		return -EIO;
	for (size_t i = 0; i < DIGEST_BYTES; i++)
		ret[i] = md[i];
	return 0;
}

void
digest_hex(const uint8_t digest[DIGEST_BYTES], char ret[DIGEST_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < DIGEST_BYTES; i++) {
		ret[2 * i] = digits[digest[i] >> 4];
		ret[2 * i + 1] = digits[digest[i] & 15];
	}
	ret[DIGEST_HEX_SIZE - 1] = '\0';
}
