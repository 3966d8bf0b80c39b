/*
 * The known ways past a proxy in HTTP/2, each by its number, as raw frames.
 * Whatever happens, no byte of a bad request reaches an origin.
 */
#include "h2_raw.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>

#include "proxy/pool.h"

#define GET RAW_GET
#define LINE RAW_LINE
#define POST RAW_POST

/* The guest's connection lives: another request on it is answered. */
static void
still_serves(struct fix *f)
{
	size_t dialled = f->origin_count;

	raw_headers(&f->guest, RAW_END_STREAM, 101, GET);
	peer_say(fix_origin(f, dialled),
	    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	fix_until(f, raw_answered(&f->guest, 101));
}

enum outcome {
	RESET,  /* RST_STREAM(PROTOCOL_ERROR) */
	ANSWER, /* an answer of ours */
};

static const struct {
	unsigned int row;
	const char *claim, *fields;
	enum outcome want;
	enum reason reason;
} heads[] = {
	{ 80, "CRLF in :path",
	    ":method: GET\n:scheme: https\n"
	    ":authority: api.example.org\n"
	    ":path: / HTTP/1.1\\0d\\0aX-A: y\n",
	    RESET, REASON_BAD_REQUEST },
	{ 80, "LF in a value", GET "x-a: b\\0ac: d\n", RESET,
	    REASON_BAD_REQUEST },
	{ 80, "CR in a value", GET "x-a: b\\0dc\n", RESET, REASON_BAD_REQUEST },
	{ 80, "NUL in a value", GET "x-a: b\\00\n", RESET, REASON_BAD_REQUEST },
	{ 80, "LF in a name", GET "x-a\\0ab: c\n", RESET, REASON_BAD_REQUEST },
	{ 80, "a colon in a name", GET "x\\3aa: c\n", RESET,
	    REASON_BAD_REQUEST },
	{ 80, "a blank in a name", GET "x a: c\n", RESET, REASON_BAD_REQUEST },
	{ 80, "upper case", GET "X-A: c\n", RESET, REASON_BAD_REQUEST },
	{ 80, "an empty name", GET "~: c\n", RESET, REASON_BAD_REQUEST },
	{ 80, "a blank before a value", GET "x-a:  c\n", RESET,
	    REASON_BAD_REQUEST },
	{ 80, "LF in :method",
	    ":method: GET\\0aX\n:scheme: https\n:path: /\n"
	    ":authority: api.example.org\n",
	    RESET, REASON_BAD_REQUEST },
	{ 80, "CRLF in :authority",
	    LINE ":authority: api.example.org\\0d\\0aX: y\n", RESET,
	    REASON_BAD_REQUEST },
	{ 81, "transfer-encoding", GET "transfer-encoding: chunked\n", RESET,
	    REASON_BAD_REQUEST },
	{ 81, "connection", GET "connection: close\n", RESET,
	    REASON_BAD_REQUEST },
	{ 81, "keep-alive", GET "keep-alive: 5\n", RESET, REASON_BAD_REQUEST },
	{ 81, "proxy-connection", GET "proxy-connection: close\n", RESET,
	    REASON_BAD_REQUEST },
	{ 81, "upgrade", GET "upgrade: h2c\n", RESET, REASON_BAD_REQUEST },
	{ 81, "te: chunked", GET "te: chunked\n", RESET, REASON_BAD_REQUEST },
	{ 81, "a length, and no body", GET "content-length: 3\n", RESET,
	    REASON_BAD_REQUEST },
	{ 81, "two lengths", GET "content-length: 0\ncontent-length: 0\n",
	    RESET, REASON_BAD_REQUEST },
	{ 81, "a length with a sign", GET "content-length: +0\n", RESET,
	    REASON_BAD_REQUEST },
	{ 82, "host is another", GET "host: web.example.org\n", ANSWER,
	    REASON_HOST_MISMATCH },
	{ 82, "host has another port", GET "host: api.example.org:8443\n",
	    ANSWER, REASON_HOST_MISMATCH },
	{ 82, "two hosts",
	    GET "host: api.example.org\n"
		"host: api.example.org\n",
	    RESET, REASON_BAD_REQUEST },
	{ 82, "two authorities", GET ":authority: api.example.org\n", RESET,
	    REASON_BAD_REQUEST },
	{ 82, "no authority", LINE, RESET, REASON_BAD_REQUEST },
	{ 82, "userinfo", LINE ":authority: api.example.org@web.example.org\n",
	    ANSWER, REASON_BAD_REQUEST },
	{ 82, "a path in the authority", LINE ":authority: api.example.org/x\n",
	    RESET, REASON_BAD_REQUEST },
	{ 82, "an address", LINE ":authority: 192.0.2.1\n", ANSWER,
	    REASON_BAD_REQUEST },
	{ 82, "a scheme with a path",
	    ":method: GET\n:scheme: http://x/?\n"
	    ":path: /\n:authority: api.example.org\n",
	    RESET, REASON_BAD_REQUEST },
	{ 82, "http inside TLS",
	    ":method: GET\n:scheme: http\n:path: /\n"
	    ":authority: api.example.org:443\n",
	    ANSWER, REASON_BAD_REQUEST },
	{ 82, "a method with '?'",
	    ":method: GET?\n:scheme: https\n:path: /\n"
	    ":authority: api.example.org\n",
	    RESET, REASON_BAD_REQUEST },
	{ 82, "a path without '/'",
	    ":method: GET\n:scheme: https\n:path: x\n"
	    ":authority: api.example.org\n",
	    RESET, REASON_BAD_REQUEST },
	{ 82, "an absolute path",
	    ":method: GET\n:scheme: https\n"
	    ":path: https://web.example.org/\n:authority: api.example.org\n",
	    RESET, REASON_BAD_REQUEST },
	{ 82, "a fragment",
	    ":method: GET\n:scheme: https\n:path: /a#b\n"
	    ":authority: api.example.org\n",
	    ANSWER, REASON_BAD_REQUEST },
	{ 82, "an empty path",
	    ":method: GET\n:scheme: https\n:path: \n"
	    ":authority: api.example.org\n",
	    RESET, REASON_BAD_REQUEST },
	{ 82, "no path",
	    ":method: GET\n:scheme: https\n"
	    ":authority: api.example.org\n",
	    RESET, REASON_BAD_REQUEST },
	{ 82, "no method",
	    ":scheme: https\n:path: /\n"
	    ":authority: api.example.org\n",
	    RESET, REASON_BAD_REQUEST },
	{ 82, "a pseudo-field behind a field",
	    LINE "x-a: b\n"
		 ":authority: api.example.org\n",
	    RESET, REASON_BAD_REQUEST },
	{ 82, "an unknown pseudo-field", GET ":status: 200\n", RESET,
	    REASON_BAD_REQUEST },
	{ 82, "'_' for '-'", GET "content_length: 3\n", ANSWER,
	    REASON_BAD_REQUEST },
	{ 86, "CONNECT", ":method: CONNECT\n:authority: api.example.org:443\n",
	    RESET, REASON_BAD_REQUEST },
	{ 86, "extended CONNECT",
	    ":method: CONNECT\n:protocol: websocket\n"
	    ":scheme: https\n:path: /\n:authority: api.example.org\n",
	    RESET, REASON_BAD_REQUEST },
	{ 87, "another host that is allowed",
	    LINE ":authority: web.example.org\n", ANSWER,
	    REASON_HOST_MISMATCH },
	{ 87, "another host that is not", LINE ":authority: evil.example.net\n",
	    ANSWER, REASON_HOST_MISMATCH },
	{ 87, "another port", LINE ":authority: api.example.org:8443\n", ANSWER,
	    REASON_HOST_MISMATCH },
};

static void
rows_80_81_82_86_87_bad_heads_reach_no_origin(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct peer *g = &f->guest;

		raw_begin(f);
		raw_headers(g, RAW_END_STREAM, 1, heads[i].fields);
		fix_settle(f);
		if (heads[i].want == RESET
			? raw_reset(g, 1) != NGHTTP2_PROTOCOL_ERROR
			: !raw_answered(g, 1))
			fail_msg("row %u, %s: reset %d, answered %d",
			    heads[i].row, heads[i].claim, (int)raw_reset(g, 1),
			    raw_answered(g, 1));
		if (f->record_count != 1 ||
		    fix_last(f)->r.reason != heads[i].reason)
			fail_msg("row %u, %s: %zu records, reason %d",
			    heads[i].row, heads[i].claim, f->record_count,
			    f->record_count > 0 ? (int)fix_last(f)->r.reason
						: -1);
		assert_int_equal(f->origin_count, 0);
		still_serves(f);
		fix_close(f);
		fix_forget_origins(f);
		pool_flush(&f->gate);
	}
}

