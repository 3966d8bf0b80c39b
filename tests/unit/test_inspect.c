/*
 * Requests through the inspected path: what reaches an origin, and what comes
 * back.
 */
#include "inspect_fixture.h"

#include <sys/socket.h>

#include "key_host.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow plain]\nhost = plain.example.org\nport = 80\n"                 \
	"scheme = http\n"                                                      \
	"[allow api]\nhost = api.example.org\n" KEY_RULES

#define PLAIN_GET "GET /a?b=c HTTP/1.1\r\nHost: plain.example.org\r\n\r\n"

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
a_get_goes_through_and_the_connection_is_kept(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	for (int i = 0; i < 3; i++) {
		peer_say(&f->guest, PLAIN_GET);
		o = fix_origin(f, 0);
		fix_until(f, peer_has(o, "\r\n\r\n"));
		assert_string_equal("GET /a?b=c HTTP/1.1\r\n"
				    "Host: plain.example.org\r\n\r\n",
		    (o->in[o->in_len] = '\0', (char *)o->in));
		peer_clear(o);
		peer_say(o,
		    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
		fix_until(f, peer_has(&f->guest, "hello"));
		assert_true(peer_has(&f->guest, "Content-Length: 5\r\n"));
		peer_clear(&f->guest);
	}
	assert_int_equal(f->origin_count, 1);
	assert_int_equal(f->record_count, 3);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
	assert_int_equal(fix_last(f)->r.status, 200);
	assert_int_equal(fix_last(f)->r.down, 5);
	assert_string_equal(fix_last(f)->path, "/a?b=c");
	assert_false(f->is_closed);
}

static void
a_get_through_tls_gets_the_credential(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "key.example.org");
	peer_say(&f->guest,
	    "GET /k/x HTTP/1.1\r\nHost: key.example.org\r\n"
	    "Authorization: Bearer mine\r\nCookie: a=b\r\n"
	    "X-Api-Key: mine\r\nX-Other: stays\r\n"
	    "Range: bytes=1-2\r\nIf-Range: x\r\n"
	    "Grpc-Accept-Encoding: gzip\r\nConnect-Accept-Encoding: gzip\r\n"
	    "Accept-Encoding: gzip\r\n\r\n");
	o = fix_origin(f, 0);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	assert_true(peer_has(o, "authorization: Bearer s3cr3t-canary-"));
	assert_true(peer_has(o, "X-Other: stays\r\n"));
	assert_true(peer_has(o, "Accept-Encoding: identity\r\n"));
	assert_false(peer_has(o, "mine"));
	assert_false(peer_has(o, "a=b"));
	assert_false(peer_has(o, "gzip"));
	assert_false(peer_has(o, "Range"));
	peer_say(o,
	    "HTTP/1.1 200 OK\r\nSet-Cookie: s=1\r\n"
	    "Proxy-Status: tapward; forged\r\n"
	    "Content-Length: 2\r\n\r\nok");
	fix_until(f, peer_has(&f->guest, "\r\n\r\nok"));
	assert_false(peer_has(&f->guest, "Set-Cookie"));
	assert_false(peer_has(&f->guest, "forged"));
	assert_string_equal(fix_last(f)->credential, "canary");
	assert_int_equal(fix_last(f)->r.lease, 7);
}

static void
a_post_goes_through_tls_with_its_body(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "api.example.org");
	peer_say(&f->guest,
	    "POST /p HTTP/1.1\r\nHost: api.example.org\r\n"
	    "Content-Length: 4\r\n\r\nbody");
	o = fix_origin(f, 0);
	fix_until(f, peer_has(o, "body"));
	assert_true(peer_has(o, "Content-Length: 4\r\n"));
	peer_say(o,
	    "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "3\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "0\r\n\r\n"));
	assert_true(peer_has(&f->guest, "HTTP/1.1 201 Created\r\n"));
	assert_true(peer_has(&f->guest, "Transfer-Encoding: chunked\r\n"));
	assert_false(peer_has(&f->guest, "X-T"));
	assert_int_equal(fix_last(f)->r.up, 4);
	assert_int_equal(fix_last(f)->r.down, 5);
}

/*
 * The answer is as long as two buffers of ours and what a socket holds, so
 * that the origin is done with it and the guest is not.
 */
static void
an_origin_that_ends_while_the_guest_is_slow_does_not_spin(void **state)
{
	struct fix *f = *state;
	static char body[140000];
	int room = 20000;
	struct peer *o;

	fix_open_tls(f, "key.example.org");
	(void)setsockopt(f->conn.fd, SOL_SOCKET, SO_SNDBUF, &room,
	    sizeof(room));
	o = fix_ask(f, KEY_GET);
	f->guest.is_slow = true;
	peer_say(o,
	    "HTTP/1.1 200 OK\r\nConnection: close\r\n"
	    "Content-Length: 140000\r\n\r\n");
	peer_send(o, body, sizeof(body));
	fix_settle(f);
	assert_int_equal(o->out_at, o->out_len);
	assert_int_equal(f->record_count, 0);
	assert_in_range(fix_wakes(f), 1, 3);
	peer_end(o);
	assert_in_range(fix_wakes(f), 1, 3);
	f->guest.is_slow = false;
	fix_until(f, f->guest.in_len > sizeof(body));
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_get_goes_through_and_the_connection_is_kept),
		TEST(a_get_through_tls_gets_the_credential),
		TEST(a_post_goes_through_tls_with_its_body),
		TEST(an_origin_that_ends_while_the_guest_is_slow_does_not_spin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
