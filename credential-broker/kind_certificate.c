/*
 * `kind = client-certificate`: who we are to an origin in TLS. A gate is lent
 * the certificates; the key stays here, and signs each handshake (prove.h).
 */
#include "credential-broker/kind_certificate.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "credential-broker/kind.h"

#define CHAIN_MAX 8
#define RSA_MIN_BITS 2048
#define RSA_MAX_BITS 8192

struct certificate {
	EVP_PKEY *key;
	struct secret chain; /* in DER, one behind the other, the leaf first */
	int64_t end_s;       /* of the one that ends first, wall clock */
	char fingerprint[CERTIFICATE_FINGERPRINT_SIZE];
};

/* A key with a password would be asked for on a terminal. */
static int
no_password(char *buf, int size, int for_writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)for_writing;
	(void)arg;
	return -1;
}

static int
check_key(const EVP_PKEY *key, struct err *err)
{
	const int bits = key == NULL ? 0 : EVP_PKEY_get_bits(key);
	char group[32];
	size_t len;

	if (key == NULL)
		return err_at(err, NULL, 0,
		    "key: holds no private key in PEM that has no password");
	if (EVP_PKEY_is_a(key, "RSA") == 1)
		return bits >= RSA_MIN_BITS && bits <= RSA_MAX_BITS
		    ? 0
		    : err_at(err, NULL, 0,
			  "key: an RSA key is to have 2048 to 8192 bits");
	if (EVP_PKEY_is_a(key, "EC") == 1 &&
	    EVP_PKEY_get_group_name(key, group, sizeof(group), &len) == 1 &&
	    (strcmp(group, "prime256v1") == 0 ||
		strcmp(group, "secp384r1") == 0 ||
		strcmp(group, "secp521r1") == 0))
		return 0;
	return err_at(err, NULL, 0,
	    "key: is neither an RSA key nor an EC key on P-256, P-384 or "
	    "P-521");
}

static int
read_key(struct certificate *t, const struct secret *pem, struct err *err)
{
	BIO *bio = BIO_new_mem_buf(pem->ptr, (int)pem->len);

	if (bio != NULL)
		t->key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
	BIO_free(bio);
	ERR_clear_error();
	return check_key(t->key, err);
}

static int
note_leaf(struct certificate *t, X509 *x, struct err *err)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	struct wr w = wr_init(t->fingerprint, sizeof(t->fingerprint));
	unsigned int len = 0;

	if (X509_check_private_key(x, t->key) != 1)
		return err_at(err, NULL, 0,
		    "certificate: the first one is of another key than `key`: "
		    "name the two that belong together");
	if (X509_digest(x, EVP_sha256(), digest, &len) != 1)
		return err_os(err, -ENOMEM, "a digest");
	wr_text(&w, "sha256:");
	for (unsigned int i = 0; i < len; i++)
		wr_fmt(&w, "%02x", digest[i]);
	wr_u8(&w, '\0');
	return 0;
}

/* Appends x to the chain. */
static int
take(struct certificate *t, const X509 *x, uint8_t *buf, size_t *len)
{
	uint8_t *at = buf + *len;
	const int size = i2d_X509(x, NULL);
	struct tm tm = { 0 };
	int64_t end;

	if (size <= 0 || (size_t)size > KIND_VALUE_MAX_BYTES - *len ||
	    ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm) != 1)
		return -EMSGSIZE;
	end = (int64_t)timegm(&tm);
	if (*len == 0 || end < t->end_s)
		t->end_s = end;
	*len += (size_t)i2d_X509(x, &at);
	return 0;
}

static int
read_each(struct certificate *t, BIO *bio, uint8_t *buf, struct err *err)
{
	size_t len = 0;
	X509 *x;
	int rc = 0;

	for (int i = 0; rc == 0 &&
	     (x = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL;
	     i++) {
		rc = i == 0 ? note_leaf(t, x, err) : 0;
		if (rc == 0 && (i == CHAIN_MAX || take(t, x, buf, &len) != 0))
			rc = err_at(err, NULL, 0,
			    "certificate: holds more than 8 certificates, or "
			    "16 KiB of them");
		X509_free(x);
	}
	if (rc == 0 && len == 0)
		rc = err_at(err, NULL, 0,
		    "certificate: holds no certificate in PEM");
	return rc == 0 ? secret_set(&t->chain, buf, len) : rc;
}

static int
read_chain(struct certificate *t, const struct secret *pem, struct err *err)
{
	BIO *bio = BIO_new_mem_buf(pem->ptr, (int)pem->len);
	uint8_t *buf = malloc(KIND_VALUE_MAX_BYTES);
	const int rc = bio == NULL || buf == NULL
	    ? err_os(err, -ENOMEM, "a certificate")
	    : read_each(t, bio, buf, err);

	free(buf);
	BIO_free(bio);
	ERR_clear_error();
	return rc;
}

static void
certificate_free(struct certificate *t)
{
	if (t == NULL)
		return;
	EVP_PKEY_free(t->key);
	secret_done(&t->chain);
	free(t);
}

static int
load(struct credential *c, struct err *err)
{
	struct certificate *t = calloc(1, sizeof(*t));
	int rc;

	if (t == NULL)
		return err_os(err, -ENOMEM, "a certificate");
	rc = read_key(t, credential_secret(c, "key"), err);
	if (rc == 0)
		rc = read_chain(t, credential_secret(c, "certificate"), err);
	if (rc != 0)
		certificate_free(t);
	else
		c->state = t;
	return rc;
}

static void
unload(struct credential *c)
{
	certificate_free(c->state);
	c->state = NULL;
}

static const struct secret *
held(const struct credential *c)
{
	const struct certificate *t = c->state;

	return &t->chain;
}

const char *
certificate_fingerprint(const struct credential *c)
{
	const struct certificate *t = c->state;

	return t->fingerprint;
}

uint64_t
certificate_end_boot_ms(const struct credential *c)
{
	const struct certificate *t = c->state;

	return t->end_s <= 0 ? 0 : kind_not_after_wall((uint64_t)t->end_s);
}

static bool
set_padding(EVP_PKEY_CTX *c, const struct tls_scheme *scheme)
{
	return !scheme->is_pss ||
	    (EVP_PKEY_CTX_set_rsa_padding(c, RSA_PKCS1_PSS_PADDING) == 1 &&
		EVP_PKEY_CTX_set_rsa_pss_saltlen(c, RSA_PSS_SALTLEN_DIGEST) ==
		    1);
}

int
certificate_sign(const struct credential *c, const struct tls_scheme *scheme,
    struct span text, uint8_t ret[SIGN_SIGNATURE_MAX], size_t *ret_len)
{
	const struct certificate *t = c->state;
	const char *type = scheme->key == TLS_SCHEME_EC ? "EC" : "RSA";
	EVP_MD_CTX *m = EVP_MD_CTX_new();
	EVP_PKEY_CTX *p = NULL; /* borrows from m */
	bool ok;

	*ret_len = SIGN_SIGNATURE_MAX;
	ok = m != NULL && EVP_PKEY_is_a(t->key, type) == 1 &&
	    EVP_DigestSignInit_ex(m, &p, scheme->hash, NULL, NULL, t->key,
		NULL) == 1 &&
	    set_padding(p, scheme) &&
	    EVP_DigestSign(m, ret, ret_len, text.ptr, text.len) == 1;
	EVP_MD_CTX_free(m);
	ERR_clear_error();
	return ok ? 0 : -EINVAL;
}

const struct kind kind_certificate = {
	.name = "client-certificate",
	.load = load,
	.unload = unload,
	.held = held,
};
