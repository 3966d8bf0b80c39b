/*
 * From PEM to the image of roots, see roots_private.h for its form.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/roots_private.h"

/* Keys that are tried until no pattern is far from its slot. */
#define KEYS_MAX 64
static_assert(ROOTS_SLOTS_MAX >= 4 * CA_SETS_MAX * CA_SET_HOSTS_MAX,
    "the table stays thin");

struct built {
	uint32_t hash;
	uint8_t *der;
	uint32_t len;
};

struct pattern {
	enum roots_pattern kind;
	struct span name;
	uint32_t set;
};

struct builder {
	struct built *list;
	uint32_t count;
	uint32_t set_count;
	struct {
		uint32_t count, flags;
	} sets[ROOTS_SETS_MAX];
	struct siphash_key key;
	uint32_t slot_count;
	const struct pattern *slots[ROOTS_SLOTS_MAX];
	uint32_t pattern_count;
	struct pattern patterns[CA_SETS_MAX * CA_SET_HOSTS_MAX];
	char *text; /* of the first fault; NULL: nobody reads it */
	size_t text_size;
};

/* Reading of one text. */
struct reader {
	struct span pem;
	BIO *bio;
	bool is_strict;
	size_t block_at; /* where the search for the last block began */
};

/* --- certificates --------------------------------------------------------- */

