/*
 * Signed tokens, see jwt.h.
 */
#include "credential-broker/jwt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#define RSA_MIN_BITS 2048
/* RSA of 16384 bits. */
#define SIGNATURE_MAX_BYTES 2048
/* RFC 7518 3.4: r and s, 32 bytes each. */
#define ES256_BYTES 64

struct jwt_key {
	EVP_PKEY *pkey;
	bool is_rsa;
};

/* A key with a password would make OpenSSL ask at a terminal. */
static int
no_password(char *buf, int size, int is_write, void *arg)
{
	(void)buf;
	(void)size;
	(void)is_write;
	(void)arg;
	return -1;
}

static int
check_key(struct jwt_key *k, struct err *err)
{
	char group[64] = "";

	if (EVP_PKEY_is_a(k->pkey, "RSA")) {
		k->is_rsa = true;
		return EVP_PKEY_get_bits(k->pkey) >= RSA_MIN_BITS
		    ? 0
		    : err_at(err, NULL, 0,
			  "is an RSA key of less than 2048 bits");
	}
	if (EVP_PKEY_is_a(k->pkey, "EC") &&
	    EVP_PKEY_get_utf8_string_param(k->pkey, OSSL_PKEY_PARAM_GROUP_NAME,
		group, sizeof(group), NULL) == 1 &&
	    strcmp(group, "prime256v1") == 0)
		return 0;
	return err_at(err, NULL, 0,
	    "is neither an RSA key nor an EC key on P-256");
}

int
jwt_key_new(const struct secret *pem, struct jwt_key **ret, struct err *err)
{
	struct jwt_key *k = calloc(1, sizeof(*k));
	BIO *bio = BIO_new_mem_buf(pem->ptr, (int)pem->len);
	int rc;

	if (k != NULL && bio != NULL)
		k->pkey = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
	BIO_free(bio);
	if (k == NULL)
		return err_os(err, -ENOMEM, "a key");
	rc = k->pkey == NULL
	    ? err_at(err, NULL, 0,
		  "holds no private key in PEM that has no password")
	    : check_key(k, err);
	if (rc != 0) {
		jwt_key_free(k);
		return rc;
	}
	*ret = k;
	return 0;
}

void
jwt_key_free(struct jwt_key *k)
{
	if (k == NULL)
		return;
	EVP_PKEY_free(k->pkey);
	free(k);
}

static int
check_certificate(const struct jwt_key *k, X509 *x, struct err *err)
{
	if (x == NULL)
		return err_at(err, NULL, 0, "holds no certificate in PEM");
	if (X509_check_private_key(x, k->pkey) != 1)
		return err_at(err, NULL, 0, "is of another key");
	if (X509_cmp_current_time(X509_get0_notAfter(x)) != 1)
		return err_at(err, NULL, 0, "has ended");
	return 0;
}

int
jwt_thumbprint(const struct jwt_key *k, const struct secret *pem,
    char ret[JWT_THUMBPRINT_SIZE], struct err *err)
{
	BIO *bio = BIO_new_mem_buf(pem->ptr, (int)pem->len);
	AUTO_FORM struct form text = form_new();
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned int len = 0;
	X509 *x = bio == NULL ? NULL
			      : PEM_read_bio_X509(bio, NULL, no_password, NULL);
	int rc = check_certificate(k, x, err);

	if (rc == 0 && X509_digest(x, EVP_sha256(), digest, &len) != 1)
		rc = err_os(err, -ENOMEM, "a digest");
	if (rc == 0)
		form_base64url(&text, (struct span){ digest, len });
	X509_free(x);
	BIO_free(bio);
	if (rc == 0)
		(void)snprintf(ret, JWT_THUMBPRINT_SIZE, "%s",
		    form_text_of(&text));
	return rc;
}

static void
put_member(struct form *f, const char *name, const char *text)
{
	form_text(f, f->len > 1 ? ",\"" : "\"");
	form_json(f, span_of(name));
	form_text(f, "\":\"");
	form_json(f, span_of(text));
	form_text(f, "\"");
}

