/*
 * A WebSocket whose request carried a credential: it goes out once, and does
 * not come back.
 */
#include "inspect_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "loop_pause.h"
#include "proxy/pool.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow key]\nhost = key.example.org\npath = /k/**\n"                  \
	"websocket = yes\ncredential = canary\n"                               \
	"[allow open]\nhost = key.example.org\nmethod = GET\npath = /o/**\n"   \
	"websocket = yes\n"

#define ASK(path, more)                                                        \
	"GET " path " HTTP/1.1\r\nHost: key.example.org\r\n"                   \
	"Upgrade: websocket\r\nConnection: Upgrade\r\n"                        \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"                      \
	"Sec-WebSocket-Version: 13\r\n" more "\r\n"
#define SWITCH(more)                                                           \
	"HTTP/1.1 101 Switching Protocols\r\n"                                 \
	"Upgrade: websocket\r\nConnection: Upgrade\r\n"                        \
	"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" more "\r\n"

/* fix->secret, 30 bytes. */
#define SECRET "s3cr3t-canary-0123456789abcdef"

static int
setup(void **state)
{
	struct fix *f = fix_new(POLICY);

	f->lease_serves_websocket = true;
	fix_offer(f, "\x08http/1.1");
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	clock_test_release();
	fix_free(*state);
	return 0;
}

static struct peer *
ask(struct fix *f, const char *request)
{
	fix_open_tls(f, "key.example.org");
	return fix_ask(f, request);
}

static struct peer *
open_websocket(struct fix *f)
{
	struct peer *o = ask(f, ASK("/k/x", ""));

	peer_clear(o);
	peer_say(o, SWITCH(""));
	fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
	peer_clear(&f->guest);
	return o;
}

static void
start_again(struct fix *f)
{
	fix_close(f);
	fix_forget_origins(f);
	f->record_count = 0;
}

static void
row_121_it_goes_into_the_handshake_alone(void **state)
{
	struct fix *f = *state;
	struct peer *o = ask(f,
	    ASK("/k/x",
		"Authorization: Bearer mine\r\nCookie: mine\r\n"
		"Sec-WebSocket-Protocol: chat\r\n"
		"Sec-WebSocket-Extensions: permessage-deflate\r\n"));

	assert_true(f->asked_for_websocket);
	assert_true(peer_has(o, "authorization: Bearer " SECRET "\r\n"));
	assert_true(peer_has(o, "Sec-WebSocket-Protocol: chat\r\n"));
	assert_true(peer_has(o, "Upgrade: websocket\r\n"));
	assert_false(peer_has(o, "mine"));
	assert_false(peer_has(o, "Extensions"));
	peer_clear(o);
	peer_say(o, SWITCH("Set-Cookie: session=1\r\n") "\x81\x05hello");
	fix_until(f, peer_has(&f->guest, "\x81\x05hello"));
	assert_false(peer_has(&f->guest, "session"));
	/* What looks like a request gets nothing. */
	peer_say(&f->guest,
	    "GET /k/x HTTP/1.1\r\nHost: key.example.org\r\n\r\n");
	fix_until(f, peer_has(o, "\r\n\r\n"));
	assert_false(peer_has(o, SECRET));
	assert_int_equal(f->lease_count, 1);
	peer_end(&f->guest);
	fix_until(f, o->is_ended);
	peer_end(o);
	fix_until(f, f->is_closed);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
	assert_string_equal(fix_last(f)->credential, "canary");
	assert_int_equal(fix_last(f)->r.lease, 7);
	assert_int_equal(fix_last(f)->r.status, 101);
	assert_int_equal(pool_count(&f->gate), 0);
}

