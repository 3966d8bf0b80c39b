/*
 * Certificates of those whom a test plays, see fix_cert.h.
 */
#include "tests/unit/fix_cert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>
#include <openssl/pem.h>

#include "proxy/x509_make.h"

void
fix_read_ca(const struct ca_made *ca, EVP_PKEY **ret_key, X509 **ret_cert)
{
	BIO *bio = BIO_new_mem_buf(ca->both.ptr, (int)ca->both.len);

	*ret_key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
	*ret_cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	assert_non_null(*ret_key);
	assert_non_null(*ret_cert);
	BIO_free(bio);
}

X509 *
fix_make_cert(const struct ca_made *ca, const char *host, enum fix_cert kind,
    EVP_PKEY **ret_key)
{
	int64_t now = (int64_t)time(NULL);
	int64_t end = kind == FIX_CERT_EXPIRED ? now - 3600 : now + 3600;
	EVP_PKEY *ca_key, *key = x509_make_key();
	X509 *issuer, *x = X509_new();
	const char *san = kind == FIX_CERT_OTHER_NAME ? "other.example.org"
	    : kind == FIX_CERT_PARTIAL                ? "ap*.example.org"
						      : host;

	fix_read_ca(ca, &ca_key, &issuer);
	assert_true(x509_make_serial(x));
	assert_int_equal(X509_set_version(x, X509_VERSION_3), 1);
	assert_true(x509_make_validity(x, now - 7200, end));
	assert_true(x509_make_name(X509_get_subject_name(x),
	    kind == FIX_CERT_COMMON_NAME ? host : "origin"));
	assert_int_equal(X509_set_pubkey(x, key), 1);
	if (kind != FIX_CERT_COMMON_NAME)
		assert_true(x509_add_dns_name(x, san));
	if (kind == FIX_CERT_SELF_SIGNED) {
		assert_int_equal(X509_set_issuer_name(x,
				     X509_get_subject_name(x)),
		    1);
		assert_true(X509_sign(x, key, EVP_sha256()) > 0);
	} else {
		assert_int_equal(X509_set_issuer_name(x,
				     X509_get_subject_name(issuer)),
		    1);
		assert_true(X509_sign(x, ca_key, EVP_sha256()) > 0);
	}
	EVP_PKEY_free(ca_key);
	X509_free(issuer);
	*ret_key = key;
	return x;
}
