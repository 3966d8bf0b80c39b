/*
 * TLS of the inspected path on the guest's side: handshakes and what a failed
 * one leaves behind, sessions, which host it is.
 */
#include "inspect_fixture.h"

#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/tls_private.h"

#define HOSTS "host = api.example.org, web.example.org\n"
#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow api]\n" HOSTS "[deny brew]\n" HOSTS "method = BREW\n"

#define GET "GET / HTTP/1.1\r\nHost: api.example.org\r\n\r\n"

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

static void
too_many_new_names_end_in_the_handshake(void **state)
{
	struct fix *f = *state;
	struct tls_state *t = f->gate.tls;

	/* None is left, nor is there one a moment later (test_tls_leaf.c). */
	leaf_cache_free(t->leaves);
	t->leaves = leaf_cache_new(t->ca_key, t->ca, 16, 0);
	assert_non_null(t->leaves);
	fix_open_tls(f, "api.example.org");
	fix_until(f, f->is_closed);
	assert_int_equal(f->closed_why, REASON_LIMIT_MINT);
}

static void
an_alert_of_the_guest_is_named(void **state)
{
	struct fix *f = *state;

	/* It does not know our CA. */
	SSL_CTX_set_cert_store(f->guest_tls, X509_STORE_new());
	fix_open_tls(f, "api.example.org");
	fix_until(f, f->is_closed);
	assert_int_equal(f->closed_why, REASON_GUEST_TLS);
	assert_string_equal(f->closed_detail, "alert unknown_ca");
	assert_true(f->conn.is_answered);
	assert_false(f->conn.is_recorded);
}

static void
a_client_that_goes_after_the_handshake_may_pin(void **state)
{
	struct fix *f = *state;

	fix_open_tls(f, "api.example.org");
	fix_until(f, f->guest.is_shaken);
	peer_drop(&f->guest);
	fix_until(f, f->is_closed);
	assert_int_equal(f->closed_why, REASON_NONE);
	assert_non_null(strstr(f->closed_detail, "tls = passthrough"));
	fix_close(f);

	/* With a request it has a record of its own. */
	fix_open_tls(f, "web.example.org");
	peer_say(&f->guest,
	    "GET / HTTP/1.1\r\nHost: other.example.org\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
	peer_drop(&f->guest);
	fix_until(f, f->is_closed);
	assert_string_equal(f->closed_detail, "");
}

static void
old_versions_and_weak_ciphers_are_refused(void **state)
{
	struct fix *f = *state;

	assert_int_equal(SSL_CTX_set_max_proto_version(f->guest_tls,
			     TLS1_1_VERSION),
	    1);
	SSL_CTX_set_security_level(f->guest_tls, 0);
	fix_open_tls(f, "api.example.org");
	fix_until(f, f->is_closed);
	assert_int_equal(f->closed_why, REASON_GUEST_TLS);
	fix_close(f);

	assert_int_equal(SSL_CTX_set_max_proto_version(f->guest_tls,
			     TLS1_2_VERSION),
	    1);
	assert_int_equal(SSL_CTX_set_cipher_list(f->guest_tls,
			     "ECDHE+AES+SHA:@SECLEVEL=0"),
	    1);
	fix_open_tls(f, "api.example.org");
	fix_until(f, f->is_closed);
	assert_int_equal(f->closed_why, REASON_GUEST_TLS);
	assert_string_equal(f->closed_detail, "no shared cipher");
}

/* The second reader of the ClientHello must see the same name as ours. */
static void
another_sni_than_was_judged_ends_the_handshake(void **state)
{
	struct fix *f = *state;

	/* Our check ends it, not the guest's of the name. */
	SSL_CTX_set_verify(f->guest_tls, SSL_VERIFY_NONE, NULL);
	fix_open_tls_as(f, "api.example.org", "web.example.org");
	fix_until(f, f->is_closed);
	assert_int_equal(f->closed_why, REASON_GUEST_TLS);
	assert_false(f->guest.is_shaken);
}

static const char *
alpn_of(const struct fix *f)
{
	static char text[256]; /* a protocol's name is at most 255 */
	const unsigned char *name;
	unsigned int len;

	SSL_get0_alpn_selected(f->guest.ssl, &name, &len);
	if (len > 0)
		memcpy(text, name, len);
	text[len] = '\0';
	return text;
}

static const struct {
	const char *claim, *name, *offer, *want;
	bool has_record_size_limit;
} alpn_rows[] = {
	{ "h2 when it is offered", "api.example.org", "\x08http/1.1\x02h2",
	    "h2", false },
	{ "http/1.1 when it alone is", "api.example.org", "\x08http/1.1",
	    "http/1.1", false },
	{ "http/1.1 for GnuTLS, whose curl sends twice over h2",
	    "api.example.org", "\x02h2\x08http/1.1", "http/1.1", true },
	{ "h2 for it when that alone is offered", "api.example.org", "\x02h2",
	    "h2", true },
	{ "a denied host: http/1.1, for its reason phrase",
	    "denied.example.net", "\x02h2\x08http/1.1", "http/1.1", false },
	{ "a denied host and h2 alone: better than an alert",
	    "denied.example.net", "\x02h2", "h2", false },
};

static void
a_version_of_http_is_chosen_by_what_is_offered_and_allowed(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(alpn_rows) / sizeof(alpn_rows[0]); i++) {
		fix_offer(f, alpn_rows[i].offer);
		f->has_record_size_limit = alpn_rows[i].has_record_size_limit;
		fix_open_tls(f, alpn_rows[i].name);
		fix_until(f, f->guest.is_shaken);
		if (strcmp(alpn_of(f), alpn_rows[i].want) != 0)
			fail_msg("%s: %s", alpn_rows[i].claim, alpn_of(f));
		fix_close(f);
	}
	f->has_record_size_limit = false;
	fix_offer(f, "\x02h3");
	fix_open_tls(f, "api.example.org");
	fix_until(f, f->is_closed);
	assert_int_equal(f->closed_why, REASON_GUEST_TLS);
}

