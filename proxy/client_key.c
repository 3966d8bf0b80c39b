/*
 * A provider of keys that are elsewhere, see client_key.h. Of a key it knows
 * the public half, an EVP_PKEY of OpenSSL's own, which answers whatever is
 * asked of it; only digest_sign is ours. It is reached by keys of its own
 * alone, and never chosen by a name, since its context is used for nothing
 * else.
 */
#include "proxy/client_key.h"

#include <errno.h>
#include <openssl/async.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDER "tapward"
#define QUERY_OURS "provider=tapward"
#define QUERY_OTHERS "provider=default"
/* How a key is handed to its import(). */
#define PARAM_KEY "tapward-key"
#define PARAM_PUBLIC "tapward-public"
/* Handshakes that wait for a signature at once: a stack of 32 KiB each. */
#define JOBS_MAX 64
#define CHAIN_MAX 8

/* --- keys ----------------------------------------------------------------- */

struct half_key {
	const char *type;
	EVP_PKEY *public;
	struct client_key *key; /* NULL: there is no private half */
};

static void
unref(struct client_key *k)
{
	if (k != NULL && --k->refs == 0)
		free(k);
}

static struct half_key *
half_new(const char *type)
{
	struct half_key *h = calloc(1, sizeof(*h));

	if (h != NULL)
		h->type = type;
	return h;
}

static void *
rsa_new(void *provider)
{
	(void)provider;
	return half_new("RSA");
}

static void *
ec_new(void *provider)
{
	(void)provider;
	return half_new("EC");
}

static void
half_free(void *data)
{
	struct half_key *h = data;

	if (h == NULL)
		return;
	EVP_PKEY_free(h->public);
	unref(h->key);
	free(h);
}

static int
half_has(const void *data, int selection)
{
	const struct half_key *h = data;

	if (h->public == NULL)
		return 0;
	return (selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY) == 0 ||
	    h->key != NULL;
}

static int
half_match(const void *a, const void *b, int selection)
{
	const struct half_key *x = a, *y = b;

	(void)selection;
	return x->public != NULL && y->public != NULL &&
	    EVP_PKEY_eq(x->public, y->public) == 1;
}

/* Ours, by PARAM_KEY; else the public half of somebody's. */
static int
half_import(void *data, int selection, const OSSL_PARAM params[])
{
	struct half_key *h = data;
	const OSSL_PARAM *key = OSSL_PARAM_locate_const(params, PARAM_KEY);
	const OSSL_PARAM *public =
	    OSSL_PARAM_locate_const(params, PARAM_PUBLIC);
	const void *ptr;
	EVP_PKEY_CTX *c;
	int ok;

	(void)selection;
	if (key != NULL) {
		if (public == NULL ||
		    OSSL_PARAM_get_octet_ptr(public, &ptr, NULL) != 1 ||
		    EVP_PKEY_up_ref((EVP_PKEY *)(uintptr_t)ptr) != 1)
			return 0;
		h->public = (EVP_PKEY *)(uintptr_t)ptr;
		if (OSSL_PARAM_get_octet_ptr(key, &ptr, NULL) != 1)
			return 0;
		h->key = (struct client_key *)(uintptr_t)ptr;
		h->key->refs++;
		return 1;
	}
	c = EVP_PKEY_CTX_new_from_name(NULL, h->type, NULL);
	ok = c != NULL && EVP_PKEY_fromdata_init(c) == 1 &&
	    EVP_PKEY_fromdata(c, &h->public, EVP_PKEY_PUBLIC_KEY,
		(OSSL_PARAM *)(uintptr_t)params) == 1;
	EVP_PKEY_CTX_free(c);
	return ok;
}

static const OSSL_PARAM *
half_import_types(int selection)
{
	static const OSSL_PARAM types[] = {
		OSSL_PARAM_octet_ptr(PARAM_KEY, NULL, 0),
		OSSL_PARAM_octet_ptr(PARAM_PUBLIC, NULL, 0),
		OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_N, NULL, 0),
		OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_E, NULL, 0),
		OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, NULL, 0),
		OSSL_PARAM_octet_string(OSSL_PKEY_PARAM_PUB_KEY, NULL, 0),
		OSSL_PARAM_END,
	};

	(void)selection;
	return types;
}

static int
half_get_params(void *data, OSSL_PARAM params[])
{
	const struct half_key *h = data;

	return h->public != NULL && EVP_PKEY_get_params(h->public, params) == 1;
}

