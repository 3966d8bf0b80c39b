/*
 * The leaves that a sandbox's CA signs for its gate.
 */
#include "inspect_fixture.h"

#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proxy/tls_private.h"

#define HOSTS "host = api.example.org, web.example.org\n"
#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow api]\n" HOSTS "[deny brew]\n" HOSTS "method = BREW\n"

static int
setup(void **state)
{
	*state = fix_new(POLICY);
	return 0;
}

static int
teardown(void **state)
{
	fix_free(*state);
	return 0;
}

static int64_t
seconds_between(const ASN1_TIME *from, const ASN1_TIME *to)
{
	int days, seconds;

	assert_int_equal(ASN1_TIME_diff(&days, &seconds, from, to), 1);
	return (int64_t)days * 86400 + seconds;
}

static void
a_leaf_is_for_one_name_and_over_within_a_day(void **state)
{
	struct fix *f = *state;
	X509 *x = NULL;
	GENERAL_NAMES *names;
	const ASN1_IA5STRING *dns;

	assert_int_equal(leaf_cache_get(f->gate.tls->leaves, "api.example.org",
			     &x),
	    0);
	names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
	assert_int_equal(sk_GENERAL_NAME_num(names), 1);
	dns = sk_GENERAL_NAME_value(names, 0)->d.dNSName;
	assert_int_equal(ASN1_STRING_length(dns), 15);
	assert_memory_equal(ASN1_STRING_get0_data(dns), "api.example.org", 15);
	GENERAL_NAMES_free(names);

	assert_true(seconds_between(NULL, X509_get0_notAfter(x)) <= 86400);
	/* What the strictest client takes, and not more. */
	assert_true(seconds_between(X509_get0_notBefore(x),
			X509_get0_notAfter(x)) < INT64_C(398) * 86400);
	/* For a guest whose clock is 18 h on, or months behind. */
	assert_true(seconds_between(NULL, X509_get0_notAfter(x)) > 64800);
	assert_true(seconds_between(X509_get0_notBefore(x), NULL) >
	    INT64_C(300) * 86400);
	assert_int_equal(X509_check_ca(x), 0);
	assert_int_equal(X509_get_key_usage(x), KU_DIGITAL_SIGNATURE);
	assert_int_equal(X509_get_extended_key_usage(x), XKU_SSL_SERVER);
	assert_int_equal(ASN1_STRING_length(X509_get0_serialNumber(x)), 16);
	assert_int_equal(X509_verify(x, X509_get0_pubkey(f->gate.tls->ca)), 1);
}

static void
a_chain_holds_under_the_strictest_rules(void **state)
{
	struct fix *f = *state;
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509 *x = NULL;

	assert_int_equal(leaf_cache_get(f->gate.tls->leaves, "web.example.org",
			     &x),
	    0);
	assert_int_equal(X509_STORE_add_cert(store, f->gate.tls->ca), 1);
	assert_int_equal(X509_STORE_CTX_init(ctx, store, x, NULL), 1);
	X509_STORE_CTX_set_flags(ctx,
	    X509_V_FLAG_X509_STRICT | X509_V_FLAG_CHECK_SS_SIGNATURE);
	(void)X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_SERVER);
	if (X509_verify_cert(ctx) != 1)
		fail_msg("%s",
		    X509_verify_cert_error_string(
			X509_STORE_CTX_get_error(ctx)));
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
}

static void
the_ca_may_sign_leaves_and_nothing_else(void **state)
{
	struct fix *f = *state;
	X509 *ca = f->gate.tls->ca;

	assert_int_equal(X509_check_ca(ca), 1);
	assert_int_equal(X509_get_pathlen(ca), 0);
	assert_int_equal(X509_get_key_usage(ca),
	    KU_KEY_CERT_SIGN | KU_CRL_SIGN);
	assert_non_null(X509_get0_subject_key_id(ca));
	/* As old as a leaf claims to be, if the host's clock was years on. */
	assert_true(seconds_between(X509_get0_notBefore(ca), NULL) >
	    INT64_C(9) * 365 * 86400);
}

/* The other clocks stand where they are. */
static void
set_wall(uint64_t ms)
{
	clock_test_set(clock_mono_ms(), clock_boot_ms(), ms);
}

static void
a_leaf_is_kept_and_made_anew_after_hours(void **state)
{
	struct fix *f = *state;
	struct leaf_cache *l = f->gate.tls->leaves;
	uint64_t wall = clock_wall_ms();
	X509 *a = NULL, *b = NULL;
	ASN1_INTEGER *serial;

	set_wall(wall);
	assert_int_equal(leaf_cache_get(l, "api.example.org", &a), 0);
	serial = ASN1_INTEGER_dup(X509_get0_serialNumber(a));
	set_wall(wall + 5 * 3600 * 1000);
	assert_int_equal(leaf_cache_get(l, "api.example.org", &b), 0);
	assert_int_equal(ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(b)),
	    0);
	set_wall(wall + 7 * 3600 * 1000);
	assert_int_equal(leaf_cache_get(l, "api.example.org", &b), 0);
	assert_int_not_equal(ASN1_INTEGER_cmp(serial,
				 X509_get0_serialNumber(b)),
	    0);
	/* Also when the host's clock was set back. */
	set_wall(wall - 3600 * 1000);
	assert_int_equal(leaf_cache_get(l, "api.example.org", &b), 0);
	assert_true(seconds_between(NULL, X509_get0_notAfter(b)) <= 23 * 3600);
	clock_test_release();
	ASN1_INTEGER_free(serial);
	assert_int_equal(leaf_cache_count(l), 1);
}

static void
row_99_the_cache_and_the_rate_of_new_names_are_bounded(void **state)
{
	struct fix *f = *state;
	struct leaf_cache *l =
	    leaf_cache_new(f->gate.tls->ca_key, f->gate.tls->ca, 16, 50);
	char host[64];
	X509 *x;
	int made = 0;

	set_wall(clock_wall_ms());
	for (int i = 0; i < 200; i++) {
		(void)snprintf(host, sizeof(host), "h%d.example.org", i);
		if (leaf_cache_get(l, host, &x) == 0)
			made++;
	}
	/* The clock of the bucket began before it was stopped. */
	assert_in_range(made, 50, 100);
	assert_int_equal(leaf_cache_count(l), 16);
	assert_int_equal(leaf_cache_get(l, "more.example.org", &x), -11);
	clock_test_advance(20);
	assert_int_equal(leaf_cache_get(l, "more.example.org", &x), 0);
	assert_int_equal(leaf_cache_get(l, "yet.example.org", &x), -11);
	/* What is there is given all the same. */
	assert_int_equal(leaf_cache_get(l, "more.example.org", &x), 0);
	clock_test_release();
	leaf_cache_free(l);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_leaf_is_for_one_name_and_over_within_a_day),
		TEST(a_chain_holds_under_the_strictest_rules),
		TEST(the_ca_may_sign_leaves_and_nothing_else),
		TEST(a_leaf_is_kept_and_made_anew_after_hours),
		TEST(row_99_the_cache_and_the_rate_of_new_names_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
