/*
 * The image of roots. All numbers big-endian:
 *
 *	"TWROOTS1"
 *	u32 count
 *	count times, ascending by hash:
 *		u32 hash    X509_NAME_hash_ex() of the subject
 *		u32 offset  of the DER, from the start of the image
 *		u32 length
 *	the DERs
 *
 * A certificate is parsed when a chain asks for its subject, and stays in the
 * store of the context from then on: a gate parses the two or three roots its
 * guest's origins use.
 */
#include "proxy/roots.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"

#define MAGIC "TWROOTS1"
#define MAGIC_BYTES 8
#define HEADER_BYTES 12
#define ENTRY_BYTES 12
/* Debian's bundle holds 140; a company adds a few. */
#define ROOTS_MAX 4096
#define IMAGE_MAX_BYTES (16u << 20)

struct roots {
	struct span image;
	bool is_mapped;
	uint32_t count;
	uint32_t refs;
	X509_LOOKUP_METHOD *method;
};

struct entry {
	uint32_t hash;
	uint32_t offset;
	uint32_t len;
};

static struct entry
entry_at(const struct roots *r, uint32_t i)
{
	struct rd in = rd_span(r->image);
	struct entry e;

	rd_skip(&in, HEADER_BYTES + (size_t)i * ENTRY_BYTES);
	e.hash = rd_u32(&in);
	e.offset = rd_u32(&in);
	e.len = rd_u32(&in);
	return e;
}

static bool
is_sound(struct roots *r)
{
	struct rd in = rd_span(r->image);
	struct span magic = rd_take(&in, MAGIC_BYTES);
	size_t first;
	uint32_t last_hash = 0;

	r->count = rd_u32(&in);
	if (!rd_ok(&in) || !span_is(magic, MAGIC) || r->count > ROOTS_MAX)
		return false;
	first = HEADER_BYTES + (size_t)r->count * ENTRY_BYTES;
	if (first > r->image.len)
		return false;
	for (uint32_t i = 0; i < r->count; i++) {
		struct entry e = entry_at(r, i);

		if (e.hash < last_hash || e.offset < first ||
		    e.offset > r->image.len || e.len > r->image.len - e.offset)
			return false;
		last_hash = e.hash;
	}
	return true;
}

int
roots_map_bytes(struct span image, struct roots **ret)
{
	struct roots *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	r->image = image;
	r->refs = 1;
	if (!is_sound(r)) {
		free(r);
		return -EBADMSG;
	}
	*ret = r;
	return 0;
}

int
roots_map(int fd, struct roots **ret)
{
	struct stat st;
	void *ptr;
	int rc;

	if (!fd_is_sealed(fd))
		return -EINVAL;
	if (fstat(fd, &st) == -1)
		return -errno;
	if (st.st_size < HEADER_BYTES || st.st_size > IMAGE_MAX_BYTES)
		return -EBADMSG;
	ptr = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (ptr == MAP_FAILED)
		return -errno;
	rc = roots_map_bytes((struct span){ ptr, (size_t)st.st_size }, ret);
	if (rc == 0)
		(*ret)->is_mapped = true;
	else
		(void)munmap(ptr, (size_t)st.st_size);
	return rc;
}

void
roots_unref(struct roots *r)
{
	if (r == NULL || --r->refs > 0)
		return;
	if (r->is_mapped)
		(void)munmap((void *)(uintptr_t)r->image.ptr, r->image.len);
	X509_LOOKUP_meth_free(r->method);
	free(r);
}

size_t
roots_count(const struct roots *r)
{
	return r->count;
}

/* Index of the first entry of this hash or a larger one. */
static uint32_t
lower_bound(const struct roots *r, uint32_t hash)
{
	uint32_t from = 0, to = r->count;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (entry_at(r, mid).hash < hash)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static X509 *
parse(const struct roots *r, struct entry e)
{
	const unsigned char *der = r->image.ptr + e.offset;

	return d2i_X509(NULL, &der, (long)e.len);
}

/* The hash is of 32 bits: two names may share it. */
static X509 *
parse_if_named(const struct roots *r, struct entry e, const X509_NAME *name)
{
	X509 *x = parse(r, e);

	if (x != NULL && X509_NAME_cmp(X509_get_subject_name(x), name) == 0)
		return x;
	X509_free(x);
	return NULL;
}

/*
 * X509_STORE asks here for what it does not hold. All roots of the name go
 * into the store; ret gets one of them. The caller of this callback takes a
 * reference of its own for what ret points to, and expects the store's to be
 * the only other one: so ours and that of set1 are both given back.
 */
static int
by_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name,
    X509_OBJECT *ret)
{
	const struct roots *r = X509_LOOKUP_get_method_data(lookup);
	X509_STORE *store = X509_LOOKUP_get_store(lookup);
	uint32_t hash;
	int ok = 0;

	if (type != X509_LU_X509)
		return 0;
	hash = (uint32_t)X509_NAME_hash_ex(name, NULL, NULL, &ok);
	if (ok != 1)
		return 0;
	ok = 0;
	for (uint32_t i = lower_bound(r, hash);
	     i < r->count && entry_at(r, i).hash == hash; i++) {
		X509 *x = parse_if_named(r, entry_at(r, i), name);

		if (x == NULL)
			continue;
		if (ok == 0 && X509_STORE_add_cert(store, x) == 1 &&
		    X509_OBJECT_set1_X509(ret, x) == 1) {
			X509_free(x);
			ok = 1;
		} else {
			(void)X509_STORE_add_cert(store, x);
		}
		X509_free(x);
	}
	return ok;
}

static void
on_lookup_free(X509_LOOKUP *lookup)
{
	roots_unref(X509_LOOKUP_get_method_data(lookup));
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

int
roots_use(struct roots *r, SSL_CTX *ctx)
{
	X509_LOOKUP *lookup;
	int rc = make_method(r);

	if (rc != 0)
		return rc;
	lookup = X509_STORE_add_lookup(SSL_CTX_get_cert_store(ctx), r->method);
	if (lookup == NULL)
		return -ENOMEM;
	if (X509_LOOKUP_set_method_data(lookup, r) != 1)
		return -EIO;
	r->refs++;
	return 0;
}
