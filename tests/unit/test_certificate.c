/*
 * The key of a client certificate in the broker: which pairs are taken, what is
 * lent, and what is signed for whom.
 */
#include "tests/unit/jwt_support.h"
#include "tests/unit/mint_support.h"
#include "tests/unit/proof_support.h"

#define FREE_HOST "free.acme.example"

static EVP_PKEY *pkey, *other;
static char pem[PEM_SIZE], other_pem[PEM_SIZE];
static char certificate[PEM_SIZE], ended[PEM_SIZE];
static uint8_t digest[32], ended_digest[32];

static int
make_keys(void **state)
{
	(void)state;
	pkey = jwt_make_key(pem);
	other = jwt_make_key(other_pem);
	jwt_make_certificate(pkey, -10, ended, ended_digest);
	jwt_make_certificate(pkey, 100, certificate, digest);
	return 0;
}

static int
free_keys(void **state)
{
	(void)state;
	EVP_PKEY_free(pkey);
	EVP_PKEY_free(other);
	return 0;
}

static void
define(struct world *w, const char *key, const char *cert)
{
	const struct setting keys[] = { { "certificate", "file:/c", cert },
		{ "key", "file:/k", key }, { NULL, NULL, NULL } };
	static struct message_broker_credential m;

	bind_to_host(&m, "free", FREE_HOST);
	m.kind = BROKER_KIND_CERTIFICATE;
	m.apply = LEASE_APPLY_CERTIFICATE;
	m.source[0] = '\0';
	set_all(&m, keys);
	send_with_sources(w, &m, keys);
}

/* What the broker said of the pair. */
static char configured[sizeof(((struct message_done *)0)->text)];

static struct world *
world_with(const char *key, const char *cert)
{
	struct world *w = world_new();

	send_new_journal(w);
	define(w, key, cert);
	send_configured(w, 1);
	memcpy(configured, w->done.text, sizeof(configured));
	attach(w, "ci-one");
	return w;
}

static const struct {
	const char *key, *certificate, *text;
} bad_pairs[] = {
	{ other_pem, certificate, "is of another key than `key`" },
	{ certificate, certificate, "holds no private key in PEM" },
	{ pem, pem, "holds no certificate in PEM" },
	{ pem, "nothing", "holds no certificate in PEM" },
};

static void
what_does_not_belong_together_is_refused_and_nothing_is_lent(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_pairs) / sizeof(bad_pairs[0]); i++) {
		struct world *w =
		    world_with(bad_pairs[i].key, bad_pairs[i].certificate);

		if (strstr(configured, bad_pairs[i].text) == NULL)
			fail_msg("%s: %s", bad_pairs[i].text, configured);
		assert_int_equal(ask_free(w)->reason,
		    REASON_CREDENTIAL_UNAVAILABLE);
		world_free(w);
	}
}

static void
one_that_has_ended_is_not_lent(void **state)
{
	struct world *w = world_with(pem, ended);
	const struct answer *a = ask_free(w);

	(void)state;
	assert_int_equal(a->reason, REASON_CREDENTIAL_UNAVAILABLE);
	assert_string_equal(a->detail, "certificate-ended");
	world_free(w);
}

static void
a_lease_is_the_certificate_until_its_end_and_its_record_names_it(void **state)
{
	struct world *w = world_with(pem, certificate);
	const struct answer *a = ask_free(w);
	const uint64_t left = a->expires_boot_ms - clock_boot_ms();
	const struct record *r = &w->records[w->record_count - 1];
	char wanted[72] = "sha256:";
	const unsigned char *der = (const unsigned char *)a->value;
	uint8_t got[32];
	X509 *x;

	(void)state;
	assert_int_equal(a->reason, REASON_NONE);
	assert_int_equal(a->apply, LEASE_APPLY_CERTIFICATE);
	/* 100 s are left of it, and 300 of a lease. */
	assert_true(left > 90000 && left <= 100000);
	x = d2i_X509(NULL, &der, sizeof(a->value));
	assert_non_null(x);
	assert_int_equal(X509_digest(x, EVP_sha256(), got, NULL), 1);
	assert_memory_equal(got, digest, sizeof(got));
	X509_free(x);
	for (size_t i = 0; i < sizeof(digest); i++)
		(void)snprintf(wanted + 7 + 2 * i, 3, "%02x", digest[i]);
	assert_string_equal(r->detail, wanted);
	assert_int_equal(r->lease, a->lease_id);
	world_free(w);
}

static void
sign(struct world *w, uint64_t lease, uint16_t scheme, struct span text)
{
	const struct message_sign m = { lease, scheme, text };
	static uint8_t buf[SIGN_BODY_MAX_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));
	const unsigned int before = w->signed_count;

	message_sign_encode(&body, &m);
	assert_int_equal(chan_send(w->gate, MSG_SIGN, 9, &body, NULL, 0), 0);
	wait_for_count(w, &w->signed_count, before + 1);
}

