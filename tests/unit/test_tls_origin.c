/*
 * TLS of the inspected path on the origin's side.
 */
#include "inspect_fixture.h"

#include <stdlib.h>
#include <string.h>

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

static const struct {
	const char *claim;
	enum fix_cert cert;
	const char *detail;
} certs[] = {
	{ "another name", FIX_CERT_OTHER_NAME, "hostname mismatch" },
	{ "expired", FIX_CERT_EXPIRED, "certificate has expired" },
	{ "by itself", FIX_CERT_SELF_SIGNED, "self-signed certificate" },
	{ "a name in the subject only", FIX_CERT_COMMON_NAME,
	    "hostname mismatch" },
	{ "a wildcard within a label", FIX_CERT_PARTIAL, "hostname mismatch" },
};

static void
row_98_an_origin_that_does_not_verify_gets_no_byte(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(certs) / sizeof(certs[0]); i++) {
		f->cert = certs[i].cert;
		fix_open_tls(f, "api.example.org");
		peer_say(&f->guest, GET);
		fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
		assert_true(
		    peer_has(&f->guest, "Tapward-Reason: origin-tls\r\n"));
		assert_int_equal(fix_last(f)->r.reason, REASON_ORIGIN_TLS);
		if (strcmp(fix_last(f)->detail, certs[i].detail) != 0)
			fail_msg("%s: %s", certs[i].claim, fix_last(f)->detail);
		assert_int_equal(f->origins[0].in_len, 0);
		fix_close(f);
		fix_forget_origins(f);
	}
}

static void
an_origin_with_an_unknown_root_gets_no_byte(void **state)
{
	struct fix *f = *state;

	/* Signed by a CA of the same name and another key. */
	secret_done(&f->roots.both);
	assert_int_equal(ca_make("origins' CA", 86400, &f->roots), 0);
	fix_open_tls(f, "api.example.org");
	peer_say(&f->guest, GET);
	fix_until(f, peer_has(&f->guest, "Tapward-Reason: origin-tls\r\n"));
	assert_int_equal(f->origins[0].in_len, 0);
}

static void
a_session_with_an_origin_is_resumed(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	for (size_t i = 0; i < 2; i++) {
		fix_open_tls(f, "api.example.org");
		peer_say(&f->guest, GET);
		o = fix_origin(f, i);
		fix_until(f, peer_has(o, "\r\n\r\n"));
		assert_int_equal(SSL_session_reused(o->ssl), i);
		peer_say(o,
		    "HTTP/1.1 200 OK\r\nConnection: close\r\n"
		    "Content-Length: 2\r\n\r\nok");
		fix_until(f, peer_has(&f->guest, "ok"));
		fix_close(f);
	}
}

static void
an_origin_that_breaks_off_without_close_notify_is_not_whole(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "api.example.org");
	peer_say(&f->guest, GET);
	o = fix_origin(f, 0);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	peer_say(o, "HTTP/1.1 200 OK\r\n\r\nhalf");
	fix_until(f, peer_has(&f->guest, "half"));
	peer_drop(o);
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_BAD_RESPONSE);
	assert_false(peer_has(&f->guest, "0\r\n\r\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(row_98_an_origin_that_does_not_verify_gets_no_byte),
		TEST(an_origin_with_an_unknown_root_gets_no_byte),
		TEST(a_session_with_an_origin_is_resumed),
		TEST(
		    an_origin_that_breaks_off_without_close_notify_is_not_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
