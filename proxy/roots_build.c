/*
 * From a PEM bundle to the image of roots, see roots.c for its form.
 */
#include "proxy/roots.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

#define ROOTS_MAX 4096
#define HEADER_BYTES 12
#define ENTRY_BYTES 12

struct built {
	uint32_t hash;
	uint8_t *der;
	uint32_t len;
};

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

/*
 * The next certificate; false at the end. A block that is no certificate is
 * passed over: the reader stands behind it then.
 */
static bool
next(BIO *bio, X509 **ret)
{
	for (;;) {
		unsigned long e;

		*ret = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
		if (*ret != NULL)
			return true;
		e = ERR_peek_last_error();
		ERR_clear_error();
		if (ERR_GET_LIB(e) == ERR_LIB_PEM &&
		    ERR_GET_REASON(e) == PEM_R_NO_START_LINE)
			return false;
		if (BIO_eof(bio))
			return false;
	}
}

static size_t
read_all(BIO *bio, struct built *list)
{
	size_t count = 0;
	X509 *x;

	while (count < ROOTS_MAX && next(bio, &x)) {
		if (take(&list[count], x))
			count++;
		X509_free(x);
	}
	return count;
}

static int
write_image(const struct built *list, size_t count, uint8_t **ret_image,
    size_t *ret_len)
{
	size_t offset = HEADER_BYTES + count * ENTRY_BYTES;
	size_t len = offset;
	uint8_t *image;
	struct wr w;

	for (size_t i = 0; i < count; i++)
		len += list[i].len;
	image = malloc(len);
	if (image == NULL)
		return -ENOMEM;
	w = wr_init(image, len);
	wr_text(&w, "TWROOTS1");
	wr_u32(&w, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		wr_u32(&w, list[i].hash);
		wr_u32(&w, (uint32_t)offset);
		wr_u32(&w, list[i].len);
		offset += list[i].len;
	}
	for (size_t i = 0; i < count; i++)
		wr_bytes(&w, list[i].der, list[i].len);
	*ret_image = image;
	*ret_len = len;
	return 0;
}

int
roots_build(struct span pem, uint8_t **ret_image, size_t *ret_len,
    uint32_t *ret_count)
{
	struct built *list;
	BIO *bio;
	size_t count;
	int rc = -ENOENT;

	if (pem.len == 0 || pem.len > INT_MAX)
		return -ENOENT;
	list = calloc(ROOTS_MAX, sizeof(*list));
	bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	if (list == NULL || bio == NULL) {
		free(list);
		BIO_free(bio);
		return -ENOMEM;
	}
	count = read_all(bio, list);
	BIO_free(bio);
	if (count > 0) {
		qsort(list, count, sizeof(*list), by_hash);
		rc = write_image(list, count, ret_image, ret_len);
		*ret_count = (uint32_t)count;
	}
	for (size_t i = 0; i < count; i++)
		OPENSSL_free(list[i].der);
	free(list);
	return rc;
}
