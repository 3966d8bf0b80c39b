/*
 * Tokens that we sign verify by OpenSSL with the public half, and keys that
 * are of no use are told apart.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "credential-broker/jwt.h"

static void
to_pem(EVP_PKEY *pkey, const char *password, struct secret *ret)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long len;

	assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, pkey,
			     password == NULL ? NULL : EVP_aes_128_cbc(),
			     password,
			     password == NULL ? 0 : (int)strlen(password), NULL,
			     NULL),
	    1);
	len = BIO_get_mem_data(bio, &text);
	assert_int_equal(secret_set(ret, text, (size_t)len), 0);
	BIO_free(bio);
}

/* Decodes base64url of len bytes; the length of what it is. */
static size_t
decode(const char *text, size_t len, uint8_t *ret)
{
	char buf[4096];
	size_t n = 0;

	assert_true(len + 4 < sizeof(buf));
	for (; n < len; n++)
		buf[n] = text[n] == '-' ? '+' : text[n] == '_' ? '/' : text[n];
	while (n % 4 != 0)
		buf[n++] = '=';
	assert_true(EVP_DecodeBlock(ret, (const uint8_t *)buf, (int)n) >= 0);
	return len * 3 / 4;
}

/* The two numbers of JOSE as OpenSSL wants them. */
static size_t
to_der(uint8_t *sig)
{
	ECDSA_SIG *s = ECDSA_SIG_new();
	uint8_t *at = sig;
	int len;

	assert_int_equal(ECDSA_SIG_set0(s, BN_bin2bn(sig, 32, NULL),
			     BN_bin2bn(sig + 32, 32, NULL)),
	    1);
	len = i2d_ECDSA_SIG(s, &at);
	ECDSA_SIG_free(s);
	return (size_t)len;
}

static bool
verifies(EVP_PKEY *pkey, const char *jwt, const char *alg)
{
	const char *dot = strrchr(jwt, '.');
	uint8_t sig[1024];
	size_t len = decode(dot + 1, strlen(dot + 1), sig);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *pctx = NULL;
	bool ok;

	if (strcmp(alg, "ES256") == 0) {
		assert_int_equal(len, 64);
		len = to_der(sig);
	}
	assert_int_equal(EVP_DigestVerifyInit(ctx, &pctx, EVP_sha256(), NULL,
			     pkey),
	    1);
	if (strcmp(alg, "PS256") == 0)
		assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(pctx,
				     RSA_PKCS1_PSS_PADDING),
		    1);
	ok = EVP_DigestVerify(ctx, sig, len, (const uint8_t *)jwt,
		 (size_t)(dot - jwt)) == 1;
	EVP_MD_CTX_free(ctx);
	return ok;
}

static void
check_alg(EVP_PKEY *pkey, const char *alg, bool fits)
{
	AUTO_SECRET struct secret pem = SECRET_NONE;
	AUTO_FORM struct form f = form_new();
	static const struct jwt_claim claims[] = { { "iss", "a\"b", 0 },
		{ "exp", NULL, 1769903999 } };
	const struct jwt_spec spec = { .alg = alg,
		.key_id = "k1",
		.claims = claims,
		.claim_count = 2 };
	struct jwt_key *key;
	struct err err;
	uint8_t text[512] = { 0 };
	const char *jwt, *dot;
	char want[128];

	to_pem(pkey, NULL, &pem);
	assert_int_equal(jwt_key_new(&pem, &key, &err), 0);
	jwt_sign(key, &spec, &f);
	assert_int_equal(form_ok(&f), fits);
	jwt_key_free(key);
	if (!fits)
		return;
	jwt = form_text_of(&f);
	assert_true(verifies(pkey, jwt, alg));
	dot = strchr(jwt, '.');
	(void)decode(jwt, (size_t)(dot - jwt), text);
	(void)snprintf(want, sizeof(want),
	    "{\"alg\":\"%s\",\"typ\":\"JWT\",\"kid\":\"k1\"}", alg);
	assert_memory_equal(text, want, strlen(want));
	(void)decode(dot + 1, strcspn(dot + 1, "."), text);
	assert_memory_equal(text, "{\"iss\":\"a\\\"b\",\"exp\":1769903999}",
	    31);
}

static void
signs_so_that_the_public_half_agrees(void **state)
{
	EVP_PKEY *rsa = EVP_RSA_gen(2048), *ec = EVP_EC_gen("P-256");

	(void)state;
	check_alg(rsa, "RS256", true);
	check_alg(rsa, "PS256", true);
	check_alg(rsa, "ES256", false);
	check_alg(ec, "ES256", true);
	check_alg(ec, "RS256", false);
	EVP_PKEY_free(rsa);
	EVP_PKEY_free(ec);
}

static void
refuse(const struct secret *pem, const char *why)
{
	struct jwt_key *key;
	struct err err = { "" };

	assert_int_equal(jwt_key_new(pem, &key, &err), -EINVAL);
	assert_non_null(strstr(err.text, why));
}

static void
refuses_keys_that_are_of_no_use(void **state)
{
	AUTO_SECRET struct secret pem = SECRET_NONE;
	EVP_PKEY *weak = EVP_RSA_gen(1024), *other = EVP_EC_gen("P-384");
	EVP_PKEY *rsa = EVP_RSA_gen(2048);

	(void)state;
	to_pem(weak, NULL, &pem);
	refuse(&pem, "less than 2048");
	to_pem(other, NULL, &pem);
	refuse(&pem, "P-256");
	to_pem(rsa, "word", &pem);
	refuse(&pem, "no password");
	assert_int_equal(secret_set(&pem, "hunter2hunter2", 14), 0);
	refuse(&pem, "no private key");
	EVP_PKEY_free(weak);
	EVP_PKEY_free(other);
	EVP_PKEY_free(rsa);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signs_so_that_the_public_half_agrees),
		cmocka_unit_test(refuses_keys_that_are_of_no_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