static SSL_SESSION *kept;

static int
on_new_session(SSL *ssl, SSL_SESSION *s)
{
	(void)ssl;
	SSL_SESSION_free(kept);
	kept = s;
	return 1;
}

/* Asks for what is denied, since any answer will do. */
static void
wait_for_ticket(struct fix *f, const char *host)
{
	char request[128];
	uint8_t byte;

	fix_settle(f);
	/* It is no packet of its own. */
	assert_int_equal(recv(f->guest.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT),
	    -1);
	(void)snprintf(request, sizeof(request),
	    "BREW /x HTTP/1.1\r\nHost: %s\r\n\r\n", host);
	peer_say(&f->guest, request);
	fix_until(f, f->guest.in_len > 0);
	fix_settle(f);
}

/* Opens, resuming the kept session if asked to; is it resumed? */
static bool
resumes(struct fix *f, const char *sni, bool tries)
{
	bool reused;

	fix_open_tls(f, sni);
	if (tries)
		assert_int_equal(SSL_set_session(f->guest.ssl, kept), 1);
	fix_until(f, f->guest.is_shaken);
	wait_for_ticket(f, sni);
	reused = SSL_session_reused(f->guest.ssl) == 1;
	assert_false(f->is_closed);
	/* Else SSL_free() would spoil the session that is tried next. */
	SSL_set_shutdown(f->guest.ssl,
	    SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	fix_close(f);
	return reused;
}

static void
row_96_a_session_is_resumed_only_under_its_own_name(void **state)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	struct fix *f = *state;

	(void)SSL_CTX_set_session_cache_mode(f->guest_tls,
	    SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(f->guest_tls, on_new_session);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(SSL_CTX_set_min_proto_version(f->guest_tls,
				     versions[i]),
		    1);
		assert_int_equal(SSL_CTX_set_max_proto_version(f->guest_tls,
				     versions[i]),
		    1);
		assert_false(resumes(f, "api.example.org", false));
		assert_non_null(kept);
		assert_int_equal(SSL_SESSION_get_max_early_data(kept), 0);
		assert_true(resumes(f, "api.example.org", true));
		assert_false(resumes(f, "web.example.org", true));
		SSL_SESSION_free(kept);
		kept = NULL;
		SSL_CTX_set_min_proto_version(f->guest_tls, 0);
	}
	SSL_CTX_sess_set_new_cb(f->guest_tls, NULL);
}

