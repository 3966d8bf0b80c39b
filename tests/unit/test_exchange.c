/*
 * Exchanges in all their shapes: framings of request and answer, answers that
 * lie, pipelining, uploads.
 */
#include "inspect_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/pool.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow plain]\nhost = a.example.org\nport = 80\nscheme = http\n"      \
	"path = /**\n"                                                         \
	"[deny secret]\nhost = a.example.org\nport = 80\npath = /secret\n"     \
	"[deny delete]\nhost = a.example.org\nport = 80\nmethod = DELETE\n"

#define HOST "Host: a.example.org\r\n"
#define GET "GET / HTTP/1.1\r\n" HOST "\r\n"
#define OK2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

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
answers_are(struct fix *f, const char *want)
{
	if (f->guest.in_len != strlen(want) ||
	    memcmp(f->guest.in, want, strlen(want)) != 0)
		fail_msg("%s\ninstead of\n%s", fix_guest_text(f), want);
}

/* --- answers --- */

static const struct {
	const char *claim, *request, *answer, *want;
	bool ends; /* the origin closes behind it */
	bool kept; /* the guest's connection stays */
} shapes[] = {
	{ "with a length", GET, OK2,
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false, true },
	{ "an empty one", GET, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, true },
	{ "chunked", GET,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "5\r\nhello\r\n0\r\n\r\n",
	    false, true },
	{ "chunked, to a guest of HTTP/1.0",
	    "GET / HTTP/1.0\r\n" HOST "Connection: keep-alive\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "5\r\nhello\r\n0\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", false, false },
	{ "to the end of the connection", GET, "HTTP/1.1 200 OK\r\n\r\nhello",
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "5\r\nhello\r\n0\r\n\r\n",
	    true, true },
	{ "204", GET, "HTTP/1.1 204 No Content\r\n\r\n",
	    "HTTP/1.1 204 No Content\r\n\r\n", false, true },
	{ "304 with the length it would have", GET,
	    "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
	    "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", false,
	    true },
	{ "HEAD with the length it would have",
	    "HEAD / HTTP/1.1\r\n" HOST "\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", false, true },
	{ "HEAD, chunked", "HEAD / HTTP/1.1\r\n" HOST "\r\n",
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	    "HTTP/1.1 200 OK\r\n\r\n", false, true },
	{ "interim answers are dropped", GET,
	    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n"
	    "Link: x\r\n\r\n" OK2,
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false, true },
	{ "fields of the connection and ways around us are dropped", GET,
	    "HTTP/1.1 200 OK\r\nConnection: X-A\r\nX-A: 1\r\nX-B: 2\r\n"
	    "Keep-Alive: 5\r\nAlt-Svc: h3=\":443\"\r\n"
	    "Content-Length: 0\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nX-B: 2\r\nContent-Length: 0\r\n\r\n", false,
	    true },
	{ "the guest wants to close",
	    "GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", OK2,
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
	    "Connection: close\r\n\r\nok",
	    false, false },
	{ "HTTP/1.0 closes by itself", "GET / HTTP/1.0\r\n" HOST "\r\n", OK2,
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
	    "Connection: close\r\n\r\nok",
	    false, false },
	{ "HTTP/1.0 may be kept",
	    "GET / HTTP/1.0\r\n" HOST "Connection: keep-alive\r\n\r\n", OK2,
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
	    "Connection: keep-alive\r\n\r\nok",
	    false, true },
};

static void
run_shape(struct fix *f, size_t i, size_t burst)
{
	struct peer *o;

	fix_open_http(f);
	f->guest.burst = burst;
	o = fix_ask(f, shapes[i].request);
	o->burst = burst;
	peer_say(o, shapes[i].answer);
	fix_until(f, o->out_at == o->out_len);
	if (shapes[i].ends)
		peer_end(o);
	fix_until(f, f->record_count == 1 && f->guest.in_len > 0);
	fix_settle(f);
	/* Byte by byte a body comes in other chunks. */
	if (burst == 0 || !peer_has(&f->guest, "chunked"))
		answers_are(f, shapes[i].want);
	if (f->guest.is_ended == shapes[i].kept)
		fail_msg("%s: ended %d", shapes[i].claim, f->guest.is_ended);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
	f->record_count = 0;
	fix_close(f);
	fix_forget_origins(f);
}

static void
each_shape_of_answer_goes_through(void **state)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		run_shape(*state, i, 0);
		run_shape(*state, i, 1);
	}
}

