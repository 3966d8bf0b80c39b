/*
 * Leaves for the names that a guest asks for: one key for all, one SAN each,
 * over within a day, back-dated for guests whose clock is slow. The cache is
 * bounded, and so is how fast new names are taken, since a guest chooses both.
 */
#include "proxy/tls_private.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/names.h"
#include "proxy/x509_make.h"

/*
 * A guest that was restored from a snapshot has the clock of that day, which
 * may be months ago; what lies behind us vouches for nothing. Together they
 * stay below 398 days, the strictest limit on a leaf that a client has (Apple,
 * Chromium: for public roots; Apple has 825 for any other).
 */
#define LEAF_BACK_S (INT64_C(365) * 86400)
#define LEAF_AHEAD_S INT64_C(86400)
/* Made anew when it is this old, so that 18 h are always left. */
#define LEAF_FRESH_MS (UINT64_C(6) * 3600 * 1000)
/* Longest common name (RFC 5280, ub-common-name). */
#define COMMON_NAME_MAX 64

struct leaf {
	char host[HOST_NAME_SIZE];
	X509 *cert;
	uint64_t made_ms;           /* wall clock */
	struct leaf *chain;         /* of its bucket */
	struct leaf *newer, *older; /* by use */
};

struct leaf_cache {
	EVP_PKEY *ca_key; /* borrowed */
	X509 *ca;         /* borrowed */
	EVP_PKEY *key;    /* of every leaf */
	uint32_t entries_max;
	uint32_t count;
	uint32_t bucket_mask;
	struct leaf **buckets;
	struct leaf *newest, *oldest;
	/* A bucket of tokens, in thousandths. */
	uint64_t per_second;
	uint64_t tokens;
	uint64_t filled_ms;
};

struct leaf_cache *
leaf_cache_new(EVP_PKEY *ca_key, X509 *ca, uint32_t entries,
    uint32_t mint_per_second)
{
	struct leaf_cache *l = calloc(1, sizeof(*l));
	uint32_t buckets = 64;

	if (l == NULL)
		return NULL;
	while (buckets < entries && buckets < 65536)
		buckets *= 2;
	l->ca_key = ca_key;
	l->ca = ca;
	l->entries_max = entries == 0 ? 1 : entries;
	l->bucket_mask = buckets - 1;
	l->per_second = mint_per_second;
	l->tokens = l->per_second * 1000;
	l->filled_ms = clock_mono_ms();
	l->buckets = calloc(buckets, sizeof(struct leaf *));
	l->key = x509_make_key();
	if (l->buckets == NULL || l->key == NULL) {
		leaf_cache_free(l);
		return NULL;
	}
	return l;
}

static struct leaf **
bucket_of(struct leaf_cache *l, const char *host)
{
	uint64_t h = UINT64_C(0x9ce484222325); /* as FNV-1a */

	for (const char *p = host; *p != '\0'; p++)
		h = (h ^ (uint8_t)*p) * 0x1b3u % UINT64_C(0xfffffffffffff);
	return &l->buckets[h & l->bucket_mask];
}

static void
use_unlink(struct leaf_cache *l, struct leaf *e)
{
	if (e->newer != NULL)
		e->newer->older = e->older;
	else
		l->newest = e->older;
	if (e->older != NULL)
		e->older->newer = e->newer;
	else
		l->oldest = e->newer;
}

static void
use_link(struct leaf_cache *l, struct leaf *e)
{
	e->newer = NULL;
	e->older = l->newest;
	if (l->newest != NULL)
		l->newest->newer = e;
	else
		l->oldest = e;
	l->newest = e;
}

static void
drop(struct leaf_cache *l, struct leaf *e)
{
	struct leaf **at = bucket_of(l, e->host);

	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
	use_unlink(l, e);
	X509_free(e->cert);
	free(e);
	l->count--;
}

void
leaf_cache_free(struct leaf_cache *l)
{
	if (l == NULL)
		return;
	while (l->newest != NULL)
		drop(l, l->newest);
	free(l->buckets);
	EVP_PKEY_free(l->key);
	free(l);
}

EVP_PKEY *
leaf_cache_key(struct leaf_cache *l)
{
	return l->key;
}

