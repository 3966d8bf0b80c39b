/*
 * Sealing, see seal.h.
 */
#include "credential-broker/seal.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "credential-broker/credential.h"
#include "credential-broker/form.h"

#define NONCE_BYTES 12
#define TAG_BYTES 16
#define KEY_BYTES 32

static_assert(NONCE_BYTES + TAG_BYTES == SEAL_MORE_BYTES, "nonce and tag");

/* All of its secrets in their order, each with its length before it. */
static void
gather(const struct credential *c, struct form *f)
{
	const struct message_broker_credential *d = &c->definition;

	for (unsigned int i = 0; i <= d->setting_count; i++) {
		const struct span s = secret_span(
		    i == d->setting_count ? &c->value : &c->secrets[i]);
		const uint8_t len[4] = { (uint8_t)(s.len >> 24),
			(uint8_t)(s.len >> 16), (uint8_t)(s.len >> 8),
			(uint8_t)s.len };

		form_span(f, (struct span){ len, sizeof(len) });
		form_span(f, s);
	}
}

static bool
derive(const struct credential *c, uint8_t key[KEY_BYTES])
{
	AUTO_FORM struct form ikm = form_new();
	char digest[] = "SHA256", salt[] = "tapward journal 1";
	char info[CREDENTIAL_NAME_SIZE];
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *ctx = kdf == NULL ? NULL : EVP_KDF_CTX_new(kdf);
	OSSL_PARAM params[5];
	bool is_done;

	gather(c, &ikm);
	memcpy(info, c->definition.name, sizeof(info));
	params[0] =
	    OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0);
	params[1] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY,
	    ikm.buf.ptr, ikm.len);
	params[2] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt,
	    strlen(salt));
	params[3] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info,
	    strlen(info));
	params[4] = OSSL_PARAM_construct_end();
	is_done = form_ok(&ikm) && ctx != NULL &&
	    EVP_KDF_derive(ctx, key, KEY_BYTES, params) == 1;
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	return is_done;
}

bool
seal(const struct credential *c, struct span context, struct span what,
    uint8_t *ret)
{
	uint8_t key[KEY_BYTES];
	uint8_t *text = ret + NONCE_BYTES;
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n = 0;
	bool is_done = ctx != NULL && derive(c, key) &&
	    getrandom(ret, NONCE_BYTES, 0) == NONCE_BYTES &&
	    EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, ret) == 1 &&
	    EVP_EncryptUpdate(ctx, NULL, &n, context.ptr, (int)context.len) ==
		1 &&
	    EVP_EncryptUpdate(ctx, text, &n, what.ptr, (int)what.len) == 1 &&
	    EVP_EncryptFinal_ex(ctx, text + n, &n) == 1 &&
	    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_BYTES,
		text + what.len) == 1;

	EVP_CIPHER_CTX_free(ctx);
	secret_wipe(key, sizeof(key));
	return is_done;
}

static bool
decrypt(const uint8_t *key, struct span context, struct span sealed,
    struct secret *ret)
{
	const size_t len = sealed.len - SEAL_MORE_BYTES;
	uint8_t tag[TAG_BYTES];
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n = 0;
	bool is_done;

	memcpy(tag, sealed.ptr + NONCE_BYTES + len, sizeof(tag));
	is_done = ctx != NULL &&
	    EVP_DecryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, sealed.ptr) ==
		1 &&
	    EVP_DecryptUpdate(ctx, NULL, &n, context.ptr, (int)context.len) ==
		1 &&
	    EVP_DecryptUpdate(ctx, ret->ptr, &n, sealed.ptr + NONCE_BYTES,
		(int)len) == 1 &&
	    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) ==
		1 &&
	    EVP_DecryptFinal_ex(ctx, ret->ptr + n, &n) == 1;
	EVP_CIPHER_CTX_free(ctx);
	return is_done;
}

bool
seal_open(const struct credential *c, struct span context, struct span sealed,
    struct secret *ret)
{
	AUTO_SECRET struct secret s = SECRET_NONE;
	uint8_t key[KEY_BYTES];
	bool is_done;

	if (sealed.len <= SEAL_MORE_BYTES ||
	    secret_alloc(&s, sealed.len - SEAL_MORE_BYTES) != 0)
		return false;
	is_done = derive(c, key) && decrypt(key, context, sealed, &s);
	secret_wipe(key, sizeof(key));
	if (!is_done)
		return false;
	secret_done(ret);
	*ret = secret_steal(&s);
	return true;
}
