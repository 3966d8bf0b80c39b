/*
 * What an origin says back of the credential that it was sent, through the
 * inspected path: rows 105 and 114, codings, and what a lease withholds.
 */
#include "code.h"
#include "inspect_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/inject.h"
#include "proxy/pool.h"
#include "wire/chunked.h"

#define SECRET "s3cr3t-canary-0123456789abcdef"
#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow key]\nhost = key.example.org\ncredential = canary\n"           \
	"method = GET, HEAD\npath = /k/**\n"                                   \
	"[allow open]\nhost = key.example.org\npath = /o/**\n"

#define HOST "Host: key.example.org\r\n\r\n"
#define KEY_GET "GET /k/x HTTP/1.1\r\n" HOST

static int
setup(void **state)
{
	*state = fix_new(POLICY);
	return 0;
}

static int
teardown(void **state)
{
	struct fix *f = *state;

	assert_int_equal(f->gate.decode.used, 0);
	fix_free(f);
	return 0;
}

static void
again(struct fix *f)
{
	fix_close(f);
	fix_forget_origins(f);
	f->record_count = 0;
	peer_clear(&f->guest);
}

static uint8_t body[1 << 20];

/* --- codings --- */

enum content { CLEAN, ECHO, BROKEN };

static const struct {
	const char *claim, *status, *encoding;
	enum code_kind kind;
	enum content content;
	enum reason want; /* NONE: all of it is with the guest */
	const char *detail;
} codings[] = {
	{ "gzip", "200 OK", "gzip", CODE_GZIP, CLEAN, REASON_NONE, "" },
	{ "x-gzip, and none", "200 OK", "identity, X-GZip", CODE_GZIP, CLEAN,
	    REASON_NONE, "" },
	{ "deflate", "200 OK", "deflate", CODE_ZLIB, CLEAN, REASON_NONE, "" },
	{ "deflate without a frame", "200 OK", "deflate", CODE_RAW, CLEAN,
	    REASON_NONE, "" },
	{ "br", "200 OK", "br", CODE_BR, CLEAN, REASON_NONE, "" },
	{ "zstd", "200 OK", "zstd", CODE_ZSTD, CLEAN, REASON_NONE, "" },
	{ "gzip that echoes", "200 OK", "gzip", CODE_GZIP, ECHO,
	    REASON_CREDENTIAL_LEAK, "in its body, base64" },
	{ "deflate that echoes", "401 No", "deflate", CODE_RAW, ECHO,
	    REASON_CREDENTIAL_LEAK, "in its body, base64" },
	{ "br that echoes", "200 OK", "br", CODE_BR, ECHO,
	    REASON_CREDENTIAL_LEAK, "in its body, base64" },
	{ "zstd that echoes", "200 OK", "zstd", CODE_ZSTD, ECHO,
	    REASON_CREDENTIAL_LEAK, "in its body, base64" },
	{ "gzip that is not whole", "200 OK", "gzip", CODE_GZIP, BROKEN,
	    REASON_BAD_RESPONSE, "it is not what its coding says" },
	{ "another coding than it says", "200 OK", "br", CODE_ZSTD, CLEAN,
	    REASON_BAD_RESPONSE, "it is not what its coding says" },
	{ "one on another", "200 OK", "gzip, br", CODE_GZIP, CLEAN,
	    REASON_BAD_RESPONSE,
	    "coded so that it cannot be searched for the credential" },
	{ "an unknown one", "200 OK", "compress", CODE_GZIP, CLEAN,
	    REASON_BAD_RESPONSE,
	    "coded so that it cannot be searched for the credential" },
	{ "a part", "206 Partial Content", "gzip", CODE_GZIP, CLEAN,
	    REASON_BAD_RESPONSE,
	    "coded so that it cannot be searched for the credential" },
};

/* Base64 of "git:" and the secret, in some text. */
#define ECHOED                                                                 \
	"{\"authorization\": \"Basic "                                         \
	"Z2l0OnMzY3IzdC1jYW5hcnktMDEyMzQ1Njc4OWFiY2RlZg==\"}"