static void
row_121_only_where_its_definition_says_so(void **state)
{
	struct fix *f = *state;

	for (int late = 0; late < 2; late++) {
		f->lease_serves_websocket = false;
		f->is_lease_late = late == 1;
		fix_open_tls(f, "key.example.org");
		peer_say(&f->guest, ASK("/k/x", ""));
		fix_until(f, f->record_count == 1);
		assert_int_equal(fix_last(f)->r.reason, REASON_WEBSOCKET);
		fix_until(f, peer_has(&f->guest, " 403 "));
		assert_true(peer_has(&f->guest,
		    "canary: its definition does not say websocket = yes "
		    "(websocket, tapward.ini:3)"));
		assert_int_equal(f->origin_count, 0);
		start_again(f);
	}
	/* The broker says no by itself. */
	f->lease_refusal = REASON_WEBSOCKET;
	fix_open_tls(f, "key.example.org");
	peer_say(&f->guest, ASK("/k/x", ""));
	fix_until(f, peer_has(&f->guest, "does not say websocket = yes"));
	start_again(f);
	/* Where the rule names none, the definition is not asked. */
	(void)ask(f, ASK("/o/x", ""));
	assert_int_equal(f->origin_count, 1);
	start_again(f);
	/* And other requests go on as they did. */
	f->lease_refusal = REASON_NONE;
	(void)ask(f, "GET /k/x HTTP/1.1\r\nHost: key.example.org\r\n\r\n");
	assert_false(f->asked_for_websocket);
}

#define ROW(claim, bytes, want)                                                \
	{                                                                      \
		claim, bytes, sizeof(bytes) - 1, want                          \
	}

static const struct {
	const char *claim, *bytes;
	size_t len;
	enum reason want;
} echoes[] = {
	ROW("a message", "\x81\x02ok\x81\x1e" SECRET, REASON_CREDENTIAL_LEAK),
	ROW("within a message", "\x81\x02ok\x82\x20<" SECRET ">",
	    REASON_CREDENTIAL_LEAK),
	ROW("in two parts",
	    "\x81\x02ok\x01\x0fs3cr3t-canary-0\x80\x0f"
	    "123456789abcdef",
	    REASON_CREDENTIAL_LEAK),
	ROW("in two parts and a pong between",
	    "\x81\x02ok\x01\x0fs3cr3t-canary-0\x8a\x01x\x80\x0f"
	    "123456789abcdef",
	    REASON_CREDENTIAL_LEAK),
	ROW("in a ping", "\x81\x02ok\x89\x1e" SECRET, REASON_CREDENTIAL_LEAK),
	ROW("in base64",
	    "\x81\x02ok\x81\x28"
	    "czNjcjN0LWNhbmFyeS0wMTIzNDU2Nzg5YWJjZGVm",
	    REASON_CREDENTIAL_LEAK),
	ROW("masked, so that it is not to be seen",
	    "\x81\x02ok\x81\x84\1\2\3\4abcd", REASON_BAD_RESPONSE),
	ROW("compressed, though nobody asked", "\x81\x02ok\xc1\x05hello",
	    REASON_BAD_RESPONSE),
	ROW("in no frame", "\x81\x02ok" SECRET, REASON_BAD_RESPONSE),
};

static void
echo_row(struct fix *f, size_t i, size_t burst)
{
	struct peer *o = open_websocket(f);

	o->burst = burst;
	peer_send(o, echoes[i].bytes, echoes[i].len);
	fix_until(f, f->record_count == 1);
	fix_until(f, o->is_ended && f->is_closed && f->guest.is_ended);
	if (fix_last(f)->r.reason != echoes[i].want)
		fail_msg("%s: %s", echoes[i].claim,
		    reason_code(fix_last(f)->r.reason));
	assert_int_equal(fix_last(f)->r.status, 101);
	for (size_t at = 0; at + 8 <= strlen(f->secret); at++)
		if (peer_has_bytes(&f->guest, f->secret + at, 8))
			fail_msg("%s: %s", echoes[i].claim, fix_guest_text(f));
	/* Byte by byte what came before has gone. */
	if (burst == 1)
		assert_true(peer_has_bytes(&f->guest, "\x81\x02ok", 4));
	start_again(f);
}

