/*
 * Fields behind a body: which of them go on, to whom, and that no other way
 * past the search for a credential leads through them.
 */
#include "side_peer.h"

#include <stdio.h>
#include <string.h>

#include "proxy/pool.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow plain]\nhost = a.example.org\nport = 80\nscheme = http\n"      \
	"[allow api]\nhost = api.example.org\nmethod = GET, POST\n"            \
	"path = /p\n"                                                          \
	"[allow key]\nhost = api.example.org\npath = /key\n"                   \
	"credential = token\n"

#define HOST "Host: a.example.org\r\n"
#define TE "TE: trailers\r\nConnection: TE\r\n"
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

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

/* --- from HTTP/1.1 to HTTP/1.1 --- */

static const struct {
	const char *claim, *request, *answer, *want;
} rows[] = {
	{ "to one who takes them", "GET / HTTP/1.1\r\n" HOST TE "\r\n",
	    CHUNKED "2\r\nok\r\n0\r\nA: b\r\nCd:  e f \r\n\r\n",
	    "2\r\nok\r\n0\r\nA: b\r\nCd: e f\r\n\r\n" },
	{ "to one who takes other codings, too",
	    "GET / HTTP/1.1\r\n" HOST "TE: gzip;q=0.5, Trailers\r\n\r\n",
	    CHUNKED "2\r\nok\r\n0\r\nA: b\r\n\r\n",
	    "2\r\nok\r\n0\r\nA: b\r\n\r\n" },
	{ "to one who did not say so", "GET / HTTP/1.1\r\n" HOST "\r\n",
	    CHUNKED "2\r\nok\r\n0\r\nA: b\r\n\r\n", "2\r\nok\r\n0\r\n\r\n" },
	{ "to one who said something like it",
	    "GET / HTTP/1.1\r\n" HOST "TE: trailers;q=0\r\n\r\n",
	    CHUNKED "2\r\nok\r\n0\r\nA: b\r\n\r\n", "2\r\nok\r\n0\r\n\r\n" },
	{ "to HTTP/1.0, which has no place for them",
	    "GET / HTTP/1.0\r\n" HOST TE "\r\n",
	    CHUNKED "2\r\nok\r\n0\r\nA: b\r\n\r\n", "\r\n\r\nok" },
	{ "row 44: none that a message hangs on",
	    "GET / HTTP/1.1\r\n" HOST TE "\r\n",
	    CHUNKED "2\r\nok\r\n0\r\nContent-Length: 5\r\nHost: evil\r\n"
		    "Transfer-Encoding: chunked\r\nAuthorization: x\r\n"
		    "Set-Cookie: a=b\r\nConnection: close\r\nA: b\r\n"
		    "Content-Type: text/html\r\nLocation: /\r\n\r\n",
	    "2\r\nok\r\n0\r\nA: b\r\n\r\n" },
	{ "none that looks like ours, or leads around us",
	    "GET / HTTP/1.1\r\n" HOST TE "\r\n",
	    CHUNKED "2\r\nok\r\n0\r\nAlt-Svc: h3=\":443\"\r\n"
		    "Tapward-Reason: x\r\nProxy-Status: y\r\n\r\n",
	    "2\r\nok\r\n0\r\n\r\n" },
};

static bool
ends_with(const struct peer *p, const char *want)
{
	size_t len = strlen(want);

	return p->in_len >= len &&
	    memcmp(p->in + p->in_len - len, want, len) == 0;
}

static void
run_row(struct fix *f, size_t i, size_t burst)
{
	struct peer *o;

	f->record_count = 0;
	fix_open_http(f);
	o = fix_ask(f, rows[i].request);
	o->burst = burst;
	peer_say(o, rows[i].answer);
	fix_until(f, f->record_count == 1);
	fix_settle(f);
	/* Byte by byte a body comes in other chunks. */
	if (!ends_with(&f->guest,
		burst == 0 ? rows[i].want : strstr(rows[i].want, "k")))
		fail_msg("%s: %s", rows[i].claim, fix_guest_text(f));
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
	assert_int_equal(pool_count(&f->gate), 1);
	fix_close(f);
	fix_forget_origins(f);
}

static void
rows_44_trailers_of_an_answer(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run_row(*state, i, 0);
		run_row(*state, i, 1);
	}
}

static void
row_44_malformed_trailers_end_an_answer_that_is_not_whole(void **state)
{
	static const char *const bad[] = { "A b\r\n\r\n", "A: b\n\r\n",
		"A : b\r\n\r\n", ": b\r\n\r\n", "A: b\r\n c\r\n\r\n",
		"Content_Length: 5\r\n\r\n", "Transfer_Encoding: x\r\n\r\n",
		"A: \x01\r\n\r\n" };
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct peer *o;

		f->record_count = 0;
		fix_open_http(f);
		o = fix_ask(f, "GET / HTTP/1.1\r\n" HOST TE "\r\n");
		peer_say(o, CHUNKED "2\r\nok\r\n0\r\n");
		peer_say(o, bad[i]);
		fix_until(f, f->record_count == 1 && f->guest.is_ended);
		assert_int_equal(fix_last(f)->r.reason, REASON_BAD_RESPONSE);
		assert_false(peer_has(&f->guest, "0\r\n"));
		assert_int_equal(pool_count(&f->gate), 0);
		fix_close(f);
		fix_forget_origins(f);
	}
}

