/*
 * A client certificate in a gate: shown where a rule names it, signed for by
 * somebody else while the loop goes on, and on connections of its own.
 */
#include "inspect_fixture.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>

#include "key_host.h"
#include "proxy/pool.h"
#include "proxy/x509_make.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow api]\nhost = api.example.org\n"                                \
	"[allow key]\nhost = key.example.org\npath = /k/**\n"                  \
	"credential = key\n"                                                   \
	"[allow other]\nhost = key.example.org\npath = /o/**\n"

#define ASK_KEY "GET /k/x HTTP/1.1\r\n" KEY_HOST "\r\n"
#define ASK_OTHER "GET /o/x HTTP/1.1\r\n" KEY_HOST "\r\n"
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static struct ca_made clients;
static uint8_t *chain;

/* What a broker would hold. type: "RSA" or a curve. */
static void
take_key(struct fix *f, const char *type)
{
	EVP_PKEY *key, *unused;
	X509 *x = fix_make_cert(&clients, "client.example.org", FIX_CERT_GOOD,
	    &unused);
	BIO *bio = BIO_new_mem_buf(clients.both.ptr, (int)clients.both.len);
	EVP_PKEY *ca_key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
	int len;

	key = strcmp(type, "RSA") == 0 ? EVP_RSA_gen(2048) : EVP_EC_gen(type);
	assert_non_null(key);
	assert_int_equal(X509_set_pubkey(x, key), 1);
	assert_true(X509_sign(x, ca_key, EVP_sha256()) > 0);
	OPENSSL_free(chain);
	chain = NULL;
	len = i2d_X509(x, &chain);
	assert_true(len > 0);
	EVP_PKEY_free(f->sign_key);
	f->sign_key = key;
	f->chain = (struct span){ chain, (size_t)len };
	f->apply = LEASE_APPLY_CERTIFICATE;
	X509_free(x);
	EVP_PKEY_free(unused);
	EVP_PKEY_free(ca_key);
	BIO_free(bio);
}

/* Origins ask for a certificate of these, and take none else. */
static void
ask_for_certificates(struct fix *f, int mode, int version)
{
	BIO *bio = BIO_new_mem_buf(clients.cert, (int)clients.cert_len);
	X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	SSL_CTX_set_verify(f->origin_tls, mode, NULL);
	assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(
						 f->origin_tls),
			     x),
	    1);
	assert_int_equal(SSL_CTX_set_max_proto_version(f->origin_tls, version),
	    1);
	assert_int_equal(SSL_CTX_set_session_id_context(f->origin_tls,
			     (const uint8_t *)"x", 1),
	    1);
	X509_free(x);
	BIO_free(bio);
}

#define ASK_ALL (SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT)

static int
setup(void **state)
{
	struct fix *f = fix_new(POLICY);

	*state = f;
	assert_int_equal(ca_make("clients' CA", 86400, &clients), 0);
	fix_grant(f, "key.example.org", 443, "");
	take_key(f, "P-256");
	return 0;
}

static int
teardown(void **state)
{
	struct fix *f = *state;

	EVP_PKEY_free(f->sign_key);
	f->sign_key = NULL;
	fix_free(f);
	secret_done(&clients.both);
	OPENSSL_free(chain);
	chain = NULL;
	return 0;
}

static bool
has_shown(const struct peer *o)
{
	return SSL_get0_peer_certificate(o->ssl) != NULL &&
	    SSL_get_verify_result(o->ssl) == X509_V_OK;
}

static const struct {
	const char *key;
	int version;
	bool is_h2;
	uint16_t scheme;
} ways[] = {
	{ "RSA", TLS1_2_VERSION, false, 0x0804 },
	{ "RSA", TLS1_3_VERSION, false, 0x0804 },
	{ "P-256", TLS1_2_VERSION, false, 0x0403 },
	{ "P-256", TLS1_3_VERSION, false, 0x0403 },
	{ "P-384", TLS1_2_VERSION, false, 0x0403 },
	{ "P-384", TLS1_3_VERSION, false, 0x0503 },
	{ "P-521", TLS1_3_VERSION, false, 0x0603 },
};

static void
it_is_shown_in_both_versions_by_keys_of_each_sort(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct peer *o;

		take_key(f, ways[i].key);
		f->lease_id++;
		ask_for_certificates(f, ASK_ALL, ways[i].version);
		fix_open_tls(f, "key.example.org");
		o = fix_ask(f, ASK_KEY);
		if (!has_shown(o) || f->signed_scheme != ways[i].scheme)
			fail_msg("%s: %04x", ways[i].key, f->signed_scheme);
		assert_int_equal(SSL_version(o->ssl), ways[i].version);
		assert_int_equal(f->sign_count, i + 1);
		peer_say(o, OK);
		fix_until(f, peer_has(&f->guest, "ok"));
		assert_string_equal(fix_last(f)->credential, "key");
		fix_close(f);
		fix_forget_origins(f);
	}
}