static void
row_121_what_comes_back_ends_the_tunnel(void **state)
{
	for (size_t i = 0; i < sizeof(echoes) / sizeof(echoes[0]); i++) {
		echo_row(*state, i, 0);
		echo_row(*state, i, 1);
		echo_row(*state, i, 7);
	}
}

static const struct {
	const char *claim, *answer;
	enum reason want;
} heads[] = {
	{ "it in a field", SWITCH("X-Echo: " SECRET "\r\n"),
	    REASON_CREDENTIAL_LEAK },
	{ "it as the protocol",
	    SWITCH("Sec-WebSocket-Protocol: " SECRET "\r\n"),
	    REASON_BAD_RESPONSE },
	{ "an extension that was taken out",
	    SWITCH("Sec-WebSocket-Extensions: permessage-deflate\r\n"),
	    REASON_BAD_RESPONSE },
	{ "it behind no 101",
	    "HTTP/1.1 200 OK\r\nX-Echo: " SECRET
	    "\r\nContent-Length: 0\r\n\r\n",
	    REASON_CREDENTIAL_LEAK },
};

static void
row_121_nor_in_the_head_of_the_answer(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct peer *o = ask(f,
		    ASK("/k/x",
			"Sec-WebSocket-Extensions: permessage-deflate\r\n"));

		peer_say(o, heads[i].answer);
		fix_until(f, f->record_count == 1);
		fix_settle(f);
		if (fix_last(f)->r.reason != heads[i].want ||
		    peer_has(&f->guest, " 101 ") || peer_has(&f->guest, SECRET))
			fail_msg("%s: %s", heads[i].claim, fix_guest_text(f));
		start_again(f);
	}
}

static void
row_121_what_may_begin_it_does_not_end_a_conversation(void **state)
{
	struct fix *f = *state;
	struct peer *o = open_websocket(f);

	/* A message that ends as the credential begins does not wait. */
	peer_say(o, "\x81\x04xs3c");
	fix_until(f, peer_has(&f->guest, "\x81\x04xs3c"));
	peer_clear(&f->guest);
	peer_say(o, "\x81\x09xs3cr3t-c");
	fix_settle(f);
	assert_false(peer_has(&f->guest, "s3cr3t"));
	peer_say(o, "\x81\x02ok");
	fix_until(f, peer_has(&f->guest, "\x81\x09xs3cr3t-c\x81\x02ok"));
	/* Nobody ends in what may be it. */
	peer_say(o, "\x81\x09xs3cr3t-c\x88");
	fix_until(f, o->out_at == o->out_len);
	peer_end(o);
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_CREDENTIAL_LEAK);
}

static void
a_slow_reader_holds_the_origin_back(void **state)
{
	static uint8_t frame[4004] = { 0x82, 0x7e, 0x0f, 0xa0 };
	struct fix *f = *state;
	struct peer *o = open_websocket(f);
	const size_t total = 1000 * sizeof(frame);

	memset(frame + 4, 's', sizeof(frame) - 4);
	f->guest.is_slow = true;
	for (size_t i = 0; i < total; i += sizeof(frame))
		peer_send(o, frame, sizeof(frame));
	fix_settle(f);
	assert_true(o->out_at < total / 2);
	assert_int_equal(fix_wakes(f) > 3, 0);
	f->guest.is_slow = false;
	fix_until(f, f->guest.in_len == total);
	for (size_t i = 0; i < total; i += sizeof(frame))
		assert_memory_equal(f->guest.in + i, frame, sizeof(frame));
	peer_end(o);
	fix_until(f, f->guest.is_ended);
	peer_end(&f->guest);
	fix_until(f, f->is_closed);
	assert_int_equal(fix_last(f)->r.down, total);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
}

