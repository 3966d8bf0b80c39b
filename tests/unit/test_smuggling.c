/*
 * Requests that others read in two ways (rows 36 to 75 of the list of
 * escapes): nothing of them reaches an origin, as the first request of a
 * connection and as the second of a kept one, whole and byte by byte.
 */
#include "inspect_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow plain]\nhost = a.example.org\nport = 80\nscheme = http\n"

#define GOOD "GET /good HTTP/1.1\r\nHost: a.example.org\r\n\r\n"
#define HOST "Host: a.example.org\r\n"
#define GET "GET / HTTP/1.1\r\n" HOST
#define POST "POST / HTTP/1.1\r\n" HOST

/* Longest row with a NUL in it is given by its length. */
struct row {
	unsigned int number;
	const char *claim, *bytes;
	size_t len; /* 0: strlen() */
};

static const struct row refused[] = {
	{ 36, "CL then TE",
	    POST
	    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	    0 },
	{ 36, "TE then CL",
	    POST
	    "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
	    0 },
	{ 37, "two lengths",
	    POST "Content-Length: 0\r\nContent-Length: 31\r\n\r\n", 0 },
	{ 37, "two equal lengths",
	    POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 0 },
	{ 37, "a list of lengths", POST "Content-Length: 5, 5\r\n\r\nhello",
	    0 },
	{ 38, "a sign", POST "Content-Length: +5\r\n\r\nhello", 0 },
	{ 38, "minus zero", POST "Content-Length: -0\r\n\r\n", 0 },
	{ 38, "hexadecimal", POST "Content-Length: 0x5\r\n\r\nhello", 0 },
	{ 38, "a leading zero", POST "Content-Length: 05\r\n\r\nhello", 0 },
	{ 38, "an underscore", POST "Content-Length: 1_0\r\n\r\n0123456789",
	    0 },
	{ 38, "an empty length", POST "Content-Length: \r\n\r\n", 0 },
	{ 38, "2^64", POST "Content-Length: 18446744073709551616\r\n\r\n", 0 },
	{ 38, "a control in a length",
	    POST "Content-Length: 5\x0b\r\n\r\nhello", 0 },
	{ 38, "a blank in a length", POST "Content-Length: 1 0\r\n\r\nhello",
	    0 },
	{ 39, "a coding before",
	    POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 0 },
	{ 39, "a comma before",
	    POST "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n", 0 },
	{ 39, "a comma behind",
	    POST "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n", 0 },
	{ 39, "identity", POST "Transfer-Encoding: identity\r\n\r\n", 0 },
	{ 39, "a parameter",
	    POST "Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n", 0 },
	{ 39, "a control before",
	    POST "Transfer-Encoding: \x0b"
		 "chunked\r\n\r\n0\r\n\r\n",
	    0 },
	{ 39, "xchunked", POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
	    0 },
	{ 39, "twice",
	    POST
	    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "0\r\n\r\n",
	    0 },
	{ 39, "a blank before the colon",
	    POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 0 },
	{ 40, "TE in HTTP/1.0",
	    "POST / HTTP/1.0\r\n" HOST
	    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	    0 },
	{ 45, "bare LF", "GET / HTTP/1.1\nHost: a.example.org\n\n", 0 },
	{ 45, "bare CR in a value", GET "Visible: x\rSmuggled: y\r\n\r\n", 0 },
	{ 46, "a folded field", GET "X: a\r\n b\r\n\r\n", 0 },
	{ 46, "a fold in TE",
	    POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 0 },
	{ 47, "a blank before the colon of a length",
	    POST "Content-Length : 5\r\n\r\nhello", 0 },
	{ 47, "an empty name", GET ": x\r\n\r\n", 0 },
	{ 47, "a line without a colon", GET "Content-Length 10\r\n\r\n", 0 },
	{ 47, "a control in a name", GET "Te\x01st: x\r\n\r\n", 0 },
	{ 47, "a name beyond ASCII", GET "X\x85: x\r\n\r\n", 0 },
	{ 48, "a NUL in a value", GET "X: v\0alue\r\n\r\n",
	    sizeof(GET "X: v\0alue\r\n\r\n") - 1 },
	{ 48, "a form feed in a value", GET "X: \x0c\r\n\r\n", 0 },
	{ 49, "Transfer_Encoding",
	    POST "Transfer_Encoding: chunked\r\nContent-Length: 0\r\n\r\n", 0 },
	{ 50, "two blanks", "GET  / HTTP/1.1\r\n" HOST "\r\n", 0 },
	{ 50, "a tab", "GET\t/ HTTP/1.1\r\n" HOST "\r\n", 0 },
	{ 50, "lower case", "GET / http/1.1\r\n" HOST "\r\n", 0 },
	{ 50, "HTTP/1.32", "GET / HTTP/1.32\r\n" HOST "\r\n", 0 },
	{ 50, "HTTP/01.1", "GET / HTTP/01.1\r\n" HOST "\r\n", 0 },
	{ 50, "HTTP/0.9", "GET /\r\n\r\n", 0 },
	{ 50, "HTTP/2.0's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0 },
	{ 50, "an answer for a request", "ICY 200 OK\r\n\r\n", 0 },
	{ 61, "absolute form and Host differ",
	    "GET http://a.example.org/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
	    0 },
	{ 61, "the other way round",
	    "GET http://evil.example/ HTTP/1.1\r\n" HOST "\r\n", 0 },
	{ 62, "two Hosts", GET "Host: evil.example\r\n\r\n", 0 },
	{ 62, "two equal Hosts", GET HOST "\r\n", 0 },
	{ 62, "a list of Hosts",
	    "GET / HTTP/1.1\r\nHost: a.example.org, evil.example\r\n\r\n", 0 },
	{ 63, "no Host", "GET / HTTP/1.1\r\n\r\n", 0 },
	{ 63, "an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 0 },
	{ 63, "HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", 0 },
	{ 64, "userinfo",
	    "GET / HTTP/1.1\r\nHost: a.example.org@evil.example\r\n\r\n", 0 },
	{ 64, "a path in Host",
	    "GET / HTTP/1.1\r\nHost: a.example.org/evil\r\n\r\n", 0 },
	{ 65, "a fragment", "GET /a#b HTTP/1.1\r\n" HOST "\r\n", 0 },
	{ 67, "CONNECT inside",
	    "CONNECT a.example.org:443 HTTP/1.1\r\n"
	    "Host: a.example.org:443\r\n\r\n",
	    0 },
	{ 72, "https in plain HTTP",
	    "GET https://a.example.org/ HTTP/1.1\r\n" HOST "\r\n", 0 },
	{ 75, "a ClientHello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	    11 },
	{ 75, "SSH", "SSH-2.0-OpenSSH_9.2\r\n\r\n", 0 },
	{ 75, "SOCKS", "\x05\x01\x00\r\n\r\n", 7 },
};

/* Of these the head goes on, but the body ends both connections. */
static const struct row bad_bodies[] = {
	{ 41, "0x", "0x5\r\nhello\r\n0\r\n\r\n", 0 },
	{ 41, "a sign", "+5\r\nhello\r\n0\r\n\r\n", 0 },
	{ 41, "a blank before", " 5\r\nhello\r\n0\r\n\r\n", 0 },
	{ 41, "a blank behind", "5 \r\nhello\r\n0\r\n\r\n", 0 },
	{ 41, "empty", "\r\nhello\r\n0\r\n\r\n", 0 },
	{ 41, "17 digits", "10000000000000000\r\nhello\r\n0\r\n\r\n", 0 },
	{ 41, "bare LF", "5\nhello\r\n0\r\n\r\n", 0 },
	{ 41, "CR and X", "5\rXhello\r\n0\r\n\r\n", 0 },
	{ 42, "LF in an extension", "5;a\nX\r\nhello\r\n0\r\n\r\n", 0 },
	{ 43, "more than it said", "5\r\nABCDEFG\r\n0\r\n\r\n", 0 },
	{ 43, "no CRLF behind", "5\r\nhelloXX0\r\n\r\n", 0 },
	{ 44, "a trailer that is none", "0\r\nno colon\r\n\r\n", 0 },
};

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

static size_t
len_of(const struct row *r)
{
	return r->len != 0 ? r->len : strlen(r->bytes);
}

static size_t
origin_bytes(const struct fix *f)
{
	size_t sum = 0;

	for (size_t i = 0; i < f->origin_count; i++)
		sum += f->origins[i].in_len;
	return sum;
}

/* A whole good exchange first. */
static void
exchange_good(struct fix *f)
{
	size_t k = f->origin_count;
	struct peer *o;

	peer_say(&f->guest, GOOD);
	o = fix_origin(f, k);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	fix_until(f, peer_has(&f->guest, "ok"));
	peer_clear(&f->guest);
}

/* The row, and what would be an own request behind it. */
static void
check_refused(struct fix *f, const struct row *r, bool is_second, size_t burst)
{
	size_t before, dials;

	fix_open_http(f);
	f->guest.burst = burst;
	if (is_second)
		exchange_good(f);
	before = origin_bytes(f);
	dials = f->origin_count;
	peer_send(&f->guest, r->bytes, len_of(r));
	peer_say(&f->guest, GOOD);
	peer_say(&f->guest, "\r\n\r\n");
	fix_until(f, peer_has(&f->guest, "\r\n\r\n") && f->guest.is_ended);
	if (origin_bytes(f) != before || f->origin_count != dials)
		fail_msg("row %u, %s: bytes reached an origin", r->number,
		    r->claim);
	if (!peer_has(&f->guest, "HTTP/1.1 4"))
		fail_msg("row %u, %s: %s", r->number, r->claim,
		    fix_guest_text(f));
	assert_true(peer_has(&f->guest, "Connection: close\r\n"));
	assert_true(peer_has(&f->guest, "Tapward-Reason: "));
	assert_int_equal(fix_last(f)->r.verdict, ACTION_DENY);
	peer_drop(&f->guest);
	fix_until(f, f->is_closed);
	fix_close(f);
	/* The next row finds an empty pool. */
	fix_forget_origins(f);
}

static void
check_all(struct fix *f, bool is_second, size_t burst)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		f->record_count = 0;
		check_refused(f, &refused[i], is_second, burst);
	}
}

static void
rows_36_to_75_as_the_first_request(void **state)
{
	check_all(*state, false, 0);
}

static void
rows_36_to_75_as_the_second_request(void **state)
{
	check_all(*state, true, 0);
}

static void
rows_36_to_75_byte_by_byte(void **state)
{
	check_all(*state, true, 1);
}

/* The head goes on when its body does not come at once. */
static void
rows_41_to_44_end_both_connections(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(bad_bodies) / sizeof(bad_bodies[0]);
	     i++) {
		const struct row *r = &bad_bodies[i];
		struct peer *o;

		f->record_count = 0;
		fix_open_http(f);
		o = fix_ask(f, POST "Transfer-Encoding: chunked\r\n\r\n");
		peer_send(&f->guest, r->bytes, len_of(r));
		peer_say(&f->guest, GOOD);
		fix_until(f, o->is_ended && f->guest.is_ended);
		if (peer_has(o, "good") || peer_has(o, "0\r\n\r\n"))
			fail_msg("row %u, %s: the origin saw an end", r->number,
			    r->claim);
		if (!peer_has(&f->guest, "HTTP/1.1 400 "))
			fail_msg("row %u, %s: %s", r->number, r->claim,
			    fix_guest_text(f));
		assert_int_equal(fix_last(f)->r.reason, REASON_BAD_REQUEST);
		peer_drop(&f->guest);
		fix_until(f, f->is_closed);
		fix_close(f);
		fix_forget_origins(f);
	}
}