static const OSSL_PARAM *
half_gettable_params(void *provider)
{
	static const OSSL_PARAM types[] = {
		OSSL_PARAM_int(OSSL_PKEY_PARAM_BITS, NULL),
		OSSL_PARAM_int(OSSL_PKEY_PARAM_SECURITY_BITS, NULL),
		OSSL_PARAM_int(OSSL_PKEY_PARAM_MAX_SIZE, NULL),
		OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_DEFAULT_DIGEST, NULL, 0),
		OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, NULL, 0),
		OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_EC_ENCODING, NULL, 0),
		OSSL_PARAM_END,
	};

	(void)provider;
	return types;
}

static const char *
rsa_operation(int operation)
{
	(void)operation;
	return "RSA";
}

static const char *
ec_operation(int operation)
{
	return operation == OSSL_OP_SIGNATURE ? "ECDSA" : "EC";
}

#define FN(f) ((void (*)(void))(f))

#define KEY_FUNCTIONS(new, operation)                                          \
	{ OSSL_FUNC_KEYMGMT_NEW, FN(new) },                                    \
	    { OSSL_FUNC_KEYMGMT_FREE, FN(half_free) },                         \
	    { OSSL_FUNC_KEYMGMT_HAS, FN(half_has) },                           \
	    { OSSL_FUNC_KEYMGMT_MATCH, FN(half_match) },                       \
	    { OSSL_FUNC_KEYMGMT_IMPORT, FN(half_import) },                     \
	    { OSSL_FUNC_KEYMGMT_IMPORT_TYPES, FN(half_import_types) },         \
	    { OSSL_FUNC_KEYMGMT_GET_PARAMS, FN(half_get_params) },             \
	    { OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS, FN(half_gettable_params) },   \
	    { OSSL_FUNC_KEYMGMT_QUERY_OPERATION_NAME, FN(operation) },         \
	{                                                                      \
		0, NULL                                                        \
	}

static const OSSL_DISPATCH rsa_functions[] = { KEY_FUNCTIONS(rsa_new,
    rsa_operation) };
static const OSSL_DISPATCH ec_functions[] = { KEY_FUNCTIONS(ec_new,
    ec_operation) };

/* --- signing -------------------------------------------------------------- */

struct signing {
	const struct half_key *half;
	unsigned int digest; /* of hashes[] */
	bool is_pss;
};

static const struct {
	const char *name;
	uint16_t pss, pkcs1, ecdsa; /* SignatureScheme */
} hashes[] = {
	{ "SHA2-256", 0x0804, 0x0401, 0x0403 },
	{ "SHA2-384", 0x0805, 0x0501, 0x0503 },
	{ "SHA2-512", 0x0806, 0x0601, 0x0603 },
};
#define HASHES (sizeof(hashes) / sizeof(hashes[0]))

static void *
signing_new(void *provider, const char *query)
{
	(void)provider;
	(void)query;
	return calloc(1, sizeof(struct signing));
}

static void
signing_free(void *data)
{
	free(data);
}

static int
signing_set_params(void *data, const OSSL_PARAM params[])
{
	struct signing *s = data;
	const OSSL_PARAM *p =
	    OSSL_PARAM_locate_const(params, OSSL_SIGNATURE_PARAM_PAD_MODE);
	const char *text;
	int mode;

	if (p == NULL)
		return 1;
	if (OSSL_PARAM_get_int(p, &mode) == 1)
		s->is_pss = mode == RSA_PKCS1_PSS_PADDING;
	else if (OSSL_PARAM_get_utf8_string_ptr(p, &text) == 1)
		s->is_pss = strcmp(text, OSSL_PKEY_RSA_PAD_MODE_PSS) == 0;
	else
		return 0;
	return 1;
}

static const OSSL_PARAM *
signing_settable_params(void *data, void *provider)
{
	/* The salt is as long as the digest, as TLS has it: not asked. */
	static const OSSL_PARAM types[] = {
		OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_PAD_MODE, NULL, 0),
		OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_PSS_SALTLEN, NULL,
		    0),
		OSSL_PARAM_END,
	};

	(void)data;
	(void)provider;
	return types;
}