static void
a_lease_that_is_revoked_takes_it_with_it(void **state)
{
	static const char *const revoked[] = { "canary", NULL };
	struct fix *f = *state;
	struct peer *o;

	for (size_t i = 0; i < 2; i++) {
		o = open_websocket(f);
		pool_revoke(&f->gate, "another");
		fix_settle(f);
		assert_int_equal(f->record_count, 0);
		peer_say(o, "\x81\x02on");
		fix_until(f, peer_has(&f->guest, "on"));
		pool_revoke(&f->gate, revoked[i]);
		fix_until(f, f->record_count == 1 && o->is_ended);
		fix_until(f, f->is_closed);
		assert_int_equal(fix_last(f)->r.reason,
		    REASON_CREDENTIAL_UNAVAILABLE);
		assert_string_equal(fix_last(f)->detail,
		    "its lease was revoked");
		start_again(f);
	}
	/* On the way, it is not opened any more. */
	o = ask(f, ASK("/k/x", ""));
	pool_revoke(&f->gate, "canary");
	peer_say(o, SWITCH(""));
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_CREDENTIAL_UNAVAILABLE);
	assert_false(peer_has(&f->guest, " 101 "));
	start_again(f);
	/* One without a credential stays. */
	o = ask(f, ASK("/o/x", ""));
	peer_say(o, SWITCH(""));
	fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
	pool_revoke(&f->gate, NULL);
	peer_say(o, "\x81\x02on");
	fix_until(f, peer_has(&f->guest, "on"));
	assert_int_equal(f->record_count, 0);
}

/* Its end is a time, not a word of anybody: what is open stays. */
static void
outlives_its_lease(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	f->lease_ms = 200;
	clock_test_set(clock_mono_ms(), clock_boot_ms(), clock_wall_ms());
	o = open_websocket(f);
	clock_test_advance(300);
	/* Longer than any timer that was set for its end. */
	(void)loop_pause(f->gate.base, 250);
	peer_say(o, "\x81\x02on");
	fix_until(f, peer_has(&f->guest, "on"));
	assert_int_equal(f->record_count, 0);
}

static void
a_reload_that_takes_the_credential_ends_it(void **state)
{
	struct fix *f = *state;
	struct peer *o = open_websocket(f);

	fix_set_policy(f, POLICY "[deny x]\nhost = x.example.org\n");
	fix_settle(f);
	assert_int_equal(f->record_count, 0);
	fix_set_policy(f,
	    "[policy]\nversion = 1\n[allow key]\nhost = key.example.org\n"
	    "websocket = yes\n");
	fix_until(f, f->record_count == 1 && o->is_ended);
	assert_int_equal(fix_last(f)->r.reason, REASON_POLICY_RELOADED);
}

/* A guest may not bring what the host's credential is there for. */
static void
fields_of_a_grant_are_taken_out_of_a_handshake(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_grant(f, "key.example.org", 443, "sec-websocket-protocol");
	o = ask(f,
	    ASK("/o/x",
		"Authorization: mine\r\n"
		"Sec-WebSocket-Protocol: bearer.mine, chat\r\n"));
	assert_false(peer_has(o, "mine"));
	peer_say(o, SWITCH("Sec-WebSocket-Protocol: chat\r\n"));
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_BAD_RESPONSE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(row_121_it_goes_into_the_handshake_alone),
		TEST(row_121_only_where_its_definition_says_so),
		TEST(row_121_what_comes_back_ends_the_tunnel),
		TEST(row_121_nor_in_the_head_of_the_answer),
		TEST(row_121_what_may_begin_it_does_not_end_a_conversation),
		TEST(a_slow_reader_holds_the_origin_back),
		TEST(a_lease_that_is_revoked_takes_it_with_it),
		TEST(outlives_its_lease),
		TEST(a_reload_that_takes_the_credential_ends_it),
		TEST(fields_of_a_grant_are_taken_out_of_a_handshake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