static const struct {
	unsigned int number;
	const char *claim, *request, *answer;
	bool ends, has_begun;
} bad_answers[] = {
	{ 59, "no HTTP", GET, "SSH-2.0-x\r\n\r\n", false, false },
	{ 59, "CL and TE", GET,
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	    false, false },
	{ 59, "two lengths", GET,
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3"
	    "\r\n\r\nabc",
	    false, false },
	{ 59, "bare LF", GET, "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", false,
	    false },
	{ 59, "101 that nobody asked for", GET,
	    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
	    "Connection: upgrade\r\n\r\n",
	    false, false },
	{ 59, "nine interim answers", GET,
	    "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 102 P\r\n\r\n"
	    "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 102 P\r\n\r\n"
	    "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 102 P\r\n\r\n"
	    "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 102 P\r\n\r\n"
	    "HTTP/1.1 102 P\r\n\r\n" OK2,
	    false, false },
	{ 59, "half a head", GET, "HTTP/1.1 200 OK\r\nConte", true, false },
	{ 59, "less than its length", GET,
	    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", true, true },
	{ 59, "no last chunk", GET,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "2\r\nok\r\n",
	    true, true },
	{ 59, "a chunk that lies", GET,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "2\r\nokXX",
	    false, true },
};

static void
rows_59_bad_answers_end_the_origin_and_are_never_whole(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(bad_answers) / sizeof(bad_answers[0]);
	     i++) {
		struct peer *o;

		fix_open_http(f);
		o = fix_ask(f, bad_answers[i].request);
		peer_say(o, bad_answers[i].answer);
		fix_until(f, o->out_at == o->out_len);
		if (bad_answers[i].ends)
			peer_end(o);
		fix_until(f, f->record_count == 1 && o->is_ended);
		assert_int_equal(fix_last(f)->r.reason, REASON_BAD_RESPONSE);
		assert_int_equal(pool_count(&f->gate), 0);
		if (bad_answers[i].has_begun) {
			fix_until(f, f->guest.is_ended);
			assert_false(peer_has(&f->guest, "0\r\n\r\n"));
		} else {
			fix_until(f, peer_has(&f->guest, "HTTP/1.1 502 "));
		}
		f->record_count = 0;
		fix_close(f);
		fix_forget_origins(f);
	}
}

static void
row_59_bytes_behind_an_answer_are_no_next_answer(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, GET);
	peer_say(o, OK2 "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
	fix_until(f, peer_has(&f->guest, "ok"));
	fix_until(f, o->is_ended);
	peer_clear(&f->guest);
	o = fix_ask(f, GET);
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
	assert_false(peer_has(&f->guest, "evil"));
	assert_int_equal(f->origin_count, 2);
}

static void
row_59_bytes_from_an_idle_origin_end_it(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, GET);
	peer_say(o, OK2);
	fix_until(f, pool_count(&f->gate) == 1);
	peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
	fix_until(f, pool_count(&f->gate) == 0 && o->is_ended);
}

/* --- requests --- */