static void
check_seen_first(struct fix *f, const struct row *r, size_t burst)
{
	f->record_count = 0;
	fix_open_http(f);
	f->guest.burst = burst;
	peer_say(&f->guest, POST "Transfer-Encoding: chunked\r\n\r\n");
	peer_send(&f->guest, r->bytes, len_of(r));
	peer_say(&f->guest, GOOD);
	fix_until(f, f->guest.is_ended);
	if (!peer_has(&f->guest, "HTTP/1.1 400 ") || f->origin_count != 0)
		fail_msg("row %u, %s: %zu origins, %s", r->number, r->claim,
		    f->origin_count, fix_guest_text(f));
	assert_int_equal(f->record_count, 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_BAD_REQUEST);
	assert_string_equal(fix_last(f)->method, "POST");
	fix_close(f);
}

static void
rows_41_to_44_that_come_at_once_reach_nobody(void **state)
{
	for (size_t i = 0; i < sizeof(bad_bodies) / sizeof(bad_bodies[0]);
	     i++) {
		check_seen_first(*state, &bad_bodies[i], 0);
		check_seen_first(*state, &bad_bodies[i], 1);
	}
}

/* --- what goes on, goes on in one spelling --- */

static const struct {
	unsigned int number;
	const char *claim, *in, *out;
} rewritten[] = {
	{ 1, "letter case and a final dot of Host",
	    "GET / HTTP/1.1\r\nhOST:  A.Example.ORG.\r\n\r\n",
	    "GET / HTTP/1.1\r\nHost: a.example.org\r\n\r\n" },
	{ 50, "one CRLF before it", "\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
	    "GET / HTTP/1.1\r\nHost: a.example.org\r\n\r\n" },
	{ 54, "Connection's own fields go, others it names stay",
	    GET "Connection: X-A, Authorization, keep-alive\r\nX-A: 1\r\n"
		"Authorization: b\r\nKeep-Alive: 5\r\nTE: deflate\r\n"
		"Proxy-Authorization: c\r\nUpgrade: h2c\r\n"
		"HTTP2-Settings: d\r\n\r\n",
	    "GET / HTTP/1.1\r\nHost: a.example.org\r\n"
	    "Authorization: b\r\n\r\n" },
	{ 51, "a body of a GET goes with its length",
	    GET "Content-Length: 3\r\n\r\nabc",
	    "GET / HTTP/1.1\r\nHost: a.example.org\r\n"
	    "Content-Length: 3\r\n\r\nabc" },
	{ 42, "extensions and trailers are dropped, chunks made anew",
	    POST "Transfer-Encoding: Chunked\r\n\r\n"
		 "3;a=b\r\nabc\r\n0;c\r\nHost: evil\r\n\r\n",
	    "POST / HTTP/1.1\r\nHost: a.example.org\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" },
	{ 61, "absolute form of the same host becomes origin form",
	    "GET http://a.example.org/x HTTP/1.1\r\n" HOST "\r\n",
	    "GET /x HTTP/1.1\r\nHost: a.example.org\r\n\r\n" },
	{ 0, "HTTP/1.0 becomes 1.1", "GET / HTTP/1.0\r\n" HOST "\r\n",
	    "GET / HTTP/1.1\r\nHost: a.example.org\r\n\r\n" },
};

static void
what_goes_on_goes_on_in_one_spelling(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < 2 * sizeof(rewritten) / sizeof(rewritten[0]);
	     i++) {
		const char *want = rewritten[i / 2].out;
		struct peer *o;

		fix_open_http(f);
		f->guest.burst = i % 2;
		peer_say(&f->guest, rewritten[i / 2].in);
		o = fix_origin(f, 0);
		fix_until(f, peer_has(o, want));
		assert_int_equal(o->in_len, strlen(want));
		fix_close(f);
		fix_forget_origins(f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    rows_36_to_75_as_the_first_request, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    rows_36_to_75_as_the_second_request, setup, teardown),
		cmocka_unit_test_setup_teardown(rows_36_to_75_byte_by_byte,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(
		    rows_41_to_44_end_both_connections, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    rows_41_to_44_that_come_at_once_reach_nobody, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    what_goes_on_goes_on_in_one_spelling, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