uint32_t
leaf_cache_count(const struct leaf_cache *l)
{
	return l->count;
}

static bool
may_mint(struct leaf_cache *l)
{
	uint64_t now = clock_mono_ms();
	uint64_t most = l->per_second * 1000;

	/* Thousandths a millisecond are units a second. */
	if (now - l->filled_ms > 1000)
		l->tokens = most;
	else
		l->tokens += (now - l->filled_ms) * l->per_second;
	if (l->tokens > most)
		l->tokens = most;
	l->filled_ms = now;
	if (l->tokens < 1000)
		return false;
	l->tokens -= 1000;
	return true;
}

/* The end of the CA, in seconds since 1970. */
static int64_t
ca_end(const X509 *ca, int64_t now_s)
{
	int days = 0, seconds = 0;
	ASN1_TIME *now = ASN1_TIME_set(NULL, now_s);

	if (now == NULL ||
	    ASN1_TIME_diff(&days, &seconds, now, X509_get0_notAfter(ca)) != 1)
		days = seconds = 0;
	ASN1_TIME_free(now);
	return now_s + (int64_t)days * 86400 + seconds;
}

static bool
fill(struct leaf_cache *l, X509 *x, const char *host)
{
	int64_t now_s = (int64_t)(clock_wall_ms() / 1000);
	int64_t end_s = ca_end(l->ca, now_s);
	const char *name =
	    strlen(host) <= COMMON_NAME_MAX ? host : "tapward leaf";

	if (end_s > now_s + LEAF_AHEAD_S)
		end_s = now_s + LEAF_AHEAD_S;
	return X509_set_version(x, X509_VERSION_3) == 1 &&
	    x509_make_serial(x) &&
	    x509_make_validity(x, now_s - LEAF_BACK_S, end_s) &&
	    x509_make_name(X509_get_subject_name(x), name) &&
	    X509_set_issuer_name(x, X509_get_subject_name(l->ca)) == 1 &&
	    X509_set_pubkey(x, l->key) == 1 &&
	    x509_add_basic_constraints(x, false, -1) &&
	    x509_add_key_usage(x, KU_DIGITAL_SIGNATURE) &&
	    x509_add_server_auth(x) && x509_add_dns_name(x, host) &&
	    x509_add_authority_key_id(x, l->ca) &&
	    X509_sign(x, l->ca_key, EVP_sha256()) != 0;
}

static X509 *
mint(struct leaf_cache *l, const char *host)
{
	X509 *x = X509_new();

	if (x != NULL && fill(l, x, host))
		return x;
	ERR_clear_error();
	X509_free(x);
	return NULL;
}

static struct leaf *
find(struct leaf_cache *l, const char *host)
{
	struct leaf *e = *bucket_of(l, host);

	while (e != NULL && strcmp(e->host, host) != 0)
		e = e->chain;
	return e;
}

/* Also false when the wall clock was set back. */
static bool
is_fresh(const struct leaf *e)
{
	uint64_t now = clock_wall_ms();

	return now >= e->made_ms && now - e->made_ms < LEAF_FRESH_MS;
}

static int
make(struct leaf_cache *l, const char *host, X509 **ret)
{
	struct leaf *e;
	struct leaf **bucket = bucket_of(l, host);

	if (!may_mint(l))
		return -EAGAIN;
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		return -ENOMEM;
	e->cert = mint(l, host);
	if (e->cert == NULL) {
		free(e);
		return -EIO;
	}
	memcpy(e->host, host, strlen(host));
	e->made_ms = clock_wall_ms();
	if (l->count >= l->entries_max)
		drop(l, l->oldest);
	e->chain = *bucket;
	*bucket = e;
	use_link(l, e);
	l->count++;
	*ret = e->cert;
	return 0;
}

int
leaf_cache_get(struct leaf_cache *l, const char *host, X509 **ret)
{
	struct leaf *e;

	if (strlen(host) >= HOST_NAME_SIZE)
		return -EINVAL;
	e = find(l, host);
	if (e != NULL && !is_fresh(e)) {
		drop(l, e);
		e = NULL;
	}
	if (e == NULL)
		return make(l, host, ret);
	use_unlink(l, e);
	use_link(l, e);
	*ret = e->cert;
	return 0;
}