static void
put_header(struct form *f, const struct jwt_spec *spec, const char *alg)
{
	AUTO_FORM struct form h = form_new();

	form_text(&h, "{");
	put_member(&h, "alg", alg);
	put_member(&h, "typ", "JWT");
	if (spec->key_id != NULL)
		put_member(&h, "kid", spec->key_id);
	if (spec->x5t != NULL)
		put_member(&h, "x5t", spec->x5t);
	if (spec->x5t_s256 != NULL)
		put_member(&h, "x5t#S256", spec->x5t_s256);
	form_text(&h, "}");
	f->failed |= h.failed;
	form_base64url(f, form_span_of(&h));
}

static void
put_claims(struct form *f, const struct jwt_spec *spec)
{
	AUTO_FORM struct form c = form_new();
	char number[24];

	form_text(&c, "{");
	for (size_t i = 0; i < spec->claim_count; i++) {
		const struct jwt_claim *claim = &spec->claims[i];

		if (claim->text != NULL) {
			put_member(&c, claim->name, claim->text);
			continue;
		}
		form_text(&c, c.len > 1 ? ",\"" : "\"");
		form_json(&c, span_of(claim->name));
		(void)snprintf(number, sizeof(number), "\":%" PRIu64,
		    claim->number);
		form_text(&c, number);
	}
	form_text(&c, "}");
	f->failed |= c.failed;
	form_base64url(f, form_span_of(&c));
}

/* OpenSSL writes ECDSA in DER, JOSE wants the two numbers. */
static bool
der_to_raw(uint8_t *sig, size_t *len)
{
	const uint8_t *at = sig;
	ECDSA_SIG *s = d2i_ECDSA_SIG(NULL, &at, (long)*len);
	bool is_done = s != NULL &&
	    BN_bn2binpad(ECDSA_SIG_get0_r(s), sig, ES256_BYTES / 2) ==
		ES256_BYTES / 2 &&
	    BN_bn2binpad(ECDSA_SIG_get0_s(s), sig + ES256_BYTES / 2,
		ES256_BYTES / 2) == ES256_BYTES / 2;

	ECDSA_SIG_free(s);
	*len = ES256_BYTES;
	return is_done;
}

static bool
sign(const struct jwt_key *k, bool is_pss, struct span what, uint8_t *sig,
    size_t *len)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *pctx = NULL;
	bool is_done = ctx != NULL &&
	    EVP_DigestSignInit(ctx, &pctx, EVP_sha256(), NULL, k->pkey) == 1;

	if (is_done && is_pss)
		is_done = EVP_PKEY_CTX_set_rsa_padding(pctx,
			      RSA_PKCS1_PSS_PADDING) == 1 &&
		    EVP_PKEY_CTX_set_rsa_pss_saltlen(pctx,
			RSA_PSS_SALTLEN_DIGEST) == 1;
	is_done =
	    is_done && EVP_DigestSign(ctx, sig, len, what.ptr, what.len) == 1;
	EVP_MD_CTX_free(ctx);
	return is_done && (k->is_rsa || der_to_raw(sig, len));
}

void
jwt_sign(const struct jwt_key *k, const struct jwt_spec *spec, struct form *f)
{
	const char *alg = spec->alg != NULL ? spec->alg
	    : k->is_rsa                     ? "RS256"
					    : "ES256";
	uint8_t sig[SIGNATURE_MAX_BYTES];
	size_t len = sizeof(sig);
	const size_t from = f->len;

	/* An algorithm that is not the key's: the issuer would refuse it. */
	if ((strcmp(alg, "ES256") == 0) == k->is_rsa) {
		f->failed = true;
		return;
	}
	put_header(f, spec, alg);
	form_text(f, ".");
	put_claims(f, spec);
	if (f->failed)
		return;
	if (!sign(k, strcmp(alg, "PS256") == 0,
		(struct span){ f->buf.ptr + from, f->len - from }, sig, &len)) {
		f->failed = true;
		return;
	}
	form_text(f, ".");
	form_base64url(f, (struct span){ sig, len });
}
