/*
 * A sandbox's CA, see ca_make.h.
 */
#include "proxy/ca_make.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>

#include "base/clock.h"
#include "proxy/x509_make.h"

/*
 * Further back than any leaf (tls_leaf.c), even if the host's own clock was
 * years ahead when the CA was made. No client bounds the age of a root.
 */
#define CA_BACK_S (INT64_C(3650) * 86400)

static bool
fill(X509 *x, EVP_PKEY *key, const char *common_name, uint32_t lifetime_s)
{
	int64_t now_s = (int64_t)(clock_wall_ms() / 1000);

	return X509_set_version(x, X509_VERSION_3) == 1 &&
	    x509_make_serial(x) &&
	    x509_make_validity(x, now_s - CA_BACK_S, now_s + lifetime_s) &&
	    x509_make_name(X509_get_subject_name(x), common_name) &&
	    X509_set_issuer_name(x, X509_get_subject_name(x)) == 1 &&
	    X509_set_pubkey(x, key) == 1 &&
	    x509_add_basic_constraints(x, true, 0) &&
	    x509_add_key_usage(x, KU_KEY_CERT_SIGN | KU_CRL_SIGN) &&
	    x509_add_subject_key_id(x) && X509_sign(x, key, EVP_sha256()) != 0;
}

/* The text that a memory BIO holds; borrows. */
static struct span
text_of(BIO *bio)
{
	char *ptr = NULL;
	long len = BIO_get_mem_data(bio, &ptr);

	return (struct span){ (uint8_t *)ptr, len > 0 ? (size_t)len : 0 };
}

/* A memory BIO wipes what it frees (BUF_MEM_free), and grows by copying. */
static int
write_pem(EVP_PKEY *key, X509 *x, struct ca_made *ret)
{
	BIO *both = BIO_new(BIO_s_mem()), *cert = BIO_new(BIO_s_mem());
	int rc = -EIO;

	if (both != NULL && cert != NULL &&
	    PEM_write_bio_PrivateKey(both, key, NULL, NULL, 0, NULL, NULL) ==
		1 &&
	    PEM_write_bio_X509(both, x) == 1 &&
	    PEM_write_bio_X509(cert, x) == 1 &&
	    text_of(cert).len <= sizeof(ret->cert)) {
		struct span text = text_of(cert);

		memcpy(ret->cert, text.ptr, text.len);
		ret->cert_len = text.len;
		text = text_of(both);
		rc = secret_set(&ret->both, text.ptr, text.len);
	}
	BIO_free(both);
	BIO_free(cert);
	return rc;
}

int
ca_make(const char *common_name, uint32_t lifetime_s, struct ca_made *ret)
{
	EVP_PKEY *key = x509_make_key();
	X509 *x = X509_new();
	int rc = -EIO;

	ret->both = SECRET_NONE;
	if (key != NULL && x != NULL && fill(x, key, common_name, lifetime_s))
		rc = write_pem(key, x, ret);
	ERR_clear_error();
	X509_free(x);
	EVP_PKEY_free(key);
	return rc;
}
