/*
 * WebSocket through the inspected path: the handshake in all the ways in which
 * it is none, and the tunnel behind one. Its ends are in test_tunnel_ends.c.
 */
#include "tunnel_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "proxy/pool.h"

static void
opens_and_carries_bytes_both_ways(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f,
	    "GET /ws?a=b HTTP/1.1\r\n" HOST
	    "Upgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n" KEY
	    "Sec-WebSocket-Protocol: chat\r\n"
	    "Sec-WebSocket-Extensions: permessage-deflate\r\n"
	    "Sec-WebSocket-Accept: mine\r\nTE: trailers\r\n"
	    "Origin: https://a.example.org\r\n\r\n");
	came(o,
	    "GET /ws?a=b HTTP/1.1\r\n" HOST KEY
	    "Sec-WebSocket-Protocol: chat\r\n"
	    "Sec-WebSocket-Extensions: permessage-deflate\r\n"
	    "Origin: https://a.example.org\r\n" UPGRADE "\r\n");
	peer_clear(o);
	peer_say(o,
	    "HTTP/1.1 101 Go\r\nUPGRADE: WEBSOCKET\r\n"
	    "connection: close, upgrade\r\n" ACCEPT
	    "Sec-WebSocket-Protocol: chat\r\nAlt-Svc: x\r\n"
	    "Content-Length: 0\r\nX-Mine: 1\r\n\r\n\x81\x02hi");
	fix_until(f, peer_has(&f->guest, "\x81\x02hi"));
	came(&f->guest,
	    "HTTP/1.1 101 Go\r\n" ACCEPT
	    "Sec-WebSocket-Protocol: chat\r\nX-Mine: 1\r\n" UPGRADE
	    "\r\n\x81\x02hi");
	peer_say(&f->guest, "\x81\x82xxxx\x01\x02");
	fix_until(f, o->in_len == 8);
	came(o, "\x81\x82xxxx\x01\x02");
	assert_int_equal(f->record_count, 0);
	peer_end(&f->guest);
	fix_until(f, o->is_ended);
	peer_say(o, "\x88\x01!");
	fix_until(f, o->out_at == o->out_len);
	peer_end(o);
	fix_until(f, f->is_closed);
	assert_true(peer_has(&f->guest, "\x88\x01!"));
	assert_int_equal(f->record_count, 1);
	assert_int_equal(fix_last(f)->r.verdict, ACTION_ALLOW);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
	assert_int_equal(fix_last(f)->r.status, 101);
	assert_int_equal(fix_last(f)->r.up, 8);
	assert_int_equal(fix_last(f)->r.down, 7);
	assert_string_equal(fix_last(f)->rule, "ws");
	assert_string_equal(fix_last(f)->path, "/ws?a=b");
}

/* --- the request --- */

