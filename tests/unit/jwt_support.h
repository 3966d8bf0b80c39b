/*
 * Keys as issuers give them to people, and what issuers do with a JWT, by
 * OpenSSL and jansson alone.
 */
#ifndef TAPWARD_TESTS_UNIT_JWT_SUPPORT_H
#define TAPWARD_TESTS_UNIT_JWT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "base/bytes.h"

#define PEM_SIZE 4096

/* An RSA key of 2048 bits, and its text. */
static inline EVP_PKEY *
jwt_make_key(char pem[PEM_SIZE])
{
	EVP_PKEY *pkey = EVP_RSA_gen(2048);
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long len;

	assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, pkey, NULL, NULL, 0,
			     NULL, NULL),
	    1);
	len = BIO_get_mem_data(bio, &text);
	assert_true(len > 0 && len < PEM_SIZE);
	memcpy(pem, text, (size_t)len);
	pem[len] = '\0';
	BIO_free(bio);
	return pkey;
}

/*
 * A key of a service account as Google's console gives it: JSON, with the line
 * ends of the PEM as \n. more: further members, with their comma before them.
 */
static inline void
jwt_write_gcp_key(char ret[2 * PEM_SIZE], const char *pem, const char *type,
    const char *email, const char *more)
{
	struct wr w = wr_init(ret, 2 * PEM_SIZE);

	wr_fmt(&w,
	    "{\"type\":\"%s\",\"project_id\":\"acme-prod\","
	    "\"private_key_id\":\"0123456789abcdef\","
	    "\"client_email\":\"%s\"%s,\"private_key\":\"",
	    type, email, more);
	for (; *pem != '\0'; pem++) {
		if (*pem == '\n')
			wr_text(&w, "\\n");
		else
			wr_u8(&w, (uint8_t)*pem);
	}
	wr_text(&w, "\"}");
	wr_u8(&w, '\0');
	assert_true(wr_ok(&w));
}

/*
 * A certificate of pkey by itself that ends in life_s seconds, and the digest
 * of it that Microsoft's documentation calls its thumbprint.
 */
static inline void
jwt_make_certificate(EVP_PKEY *pkey, long life_s, char ret[PEM_SIZE],
    uint8_t ret_digest[32])
{
	X509 *x = X509_new();
	BIO *bio = BIO_new(BIO_s_mem());
	int len;

	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -1000000);
	X509_gmtime_adj(X509_getm_notAfter(x), life_s);
	X509_set_pubkey(x, pkey);
	assert_true(X509_sign(x, pkey, EVP_sha256()) > 0);
	assert_int_equal(PEM_write_bio_X509(bio, x), 1);
	len = BIO_read(bio, ret, PEM_SIZE - 1);
	assert_true(len > 0);
	ret[len] = '\0';
	assert_int_equal(X509_digest(x, EVP_sha256(), ret_digest, NULL), 1);
	BIO_free(bio);
	X509_free(x);
}

/* How many bytes; buf holds 2048. */
static inline size_t
jwt_decode(const char *from, const char *to, uint8_t *ret)
{
	char buf[2048];
	size_t n = 0, pads = 0;

	for (; from < to; from++) {
		assert_true(n < sizeof(buf) - 4);
		buf[n++] = *from == '-' ? '+' : *from == '_' ? '/' : *from;
	}
	for (; n % 4 != 0; pads++)
		buf[n++] = '=';
	assert_true(EVP_DecodeBlock(ret, (const uint8_t *)buf, (int)n) > 0);
	return n / 4 * 3 - pads;
}

static inline json_t *
jwt_part(const char *from, const char *to)
{
	uint8_t buf[2048];
	const size_t len = jwt_decode(from, to, buf);
	json_t *j = json_loadb((char *)buf, len, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(j);
	return j;
}

/*
 * The token at jwt, which ends before end: it is signed by pkey (RS256, or
 * PS256), ret_head and ret_claims are what it says.
 */
static inline void
jwt_open(EVP_PKEY *pkey, bool is_pss, const char *jwt, const char *end,
    json_t **ret_head, json_t **ret_claims)
{
	const char *one = strchr(jwt, '.'), *two = strchr(one + 1, '.');
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *pctx;
	uint8_t sig[2048];
	const size_t len = jwt_decode(two + 1, end, sig);

	assert_true(two != NULL && two < end);
	*ret_head = jwt_part(jwt, one);
	*ret_claims = jwt_part(one + 1, two);
	assert_int_equal(EVP_DigestVerifyInit(ctx, &pctx, EVP_sha256(), NULL,
			     pkey),
	    1);
	if (is_pss) {
		assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(pctx,
				     RSA_PKCS1_PSS_PADDING),
		    1);
		assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(pctx,
				     RSA_PSS_SALTLEN_DIGEST),
		    1);
	}
	assert_int_equal(EVP_DigestVerify(ctx, sig, len, (const uint8_t *)jwt,
			     (size_t)(two - jwt)),
	    1);
	EVP_MD_CTX_free(ctx);
}

/* A number of seconds in [from, to] from now. */
static inline void
jwt_expect_time(const json_t *j, const char *name, int64_t now_s, int from,
    int to)
{
	const json_int_t v = json_integer_value(json_object_get(j, name));

	if (v < now_s + from || v > now_s + to)
		fail_msg("%s: %lld", name, (long long)(v - now_s));
}

static inline void
jwt_expect_text(const json_t *j, const char *name, const char *want)
{
	const char *text = json_string_value(json_object_get(j, name));

	if (want == NULL)
		assert_null(text);
	else
		assert_string_equal(text, want);
}

#endif
