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
#include <openssl/x509_vfy.h>

#include "base/fd.h"
#include "base/message_ca.h"
#include "conf/hostconf.h"
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
is_trusted(X509_STORE *store, X509 *x)
{
	X509_STORE_CTX *c = X509_STORE_CTX_new();
	int rc;

	assert_int_equal(X509_STORE_CTX_init(c, store, x, NULL), 1);
	rc = X509_verify_cert(c);
	X509_STORE_CTX_free(c);
	return rc == 1;
}

static void
each_root_is_found_by_its_subject_and_no_other(void **state)
{
	X509_STORE *store = X509_STORE_new();
	struct ca_made other;
	struct roots *r;
	X509 *x;

	(void)state;
	assert_int_equal(roots_map_bytes((struct span){ image, image_len }, &r),
	    0);
	assert_int_equal(roots_count(r), 3);
	assert_int_equal(roots_use(r, ROOTS_PUBLIC, store), 0);
	/* The store keeps it. */
	roots_unref(r);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < 3; i++) {
			x = leaf_of(&made[i]);
			assert_true(is_trusted(store, x));
			X509_free(x);
		}
	/* The same name, another key. */
	assert_int_equal(ca_make("one", 3600, &other), 0);
	x = leaf_of(&other);
	assert_false(is_trusted(store, x));
	X509_free(x);
	secret_done(&other.both);
	X509_STORE_free(store);
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
	{ "no set", 24, 0 },
	{ "more sets than there may be", 24, ROOTS_SETS_MAX + 1 },
	{ "slots that are no power of two", 28, 3 },
	{ "more slots than there are bytes", 28, 4096 },
	{ "far more slots", 28, 0x80000000 },
	{ "more entries than there are bytes", 32, 4000 },
	{ "far more entries", 32, 0xffffffff },
	{ "an unknown flag", 36, 2 },
	{ "hashes out of order", 40, 0xffffffff },
	{ "an offset into the table", 44, 8 },
	{ "an offset past the end", 44, 0x7fffffff },
	{ "a length past the end", 48, 0x7fffffff },
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
	for (size_t len = 0; len < 76; len++)
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

/* --- private CAs ---------------------------------------------------------- */

static const struct message_ca_set sets[] = {
	{ .name = "corp",
	    .at = "t.ini:1",
	    .file = "/corp.pem",
	    .is_only = true,
	    .host_count = 4,
	    .hosts = { "**.corp.example", "corp.example", "*.one.example",
		"a.two.example" } },
	{ .name = "both",
	    .at = "t.ini:5",
	    .file = "/both.pem",
	    .host_count = 3,
	    .hosts = { "**.lab.corp.example", "*.corp.example",
		"**.a.one.example" } },
};

static const struct {
	const char *host;
	unsigned int set;
} hosts[] = {
	{ "example", 0 },
	{ "corp.example", 1 },
	{ "evilcorp.example", 0 },
	{ "corp.example.org", 0 },
	{ "x.corp.example", 2 },     /* *. says more than **. */
	{ "y.x.corp.example", 1 },   /* any depth */
	{ "lab.corp.example", 2 },   /* by *. */
	{ "y.lab.corp.example", 2 }, /* the longer name says more */
	{ "z.y.lab.corp.example", 2 },
	{ "one.example", 0 },
	{ "a.one.example", 1 },
	{ "b.a.one.example", 2 },
	{ "b.b.one.example", 0 },
	{ "two.example", 0 },
	{ "a.two.example", 1 },
	{ "b.a.two.example", 0 },
};

static struct span
cert_of(size_t i)
{
	return (struct span){ made[i].cert, made[i].cert_len };
}