static bool
is_signature(const struct world *w, struct span text, bool is_pss)
{
	EVP_MD_CTX *m = EVP_MD_CTX_new();
	EVP_PKEY_CTX *p;
	bool ok;

	assert_int_equal(EVP_DigestVerifyInit(m, &p, EVP_sha256(), NULL, pkey),
	    1);
	if (is_pss)
		assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(p,
				     RSA_PKCS1_PSS_PADDING),
		    1);
	ok = EVP_DigestVerify(m, w->signature, w->signature_len, text.ptr,
		 text.len) == 1;
	EVP_MD_CTX_free(m);
	return ok;
}

static void
a_proof_of_the_lease_is_signed(void **state)
{
	struct world *w = world_with(pem, certificate);
	const uint64_t lease = ask_free(w)->lease_id;
	uint8_t buf[PROOF_MAX];
	struct span text = proof_13(buf, 32);

	(void)state;
	sign(w, lease, 0x0804, text);
	assert_true(is_signature(w, text, true));
	text = proof_12(buf, FREE_HOST, PROOF_12);
	sign(w, lease, 0x0401, text);
	assert_true(is_signature(w, text, false));
	world_free(w);
}

static const struct {
	const char *claim, *word;
	bool is_other_lease, is_12;
	const char *host; /* of a proof of TLS 1.2 */
	const char *text; /* NULL: a proof */
	uint16_t scheme;
} refusals[] = {
	{ "no lease of ours", "no-lease", true, false, "", NULL, 0x0804 },
	{ "no text of TLS", "no-proof", false, false, "",
	    "eyJhbGciOiJSUzI1NiJ9.e30", 0x0804 },
	{ "a digest", "no-proof", false, false, "",
	    "0123456789abcdef0123456789abcdef", 0x0401 },
	{ "an unknown scheme", "no-proof", false, false, "", NULL, 0x0203 },
	{ "one that TLS 1.3 has not", "no-proof", false, false, "", NULL,
	    0x0401 },
	{ "one of another sort of key", "another-sort-of-key", false, false, "",
	    NULL, 0x0403 },
	{ "a handshake with another host", "proof-for-another-host", false,
	    true, "npm.acme.example", NULL, 0x0401 },
};

static void
nothing_else_is_signed_and_each_refusal_is_written_down(void **state)
{
	struct world *w = world_with(pem, certificate);
	const uint64_t lease = ask_free(w)->lease_id;
	uint8_t buf[PROOF_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const unsigned int before = w->record_count;
		struct span text = refusals[i].text != NULL
		    ? span_of(refusals[i].text)
		    : refusals[i].is_12
		    ? proof_12(buf, refusals[i].host, PROOF_12)
		    : proof_13(buf, 32);

		sign(w, refusals[i].is_other_lease ? lease ^ 2 : lease,
		    refusals[i].scheme, text);
		if (w->signature_len != 0)
			fail_msg("%s", refusals[i].claim);
		wait_for_count(w, &w->record_count, before + 1);
		assert_string_equal(w->records[before].detail,
		    refusals[i].word);
	}
	world_free(w);
}

/* A burst, and then one in 25 ms: a gate cannot have the broker to itself. */
static void
a_sandbox_has_so_many_signatures_and_no_more(void **state)
{
	struct world *w = world_with(pem, certificate);
	const uint64_t lease = ask_free(w)->lease_id;
	uint8_t buf[PROOF_MAX];
	const struct span text = proof_13(buf, 32);
	unsigned int signatures = 0;

	(void)state;
	clock_test_set(clock_mono_ms(), clock_boot_ms(), clock_wall_ms());
	for (int i = 0; i < 70; i++) {
		sign(w, lease, 0x0804, text);
		signatures += w->signature_len > 0 ? 1 : 0;
	}
	assert_int_equal(signatures, 64);
	clock_test_advance(50);
	for (int i = 0; i < 4; i++) {
		sign(w, lease, 0x0804, text);
		signatures += w->signature_len > 0 ? 1 : 0;
	}
	assert_int_equal(signatures, 66);
	clock_test_release();
	world_free(w);
}

static void
once_it_is_revoked_nothing_is_signed(void **state)
{
	struct world *w = world_with(pem, certificate);
	const uint64_t lease = ask_free(w)->lease_id;
	uint8_t buf[PROOF_MAX];

	(void)state;
	/* One of another pair than `key` leaves all as it was. */
	define(w, other_pem, certificate);
	send_configured(w, 1);
	sign(w, lease, 0x0804, proof_13(buf, 32));
	assert_true(w->signature_len > 0);
	define(w, pem, ended);
	send_configured(w, 1);
	wait_for_count(w, &w->revoked_count, 1);
	assert_string_equal(w->revoked, "free");
	sign(w, lease, 0x0804, proof_13(buf, 32));
	assert_int_equal(w->signature_len, 0);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    what_does_not_belong_together_is_refused_and_nothing_is_lent),
		cmocka_unit_test(one_that_has_ended_is_not_lent),
		cmocka_unit_test(
		    a_lease_is_the_certificate_until_its_end_and_its_record_names_it),
		cmocka_unit_test(a_proof_of_the_lease_is_signed),
		cmocka_unit_test(
		    nothing_else_is_signed_and_each_refusal_is_written_down),
		cmocka_unit_test(a_sandbox_has_so_many_signatures_and_no_more),
		cmocka_unit_test(once_it_is_revoked_nothing_is_signed),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