/* They come behind all of the body, however slowly that is read. */
static void
trailers_wait_for_the_body(void **state)
{
	struct fix *f = *state;
	static char body[0x80000];
	struct peer *o;

	fix_open_http(f);
	f->guest.is_slow = true;
	o = fix_ask(f, "GET / HTTP/1.1\r\n" HOST TE "\r\n");
	peer_say(o, CHUNKED "80000\r\n");
	peer_send(o, body, sizeof(body));
	peer_say(o, "\r\n0\r\nA: b\r\n\r\n");
	fix_settle(f);
	f->guest.is_slow = false;
	fix_until(f, ends_with(&f->guest, "\r\n0\r\nA: b\r\n\r\n"));
	assert_true(f->guest.in_len > sizeof(body));
}

/* Never merged, never forwarded; what follows them is another request. */
static void
row_44_trailers_of_a_guest_of_http1_are_dropped(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f,
	    "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
	peer_say(&f->guest,
	    "2\r\nhi\r\n0\r\nContent-Length: 5\r\nX-Up: 1\r\n"
	    "Authorization: x\r\n\r\n");
	fix_until(f, ends_with(o, "\r\n\r\n2\r\nhi\r\n0\r\n\r\n"));
	assert_false(peer_has(o, "X-Up"));
	peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	fix_until(f, peer_has(&f->guest, "ok"));
	peer_clear(&f->guest);
	peer_say(&f->guest, "GET / HTTP/1.1\r\n" HOST "\r\n");
	fix_until(f, peer_has(o, "GET / HTTP/1.1"));
}

/* An origin is told of it by the guest's word only. */
static void
te_is_said_anew_on_each_connection(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, "GET / HTTP/1.1\r\n" HOST TE "\r\n");
	assert_true(peer_has(o, "\r\nTE: trailers\r\nConnection: TE\r\n\r\n"));
	fix_close(f);
	fix_forget_origins(f);
	fix_open_http(f);
	o = fix_ask(f, "GET / HTTP/1.1\r\n" HOST "TE: gzip\r\n\r\n");
	assert_false(peer_has(o, "TE:"));
	assert_false(peer_has(o, "Connection"));
}

/* --- between versions --- */

static void
a_told_length_leaves_no_place_for_them(void **state)
{
	static const struct side_message ask = { .method = "GET",
		.fields = "te: trailers\n" };
	static const struct side_message answer = { .status = 200,
		.body = SIDE_LENGTH,
		.size = 5,
		.trailer = "x-down" };
	struct fix *f = *state;
	struct side g, o;

	f->origin_is_h2 = true;
	side_guest(&g, f, false);
	side_send(&g, &ask);
	side_origin(&o, f, true, 0);
	fix_until(f, side_look(&o)->is_whole);
	side_send(&o, &answer);
	fix_until(f, side_look(&g)->is_whole);
	fix_settle(f);
	assert_false(peer_has(&f->guest, "x-down"));
	side_done(&g);
	side_done(&o);
}

static void
row_105_a_credential_does_not_come_back_in_trailers(void **state)
{
	struct fix *f = *state;

	for (unsigned int v = 0; v < 4; v++) {
		struct side g, o;
		struct side_message ask = { .method = "GET",
			.fields = "te: trailers\n" };
		struct side_message answer = { .status = 200,
			.body = SIDE_STREAM,
			.size = 5,
			.trailer = "x-s3cr3t-canary-0123456789abcdef" };

		f->record_count = 0;
		f->origin_is_h2 = (v & 2) != 0;
		side_guest(&g, f, (v & 1) != 0);
		ask.path = "/key";
		side_send(&g, &ask);
		side_origin(&o, f, f->origin_is_h2, 0);
		fix_until(f, side_look(&o)->is_whole);
		assert_non_null(strstr(o.head, "s3cr3t-canary"));
		side_send(&o, &answer);
		fix_until(f, side_look(&g)->is_cut);
		fix_until(f, f->record_count == 1);
		assert_int_equal(fix_last(f)->r.reason, REASON_CREDENTIAL_LEAK);
		assert_false(peer_has(&f->guest, "canary"));
		side_done(&g);
		side_done(&o);
		fix_close(f);
		fix_forget_origins(f);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_44_trailers_of_an_answer),
		TEST(row_44_malformed_trailers_end_an_answer_that_is_not_whole),
		TEST(trailers_wait_for_the_body),
		TEST(row_44_trailers_of_a_guest_of_http1_are_dropped),
		TEST(te_is_said_anew_on_each_connection),
		TEST(a_told_length_leaves_no_place_for_them),
		TEST(row_105_a_credential_does_not_come_back_in_trailers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