static void
row_87_another_host_is_421(void **state)
{
	struct fix *f = *state;

	raw_begin(f);
	raw_headers(&f->guest, RAW_END_STREAM, 1,
	    LINE ":authority: web.example.org\n");
	fix_until(f, f->record_count == 1);
	assert_int_equal(fix_last(f)->r.status, 421);
}

/* The sum of DATA is the length that was told, or the request is none. */
static void
row_81_a_body_that_belies_its_length_is_never_whole(void **state)
{
	static const struct {
		const char *length, *data;
	} rows[] = {
		{ "content-length: 0\n", "GET /x HTTP/1.1\r\n" },
		{ "content-length: 3\n", "abcd" },
		{ "content-length: 3\n", "ab" },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char fields[512];

		raw_begin(f);
		(void)snprintf(fields, sizeof(fields), POST "%s",
		    rows[i].length);
		raw_headers(&f->guest, 0, 1, fields);
		raw_frame(&f->guest, RAW_DATA, RAW_END_STREAM, 1, rows[i].data,
		    strlen(rows[i].data));
		fix_until(f, raw_reset(&f->guest, 1) == NGHTTP2_PROTOCOL_ERROR);
		fix_settle(f);
		for (size_t k = 0; k < f->origin_count; k++)
			assert_false(peer_has(&f->origins[k], rows[i].data));
		still_serves(f);
		fix_close(f);
		fix_forget_origins(f);
	}
}

