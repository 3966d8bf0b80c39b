/*
 * Roots for OpenSSL: a certificate is parsed when a chain asks for its
 * subject, and stays in the store from then on: a gate parses the two or three
 * roots its guest's origins use. And for libcurl, which takes PEM.
 */
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/roots_private.h"

/* What one store looks at. */
struct use {
	struct roots *roots;
	unsigned int set;
};

/* Index of the first entry of the set of this hash or a larger one. */
static uint32_t
lower_bound(const struct roots *r, const struct roots_set *set, uint32_t hash)
{
	uint32_t from = set->first, to = set->first + set->count;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (roots_entry_at(r, mid).hash < hash)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static X509 *
parse(struct roots_entry e)
{
	const unsigned char *der = e.der.ptr;

	return d2i_X509(NULL, &der, (long)e.der.len);
}

/* The hash is of 32 bits: two names may share it. */
static X509 *
parse_if_named(struct roots_entry e, const X509_NAME *name)
{
	X509 *x = parse(e);

	if (x != NULL && X509_NAME_cmp(X509_get_subject_name(x), name) == 0)
		return x;
	X509_free(x);
	return NULL;
}

struct wanted {
	const X509_NAME *name;
	uint32_t hash;
	X509_STORE *store;
};

/*
 * All roots of the name go into the store; ret gets one of them, unless it
 * has one. The caller of the callback takes a reference of its own for what ret
 * points to, and expects the store's to be the only other one: so ours and
 * that of set1 are both given back.
 */
static bool
take_from(const struct roots *r, const struct roots_set *set,
    const struct wanted *w, bool has_one, X509_OBJECT *ret)
{
	const uint32_t end = set->first + set->count;

	for (uint32_t i = lower_bound(r, set, w->hash);
	     i < end && roots_entry_at(r, i).hash == w->hash; i++) {
		X509 *x = parse_if_named(roots_entry_at(r, i), w->name);

		if (x == NULL)
			continue;
		if (!has_one && X509_STORE_add_cert(w->store, x) == 1 &&
		    X509_OBJECT_set1_X509(ret, x) == 1) {
			X509_free(x);
			has_one = true;
		} else {
			(void)X509_STORE_add_cert(w->store, x);
		}
		X509_free(x);
	}
	return has_one;
}

static bool
has_public(const struct roots *r, unsigned int set)
{
	return set != ROOTS_PUBLIC &&
	    (r->sets[set].flags & ROOTS_WITH_PUBLIC) != 0;
}

/* X509_STORE asks here for what it does not hold. */
static int
by_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name,
    X509_OBJECT *ret)
{
	const struct use *use = X509_LOOKUP_get_method_data(lookup);
	const struct roots *r = use->roots;
	struct wanted w = { .name = name,
		.store = X509_LOOKUP_get_store(lookup) };
	bool has_one;
	int ok = 0;

	if (type != X509_LU_X509)
		return 0;
	w.hash = (uint32_t)X509_NAME_hash_ex(name, NULL, NULL, &ok);
	if (ok != 1)
		return 0;
	has_one = take_from(r, &r->sets[use->set], &w, false, ret);
	if (has_public(r, use->set))
		has_one =
		    take_from(r, &r->sets[ROOTS_PUBLIC], &w, has_one, ret);
	return has_one ? 1 : 0;
}

static void
on_lookup_free(X509_LOOKUP *lookup)
{
	struct use *use = X509_LOOKUP_get_method_data(lookup);

	if (use == NULL)
		return;
	roots_unref(use->roots);
	free(use);
}

static int
make_method(struct roots *r)
{
	if (r->method != NULL)
		return 0;
	r->method = X509_LOOKUP_meth_new("roots image");
	if (r->method == NULL)
		return -ENOMEM;
	if (X509_LOOKUP_meth_set_get_by_subject(r->method, by_subject) != 1 ||
	    X509_LOOKUP_meth_set_free(r->method, on_lookup_free) != 1)
		return -EIO;
	return 0;
}

void
roots_free_method(struct roots *r)
{
	X509_LOOKUP_meth_free(r->method);
}

int
roots_use(struct roots *r, unsigned int set, X509_STORE *store)
{
	struct use *use;
	X509_LOOKUP *lookup;
	int rc = set < r->set_count ? make_method(r) : -EINVAL;

	if (rc != 0)
		return rc;
	use = malloc(sizeof(*use));
	if (use == NULL)
		return -ENOMEM;
	*use = (struct use){ r, set };
	lookup = X509_STORE_add_lookup(store, r->method);
	if (lookup == NULL || X509_LOOKUP_set_method_data(lookup, use) != 1) {
		free(use);
		return -ENOMEM;
	}
	r->refs++;
	return 0;
}

static bool
write_set(BIO *bio, const struct roots *r, const struct roots_set *set)
{
	for (uint32_t i = 0; i < set->count; i++) {
		const struct span der = roots_entry_at(r, set->first + i).der;

		if (PEM_write_bio(bio, PEM_STRING_X509, "", der.ptr,
			(long)der.len) == 0)
			return false;
	}
	return true;
}

int
roots_write_pem(const struct roots *r, unsigned int set, char **ret,
    size_t *ret_len)
{
	BIO *bio = set < r->set_count ? BIO_new(BIO_s_mem()) : NULL;
	char *text = NULL, *copy = NULL;
	long len = 0;

	if (bio != NULL && write_set(bio, r, &r->sets[set]) &&
	    (!has_public(r, set) || write_set(bio, r, &r->sets[ROOTS_PUBLIC])))
		len = BIO_get_mem_data(bio, &text);
	if (len > 0)
		copy = malloc((size_t)len);
	if (copy != NULL)
		memcpy(copy, text, (size_t)len);
	BIO_free(bio);
	ERR_clear_error();
	if (copy == NULL)
		return -ENOMEM;
	*ret = copy;
	*ret_len = (size_t)len;
	return 0;
}