static const struct {
	const char *claim, *head, *body; /* NULL: it is refused */
	enum reason want;
} asks[] = {
	{ "h2c",
	    "GET /ws HTTP/1.1\r\n" HOST
	    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
	    "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
	    "", REASON_NONE },
	{ "TLS",
	    "GET /ws HTTP/1.1\r\n" HOST
	    "Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n\r\n",
	    "", REASON_NONE },
	{ "something else",
	    "GET /ws HTTP/1.1\r\n" HOST
	    "Connection: Upgrade\r\nUpgrade: foo/2\r\n\r\n",
	    "", REASON_NONE },
	{ "two tokens",
	    "GET /ws HTTP/1.1\r\n" HOST KEY
	    "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n"
	    "\r\n",
	    "", REASON_NONE },
	{ "two fields",
	    "GET /ws HTTP/1.1\r\n" HOST UPGRADE KEY "Upgrade: h2c\r\n\r\n", "",
	    REASON_NONE },
	{ "with a version",
	    "GET /ws HTTP/1.1\r\n" HOST KEY
	    "Connection: Upgrade\r\nUpgrade: websocket/13\r\n"
	    "\r\n",
	    "", REASON_NONE },
	{ "without Connection",
	    "GET /ws HTTP/1.1\r\n" HOST KEY "Upgrade: websocket\r\n\r\n", "",
	    REASON_NONE },
	{ "without Upgrade",
	    "GET /ws HTTP/1.1\r\n" HOST KEY "Connection: Upgrade\r\n\r\n", "",
	    REASON_NONE },
	{ "by HTTP/1.0", "GET /ws HTTP/1.0\r\n" HOST UPGRADE KEY "\r\n", "",
	    REASON_NONE },
	{ "by POST",
	    "POST /ws HTTP/1.1\r\n" HOST UPGRADE KEY
	    "Content-Length: 2\r\n\r\nhi",
	    "hi", REASON_NONE },
	{ "with a body",
	    "GET /ws HTTP/1.1\r\n" HOST UPGRADE KEY
	    "Content-Length: 2\r\n\r\nhi",
	    "hi", REASON_NONE },
	{ "without a key",
	    "GET /ws HTTP/1.1\r\n" HOST UPGRADE
	    "Sec-WebSocket-Version: 13\r\n\r\n",
	    NULL, REASON_BAD_REQUEST },
	{ "with a short key",
	    "GET /ws HTTP/1.1\r\n" HOST UPGRADE "Sec-WebSocket-Key: AAAA\r\n"
	    "Sec-WebSocket-Version: 13\r\n\r\n",
	    NULL, REASON_BAD_REQUEST },
	{ "of another version",
	    "GET /ws HTTP/1.1\r\n" HOST UPGRADE
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
	    "\r\nSec-WebSocket-Version: 8\r\n\r\n",
	    NULL, REASON_BAD_REQUEST },
	{ "with '_' for '-'",
	    "GET /ws HTTP/1.1\r\n" HOST UPGRADE KEY
	    "Sec_WebSocket_Protocol: x\r\n\r\n",
	    NULL, REASON_BAD_REQUEST },
	{ "where no rule says so",
	    "GET /x HTTP/1.1\r\n" HOST UPGRADE KEY "\r\n", NULL,
	    REASON_WEBSOCKET },
};

static void
ask_row(struct fix *f, size_t i, size_t burst)
{
	struct peer *o;
	char end[16];

	fix_open_http(f);
	f->guest.burst = burst;
	if (asks[i].body == NULL) {
		peer_say(&f->guest, asks[i].head);
		fix_until(f, f->record_count == 1);
		if (fix_last(f)->r.reason != asks[i].want ||
		    f->origin_count != 0)
			fail_msg("%s: %s", asks[i].claim,
			    reason_code(fix_last(f)->r.reason));
	} else {
		o = fix_ask(f, asks[i].head);
		(void)snprintf(end, sizeof(end), "\r\n\r\n%s", asks[i].body);
		fix_until(f, peer_has(o, end));
		if (peer_has(o, "pgrade") || peer_has(o, "WebSocket") ||
		    peer_has(o, "Connection") || peer_has(o, "ettings"))
			fail_msg("%s: %.*s", asks[i].claim, (int)o->in_len,
			    (char *)o->in);
		/* And is answered as what it is. */
		peer_say(o, OPEN);
		fix_until(f, f->record_count == 1);
		assert_int_equal(fix_last(f)->r.reason, REASON_BAD_RESPONSE);
		assert_false(peer_has(&f->guest, " 101 "));
		assert_true(o->is_ended);
	}
	f->record_count = 0;
	fix_close(f);
	fix_forget_origins(f);
}

static void
row_74_any_other_upgrade_is_not_sent_on(void **state)
{
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		ask_row(*state, i, 0);
		ask_row(*state, i, 1);
	}
}

/* --- the answer --- */