/*
 * A guest that takes its session for one with early data: what it sends so is
 * replayed by whoever saw it (RFC 8446 8), and is never taken for a request.
 */
static void
row_95_early_data_reaches_nobody(void **state)
{
	struct fix *f = *state;
	size_t written;

	SSL_CTX_sess_set_new_cb(f->guest_tls, on_new_session);
	(void)SSL_CTX_set_session_cache_mode(f->guest_tls,
	    SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	assert_false(resumes(f, "api.example.org", false));
	assert_int_equal(SSL_SESSION_set_max_early_data(kept, 16384), 1);
	fix_open_tls(f, "api.example.org");
	assert_int_equal(SSL_set_session(f->guest.ssl, kept), 1);
	assert_int_equal(SSL_write_early_data(f->guest.ssl, GET, strlen(GET),
			     &written),
	    1);
	assert_int_equal(written, strlen(GET));
	fix_until(f, f->is_closed || f->guest.is_shaken);
	fix_settle(f);
	assert_int_not_equal(SSL_get_early_data_status(f->guest.ssl),
	    SSL_EARLY_DATA_ACCEPTED);
	assert_int_equal(f->origin_count, 0);
	SSL_CTX_sess_set_new_cb(f->guest_tls, NULL);
	SSL_SESSION_free(kept);
	kept = NULL;
}

static const struct {
	unsigned int number;
	const char *claim, *request;
} others[] = {
	{ 69, "Host is not the SNI",
	    "GET / HTTP/1.1\r\nHost: web.example.org\r\n\r\n" },
	{ 69, "Host has another port",
	    "GET / HTTP/1.1\r\nHost: api.example.org:8443\r\n\r\n" },
	{ 72, "absolute form of another host",
	    "GET https://web.example.org/ HTTP/1.1\r\n"
	    "Host: web.example.org\r\n\r\n" },
};

static void
rows_69_to_72_the_host_is_the_one_of_the_handshake(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct peer *o;

		fix_open_tls(f, "api.example.org");
		peer_say(&f->guest, GET);
		o = fix_origin(f, 0);
		fix_until(f, peer_has(o, "\r\n\r\n"));
		peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		fix_until(f, peer_has(&f->guest, "ok"));
		peer_clear(&f->guest);
		peer_clear(o);
		/* Row 70: on the second request of a kept connection. */
		peer_say(&f->guest, others[i].request);
		fix_until(f, f->guest.is_ended);
		assert_true(peer_has(&f->guest, "HTTP/1.1 421 "));
		assert_true(peer_has(&f->guest, "host-mismatch"));
		assert_int_equal(o->in_len, 0);
		assert_int_equal(f->origin_count, 1);
		fix_close(f);
		fix_forget_origins(f);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(too_many_new_names_end_in_the_handshake),
		TEST(an_alert_of_the_guest_is_named),
		TEST(a_client_that_goes_after_the_handshake_may_pin),
		TEST(old_versions_and_weak_ciphers_are_refused),
		TEST(another_sni_than_was_judged_ends_the_handshake),
		TEST(
		    a_version_of_http_is_chosen_by_what_is_offered_and_allowed),
		TEST(row_96_a_session_is_resumed_only_under_its_own_name),
		TEST(row_95_early_data_reaches_nobody),
		TEST(rows_69_to_72_the_host_is_the_one_of_the_handshake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