static size_t
make_body(enum code_kind kind, enum content content)
{
	static uint8_t text[20000];
	struct wr t = wr_init(text, sizeof(text));
	struct wr w = wr_init(body, sizeof(body));

	for (int i = 0; i < 500; i++) {
		char line[32];

		(void)snprintf(line, sizeof(line), "line %d of it\n", i * i);
		wr_text(&t, line);
	}
	if (content == ECHO)
		wr_text(&t, ECHOED);
	wr_text(&t, "the end of it\n");
	code(kind, (struct span){ text, t.len }, &w);
	return content == BROKEN ? w.len - 9 : w.len;
}

/* The guest has len bytes of body, and no length was told (row 114). */
static void
check_has_body(struct fix *f, size_t len)
{
	struct peer *g = &f->guest;
	const uint8_t *head_end;
	struct chunked c = { .left = 0 };
	struct span in, data;
	size_t at = 0;

	fix_until(f, peer_has(g, "\r\n0\r\n\r\n"));
	head_end = memmem(g->in, g->in_len, "\r\n\r\n", 4);
	in = (struct span){ head_end + 4,
		g->in_len - (size_t)(head_end + 4 - g->in) };
	while (chunked_feed(&c, &in, &data) == CHUNKED_DATA) {
		assert_true(data.len <= len - at);
		assert_memory_equal(data.ptr, body + at, data.len);
		at += data.len;
	}
	assert_int_equal(at, len);
	assert_false(peer_has(g, "Content-Length"));
}

static void
check_coding(struct fix *f, size_t i, bool is_chunked, size_t burst)
{
	size_t len = make_body(codings[i].kind, codings[i].content);
	char head[256], size[64];
	struct peer *o;

	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	o->burst = burst;
	(void)snprintf(size, sizeof(size),
	    is_chunked ? "Transfer-Encoding: chunked\r\n\r\n%zx\r\n"
		       : "Content-Length: %zu\r\n\r\n",
	    len);
	(void)snprintf(head, sizeof(head),
	    "HTTP/1.1 %s\r\nContent-Encoding: %s\r\n%s", codings[i].status,
	    codings[i].encoding, size);
	peer_say(o, head);
	peer_send(o, body, len);
	if (is_chunked)
		peer_say(o, "\r\n0\r\n\r\n");
	fix_until(f, f->record_count == 1);
	if (fix_last(f)->r.reason != codings[i].want ||
	    strcmp(fix_last(f)->detail, codings[i].detail) != 0)
		fail_msg("%s: %s, %s", codings[i].claim,
		    reason_code(fix_last(f)->r.reason), fix_last(f)->detail);
	fix_settle(f);
	if (codings[i].want == REASON_NONE) {
		assert_true(peer_has(&f->guest, codings[i].encoding));
		check_has_body(f, len);
		assert_int_equal(fix_last(f)->r.down, len);
	} else {
		assert_true(
		    f->guest.is_ended || peer_has(&f->guest, "HTTP/1.1 502 "));
	}
	again(f);
}

static void
row_105_what_is_coded_is_looked_into(void **state)
{
	for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
		check_coding(*state, i, false, 0);
		check_coding(*state, i, true, 0);
		check_coding(*state, i, true, 100);
	}
}

static void
without_a_body_a_coding_is_but_told(void **state)
{
	static const struct {
		const char *ask, *answer;
	} rows[] = {
		{ "HEAD /k/x HTTP/1.1\r\n" HOST,
		    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
		    "Content-Length: 100\r\n\r\n" },
		{ KEY_GET,
		    "HTTP/1.1 304 Not Modified\r\n"
		    "Content-Encoding: gzip, br\r\n\r\n" },
		{ KEY_GET,
		    "HTTP/1.1 204 No Content\r\n"
		    "Content-Encoding: zstd\r\n\r\n" },
		{ KEY_GET,
		    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
		    "Content-Length: 0\r\n\r\n" },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fix_open_tls(f, "key.example.org");
		peer_say(fix_ask(f, rows[i].ask), rows[i].answer);
		fix_until(f, f->record_count == 1);
		assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
		fix_until(f, peer_has(&f->guest, "Content-Encoding: "));
		/* Row 114: nor how long it would be. */
		assert_false(peer_has(&f->guest, "Content-Length"));
		again(f);
	}
}