static void
row_56_pipelined_requests_are_taken_one_by_one(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	peer_say(&f->guest,
	    GET "GET /secret HTTP/1.1\r\n" HOST "\r\n"
		"GET /two HTTP/1.1\r\n" HOST "\r\n"
		"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
	o = fix_origin(f, 0);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	fix_settle(f);
	/* Not before the first has its answer. */
	assert_false(peer_has(o, "/two"));
	peer_say(o, OK2);
	fix_until(f, peer_has(o, "GET /two"));
	assert_false(peer_has(o, "secret"));
	peer_say(o, OK2);
	fix_until(f, f->record_count == 4);
	assert_int_equal(f->records[1].r.reason, REASON_DENIED_BY_RULE);
	assert_int_equal(f->records[1].r.status, 403);
	assert_int_equal(f->records[3].r.reason, REASON_NO_RULE);
	assert_string_equal(f->records[3].host, "evil.example");
	assert_int_equal(f->origin_count, 1);
	assert_false(peer_has(o, "evil"));
}

static void
a_body_streams_with_its_length(void **state)
{
	struct fix *f = *state;
	static char body[300000];
	struct peer *o;

	memset(body, 'b', sizeof(body));
	fix_open_http(f);
	o = fix_ask(f,
	    "PUT / HTTP/1.1\r\n" HOST "Content-Length: 300000\r\n\r\n");
	peer_send(&f->guest, body, sizeof(body));
	fix_until(f, o->in_len > sizeof(body));
	fix_settle(f);
	assert_true(peer_has_bytes(o, body, sizeof(body)));
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
	assert_int_equal(fix_last(f)->r.up, sizeof(body));
	assert_int_equal(pool_count(&f->gate), 1);
	assert_false(f->is_closed);
}

static void
row_52_expect_is_answered_here_and_after_the_verdict(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f,
	    "PUT / HTTP/1.1\r\n" HOST
	    "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	assert_false(peer_has(o, "Expect"));
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 100 Continue\r\n\r\n"));
	peer_say(&f->guest, "hi");
	fix_until(f, peer_has(o, "\r\n\r\nhi"));
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
	peer_clear(&f->guest);
	/* And on a connection to the origin that is there already. */
	peer_say(&f->guest,
	    "PUT / HTTP/1.1\r\n" HOST
	    "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 100 Continue\r\n\r\n"));
	assert_int_equal(f->origin_count, 1);
	peer_say(&f->guest, "hi");
	fix_until(f, pool_count(&f->gate) == 0);
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
	peer_clear(&f->guest);

	peer_say(&f->guest,
	    "PUT /secret HTTP/1.1\r\n" HOST
	    "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	fix_until(f, f->guest.is_ended);
	assert_true(peer_has(&f->guest, "HTTP/1.1 403 "));
	assert_true(peer_has(&f->guest, "Connection: close\r\n"));
	assert_false(peer_has(&f->guest, "100 Continue"));
}

static void
row_53_an_early_answer_ends_both_connections(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f,
	    "PUT / HTTP/1.1\r\n" HOST "Content-Length: 10\r\n\r\nabc");
	peer_say(o, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "413 Too Large"));
	assert_true(peer_has(&f->guest, "Connection: close\r\n"));
	fix_until(f, o->is_ended);
	peer_say(&f->guest, "defghij" GET);
	fix_until(f, f->guest.is_ended);
	assert_int_equal(pool_count(&f->gate), 0);
	assert_int_equal(f->origin_count, 1);
	assert_int_equal(f->record_count, 1);
}

static void
an_answer_is_read_though_the_origin_takes_no_more(void **state)
{
	struct fix *f = *state;
	static char body[500000];
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f,
	    "PUT / HTTP/1.1\r\n" HOST "Content-Length: 500000\r\n\r\n");
	o->is_slow = true;
	peer_send(&f->guest, body, sizeof(body));
	fix_settle(f);
	peer_say(o, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "413 Too Large"));
}

static void
a_refused_upload_is_drained_and_then_closed(void **state)
{
	struct fix *f = *state;
	static char body[600000];

	fix_open_http(f);
	peer_say(&f->guest,
	    "PUT /secret HTTP/1.1\r\n" HOST "Content-Length: 600000\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 403 "));
	fix_settle(f);
	assert_false(f->guest.is_ended);
	peer_send(&f->guest, body, sizeof(body));
	fix_until(f, f->guest.is_ended);
	assert_false(f->guest.is_failed);
	assert_int_equal(f->guest.out_at, f->guest.out_len);
	peer_end(&f->guest);
	fix_until(f, f->is_closed);
}

static void
a_refused_get_keeps_the_connection(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	peer_say(&f->guest, "GET /secret HTTP/1.1\r\n" HOST "\r\n");
	fix_until(f, peer_has(&f->guest, "(denied-by-rule, tapward.ini:8)\n"));
	assert_false(peer_has(&f->guest, "Connection: close"));
	o = fix_ask(f, GET);
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
}

static void
a_refused_head_has_no_body(void **state)
{
	struct fix *f = *state;

	fix_open_http(f);
	peer_say(&f->guest, "HEAD /secret HTTP/1.1\r\n" HOST "\r\n");
	fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
	fix_settle(f);
	assert_memory_equal(f->guest.in + f->guest.in_len - 4, "\r\n\r\n", 4);
}

static void
what_is_no_head_is_answered_whole_after_a_head_request(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, "HEAD / HTTP/1.1\r\n" HOST "\r\n");
	peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
	fix_until(f, f->record_count == 1);
	peer_say(&f->guest, "GE\001T / HTTP/1.1\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "control byte (bad-request)\n"));
}

static void
websocket_is_refused_and_other_upgrades_are_not_seen(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	peer_say(&f->guest,
	    "GET / HTTP/1.1\r\n" HOST
	    "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	    "Sec-WebSocket-Version: 13\r\n"
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	    "\r\n");
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_WEBSOCKET);
	o = fix_ask(f,
	    "GET / HTTP/1.1\r\n" HOST
	    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
	    "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n");
	assert_false(peer_has(o, "pgrade"));
	assert_false(peer_has(o, "ettings"));
}