/* one is public, the first two is corp's, the second both's. */
static struct roots *
private_roots(void)
{
	const struct roots_source sources[] = { { &sets[0], cert_of(1) },
		{ &sets[1], cert_of(2) } };
	static uint8_t *bytes;
	struct roots *r;
	uint32_t count = 0;
	char text[64];
	size_t len;

	free(bytes);
	assert_int_equal(roots_build_sets(cert_of(0), sources, 2, &bytes, &len,
			     &count, text, sizeof(text)),
	    0);
	assert_int_equal(count, 1);
	assert_int_equal(roots_map_bytes((struct span){ bytes, len }, &r), 0);
	return r;
}

static void
a_host_has_the_set_of_the_pattern_that_says_most(void **state)
{
	static struct hostconf_ca cas[2];
	static struct hostconf c = { .cas = cas, .ca_count = 2 };
	struct roots *r = private_roots();

	(void)state;
	cas[0].set = sets[0];
	cas[1].set = sets[1];
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		const struct hostconf_ca *told =
		    hostconf_ca_for(&c, hosts[i].host);

		if (roots_set_for(r, hosts[i].host) != hosts[i].set)
			fail_msg("%s: %u", hosts[i].host,
			    roots_set_for(r, hosts[i].host));
		/* explain tells people the same. */
		assert_ptr_equal(told,
		    hosts[i].set == 0 ? NULL : &cas[hosts[i].set - 1]);
	}
	roots_unref(r);
}

static void
a_private_ca_counts_where_it_is_named_and_alone_if_it_says_so(void **state)
{
	/* which of the three CAs counts in which set */
	static const bool wanted[3][3] = { { true, false, false },
		{ false, true, false }, { true, false, true } };
	struct roots *r = private_roots();

	(void)state;
	for (unsigned int set = 0; set < 3; set++) {
		X509_STORE *store = X509_STORE_new();
		char *pem;
		size_t len, blocks = 0;

		assert_int_equal(roots_use(r, set, store), 0);
		for (size_t i = 0; i < 3; i++) {
			X509 *x = leaf_of(&made[i]);

			if (is_trusted(store, x) != wanted[set][i])
				fail_msg("set %u, CA %zu", set, i);
			X509_free(x);
		}
		X509_STORE_free(store);
		/* What libcurl is given is the same. */
		assert_int_equal(roots_write_pem(r, set, &pem, &len), 0);
		for (size_t i = 0; i < 3; i++) {
			const bool has = memmem(pem, len, made[i].cert,
					     made[i].cert_len) != NULL;

			assert_int_equal(has, wanted[set][i]);
			blocks += has ? made[i].cert_len : 0;
		}
		assert_int_equal(blocks, len);
		free(pem);
	}
	assert_int_equal(roots_use(r, 3, NULL), -EINVAL);
	roots_unref(r);
}

static const struct {
	const char *pem;
	const char *text; /* what must be said */
} bad_files[] = {
	{ NULL, "it cannot be read" },
	{ "", "holds no certificate" },
	{ "nothing\n", "holds no certificate" },
	{ "text\n\n-----BEGIN CERTIFICATE-----\nMIIB\n",
	    "what begins on line 3 is no certificate" },
};

static void
refuses(struct span pem, const char *wanted)
{
	const struct roots_source source = { &sets[0], pem };
	uint8_t *out = NULL;
	size_t len;
	uint32_t count;
	char text[512] = "";

	assert_int_equal(roots_build_sets(cert_of(0), &source, 1, &out, &len,
			     &count, text, sizeof(text)),
	    -EINVAL);
	assert_null(out);
	if (strstr(text, "t.ini:1: [ca corp] file /corp.pem: ") != text ||
	    strstr(text, wanted) == NULL)
		fail_msg("%s, wanted %s", text, wanted);
}

/* The line is that of the block, whatever came before it. */
static void
a_fault_has_its_line(void)
{
	static const char broken[] = "-----BEGIN CERTIFICATE-----\nAAAA\n"
				     "-----END CERTIFICATE-----\n";
	char pem[CA_CERT_MAX_BYTES + 512], wanted[64];
	unsigned int line = 1;
	int n = snprintf(pem, sizeof(pem), "%.*s%s", (int)made[1].cert_len,
	    (const char *)made[1].cert, broken);

	for (size_t i = 0; i < made[1].cert_len; i++)
		line += made[1].cert[i] == '\n' ? 1 : 0;
	(void)snprintf(wanted, sizeof(wanted), "what begins on line %u is",
	    line);
	refuses((struct span){ (const uint8_t *)pem, (size_t)n }, wanted);
}

