/*
 * tapward-ca's work: a CA, and the index of roots; and what a gate makes of an
 * index that is not sound.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/fd.h"
#include "base/message_ca.h"
#include "proxy/ca_make.h"
#include "proxy/roots.h"
#include "proxy/x509_make.h"

static struct ca_made made[3];
static uint8_t *image;
static size_t image_len;

/* Three CAs, two of one name, with other things between them. */
static int
setup(void **state)
{
	static char pem[3 * CA_CERT_MAX_BYTES + 512];
	static const char *const names[] = { "one", "two", "two" };
	uint32_t count = 0;
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		if (ca_make(names[i], 3600, &made[i]) != 0)
			return -1;
		at += (size_t)snprintf(pem + at, sizeof(pem) - at,
		    "# text\n%s-----BEGIN CERTIFICATE-----\nAAAA\n"
		    "-----END CERTIFICATE-----\n%.*s\n",
		    i == 1 ? "-----BEGIN NONSENSE-----\nAAAA\n"
			     "-----END NONSENSE-----\n"
			   : "",
		    (int)made[i].cert_len, (const char *)made[i].cert);
	}
	if (roots_build((struct span){ (uint8_t *)pem, at }, &image, &image_len,
		&count) != 0)
		return -1;
	return count == 3 ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		secret_done(&made[i].both);
	free(image);
	return 0;
}

/* A leaf that this CA signed; its key identifier tells CAs of a name apart. */
static X509 *
leaf_of(const struct ca_made *ca)
{
	BIO *bio = BIO_new_mem_buf(ca->both.ptr, (int)ca->both.len);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
	X509 *issuer = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	X509 *x = X509_new();
	int64_t now = (int64_t)time(NULL);

	assert_int_equal(X509_set_version(x, X509_VERSION_3), 1);
	assert_true(x509_make_serial(x));
	assert_true(x509_make_validity(x, now - 60, now + 60));
	assert_true(x509_make_name(X509_get_subject_name(x), "leaf"));
	assert_int_equal(X509_set_issuer_name(x, X509_get_subject_name(issuer)),
	    1);
	assert_int_equal(X509_set_pubkey(x, key), 1);
	assert_true(x509_add_authority_key_id(x, issuer));
	assert_true(X509_sign(x, key, EVP_sha256()) > 0);
	X509_free(issuer);
	EVP_PKEY_free(key);
	BIO_free(bio);
	return x;
}

static bool
is_trusted(SSL_CTX *ctx, X509 *x)
{
	X509_STORE_CTX *c = X509_STORE_CTX_new();
	int rc;

	assert_int_equal(X509_STORE_CTX_init(c, SSL_CTX_get_cert_store(ctx), x,
			     NULL),
	    1);
	rc = X509_verify_cert(c);
	X509_STORE_CTX_free(c);
	return rc == 1;
}

static void
each_root_is_found_by_its_subject_and_no_other(void **state)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	struct ca_made other;
	struct roots *r;
	X509 *x;

	(void)state;
	assert_int_equal(roots_map_bytes((struct span){ image, image_len }, &r),
	    0);
	assert_int_equal(roots_count(r), 3);
	assert_int_equal(roots_use(r, ctx), 0);
	/* The context keeps it. */
	roots_unref(r);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < 3; i++) {
			x = leaf_of(&made[i]);
			assert_true(is_trusted(ctx, x));
			X509_free(x);
		}
	/* The same name, another key. */
	assert_int_equal(ca_make("one", 3600, &other), 0);
	x = leaf_of(&other);
	assert_false(is_trusted(ctx, x));
	X509_free(x);
	secret_done(&other.both);
	SSL_CTX_free(ctx);
}

static void
patch_u32(uint8_t *at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> (24 - 8 * i));
}

static const struct {
	const char *claim;
	size_t at;
	uint32_t value;
} bad[] = {
	{ "another magic", 0, 0x58580000 },
	{ "more entries than there are bytes", 8, 4000 },
	{ "far more entries", 8, 0xffffffff },
	{ "hashes out of order", 12, 0xffffffff },
	{ "an offset into the table", 16, 8 },
	{ "an offset past the end", 16, 0x7fffffff },
	{ "a length past the end", 20, 0x7fffffff },
};

static void
an_index_that_is_not_sound_is_refused(void **state)
{
	uint8_t *copy = malloc(image_len);
	struct roots *r;

	(void)state;
	assert_non_null(copy);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(copy, image, image_len);
		patch_u32(copy + bad[i].at, bad[i].value);
		if (roots_map_bytes((struct span){ copy, image_len }, &r) !=
		    -EBADMSG)
			fail_msg("%s", bad[i].claim);
	}
	for (size_t len = 0; len < 48; len++)
		assert_int_equal(roots_map_bytes((struct span){ image, len },
				     &r),
		    -EBADMSG);
	free(copy);
}

static void
only_a_sealed_image_is_mapped(void **state)
{
	AUTO_CLOSE int sealed = -1;
	struct roots *r;
	FILE *plain = tmpfile();

	(void)state;
	assert_non_null(plain);
	assert_int_equal(fwrite(image, 1, image_len, plain), image_len);
	assert_int_equal(fflush(plain), 0);
	assert_int_equal(roots_map(fileno(plain), &r), -EINVAL);
	(void)fclose(plain);
	assert_int_equal(fd_memfd_sealed("roots", image, image_len, &sealed),
	    0);
	assert_int_equal(roots_map(sealed, &r), 0);
	roots_unref(r);
}

static void
a_bundle_without_a_certificate_is_an_error(void **state)
{
	uint8_t *out;
	size_t len;
	uint32_t count;

	(void)state;
	assert_int_equal(roots_build(span_of("nothing"), &out, &len, &count),
	    -ENOENT);
	assert_int_equal(roots_build(span_of(""), &out, &len, &count), -ENOENT);
}

static void
messages_of_the_ca_survive_their_way(void **state)
{
	struct message_ca_make make = { .common_name = "tapward sandbox a",
		.lifetime_s = 86400 };
	struct message_ca_result res = { .ok = true,
		.count = 140,
		.text = "why" };
	struct message_ca_make make_back;
	struct message_ca_result res_back;
	uint8_t buf[512];
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_ca_make_encode(&w, &make);
	r = rd_init(buf, w.len);
	assert_int_equal(message_ca_make_decode(&r, &make_back), 0);
	assert_true(rd_done(&r));
	assert_string_equal(make_back.common_name, make.common_name);
	assert_int_equal(make_back.lifetime_s, 86400);
	for (size_t len = 0; len < w.len; len++) {
		r = rd_init(buf, len);
		assert_int_equal(message_ca_make_decode(&r, &make_back),
		    -EBADMSG);
	}
	w = wr_init(buf, sizeof(buf));
	message_ca_result_encode(&w, &res);
	r = rd_init(buf, w.len);
	assert_int_equal(message_ca_result_decode(&r, &res_back), 0);
	assert_true(res_back.ok);
	assert_int_equal(res_back.count, 140);
	assert_string_equal(res_back.text, "why");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    each_root_is_found_by_its_subject_and_no_other),
		cmocka_unit_test(an_index_that_is_not_sound_is_refused),
		cmocka_unit_test(only_a_sealed_image_is_mapped),
		cmocka_unit_test(a_bundle_without_a_certificate_is_an_error),
		cmocka_unit_test(messages_of_the_ca_survive_their_way),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