/* Without a credential nobody looks into it. */
static void
a_coding_is_left_alone_where_no_credential_went(void **state)
{
	struct fix *f = *state;

	fix_open_tls(f, "key.example.org");
	peer_say(fix_ask(f, "GET /o/x HTTP/1.1\r\n" HOST),
	    "HTTP/1.1 206 Partial Content\r\nContent-Encoding: gzip, br\r\n"
	    "Content-Length: 7\r\n\r\nnothing");
	fix_until(f, peer_has(&f->guest, "nothing"));
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
}

/* Each turn decodes a MiB, and the guest's half is asked between them. */
static void
a_large_body_that_is_coded_well_comes_whole(void **state)
{
	static uint8_t zeros[24 << 20];
	struct wr w = wr_init(body, sizeof(body));
	struct fix *f = *state;
	struct peer *o;
	char head[128];

	code(CODE_GZIP, (struct span){ zeros, sizeof(zeros) }, &w);
	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	(void)snprintf(head, sizeof(head),
	    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
	    "Content-Length: %zu\r\n\r\n",
	    w.len);
	peer_say(o, head);
	peer_send(o, body, w.len);
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
	check_has_body(f, w.len);
	/* A bomb is another matter. */
	again(f);
	f->gate.decode.ratio = 100;
	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	peer_say(o, head);
	peer_send(o, body, w.len);
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_BAD_RESPONSE);
	assert_string_equal(fix_last(f)->detail,
	    "too much of it cannot be searched for the credential");
}

static void
a_coding_that_there_is_no_memory_for_is_refused(void **state)
{
	struct fix *f = *state;

	f->gate.decode.max_bytes = 100000;
	fix_open_tls(f, "key.example.org");
	peer_say(fix_ask(f, KEY_GET),
	    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
	    "Content-Length: 2\r\n\r\nxx");
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 502 "));
	assert_int_equal(fix_last(f)->r.reason, REASON_BAD_RESPONSE);
}

/* --- the record --- */

static void
the_record_says_what_was_found_and_where(void **state)
{
	static const struct {
		const char *answer, *detail;
		enum action verdict;
	} rows[] = {
		{ "HTTP/1.1 200 OK\r\nX: " SECRET
		  "\r\nContent-Length: 0\r\n\r\n",
		    "in its head, as it is", ACTION_DENY },
		{ "HTTP/1.1 200 OK\r\nX: S3CR3T-CANARY-0123456789ABCDEF\r\n"
		  "Content-Length: 0\r\n\r\n",
		    "in its head, in other letter case", ACTION_DENY },
		{ "HTTP/1.1 302 Found\r\nLocation: /?t=%73" /* s */
		  "3cr3t%2dcanary%2D0123456789abcdef\r\n"
		  "Content-Length: 0\r\n\r\n",
		    "in its head, as it is, escaped", ACTION_DENY },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 62\r\n\r\n"
		  "(7333637233742d63616e6172792d3031323334353637383961626364656"
		  "6"
		  ")",
		    "masked in its body, hexadecimal", ACTION_ALLOW },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		  "2\r\nok\r\n0\r\nX: " SECRET "\r\n\r\n",
		    "in its trailers, as it is", ACTION_DENY },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fix_open_tls(f, "key.example.org");
		peer_say(fix_ask(f, KEY_GET), rows[i].answer);
		fix_until(f, f->record_count == 1);
		assert_int_equal(fix_last(f)->r.reason, REASON_CREDENTIAL_LEAK);
		assert_int_equal(fix_last(f)->r.verdict, rows[i].verdict);
		assert_string_equal(fix_last(f)->detail, rows[i].detail);
		fix_settle(f);
		assert_false(peer_has(&f->guest, "anary"));
		assert_false(peer_has(&f->guest, "7333637233742d63616e"));
		again(f);
	}
}

static void
a_masked_echo_is_in_the_record_of_an_answer_that_breaks_off(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "key.example.org");
	o = fix_ask(f, KEY_GET);
	peer_say(o,
	    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[" SECRET "]");
	fix_until(f, peer_has(&f->guest, "[******************************]"));
	peer_end(o);
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_BAD_RESPONSE);
	assert_string_equal(fix_last(f)->detail,
	    "masked in its body, as it is; the origin closed the connection");
}

