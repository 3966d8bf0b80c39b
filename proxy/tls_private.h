/*
 * What the tls_*.c files share. For nobody else.
 */
#ifndef TAPWARD_PROXY_TLS_PRIVATE_H
#define TAPWARD_PROXY_TLS_PRIVATE_H

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "proxy/client_key.h"
#include "proxy/roots.h"
#include "proxy/tls.h"
#include "proxy/tls_context.h"

struct leaf_cache;
struct origin_sessions;

struct tls_state {
	EVP_PKEY *ca_key;
	X509 *ca;
	struct leaf_cache *leaves;
	SSL_CTX *guest;
	SSL_CTX *origin;
	struct roots *roots;
	uint32_t roots_generation; /* the gate's */
	/* of private CAs, made when first asked for; 0 is the context's */
	X509_STORE *stores[ROOTS_SETS_MAX];
	/* For client certificates; both NULL until one is shown. */
	struct client_keys *keys;
	SSL_CTX *certified;
	LIST_HEAD(, tls_origin) shown; /* connections that showed one */
	struct origin_sessions *sessions;
};

/* tls_ca.c: reads key and certificate. 0, -EBADMSG or -errno. */
int tls_ca_read(int fd, EVP_PKEY **ret_key, X509 **ret_ca);

/* tls_leaf.c */
struct leaf_cache *leaf_cache_new(EVP_PKEY *ca_key, X509 *ca, uint32_t entries,
    uint32_t mint_per_second);
void leaf_cache_free(struct leaf_cache *l);
EVP_PKEY *leaf_cache_key(struct leaf_cache *l);
/*
 * The certificate for host, from the cache or new; borrows until the next
 * call. -EAGAIN when too many names a second were new, -EIO when OpenSSL
 * fails.
 */
int leaf_cache_get(struct leaf_cache *l, const char *host, X509 **ret);
uint32_t leaf_cache_count(const struct leaf_cache *l);

/* tls_guest.c, tls_origin.c: their contexts. NULL when they fail. */
SSL_CTX *tls_guest_context(struct tls_state *t);
SSL_CTX *tls_origin_context(struct tls_state *t);
/* tls_guest.c: what ALPN agreed on, on either side. */
enum tls_http tls_alpn(const SSL *ssl);
/* What is made on demand is of other roots now: it is made anew. */
void tls_origin_forget(struct tls_state *t);
struct origin_sessions *origin_sessions_new(void);
void origin_sessions_free(struct origin_sessions *s);
void origin_sessions_flush(struct origin_sessions *s);

#endif
