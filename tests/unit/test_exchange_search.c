/*
 * An answer that repeats the credential of its request.
 */
#include "inspect_fixture.h"

#include <stdio.h>
#include <string.h>

#include "key_host.h"

#define POLICY "[policy]\nversion = 1\n" KEY_RULES

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
row_105_an_echo_in_a_head_is_refused(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nX-Echo: Bearer " SECRET
		"\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 " SECRET "\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: /?t=" SECRET
		"\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX-Echo: " BASIC
		"\r\nContent-Length: 0\r\n\r\n",
	};
	struct fix *f = *state;

	fix_open_tls(f, "key.example.org");
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct peer *o = fix_ask(f, KEY_GET);

		peer_say(o, answers[i]);
		fix_until(f, f->record_count == i + 1);
		fix_until(f, peer_has(&f->guest, "credential-leak"));
		assert_false(peer_has(&f->guest, SECRET));
		assert_false(peer_has(&f->guest, "MzY3IzdC1jYW5hcnk"));
		fix_until(f, o->is_ended);
		peer_clear(&f->guest);
	}
	assert_int_equal(fix_last(f)->r.reason, REASON_CREDENTIAL_LEAK);
}

/* The echo cut at every byte, with a length and chunked. */
static void
row_105_an_echo_in_a_body_is_masked_across_any_split(void **state)
{
	static const char body[] = "{\"auth\":\"Bearer " SECRET "\"}";
	static const char want[] =
	    "{\"auth\":\"Bearer ******************************\"}";
	struct fix *f = *state;
	char text[256];

	for (size_t cut = 1; cut < sizeof(body) - 1; cut++) {
		struct peer *o;

		fix_open_tls(f, "key.example.org");
		o = fix_ask(f, KEY_GET);
		(void)snprintf(text, sizeof(text),
		    "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%.*s",
		    sizeof(body) - 1, (int)cut, body);
		peer_say(o, text);
		fix_until(f, o->out_at == o->out_len);
		fix_settle(f);
		peer_say(o, body + cut);
		fix_until(f, peer_has(&f->guest, "\"}"));
		assert_true(peer_has(&f->guest, want));
		assert_int_equal(fix_last(f)->r.reason, REASON_CREDENTIAL_LEAK);
		assert_int_equal(fix_last(f)->r.verdict, ACTION_ALLOW);
		fix_close(f);
		fix_forget_origins(f);
	}
}

static void
row_105_an_echo_in_chunks_of_one_byte_is_masked(void **state)
{
	/* "Basic " and base64 of "git:" SECRET, as an echo page shows it. */
	static const char echo[] =
	    "x Basic Z2l0OnMzY3IzdC1jYW5hcnktMDEyMzQ1Njc4OWFiY2RlZg== " SECRET
	    " y";
	struct fix *f = *state;
	struct peer *o;
	char chunk[8];

	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	peer_say(o, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (const char *p = echo; *p != '\0'; p++) {
		(void)snprintf(chunk, sizeof(chunk), "1\r\n%c\r\n", *p);
		peer_say(o, chunk);
		fix_turn(f);
	}
	peer_say(o, "0\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "\r\n0\r\n\r\n"));
	assert_false(peer_has(&f->guest, SECRET));
	assert_false(peer_has(&f->guest, "MzY3IzdC1jYW5hcnk"));
	assert_true(peer_has(&f->guest, "y"));
}

static void
what_streams_is_held_back_only_for_a_start_of_it(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	peer_say(o,
	    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n"
	    "9\r\ndata: a\n\n\r\n");
	fix_until(f, peer_has(&f->guest, "data: a\n\n"));
	peer_say(o, "d\r\ndata: s3cr3t-\r\n");
	fix_until(f, o->out_at == o->out_len);
	fix_settle(f);
	assert_false(peer_has(&f->guest, "s3cr3t-"));
	peer_say(o, "5\r\nother\r\n");
	fix_until(f, peer_has(&f->guest, "s3cr3t-other"));
	/* The end proves that a start was none. */
	peer_say(o, "7\r\ns3cr3t-\r\n0\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "\r\n0\r\n\r\n"));
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
}

/* Whatever is refused or breaks, the value is in no byte for the guest. */
static void
row_106_errors_after_the_injection_say_nothing_of_it(void **state)
{
	static const char *const answers[] = {
		"nonsense " SECRET "\r\n\r\n",
		"HTTP/1.1 200 OK\r\n" SECRET "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: " SECRET "\r\n\r\n",
		("HTTP/1.1 200 OK\r\nTransfer-Encoding: "
		 "chunked\r\n\r\n" SECRET),
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct peer *o;

		fix_open_tls(f, "key.example.org");
		o = fix_ask(f, KEY_GET);
		peer_say(o, answers[i]);
		fix_until(f, f->record_count == i + 1);
		fix_settle(f);
		assert_false(peer_has(&f->guest, SECRET));
		assert_null(strstr(fix_last(f)->detail, "canary-"));
		fix_close(f);
		fix_forget_origins(f);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(row_105_an_echo_in_a_head_is_refused),
		TEST(row_105_an_echo_in_a_body_is_masked_across_any_split),
		TEST(row_105_an_echo_in_chunks_of_one_byte_is_masked),
		TEST(what_streams_is_held_back_only_for_a_start_of_it),
		TEST(row_106_errors_after_the_injection_say_nothing_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