static int
signing_begin(void *data, const char *digest, void *key,
    const OSSL_PARAM params[])
{
	struct signing *s = data;
	EVP_MD *md = EVP_MD_fetch(NULL, digest, NULL);
	bool is_known = false;

	for (unsigned int i = 0; md != NULL && i < HASHES; i++)
		if (EVP_MD_is_a(md, hashes[i].name)) {
			s->digest = i;
			is_known = true;
		}
	EVP_MD_free(md);
	s->half = key;
	return is_known && s->half->key != NULL &&
	    (params == NULL || signing_set_params(s, params) == 1);
}

static uint16_t
scheme_of(const struct signing *s)
{
	if (strcmp(s->half->type, "EC") == 0)
		return hashes[s->digest].ecdsa;
	return s->is_pss ? hashes[s->digest].pss : hashes[s->digest].pkcs1;
}

/* Whoever goes on with the handshake before there is an answer waits on. */
static bool
await_answer(struct client_key *k, uint16_t scheme, struct span tbs)
{
	if (k->ask == NULL || ASYNC_get_current_job() == NULL)
		return false;
	k->state = CLIENT_KEY_ASKED;
	if (!k->ask(k, scheme, tbs))
		k->state = CLIENT_KEY_FAILED;
	while (k->state == CLIENT_KEY_ASKED)
		if (ASYNC_pause_job() != 1)
			return false;
	return k->state == CLIENT_KEY_SIGNED;
}

static int
signing_sign(void *data, unsigned char *sig, size_t *sig_len, size_t size,
    const unsigned char *tbs, size_t tbs_len)
{
	const struct signing *s = data;
	struct client_key *k = s->half->key;

	if (sig == NULL) {
		*sig_len = (size_t)EVP_PKEY_get_size(s->half->public);
		return 1;
	}
	if (!await_answer(k, scheme_of(s), (struct span){ tbs, tbs_len }) ||
	    k->signature_len > size)
		return 0;
	memcpy(sig, k->signature, k->signature_len);
	*sig_len = k->signature_len;
	return 1;
}

static const OSSL_DISPATCH signing_functions[] = {
	{ OSSL_FUNC_SIGNATURE_NEWCTX, FN(signing_new) },
	{ OSSL_FUNC_SIGNATURE_FREECTX, FN(signing_free) },
	{ OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT, FN(signing_begin) },
	{ OSSL_FUNC_SIGNATURE_DIGEST_SIGN, FN(signing_sign) },
	{ OSSL_FUNC_SIGNATURE_SET_CTX_PARAMS, FN(signing_set_params) },
	{ OSSL_FUNC_SIGNATURE_SETTABLE_CTX_PARAMS,
	    FN(signing_settable_params) },
	{ 0, NULL },
};

/* --- the provider --------------------------------------------------------- */

static const OSSL_ALGORITHM keys[] = {
	{ "RSA:rsaEncryption:1.2.840.113549.1.1.1", QUERY_OURS, rsa_functions,
	    NULL },
	{ "EC:id-ecPublicKey:1.2.840.10045.2.1", QUERY_OURS, ec_functions,
	    NULL },
	{ NULL, NULL, NULL, NULL },
};

static const OSSL_ALGORITHM signatures[] = {
	{ "RSA:rsaEncryption:1.2.840.113549.1.1.1", QUERY_OURS,
	    signing_functions, NULL },
	{ "ECDSA", QUERY_OURS, signing_functions, NULL },
	{ NULL, NULL, NULL, NULL },
};

static const OSSL_ALGORITHM *
query(void *provider, int operation, int *ret_no_cache)
{
	(void)provider;
	*ret_no_cache = 0;
	if (operation == OSSL_OP_KEYMGMT)
		return keys;
	return operation == OSSL_OP_SIGNATURE ? signatures : NULL;
}

static int
start(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in,
    const OSSL_DISPATCH **ret, void **ret_provider)
{
	static const OSSL_DISPATCH functions[] = {
		{ OSSL_FUNC_PROVIDER_QUERY_OPERATION, FN(query) },
		{ 0, NULL },
	};

	(void)in;
	*ret = functions;
	*ret_provider = (void *)(uintptr_t)handle;
	return 1;
}

struct client_keys {
	OSSL_LIB_CTX *context;
	OSSL_PROVIDER *ours, *others;
};