/*
 * Row 114: what is masked is as long as what was there, so that a length tells
 * nothing that the origin's own did not. Of what is coded none is told, above.
 */
static void
row_114_a_mask_keeps_the_length(void **state)
{
	struct fix *f = *state;

	fix_open_tls(f, "key.example.org");
	peer_say(fix_ask(f, KEY_GET),
	    "HTTP/1.1 200 OK\r\nContent-Length: 32\r\n\r\n[" SECRET "]");
	fix_until(f, peer_has(&f->guest, "[******************************]"));
	assert_true(peer_has(&f->guest, "Content-Length: 32\r\n"));
	assert_int_equal(fix_last(f)->r.down, 32);
}

/* --- what a lease withholds --- */

#define SESSIONS                                                               \
	"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie2: b=1\r\n"           \
	"X-Session: c\r\nx_session: d\r\nX-Other: e\r\n"                       \
	"Transfer-Encoding: chunked\r\n\r\n0\r\n"                              \
	"X-Session: f\r\nSet-Cookie: g=1\r\nX-Late: h\r\n\r\n"

static void
sessions_and_what_is_listed_do_not_reach_the_guest(void **state)
{
	static const struct {
		const char *strip_response;
		bool keeps_set_cookie, has_cookie, has_session;
	} rows[] = {
		{ "", false, false, true },
		{ "x-session", false, false, false },
		{ "", true, true, true },
		{ "x-session", true, true, false },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f->strip_response = rows[i].strip_response;
		f->keeps_set_cookie = rows[i].keeps_set_cookie;
		fix_open_tls(f, "key.example.org");
		peer_say(fix_ask(f, KEY_GET), SESSIONS);
		fix_until(f, peer_has(&f->guest, "\r\n\r\n0\r\n"));
		fix_settle(f);
		assert_true(peer_has(&f->guest, "X-Other: e\r\n"));
		assert_int_equal(peer_has(&f->guest, "a=1"),
		    rows[i].has_cookie);
		assert_int_equal(peer_has(&f->guest, "b=1"),
		    rows[i].has_cookie);
		assert_int_equal(peer_has(&f->guest, "X-Session: c"),
		    rows[i].has_session);
		assert_int_equal(peer_has(&f->guest, "x_session: d"),
		    rows[i].has_session);
		assert_false(!rows[i].has_session &&
		    peer_has(&f->guest, "X-Session: f"));
		assert_false(!rows[i].has_cookie && peer_has(&f->guest, "g=1"));
		again(f);
	}
}

/* --- one lease for all --- */

static void
exchanges_share_a_lease_which_goes_with_the_last(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_tls(f, "key.example.org");
	for (int i = 0; i < 3; i++) {
		peer_say(&f->guest, KEY_GET);
		o = fix_origin(f, 0);
		fix_until(f, peer_has(o, SECRET "\r\n\r\n"));
		peer_clear(o);
		/* The exchange's, and the connection's. */
		assert_int_equal(LIST_FIRST(&f->gate.leases)->refs, 2);
		assert_null(LIST_NEXT(LIST_FIRST(&f->gate.leases), link));
		peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		fix_until(f, peer_has(&f->guest, "ok"));
		fix_settle(f);
		/* An idle connection keeps it, no longer than it is there. */
		assert_int_equal(LIST_FIRST(&f->gate.leases)->refs, 1);
		peer_clear(&f->guest);
	}
	assert_int_equal(f->origin_count, 1);
	pool_revoke(&f->gate, "canary");
	fix_until(f, LIST_EMPTY(&f->gate.leases));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(row_105_what_is_coded_is_looked_into),
		TEST(without_a_body_a_coding_is_but_told),
		TEST(a_coding_is_left_alone_where_no_credential_went),
		TEST(a_large_body_that_is_coded_well_comes_whole),
		TEST(a_coding_that_there_is_no_memory_for_is_refused),
		TEST(the_record_says_what_was_found_and_where),
		TEST(
		    a_masked_echo_is_in_the_record_of_an_answer_that_breaks_off),
		TEST(row_114_a_mask_keeps_the_length),
		TEST(sessions_and_what_is_listed_do_not_reach_the_guest),
		TEST(exchanges_share_a_lease_which_goes_with_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