static int
by_hash(const void *a, const void *b)
{
	const struct built *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

static bool
take(struct built *b, const X509 *x)
{
	int ok = 0;
	int len;

	b->der = NULL;
	b->hash = (uint32_t)X509_NAME_hash_ex(X509_get_subject_name(x), NULL,
	    NULL, &ok);
	if (ok != 1)
		return false;
	len = i2d_X509(x, &b->der);
	if (len <= 0)
		return false;
	b->len = (uint32_t)len;
	return true;
}

/* Line of the block that was read last, or could not be. */
static unsigned int
line_of_block(const struct reader *r)
{
	static const char begin[] = "-----BEGIN ";
	const uint8_t *end = r->pem.ptr + r->pem.len;
	const uint8_t *at = memmem(r->pem.ptr + r->block_at,
	    r->pem.len - r->block_at, begin, sizeof(begin) - 1);
	unsigned int line = 1;

	for (const uint8_t *p = r->pem.ptr; p < (at == NULL ? end : at); p++)
		line += *p == '\n' ? 1 : 0;
	return line;
}

/* 1 and a certificate, 0 at the end, -EINVAL: a block that is none. */
static int
read_block(struct reader *r, X509 **ret)
{
	unsigned long e;

	r->block_at = r->pem.len - (size_t)BIO_pending(r->bio);
	*ret = PEM_read_bio_X509_AUX(r->bio, NULL, NULL, NULL);
	if (*ret != NULL)
		return 1;
	e = ERR_peek_last_error();
	ERR_clear_error();
	return ERR_GET_LIB(e) == ERR_LIB_PEM &&
		ERR_GET_REASON(e) == PEM_R_NO_START_LINE
	    ? 0
	    : -EINVAL;
}

/*
 * The same, but that of a public bundle what is no certificate is passed over:
 * the reader stands behind it then.
 */
static int
next(struct reader *r, X509 **ret)
{
	for (;;) {
		int rc = read_block(r, ret);

		if (rc >= 0 || r->is_strict)
			return rc;
		if (BIO_eof(r->bio))
			return 0;
	}
}

__attribute__((format(printf, 3, 4))) static int
refuse(struct builder *b, const struct message_ca_set *set, const char *fmt,
    ...)
{
	char what[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	(void)snprintf(b->text, b->text_size, "%s: [ca %s] file %s: %s",
	    set->at, set->name, set->file, what);
	return -EINVAL;
}

/* set is NULL for the public bundle. 0, -EINVAL or -ENOENT. */
static int
read_all(struct builder *b, struct reader *r, const struct message_ca_set *set)
{
	const uint32_t first = b->count;
	X509 *x;
	int rc;

	while ((rc = next(r, &x)) == 1) {
		const bool is_ca = set == NULL || X509_check_ca(x) != 0;
		const bool is_taken = is_ca && b->count < ROOTS_MAX &&
		    take(&b->list[b->count], x);

		X509_free(x);
		if (!is_ca)
			return refuse(b, set,
			    "the certificate of line %u is not one of a CA: "
			    "remove it, or name the CA that signed it",
			    line_of_block(r));
		if (set != NULL && !is_taken)
			return refuse(b, set,
			    "more than %d certificates in all files",
			    ROOTS_MAX);
		b->count += is_taken ? 1 : 0;
		if (b->count == ROOTS_MAX && set == NULL)
			break;
	}
	if (rc < 0)
		return refuse(b, set,
		    "what begins on line %u is no certificate: write it anew, "
		    "as PEM",
		    line_of_block(r));
	if (b->count == first && set != NULL)
		return refuse(b, set,
		    "it holds no certificate: write the CA's own into it, as "
		    "PEM (-----BEGIN CERTIFICATE-----)");
	return b->count == first ? -ENOENT : 0;
}

static int
add_set(struct builder *b, struct span pem, const struct message_ca_set *set)
{
	struct reader r = { .pem = pem, .is_strict = set != NULL };
	const uint32_t first = b->count;
	int rc;

	if (pem.ptr == NULL && set != NULL)
		return refuse(b, set,
		    "it cannot be read: it must be a file of at most 1 MiB");
	if (pem.len > INT_MAX)
		return -EFBIG;
	/* A BIO over no bytes is none. */
	r.bio = pem.len == 0 ? BIO_new(BIO_s_mem())
			     : BIO_new_mem_buf(pem.ptr, (int)pem.len);
	if (r.bio == NULL)
		return -ENOMEM;
	rc = read_all(b, &r, set);
	BIO_free(r.bio);
	if (rc != 0)
		return rc;
	qsort(b->list + first, b->count - first, sizeof(*b->list), by_hash);
	b->sets[b->set_count].count = b->count - first;
	if (set != NULL && !set->is_only)
		b->sets[b->set_count].flags = ROOTS_WITH_PUBLIC;
	b->set_count++;
	return 0;
}

/* --- patterns ------------------------------------------------------------- */

static void
add_pattern(struct builder *b, const char *text, uint32_t set)
{
	struct pattern *p = &b->patterns[b->pattern_count++];

	p->kind = ROOTS_EXACT;
	if (strncmp(text, "**.", 3) == 0)
		p->kind = ROOTS_ANY_DEPTH;
	else if (strncmp(text, "*.", 2) == 0)
		p->kind = ROOTS_ONE_LABEL;
	p->name = span_of(text +
	    (p->kind == ROOTS_ANY_DEPTH          ? 3
		    : p->kind == ROOTS_ONE_LABEL ? 2
						 : 0));
	p->set = set;
}

/* False: it would lie too far from where it is looked for first. */
static bool
place(struct builder *b, const struct pattern *p)
{
	const uint32_t mask = b->slot_count - 1;
	const uint32_t hash = roots_hash(&b->key, p->kind, p->name);

	for (uint32_t i = 0; i < ROOTS_PROBE_MAX; i++) {
		const struct pattern **slot =
		    &b->slots[((hash & mask) + i) & mask];

		if (*slot == NULL) {
			*slot = p;
			return true;
		}
	}
	return false;
}

static bool
place_all(struct builder *b)
{
	memset(b->slots, 0, sizeof(b->slots));
	for (uint32_t i = 0; i < b->pattern_count; i++)
		if (!place(b, &b->patterns[i]))
			return false;
	return true;
}

static int
make_table(struct builder *b)
{
	if (b->pattern_count == 0)
		return 0;
	for (b->slot_count = ROOTS_PROBE_MAX;
	     b->slot_count < 4 * b->pattern_count;)
		b->slot_count *= 2;
	for (int i = 0; i < KEYS_MAX; i++) {
		if (RAND_bytes((unsigned char *)&b->key, sizeof(b->key)) != 1)
			return -EIO;
		if (place_all(b))
			return 0;
	}
	return -EIO;
}

/* --- the image ------------------------------------------------------------ */

static void
write_entries(const struct builder *b, struct wr *w, size_t offset)
{
	for (uint32_t i = 0; i < b->set_count; i++) {
		wr_u32(w, b->sets[i].count);
		wr_u32(w, b->sets[i].flags);
	}
	for (uint32_t i = 0; i < b->count; i++) {
		wr_u32(w, b->list[i].hash);
		wr_u32(w, (uint32_t)offset);
		wr_u32(w, b->list[i].len);
		offset += b->list[i].len;
	}
}

static void
write_slots(const struct builder *b, struct wr *w, size_t offset)
{
	for (uint32_t i = 0; i < b->slot_count; i++) {
		const struct pattern *p = b->slots[i];

		wr_u32(w, p == NULL ? 0 : (uint32_t)offset);
		wr_u32(w,
		    p == NULL ? 0
			      : (uint32_t)p->name.len << 8 | (uint32_t)p->kind);
		wr_u32(w, p == NULL ? 0 : p->set);
		offset += p == NULL ? 0 : p->name.len;
	}
}

static int
write_image(const struct builder *b, uint8_t **ret_image, size_t *ret_len)
{
	const size_t names_at = ROOTS_HEADER_BYTES +
	    b->set_count * ROOTS_SET_BYTES + b->count * ROOTS_ENTRY_BYTES +
	    b->slot_count * ROOTS_SLOT_BYTES;
	size_t ders_at = names_at, len;
	uint8_t *image;
	struct wr w;

	for (uint32_t i = 0; i < b->pattern_count; i++)
		ders_at += b->patterns[i].name.len;
	len = ders_at;
	for (uint32_t i = 0; i < b->count; i++)
		len += b->list[i].len;
	image = malloc(len);
	if (image == NULL)
		return -ENOMEM;
	w = wr_init(image, len);
	wr_text(&w, ROOTS_MAGIC);
	wr_u64(&w, b->key.k0);
	wr_u64(&w, b->key.k1);
	wr_u32(&w, b->set_count);
	wr_u32(&w, b->slot_count);
	write_entries(b, &w, ders_at);
	write_slots(b, &w, names_at);
	for (uint32_t i = 0; i < b->slot_count; i++)
		if (b->slots[i] != NULL)
			wr_bytes(&w, b->slots[i]->name.ptr,
			    b->slots[i]->name.len);
	for (uint32_t i = 0; i < b->count; i++)
		wr_bytes(&w, b->list[i].der, b->list[i].len);
	assert(wr_ok(&w) && w.len == len);
	*ret_image = image;
	*ret_len = len;
	return 0;
}

static int
build(struct builder *b, struct span pem, const struct roots_source *sources,
    size_t source_count)
{
	int rc = add_set(b, pem, NULL);

	for (size_t i = 0; rc == 0 && i < source_count; i++) {
		const struct message_ca_set *set = sources[i].set;

		for (unsigned int k = 0; k < set->host_count; k++)
			add_pattern(b, set->hosts[k], b->set_count);
		rc = add_set(b, sources[i].pem, set);
	}
	return rc == 0 ? make_table(b) : rc;
}

int
/* NOLINTNEXTLINE(readability-function-size): as roots_build(), and a fault */
roots_build_sets(struct span pem, const struct roots_source *sources,
    size_t source_count, uint8_t **ret_image, size_t *ret_len,
    uint32_t *ret_count, char *text, size_t text_size)
{
	struct builder *b = calloc(1, sizeof(*b));
	int rc = -ENOMEM;

	assert(source_count <= CA_SETS_MAX);
	if (b == NULL)
		return -ENOMEM;
	b->text = text;
	b->text_size = text_size;
	b->list = calloc(ROOTS_MAX, sizeof(*b->list));
	if (b->list != NULL)
		rc = build(b, pem, sources, source_count);
	if (rc == 0)
		rc = write_image(b, ret_image, ret_len);
	if (rc == 0)
		*ret_count = b->sets[ROOTS_PUBLIC].count;
	for (uint32_t i = 0; i < b->count; i++)
		OPENSSL_free(b->list[i].der);
	free(b->list);
	free(b);
	return rc;
}

int
roots_build(struct span pem, uint8_t **ret_image, size_t *ret_len,
    uint32_t *ret_count)
{
	return roots_build_sets(pem, NULL, 0, ret_image, ret_len, ret_count,
	    NULL, 0);
}