struct client_keys *
client_keys_new(void)
{
	struct client_keys *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	(void)ASYNC_init_thread(JOBS_MAX, 0);
	c->context = OSSL_LIB_CTX_new();
	if (c->context != NULL &&
	    OSSL_PROVIDER_add_builtin(c->context, PROVIDER, start) == 1 &&
	    EVP_set_default_properties(c->context, "?" QUERY_OTHERS) == 1) {
		c->others = OSSL_PROVIDER_load(c->context, "default");
		c->ours = OSSL_PROVIDER_load(c->context, PROVIDER);
	}
	if (c->others != NULL && c->ours != NULL)
		return c;
	ERR_clear_error();
	client_keys_free(c);
	return NULL;
}

void
client_keys_free(struct client_keys *c)
{
	if (c == NULL)
		return;
	if (c->ours != NULL)
		(void)OSSL_PROVIDER_unload(c->ours);
	if (c->others != NULL)
		(void)OSSL_PROVIDER_unload(c->others);
	OSSL_LIB_CTX_free(c->context);
	ASYNC_cleanup_thread();
	free(c);
}

OSSL_LIB_CTX *
client_keys_context(const struct client_keys *c)
{
	return c->context;
}

struct client_key *
client_key_new(client_key_ask *ask, void *arg)
{
	struct client_key *k = calloc(1, sizeof(*k));

	if (k != NULL) {
		k->refs = 1;
		k->ask = ask;
		k->arg = arg;
	}
	return k;
}

void
client_key_release(struct client_key *k)
{
	if (k == NULL)
		return;
	k->ask = NULL;
	unref(k);
}

/* The private key that k stands for, of the public one of the leaf. */
static EVP_PKEY *
make_key(OSSL_LIB_CTX *context, EVP_PKEY *public, struct client_key *k)
{
	void *key = k, *half = public;
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_ptr(PARAM_KEY, &key, 0),
		OSSL_PARAM_construct_octet_ptr(PARAM_PUBLIC, &half, 0),
		OSSL_PARAM_construct_end(),
	};
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(context,
	    EVP_PKEY_is_a(public, "RSA") == 1 ? "RSA" : "EC", QUERY_OURS);
	EVP_PKEY *ret = NULL;

	if (c != NULL && EVP_PKEY_fromdata_init(c) == 1)
		(void)EVP_PKEY_fromdata(c, &ret, EVP_PKEY_KEYPAIR, params);
	EVP_PKEY_CTX_free(c);
	return ret;
}

static int
use_leaf(OSSL_LIB_CTX *context, SSL *ssl, X509 *leaf, struct client_key *k)
{
	EVP_PKEY *public = X509_get0_pubkey(leaf);
	EVP_PKEY *private =
	    public == NULL ? NULL : make_key(context, public, k);
	const bool ok = private != NULL &&
	    SSL_use_certificate(ssl, leaf) == 1 &&
	    SSL_use_PrivateKey(ssl, private) == 1;

	EVP_PKEY_free(private);
	return ok ? 0 : -EBADMSG;
}

int
client_key_use(const struct client_keys *c, SSL *ssl, struct span chain,
    struct client_key *k)
{
	const unsigned char *at = chain.ptr, *end = chain.ptr + chain.len;
	int rc = chain.len == 0 ? -EBADMSG : 0;

	for (int i = 0; rc == 0 && at < end; i++) {
		X509 *x = i == CHAIN_MAX ? NULL : d2i_X509(NULL, &at, end - at);

		if (x == NULL)
			rc = -EBADMSG;
		else if (i == 0)
			rc = use_leaf(c->context, ssl, x, k);
		else if (SSL_add1_chain_cert(ssl, x) != 1)
			rc = -ENOMEM;
		X509_free(x);
	}
	ERR_clear_error();
	if (rc == 0)
		(void)SSL_set_mode(ssl, SSL_MODE_ASYNC);
	return rc;
}

void
client_key_answer(struct client_key *k, struct span signature)
{
	if (k->state != CLIENT_KEY_ASKED)
		return;
	k->state = CLIENT_KEY_FAILED;
	if (signature.len == 0 || signature.len > sizeof(k->signature))
		return;
	memcpy(k->signature, signature.ptr, signature.len);
	k->signature_len = signature.len;
	k->state = CLIENT_KEY_SIGNED;
}

bool
client_key_has_stopped(SSL *ssl)
{
	return SSL_waiting_for_async(ssl) == 1;
}

void
client_key_done(SSL *ssl)
{
	(void)SSL_clear_mode(ssl, SSL_MODE_ASYNC);
}