static const struct {
	const char *claim, *answer;
	unsigned int status; /* 0: it is refused */
} answers[] = {
	{ "200, as if that opened one",
	    "HTTP/1.1 200 OK\r\n" UPGRADE ACCEPT "Content-Length: 2\r\n\r\nok",
	    200 },
	{ "426",
	    "HTTP/1.1 426 Upgrade Required\r\n" UPGRADE
	    "Sec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n",
	    426 },
	{ "403", "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno", 403 },
	{ "103, then 200", "HTTP/1.1 103 Early\r\n\r\n" OK2, 200 },
	{ "another accept",
	    SWITCH UPGRADE
	    "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
	    0 },
	{ "no accept", SWITCH UPGRADE "\r\n", 0 },
	{ "two accepts", SWITCH UPGRADE ACCEPT ACCEPT "\r\n", 0 },
	{ "no Connection", SWITCH "Upgrade: websocket\r\n" ACCEPT "\r\n", 0 },
	{ "no Upgrade", SWITCH "Connection: Upgrade\r\n" ACCEPT "\r\n", 0 },
	{ "to h2c",
	    SWITCH "Connection: Upgrade\r\nUpgrade: h2c\r\n" ACCEPT "\r\n", 0 },
	{ "to two", SWITCH UPGRADE "Upgrade: h2c\r\n" ACCEPT "\r\n", 0 },
	{ "a protocol that was not asked for",
	    SWITCH UPGRADE ACCEPT "Sec-WebSocket-Protocol: chat\r\n\r\n", 0 },
	{ "an extension that was not asked for",
	    SWITCH UPGRADE ACCEPT
	    "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
	    0 },
	{ "a length", SWITCH UPGRADE ACCEPT "Content-Length: 5\r\n\r\nhello",
	    0 },
	{ "chunked",
	    SWITCH UPGRADE ACCEPT "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	    0 },
};

static void
row_74_nothing_but_the_right_101_opens_a_tunnel(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		unsigned int want = answers[i].status;
		struct peer *o;

		fix_open_http(f);
		o = fix_ask(f, ASK);
		peer_say(o, answers[i].answer);
		fix_until(f, f->record_count == 1);
		fix_settle(f);
		if (fix_last(f)->r.status != (want == 0 ? 502 : want) ||
		    fix_last(f)->r.reason !=
			(want == 0 ? REASON_BAD_RESPONSE : REASON_NONE) ||
		    peer_has(&f->guest, " 101 "))
			fail_msg("%s: %s", answers[i].claim, fix_guest_text(f));
		/* Its connection is used for nothing else. */
		assert_true(o->is_ended);
		assert_int_equal(pool_count(&f->gate), 0);
		/* What the guest says next is a request again. */
		assert_false(f->is_closed);
		o = fix_ask(f, GET);
		assert_int_equal(f->origin_count, 2);
		peer_say(o, OK2);
		fix_until(f, f->record_count == 2);
		f->record_count = 0;
		fix_close(f);
		pool_flush(&f->gate);
		fix_forget_origins(f);
	}
}

/* And takes none that is there. */
static void
has_a_connection_of_its_own(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, GET);
	peer_say(o, OK2);
	fix_until(f, f->record_count == 1);
	assert_int_equal(pool_count(&f->gate), 1);
	peer_clear(o);
	(void)fix_ask(f, ASK);
	assert_int_equal(f->origin_count, 2);
	assert_int_equal(o->in_len, 0);
	assert_int_equal(pool_count(&f->gate), 1);
}