/* All that was promised is there, and the guest may still send more. */
static void
row_81_a_body_is_whole_at_the_end_of_its_stream(void **state)
{
	static const char more[] = "d";
	struct fix *f = *state;

	for (unsigned int is_more = 0; is_more <= 1; is_more++) {
		raw_begin(f);
		raw_headers(&f->guest, 0, 1, POST "content-length: 3\n");
		raw_frame(&f->guest, RAW_DATA, 0, 1, "abc", 3);
		fix_until(f,
		    f->origin_count == 1 &&
			peer_has(&f->origins[0], "\r\n\r\n"));
		fix_settle(f);
		assert_false(peer_has(&f->origins[0], "\r\n\r\nabc"));
		raw_frame(&f->guest, RAW_DATA, RAW_END_STREAM, 1, more,
		    is_more);
		if (is_more) {
			fix_until(f,
			    raw_reset(&f->guest, 1) == NGHTTP2_PROTOCOL_ERROR);
			fix_settle(f);
			assert_false(peer_has(&f->origins[0], "abc"));
		} else {
			fix_until(f, peer_has(&f->origins[0], "\r\n\r\nabc"));
		}
		fix_close(f);
		fix_forget_origins(f);
		pool_flush(&f->gate);
	}
}

/* It has no body, and says so at the end of its stream alone. */
static void
row_81_a_head_without_a_body_is_whole_at_the_end_too(void **state)
{
	struct fix *f = *state;

	for (unsigned int how = 0; how <= 2; how++) {
		raw_begin(f);
		raw_headers(&f->guest, 0, 1, POST "content-length: 0\n");
		fix_settle(f);
		assert_int_equal(f->origin_count, 0);
		if (how == 0) {
			raw_frame(&f->guest, RAW_DATA, 0, 1, "evil", 4);
			fix_until(f,
			    raw_reset(&f->guest, 1) == NGHTTP2_PROTOCOL_ERROR);
			assert_int_equal(f->origin_count, 0);
			still_serves(f);
		} else {
			if (how == 1)
				raw_frame(&f->guest, RAW_DATA, RAW_END_STREAM,
				    1, "", 0);
			else
				raw_headers(&f->guest, RAW_END_STREAM, 1,
				    "x-sum: 1\n");
			fix_until(f,
			    f->origin_count == 1 &&
				peer_has(&f->origins[0], "\r\n\r\n"));
			assert_false(peer_has(&f->origins[0], "x-sum"));
		}
		fix_close(f);
		fix_forget_origins(f);
		pool_flush(&f->gate);
	}
}

static void
say_continuation(struct peer *p, uint32_t stream)
{
	uint8_t block[1024];
	size_t len = raw_hpack(GET, block, sizeof(block));

	raw_frame(p, RAW_HEADERS, RAW_END_STREAM, 1, block, 10);
	raw_frame(p, RAW_CONTINUATION, RAW_END_HEADERS, stream, block + 10,
	    len - 10);
}

static void
row_83_a_split_head_is_one_head(void **state)
{
	struct fix *f = *state;

	raw_begin(f);
	say_continuation(&f->guest, 1);
	fix_until(f, peer_has(fix_origin(f, 0), "\r\n\r\n"));
	assert_true(peer_has(&f->origins[0],
	    "GET / HTTP/1.1\r\nHost: api.example.org\r\n"));
}

static void
row_83_frames_out_of_place_end_the_connection(void **state)
{
	struct fix *f = *state;

	for (unsigned int i = 0; i < 5; i++) {
		struct peer *g = &f->guest;

		raw_begin(f);
		if (i == 0)
			raw_frame(g, RAW_DATA, 0, 1, "x", 1);
		else if (i == 1)
			say_continuation(g, 3);
		else if (i == 2)
			raw_frame(g, RAW_CONTINUATION, RAW_END_HEADERS, 1, "",
			    0);
		else if (i == 3)
			raw_headers(g, RAW_END_STREAM, 2, GET);
		else
			raw_frame(g, RAW_SETTINGS, 0, 1, NULL, 0);
		fix_until(f, raw_goaway(g) == NGHTTP2_PROTOCOL_ERROR);
		fix_until(f, f->is_closed);
		assert_int_equal(f->origin_count, 0);
		fix_close(f);
	}
}