static void
row_104_trace_is_refused_and_what_a_server_may_take_for_it(void **state)
{
	static const char *const methods[] = { "TRACE", "trace", "TRACK",
		"head" };
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		fix_open_http(f);
		peer_say(&f->guest, methods[i]);
		peer_say(&f->guest, " / HTTP/1.1\r\n" HOST "\r\n");
		fix_until(f, peer_has(&f->guest, "Tapward-Reason: method\r\n"));
		assert_int_equal(f->origin_count, 0);
		fix_close(f);
	}
}

/* What an origin is told to read instead is judged, or not sent on. */
static void
a_method_in_a_field_is_judged_too(void **state)
{
	static const struct {
		const char *claim, *fields;
		enum reason want;
	} rows[] = {
		{ "one that is denied", "X-HTTP-Method-Override: DELETE\r\n",
		    REASON_DENIED_BY_RULE },
		{ "in small letters", "x-http-method: delete\r\n",
		    REASON_DENIED_BY_RULE },
		{ "by its third name", "X-Method-Override: DELETE\r\n",
		    REASON_DENIED_BY_RULE },
		{ "two of them",
		    "X-HTTP-Method: GET\r\nX-Method-Override: GET\r\n",
		    REASON_BAD_REQUEST },
		{ "no token", "X-HTTP-Method: GET, DELETE\r\n",
		    REASON_BAD_REQUEST },
		{ "an alias", "X_HTTP_Method: DELETE\r\n", REASON_BAD_REQUEST },
	};
	struct fix *f = *state;
	char head[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fix_open_http(f);
		f->record_count = 0;
		(void)snprintf(head, sizeof(head),
		    "POST / HTTP/1.1\r\n" HOST "%sContent-Length: 0\r\n\r\n",
		    rows[i].fields);
		peer_say(&f->guest, head);
		fix_until(f, f->record_count == 1);
		if (fix_last(f)->r.reason != rows[i].want)
			fail_msg("%s: %s", rows[i].claim,
			    reason_code(fix_last(f)->r.reason));
		assert_int_equal(f->origin_count, 0);
		fix_close(f);
	}
}

static void
a_field_names_no_other_host_or_path(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f,
	    "GET / HTTP/1.1\r\n" HOST
	    "X-HTTP-Method-Override: PATCH\r\nX-Original-URL: /secret\r\n"
	    "x-rewrite-url: /secret\r\nX-Forwarded-Host: b.example.org\r\n"
	    "Forwarded: host=b.example.org\r\n\r\n");
	/* A method that is allowed, too, may be asked for so. */
	assert_true(peer_has(o, "X-HTTP-Method-Override: PATCH\r\n"));
	assert_false(peer_has(o, "secret"));
	assert_false(peer_has(o, "b.example.org"));
}

static void
row_58_a_head_is_bounded(void **state)
{
	struct fix *f = *state;
	static char big[40000];

	memset(big, 'a', sizeof(big));
	fix_open_http(f);
	peer_say(&f->guest, "GET / HTTP/1.1\r\nX: ");
	peer_send(&f->guest, big, sizeof(big));
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 431 "));
	assert_true(peer_has(&f->guest, "Tapward-Reason: limit-head\r\n"));
	peer_drop(&f->guest);
	fix_close(f);
	fix_open_http(f);
	peer_say(&f->guest, "GET /");
	peer_send(&f->guest, big, sizeof(big));
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 414 "));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_shape_of_answer_goes_through),
		TEST(rows_59_bad_answers_end_the_origin_and_are_never_whole),
		TEST(row_59_bytes_behind_an_answer_are_no_next_answer),
		TEST(row_59_bytes_from_an_idle_origin_end_it),
		TEST(row_56_pipelined_requests_are_taken_one_by_one),
		TEST(a_body_streams_with_its_length),
		TEST(row_52_expect_is_answered_here_and_after_the_verdict),
		TEST(row_53_an_early_answer_ends_both_connections),
		TEST(an_answer_is_read_though_the_origin_takes_no_more),
		TEST(a_refused_upload_is_drained_and_then_closed),
		TEST(a_refused_get_keeps_the_connection),
		TEST(a_refused_head_has_no_body),
		TEST(what_is_no_head_is_answered_whole_after_a_head_request),
		TEST(websocket_is_refused_and_other_upgrades_are_not_seen),
		TEST(
		    row_104_trace_is_refused_and_what_a_server_may_take_for_it),
		TEST(a_method_in_a_field_is_judged_too),
		TEST(a_field_names_no_other_host_or_path),
		TEST(row_58_a_head_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
