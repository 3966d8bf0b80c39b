/*
 * The state of a gate's TLS, and the CA of its sandbox: key and certificate
 * are read once from a descriptor.
 */
#include "proxy/tls_private.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "proxy/pool.h"

/* Key and certificate in PEM are about 1.2 KiB. */
#define CA_PEM_MAX_BYTES 16384

static int
parse_pem(const uint8_t *ptr, size_t len, EVP_PKEY **ret_key, X509 **ret_ca)
{
	BIO *bio = BIO_new_mem_buf(ptr, (int)len);
	EVP_PKEY *key = NULL;
	X509 *ca = NULL;

	if (bio != NULL)
		key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
	if (key != NULL)
		ca = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	BIO_free(bio);
	ERR_clear_error();
	if (ca == NULL || X509_check_ca(ca) != 1 ||
	    X509_check_private_key(ca, key) != 1) {
		X509_free(ca);
		EVP_PKEY_free(key);
		return -EBADMSG;
	}
	*ret_key = key;
	*ret_ca = ca;
	return 0;
}

int
tls_ca_read(int fd, EVP_PKEY **ret_key, X509 **ret_ca)
{
	struct stat st;
	void *pem;
	int rc;

	if (fstat(fd, &st) == -1)
		return -errno;
	if (st.st_size <= 0 || st.st_size > CA_PEM_MAX_BYTES)
		return -EBADMSG;
	/*
	 * Mapped, not read: no copy of the key to be wiped, and the position
	 * of a descriptor that another gate may share is left alone.
	 */
	pem = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (pem == MAP_FAILED)
		return -errno;
	rc = parse_pem(pem, (size_t)st.st_size, ret_key, ret_ca);
	(void)munmap(pem, (size_t)st.st_size);
	return rc;
}

static int
build(struct gate *g, struct tls_state *t, int ca_fd, int roots_fd)
{
	int rc = tls_ca_read(ca_fd, &t->ca_key, &t->ca);

	if (rc == 0)
		rc = roots_map(roots_fd, &t->roots);
	if (rc != 0)
		return rc;
	t->leaves = leaf_cache_new(t->ca_key, t->ca, g->limits.leaf_cache,
	    g->limits.mint_per_second);
	t->sessions = origin_sessions_new();
	if (t->leaves == NULL || t->sessions == NULL)
		return -ENOMEM;
	t->guest = tls_guest_context(t);
	t->origin = tls_origin_context(t);
	if (t->guest == NULL || t->origin == NULL)
		return -ENOMEM;
	return 0;
}

static void
state_free(struct tls_state *t)
{
	if (t == NULL)
		return;
	SSL_CTX_free(t->guest);
	SSL_CTX_free(t->origin);
	tls_origin_forget(t);
	origin_sessions_free(t->sessions);
	client_keys_free(t->keys);
	leaf_cache_free(t->leaves);
	roots_unref(t->roots);
	X509_free(t->ca);
	EVP_PKEY_free(t->ca_key);
	free(t);
}

int
tls_state_new(struct gate *g, int ca_fd, int roots_fd)
{
	struct tls_state *t;
	int rc;

	/* No openssl.cnf: a file must not change what we trust or offer. */
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		return -ENOMEM;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -ENOMEM;
	rc = build(g, t, ca_fd, roots_fd);
	if (rc != 0) {
		ERR_clear_error();
		state_free(t);
		return rc;
	}
	g->tls = t;
	return 0;
}

int
tls_state_set_roots(struct gate *g, int roots_fd)
{
	struct tls_state *t = g->tls;
	struct roots *fresh, *old = t->roots;
	SSL_CTX *context;
	int rc = roots_map(roots_fd, &fresh);

	if (rc != 0)
		return rc;
	t->roots = fresh;
	context = tls_origin_context(t);
	if (context == NULL) {
		t->roots = old;
		roots_unref(fresh);
		return -ENOMEM;
	}
	SSL_CTX_free(t->origin);
	t->origin = context;
	t->roots_generation = ++g->roots_generation;
	tls_origin_forget(t);
	origin_sessions_flush(t->sessions);
	/* Handshakes under way still hold it by their context. */
	roots_unref(old);
	if (g->pool != NULL)
		pool_flush(g);
	return 0;
}

void
tls_state_free(struct gate *g)
{
	state_free(g->tls);
	g->tls = NULL;
}