/* A table entry of 3000 bytes, named again by a byte each time. */
static void
row_84_a_hpack_bomb_is_refused(void **state)
{
	static uint8_t block[8192];
	struct fix *f = *state;
	size_t len = raw_hpack(GET, block, sizeof(block));
	struct wr w = wr_init(block + len, sizeof(block) - len);

	wr_u8(&w, 0x40); /* literal, indexed from here on */
	wr_u8(&w, 3);
	wr_text(&w, "x-a");
	wr_u8(&w, 127);
	wr_u8(&w, 0x80 + (3000 - 127) % 128);
	wr_u8(&w, (3000 - 127) / 128);
	for (unsigned int i = 0; i < 3000; i++)
		wr_u8(&w, 'a');
	for (unsigned int i = 0; i < 1000; i++)
		wr_u8(&w, 0x80 + 62);
	assert_true(wr_ok(&w));
	raw_begin(f);
	raw_frame(&f->guest, RAW_HEADERS, RAW_END_STREAM | RAW_END_HEADERS, 1,
	    block, len + w.len);
	fix_until(f, raw_answered(&f->guest, 1) || raw_goaway(&f->guest) > 0);
	fix_settle(f);
	assert_int_equal(f->origin_count, 0);
	assert_int_equal(fix_last(f)->r.reason, REASON_LIMIT_HEAD);
}

static void
row_84_a_head_over_the_limit_is_431(void **state)
{
	static char fields[40000] = GET;
	struct fix *f = *state;
	size_t len = strlen(fields);
	static uint8_t block[60000];
	size_t size;

	for (unsigned int i = 0; i < 8; i++) {
		len += (size_t)snprintf(fields + len, sizeof(fields) - len,
		    "x-%u: ", i);
		memset(fields + len, 'a', 4500);
		len += 4500;
		len +=
		    (size_t)snprintf(fields + len, sizeof(fields) - len, "\n");
	}
	size = raw_hpack(fields, block, sizeof(block));
	raw_begin(f);
	raw_frame(&f->guest, RAW_HEADERS, RAW_END_STREAM, 1, block, 16000);
	raw_frame(&f->guest, RAW_CONTINUATION, 0, 1, block + 16000, 16000);
	raw_frame(&f->guest, RAW_CONTINUATION, RAW_END_HEADERS, 1,
	    block + 32000, size - 32000);
	fix_until(f, raw_answered(&f->guest, 1));
	assert_int_equal(fix_last(f)->r.reason, REASON_LIMIT_HEAD);
	assert_int_equal(fix_last(f)->r.status, 431);
	still_serves(f);
}

static void
row_88_alpn_says_h2_and_the_guest_speaks_http1(void **state)
{
	struct fix *f = *state;

	f->record_count = 0;
	fix_open_tls(f, "api.example.org");
	peer_say(&f->guest, "GET / HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
	fix_until(f, f->is_closed);
	assert_int_equal(f->origin_count, 0);
}

static void
row_88_alpn_says_http1_and_the_guest_speaks_h2(void **state)
{
	struct fix *f = *state;

	fix_offer(f, "\x08http/1.1");
	raw_begin(f);
	fix_until(f, f->is_closed);
	assert_int_equal(f->origin_count, 0);
	assert_true(peer_has(&f->guest, "HTTP/1.1 400"));
}

static void
row_88_a_preface_in_pieces_is_one(void **state)
{
	struct fix *f = *state;

	raw_begin(f);
	f->guest.burst = 1;
	raw_headers(&f->guest, RAW_END_STREAM, 1, GET);
	fix_until(f,
	    f->origin_count == 1 && peer_has(&f->origins[0], "\r\n\r\n"));
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, raw_setup, raw_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_80_81_82_86_87_bad_heads_reach_no_origin),
		TEST(row_87_another_host_is_421),
		TEST(row_81_a_body_that_belies_its_length_is_never_whole),
		TEST(row_81_a_body_is_whole_at_the_end_of_its_stream),
		TEST(row_81_a_head_without_a_body_is_whole_at_the_end_too),
		TEST(row_83_a_split_head_is_one_head),
		TEST(row_83_frames_out_of_place_end_the_connection),
		TEST(row_84_a_hpack_bomb_is_refused),
		TEST(row_84_a_head_over_the_limit_is_431),
		TEST(row_88_alpn_says_h2_and_the_guest_speaks_http1),
		TEST(row_88_alpn_says_http1_and_the_guest_speaks_h2),
		TEST(row_88_a_preface_in_pieces_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