static void
bytes_before_the_answer_wait_for_it(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	peer_say(&f->guest, ASK "\x81\x82xxxx\x01\x02");
	o = fix_origin(f, 0);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	fix_settle(f);
	assert_false(peer_has(o, "xxxx"));
	peer_clear(o);
	peer_say(o, OPEN);
	fix_until(f, o->in_len > 0);
	came(o, "\x81\x82xxxx\x01\x02");
	/* There is an end to what waits. */
	fix_close(f);
	fix_forget_origins(f);
	fix_open_http(f);
	peer_say(&f->guest, ASK);
	for (int i = 0; i < 4000; i++)
		peer_say(&f->guest,
		    "0123456789abcdef0123456789abcdef"
		    "0123456789abcdef0123456789abcdef"
		    "0123456789abcdef0123456789abcdef"
		    "0123456789abcdef0123456789abcdef");
	o = fix_origin(f, 0);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	fix_settle(f);
	assert_false(peer_has(o, "0123"));
	assert_true(f->guest.out_at < f->guest.out_len);
}

/* They are no frames to us: a request that is judged, or none. */
static void
row_74_bytes_behind_a_refused_handshake_are_a_request(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	peer_say(&f->guest, ASK "\x81\x82xxxx\x01\x02");
	o = fix_origin(f, 0);
	peer_say(o, OK2);
	fix_until(f, f->record_count == 2);
	assert_int_equal(fix_last(f)->r.reason, REASON_BAD_REQUEST);
	fix_until(f, peer_has(&f->guest, " 400 "));
	assert_int_equal(f->origin_count, 1);
	assert_false(peer_has(o, "xxxx"));
	fix_close(f);
	fix_forget_origins(f);
	f->record_count = 0;
	fix_open_http(f);
	peer_say(&f->guest, ASK GET);
	o = fix_origin(f, 0);
	peer_say(o, OK2);
	o = fix_origin(f, 1);
	fix_until(f, peer_has(o, "GET /x "));
}

/* After the upgrade nothing is a request any more. */
static void
row_121_a_request_behind_the_upgrade_is_bytes(void **state)
{
	struct fix *f = *state;
	struct peer *o = open_websocket(f);

	peer_say(&f->guest, GET);
	fix_until(f, o->in_len > 0);
	came(o, GET);
	peer_say(o, OK2 OK2);
	fix_until(f, f->guest.in_len == 2 * strlen(OK2));
	came(&f->guest, OK2 OK2);
	assert_int_equal(f->record_count, 0);
	assert_int_equal(f->origin_count, 1);
}

static void
an_origin_of_http2_is_asked_by_http1(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	f->origin_is_h2 = true;
	fix_offer(f, "\x08http/1.1");
	fix_open_tls(f, "t.example.org");
	o = fix_ask(f,
	    "GET /ws HTTP/1.1\r\nHost: t.example.org\r\n" UPGRADE KEY "\r\n");
	assert_true(peer_has(o, "GET /ws HTTP/1.1\r\n"));
	peer_say(o, OPEN "\x81\x01x");
	fix_until(f, peer_has(&f->guest, "\x81\x01x"));
}

static void
goes_through_the_explicit_proxy_by_absolute_form(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_explicit(f);
	peer_say(&f->guest,
	    "GET http://a.example.org/ws HTTP/1.1\r\n" HOST UPGRADE KEY
	    "\r\n\x81\x82xxxx\x01\x02");
	o = fix_origin(f, 0);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	fix_settle(f);
	assert_false(peer_has(o, "xxxx"));
	peer_clear(o);
	peer_say(o, OPEN);
	fix_until(f, o->in_len > 0);
	came(o, "\x81\x82xxxx\x01\x02");
	peer_say(o, "down");
	fix_until(f, peer_has(&f->guest, "down"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(opens_and_carries_bytes_both_ways),
		TEST(row_74_any_other_upgrade_is_not_sent_on),
		TEST(row_74_nothing_but_the_right_101_opens_a_tunnel),
		TEST(has_a_connection_of_its_own),
		TEST(bytes_before_the_answer_wait_for_it),
		TEST(row_74_bytes_behind_a_refused_handshake_are_a_request),
		TEST(row_121_a_request_behind_the_upgrade_is_bytes),
		TEST(an_origin_of_http2_is_asked_by_http1),
		TEST(goes_through_the_explicit_proxy_by_absolute_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