static void
a_private_file_is_read_strictly(void **state)
{
	X509 *leaf = leaf_of(&made[0]);
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long len;

	(void)state;
	for (size_t i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++)
		refuses(bad_files[i].pem == NULL ? (struct span){ NULL, 0 }
						 : span_of(bad_files[i].pem),
		    bad_files[i].text);
	a_fault_has_its_line();
	assert_int_equal(PEM_write_bio_X509(bio, leaf), 1);
	len = BIO_get_mem_data(bio, &text);
	refuses((struct span){ (const uint8_t *)text, (size_t)len },
	    "the certificate of line 1 is not one of a CA");
	BIO_free(bio);
	X509_free(leaf);
}

/* As many as there can be: found by two hashes for each label. */
static void
two_thousand_patterns_are_all_found(void **state)
{
	struct message_ca_set *many = calloc(CA_SETS_MAX, sizeof(*many));
	struct roots_source sources[CA_SETS_MAX];
	struct roots *r;
	uint8_t *bytes;
	size_t len;
	uint32_t count;
	char text[64], host[64];

	(void)state;
	assert_non_null(many);
	for (unsigned int i = 0; i < CA_SETS_MAX; i++) {
		many[i] = sets[0];
		many[i].host_count = CA_SET_HOSTS_MAX;
		for (unsigned int k = 0; k < CA_SET_HOSTS_MAX; k++)
			(void)snprintf(many[i].hosts[k], 64, "%sh%u-%u.example",
			    k % 2 == 0 ? "" : "**.", i, k);
		sources[i] = (struct roots_source){ &many[i], cert_of(1) };
	}
	assert_int_equal(roots_build_sets(cert_of(0), sources, CA_SETS_MAX,
			     &bytes, &len, &count, text, sizeof(text)),
	    0);
	assert_int_equal(roots_map_bytes((struct span){ bytes, len }, &r), 0);
	for (unsigned int i = 0; i < CA_SETS_MAX; i++)
		for (unsigned int k = 0; k < CA_SET_HOSTS_MAX; k++) {
			(void)snprintf(host, sizeof(host), "%sh%u-%u.example",
			    k % 2 == 0 ? "" : "a.b.", i, k);
			assert_int_equal(roots_set_for(r, host), i + 1);
			(void)snprintf(host, sizeof(host), "%sh%u-%u.example",
			    k % 2 == 0 ? "a." : "", i, k);
			assert_int_equal(roots_set_for(r, host), ROOTS_PUBLIC);
		}
	roots_unref(r);
	free(bytes);
	free(many);
}

static void
a_set_survives_its_way(void **state)
{
	static uint8_t buf[16384];
	static struct message_ca_set back;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_ca_set_encode(&w, &sets[0]);
	r = rd_init(buf, w.len);
	assert_int_equal(message_ca_set_decode(&r, &back), 0);
	assert_memory_equal(&back, &sets[0], sizeof(back));
	for (size_t len = 0; len < w.len; len++) {
		r = rd_init(buf, len);
		assert_int_equal(message_ca_set_decode(&r, &back), -EBADMSG);
	}
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
		cmocka_unit_test(
		    a_host_has_the_set_of_the_pattern_that_says_most),
		cmocka_unit_test(
		    a_private_ca_counts_where_it_is_named_and_alone_if_it_says_so),
		cmocka_unit_test(a_private_file_is_read_strictly),
		cmocka_unit_test(two_thousand_patterns_are_all_found),
		cmocka_unit_test(a_set_survives_its_way),
		cmocka_unit_test(messages_of_the_ca_survive_their_way),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
