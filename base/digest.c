/*
 * SHA-256 and HMAC, see digest.h.
 */
#include "base/digest.h"

#include <errno.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

/*
 * Made once: to look up an algorithm and to make a context costs as much as to
 * hash a line of the audit log. NULL when the library fails.
 */
static EVP_MD_CTX *
context(void)
{
	static EVP_MD_CTX *made;
	EVP_MD_CTX *c;
	EVP_MD *md;

	if (made != NULL)
		return made;
	/* No configuration file: we may have no files, and it names modules. */
	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		return NULL;
	c = EVP_MD_CTX_new();
	md = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (c != NULL && md != NULL && EVP_DigestInit_ex2(c, md, NULL) == 1)
		made = c;
	else
		EVP_MD_CTX_free(c);
	EVP_MD_free(md); /* the context has a reference of its own */
	return made;
}

int
digest_sha256(const void *ptr, size_t len, uint8_t ret[DIGEST_BYTES])
{
	uint8_t md[EVP_MAX_MD_SIZE];
	unsigned int md_len;
	EVP_MD_CTX *c = context();

	if (c == NULL || EVP_DigestInit_ex2(c, NULL, NULL) != 1 ||
	    EVP_DigestUpdate(c, ptr, len) != 1 ||
	    EVP_DigestFinal_ex(c, md, &md_len) != 1 || md_len != DIGEST_BYTES)
		return -EIO;
	for (size_t i = 0; i < DIGEST_BYTES; i++)
		ret[i] = md[i];
	return 0;
}

int
digest_hmac(struct span key, struct span data, uint8_t ret[DIGEST_BYTES])
{
	uint8_t md[EVP_MAX_MD_SIZE];
	unsigned int md_len = 0;
	int rc = 0;

	/* Without it the library would read its configuration. */
	if (context() == NULL ||
	    HMAC(EVP_sha256(), key.ptr, (int)key.len, data.ptr, data.len, md,
		&md_len) == NULL ||
	    md_len != DIGEST_BYTES)
		rc = -EIO;
	if (rc == 0)
		memcpy(ret, md, DIGEST_BYTES);
	OPENSSL_cleanse(md, sizeof(md));
	return rc;
}

int
digest_hmac_after(const char *prefix, struct span key, struct span data,
    uint8_t ret[DIGEST_BYTES])
{
	uint8_t whole[DIGEST_KEY_MAX_BYTES];
	struct wr w = wr_init(whole, sizeof(whole));
	int rc;

	wr_text(&w, prefix);
	wr_bytes(&w, key.ptr, key.len);
	rc = wr_ok(&w) ? digest_hmac((struct span){ whole, w.len }, data, ret)
		       : -E2BIG;
	OPENSSL_cleanse(whole, sizeof(whole));
	return rc;
}

void
digest_wipe(void *ptr, size_t len)
{
	OPENSSL_cleanse(ptr, len);
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