static void
without_a_rule_that_names_it_none_is_shown(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	ask_for_certificates(f, SSL_VERIFY_PEER, TLS1_3_VERSION);
	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, ASK_OTHER);
	assert_false(has_shown(o));
	peer_say(o, OK);
	fix_until(f, peer_has(&f->guest, "ok"));
	/* Nor is that connection, or its session, one that shows it later. */
	o = fix_ask(f, ASK_KEY);
	assert_true(has_shown(o));
	assert_int_equal(SSL_session_reused(o->ssl), 0);
	peer_say(o, OK);
	fix_until(f, f->record_count == 2);
	/* And the other way round: whoever shows none is another. */
	peer_say(&f->guest, "GET /o/again HTTP/1.1\r\n" KEY_HOST "\r\n");
	fix_until(f, peer_has(&f->origins[0], "GET /o/again "));
	assert_int_equal(f->origin_count, 2);
	assert_int_equal(f->sign_count, 1);
}

static void
an_origin_that_asks_for_none_is_sent_nothing(void **state)
{
	struct fix *f = *state;

	fix_open_tls(f, "key.example.org");
	peer_say(&f->guest, ASK_KEY);
	fix_until(f, peer_has(&f->guest, "Tapward-Reason: origin-tls\r\n"));
	assert_int_equal(f->origins[0].in_len, 0);
	assert_non_null(strstr(fix_last(f)->detail, "asked for no client"));
}

static void
a_refusal_to_sign_ends_it(void **state)
{
	struct fix *f = *state;
	EVP_PKEY *key = f->sign_key;

	f->sign_key = NULL;
	ask_for_certificates(f, ASK_ALL, TLS1_3_VERSION);
	fix_open_tls(f, "key.example.org");
	peer_say(&f->guest, ASK_KEY);
	fix_until(f,
	    peer_has(&f->guest, "Tapward-Reason: credential-unavailable\r\n"));
	assert_int_equal(f->origins[0].in_len, 0);
	f->sign_key = key;
}

/* Somebody slow is waited for, and the guest may go meanwhile. */
static void
while_it_is_signed_the_loop_goes_on_and_a_guest_may_leave(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	ask_for_certificates(f, ASK_ALL, TLS1_3_VERSION);
	f->is_sign_held = true;
	for (int i = 0; i < 3; i++) {
		fix_open_tls(f, "key.example.org");
		peer_say(&f->guest, ASK_KEY);
		fix_until(f, f->sign_count == (size_t)i + 1);
		if (i < 2) {
			fix_settle(f);
			fix_close(f);
			fix_settle(f);
		}
	}
	f->is_sign_held = false;
	o = fix_origin(f, f->origin_count - 1);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	assert_true(has_shown(o));
}

static void
a_revocation_ends_a_connection_that_has_shown_it_even_a_busy_one(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	ask_for_certificates(f, ASK_ALL, TLS1_3_VERSION);
	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, ASK_KEY);
	peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
	fix_until(f, peer_has(&f->guest, "half"));
	/* That of another says nothing of it. */
	pool_revoke(&f->gate, "another");
	fix_settle(f);
	assert_int_equal(f->record_count, 0);
	pool_revoke(&f->gate, "key");
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_BAD_RESPONSE);
}

static void
on_one_connection_another_request_with_it_follows(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	ask_for_certificates(f, ASK_ALL, TLS1_3_VERSION);
	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, ASK_KEY);
	peer_say(o, OK);
	fix_until(f, f->record_count == 1);
	peer_say(&f->guest, "GET /k/again HTTP/1.1\r\n" KEY_HOST "\r\n");
	fix_until(f, peer_has(o, "GET /k/again HTTP/1.1\r\n"));
	assert_int_equal(f->origin_count, 1);
	assert_int_equal(f->sign_count, 1);
	/* Nothing of it is secret: no answer is searched, in any coding. */
	peer_say(o,
	    "HTTP/1.1 200 OK\r\nContent-Encoding: x-odd\r\n"
	    "Content-Length: 3\r\n\r\nodd");
	fix_until(f, peer_has(&f->guest, "odd"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_shown_in_both_versions_by_keys_of_each_sort),
		TEST(without_a_rule_that_names_it_none_is_shown),
		TEST(an_origin_that_asks_for_none_is_sent_nothing),
		TEST(a_refusal_to_sign_ends_it),
		TEST(while_it_is_signed_the_loop_goes_on_and_a_guest_may_leave),
		TEST(
		    a_revocation_ends_a_connection_that_has_shown_it_even_a_busy_one),
		TEST(on_one_connection_another_request_with_it_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
