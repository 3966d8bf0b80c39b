/*
 * Many exchanges on one connection of HTTP/2 to an origin; credentials on it;
 * denials to a guest of HTTP/2; answers that lie.
 */
#include "h2_raw.h"
#include "side_peer.h"

#include <stdio.h>
#include <string.h>

#include "proxy/pool.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow api]\nhost = api.example.org\nmethod = GET, HEAD, POST\n"      \
	"path = /p, /open\n"                                                   \
	"[allow key]\nhost = api.example.org\nmethod = GET, HEAD, POST\n"      \
	"path = /key\ncredential = token\n"

#define ASK(method, path)                                                      \
	":method: " method "\n:scheme: https\n:authority: api.example.org\n"   \
	":path: " path "\n"

static int
setup(void **state)
{
	struct fix *f = fix_new(POLICY);

	f->origin_is_h2 = true;
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	fix_free(*state);
	return 0;
}

struct two {
	struct side g, o;
};

static void
done(struct two *t)
{
	side_done(&t->g);
	side_done(&t->o);
}

static struct h2p_stream *
ask(struct two *t, const char *fields)
{
	return h2p_ask(t->g.h2, fields, NULL);
}

/* The origin's connection, once its first request is there. */
static void
meet_origin(struct two *t, struct fix *f, size_t k)
{
	side_origin(&t->o, f, true, k);
	fix_until(f, t->o.h2->count > 0 && t->o.h2->streams[0].has_head);
}

/* --- one connection, many exchanges --- */

static void
exchanges_share_a_connection(void **state)
{
	struct fix *f = *state;
	const struct h2p_stream body = { .text = "hello" };
	struct h2p_stream *s[50];
	struct two t = { .o = { .h2 = NULL } };

	side_guest(&t.g, f, true);
	(void)ask(&t, ASK("GET", "/p"));
	meet_origin(&t, f, 0);
	fix_settle(f);
	for (size_t i = 0; i < 50; i++)
		s[i] = ask(&t, ASK("GET", "/p"));
	fix_until(f, t.o.h2->count == 51);
	/* Answered the other way round. */
	for (size_t k = 0; k < 51; k++) {
		size_t i = 50 - k;

		fix_until(f, t.o.h2->streams[i].is_ended);
		h2p_answer(t.o.h2, &t.o.h2->streams[i],
		    ":status: 200\ncontent-length: 5\n", &body);
	}
	for (size_t i = 0; i < 50; i++) {
		fix_until(f, s[i]->is_ended);
		assert_string_equal(s[i]->body, "hello");
	}
	fix_until(f, f->record_count == 51);
	assert_int_equal(f->origin_count, 1);
	done(&t);
}

/* A stream whose window is used up does not stop another. */
static void
a_stream_that_waits_stops_no_other(void **state)
{
	struct fix *f = *state;
	const struct h2p_stream large = { .left = 3000000 };
	struct h2p_stream *slow[20], *quick;
	struct two t = { .o = { .h2 = NULL } };

	side_guest(&t.g, f, true);
	t.g.h2->keeps_window = true;
	slow[0] = ask(&t, ASK("GET", "/p"));
	meet_origin(&t, f, 0);
	fix_settle(f);
	for (size_t i = 1; i < 20; i++)
		slow[i] = ask(&t, ASK("GET", "/p"));
	fix_until(f, t.o.h2->count == 20 && t.o.h2->streams[19].is_ended);
	for (size_t i = 0; i < 20; i++)
		h2p_answer(t.o.h2, &t.o.h2->streams[i], ":status: 200\n",
		    &large);
	fix_settle(f);
	assert_true(slow[0]->body_len + slow[1]->body_len <= 65535);
	/* What was read of each is bounded: twice its window, one more. */
	assert_true(t.o.p->out_at < 20 * 3 * 65536 + (2u << 20));
	quick = ask(&t, ASK("HEAD", "/p"));
	fix_until(f, t.o.h2->count == 21);
	h2p_answer(t.o.h2, &t.o.h2->streams[20],
	    ":status: 200\ncontent-length: 5\n", NULL);
	fix_until(f, quick->is_ended);
	h2p_reset(t.g.h2, slow[3], NGHTTP2_CANCEL);
	fix_until(f, t.o.h2->streams[3].is_reset);
	done(&t);
}

static void
uploads_that_wait_stop_no_other(void **state)
{
	struct fix *f = *state;
	const struct h2p_stream large = { .left = 1000000 };
	struct h2p_stream *quick;
	struct two t = { .o = { .h2 = NULL } };

	side_guest(&t.g, f, true);
	(void)ask(&t, ASK("GET", "/p"));
	meet_origin(&t, f, 0);
	t.o.h2->keeps_window = true;
	fix_settle(f);
	for (size_t i = 0; i < 30; i++)
		(void)h2p_ask(t.g.h2, ASK("POST", "/p"), &large);
	fix_until(f, t.o.h2->count == 31);
	fix_settle(f);
	assert_true(t.g.p->out_at < 31 * 3 * 65536);
	quick = ask(&t, ASK("GET", "/p"));
	fix_until(f, t.o.h2->count == 32 && t.o.h2->streams[31].is_ended);
	h2p_answer(t.o.h2, &t.o.h2->streams[31], ":status: 204\n", NULL);
	fix_until(f, quick->is_ended);
	done(&t);
}

/* What comes in fast gets a larger window; it is the connection's only one. */
static void
one_large_upload_may_have_more(void **state)
{
	struct fix *f = *state;
	const struct h2p_stream large = { .left = 3000000 };
	struct two t = { .o = { .h2 = NULL } };
	size_t first;

	side_guest(&t.g, f, true);
	(void)h2p_ask(t.g.h2, ASK("POST", "/p"), &large);
	meet_origin(&t, f, 0);
	fix_until(f, t.o.h2->streams[0].body_len > 1000000);
	t.o.h2->keeps_window = true;
	fix_settle(f);
	first = t.g.p->out_at;
	/* What waits: half a window at least, which is when it is told of. */
	assert_in_range(first - t.o.h2->streams[0].body_len,
	    f->gate.limits.large_bytes / 2,
	    f->gate.limits.large_bytes + 4 * f->gate.limits.wait_bytes);
	(void)h2p_ask(t.g.h2, ASK("POST", "/p"), &large);
	fix_until(f, t.o.h2->count == 2);
	fix_settle(f);
	assert_in_range(t.g.p->out_at - first, 65536,
	    4 * f->gate.limits.wait_bytes);
	done(&t);
}

static void
an_idle_connection_ends_in_time(void **state)
{
	struct fix *f = *state;
	struct h2p_stream *s;
	struct two t = { .o = { .h2 = NULL } };

	f->gate.limits.idle_timeout_ms = 50;
	side_guest(&t.g, f, true);
	s = ask(&t, ASK("GET", "/p"));
	meet_origin(&t, f, 0);
	h2p_answer(t.o.h2, &t.o.h2->streams[0], ":status: 204\n", NULL);
	fix_until(f, s->is_ended);
	fix_until(f, t.o.p->is_ended && t.o.h2->has_goaway);
	fix_until(f, f->is_closed && t.g.h2->has_goaway);
	assert_int_equal(t.g.h2->goaway, NGHTTP2_NO_ERROR);
	done(&t);
}

/* --- credentials --- */

static void
a_credential_goes_out_on_a_connection_of_its_own(void **state)
{
	struct fix *f = *state;
	const struct h2p_stream body = { .text = "hello" };
	struct h2p_stream *s;
	struct two t, keyed;

	fix_grant(f, "api.example.org", 443, "authorization");
	side_guest(&t.g, f, true);
	(void)ask(&t, ASK("GET", "/p") "authorization: Bearer mine\n");
	meet_origin(&t, f, 0);
	assert_false(h2p_has(t.o.h2->streams[0].head, "authorization"));
	s = ask(&t, ASK("GET", "/key") "authorization: Bearer mine\n");
	meet_origin(&keyed, f, 1);
	assert_true(h2p_has(keyed.o.h2->streams[0].head,
	    "authorization: Bearer s3cr3t-canary-0123456789abcdef\n"));
	assert_false(h2p_has(keyed.o.h2->streams[0].head, "mine"));
	assert_true(h2p_has(keyed.o.h2->streams[0].head,
	    "accept-encoding: identity\n"));
	h2p_answer(keyed.o.h2, &keyed.o.h2->streams[0],
	    ":status: 200\nset-cookie: a=b\nx-a: b\n", &body);
	fix_until(f, s->is_ended);
	assert_true(h2p_has(s->head, "x-a: b\n"));
	assert_false(h2p_has(s->head, "set-cookie"));
	side_done(&keyed.o);
	done(&t);
}

/* By a revocation, or when its lease ends: it may hold what was repeated. */
static void
a_connection_ends_with_the_credential_it_carried(void **state)
{
	struct fix *f = *state;

	for (unsigned int i = 0; i < 2; i++) {
		struct two t = { .o = { .h2 = NULL } };
		struct h2p_stream *s;

		f->lease_ms = i == 0 ? 0 : 300;
		side_guest(&t.g, f, true);
		s = ask(&t, ASK("GET", "/key"));
		meet_origin(&t, f, 0);
		h2p_answer(t.o.h2, &t.o.h2->streams[0], ":status: 204\n", NULL);
		fix_until(f, s->is_ended);
		if (i == 0) {
			fix_settle(f);
			assert_false(t.o.p->is_ended);
			pool_revoke(&f->gate, "other");
			fix_settle(f);
			assert_false(t.o.p->is_ended);
			pool_revoke(&f->gate, "token");
		}
		fix_until(f, t.o.p->is_ended);
		done(&t);
		fix_close(f);
		fix_forget_origins(f);
	}
}

/* gRPC sends none; a field that was not looked through does not go. */
static void
trailers_do_not_go_where_anything_is_granted(void **state)
{
	struct fix *f = *state;
	const struct h2p_stream body = { .text = "x", .trailer = "x-key" };
	struct two t = { .o = { .h2 = NULL } };

	fix_grant(f, "api.example.org", 443, "x-key");
	side_guest(&t.g, f, true);
	(void)h2p_ask(t.g.h2, ASK("POST", "/p"), &body);
	meet_origin(&t, f, 0);
	fix_until(f, t.o.h2->streams[0].is_ended);
	assert_string_equal(t.o.h2->streams[0].body, "x");
	assert_string_equal(t.o.h2->streams[0].trailers, "");
	done(&t);
}

static const struct {
	const char *claim, *fields, *body, *trailer;
	bool is_cut; /* else an answer of ours, or masked */
} leaks[] = {
	{ "in the head", ":status: 200\nx-a: s3cr3t-canary-0123456789abcdef\n",
	    "x", NULL, false },
	{ "in a name", ":status: 200\ns3cr3t-canary-0123456789abcdef: x\n", "x",
	    NULL, false },
	{ "in the body", ":status: 200\n", "a s3cr3t-canary-0123456789abcdef b",
	    NULL, false },
	{ "in a trailer", ":status: 200\n", "x",
	    "s3cr3t-canary-0123456789abcdef", true },
};

static void
row_89_a_credential_does_not_come_back(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(leaks) / sizeof(leaks[0]); i++) {
		const struct h2p_stream body = { .text = leaks[i].body,
			.trailer = leaks[i].trailer };
		struct h2p_stream *s;
		struct two t = { .o = { .h2 = NULL } };

		f->record_count = 0;
		side_guest(&t.g, f, true);
		s = ask(&t, ASK("GET", "/key"));
		meet_origin(&t, f, 0);
		t.o.p->burst = i % 2 == 0 ? 0 : 1;
		h2p_answer(t.o.h2, &t.o.h2->streams[0], leaks[i].fields, &body);
		fix_until(f, leaks[i].is_cut ? s->is_reset : s->is_ended);
		fix_until(f, f->record_count == 1);
		if (fix_last(f)->r.reason != REASON_CREDENTIAL_LEAK)
			fail_msg("%s: %d", leaks[i].claim,
			    (int)fix_last(f)->r.reason);
		assert_false(h2p_has(s->head, "canary"));
		assert_false(h2p_has(s->body, "canary"));
		assert_false(h2p_has(s->trailers, "canary"));
		done(&t);
		fix_close(f);
		fix_forget_origins(f);
	}
}

/* A placeholder in a body is a body like any other. */
static void
row_89_a_placeholder_in_data_is_not_replaced(void **state)
{
	struct fix *f = *state;
	const struct h2p_stream body = { .text = "PLACEHOLDER" };
	struct two t = { .o = { .h2 = NULL } };

	f->placeholder = "PLACEHOLDER";
	side_guest(&t.g, f, true);
	f->guest.burst = 1;
	(void)h2p_ask(t.g.h2, ASK("POST", "/key"), &body);
	meet_origin(&t, f, 0);
	fix_until(f, t.o.h2->streams[0].is_ended);
	assert_string_equal(t.o.h2->streams[0].body, "PLACEHOLDER");
	done(&t);
}

/* --- denials --- */

static void
a_denial_says_why(void **state)
{
	struct fix *f = *state;
	struct h2p_stream *s;
	struct two t = { .o = { .h2 = NULL } };

	side_guest(&t.g, f, true);
	s = ask(&t, ASK("GET", "/no"));
	fix_until(f, s->is_ended);
	assert_true(h2p_has(s->head, ":status: 403\n"));
	assert_true(h2p_has(s->head, "tapward-reason: path\n"));
	assert_non_null(
	    strstr(s->body, "tapward: GET https://api.example.org"));
	s = ask(&t, ASK("HEAD", "/no"));
	fix_until(f, s->is_ended);
	assert_int_equal(s->body_len, 0);
	assert_int_equal(f->origin_count, 0);
	done(&t);
}

static void
a_denied_upload_is_stopped(void **state)
{
	struct fix *f = *state;
	const struct h2p_stream body = { .left = 1000000 };
	struct h2p_stream *s;
	struct two t = { .o = { .h2 = NULL } };

	side_guest(&t.g, f, true);
	s = h2p_ask(t.g.h2, ASK("POST", "/no"), &body);
	fix_until(f, s->is_ended && s->is_reset);
	assert_true(h2p_has(s->head, ":status: 403\n"));
	assert_int_equal(s->error, NGHTTP2_NO_ERROR);
	/* And another request is served. */
	s = ask(&t, ASK("GET", "/no"));
	fix_until(f, s->is_ended);
	done(&t);
}

static void
grpc_is_denied_in_its_own_words(void **state)
{
	struct fix *f = *state;
	const struct h2p_stream body = { .left = 100, .is_open = true };
	struct h2p_stream *s;
	struct two t = { .o = { .h2 = NULL } };

	side_guest(&t.g, f, true);
	s = h2p_ask(t.g.h2,
	    ASK("POST",
		"/pkg.Service/Call") "te: trailers\n"
				     "content-type: application/grpc+proto\n",
	    &body);
	fix_until(f, s->is_ended && s->is_reset);
	assert_true(h2p_has(s->head, ":status: 200\n"));
	assert_true(h2p_has(s->head, "content-type: application/grpc\n"));
	assert_true(h2p_has(s->head, "grpc-status: 7\n"));
	assert_non_null(strstr(s->head, "grpc-message: tapward: POST "));
	assert_int_equal(s->body_len, 0);
	assert_int_equal(fix_last(f)->r.reason, REASON_PATH);
	done(&t);
}

static void
one_who_waits_to_send_is_told_to(void **state)
{
	struct fix *f = *state;
	const struct h2p_stream body = { .is_open = true };
	struct h2p_stream *s;
	struct two t = { .o = { .h2 = NULL } };

	side_guest(&t.g, f, true);
	s = h2p_ask(t.g.h2, ASK("POST", "/p") "expect: 100-continue\n", &body);
	meet_origin(&t, f, 0);
	assert_false(h2p_has(t.o.h2->streams[0].head, "expect"));
	fix_until(f, s->interim == 1);
	h2p_end(t.g.h2, s);
	fix_until(f, t.o.h2->streams[0].is_ended);
	done(&t);
}

static void
crumbs_of_a_cookie_are_one(void **state)
{
	struct fix *f = *state;
	struct side g;

	fix_set_policy(f,
	    "[policy]\nversion = 1\n[allow x]\n"
	    "host = api.example.org\n");
	f->origin_is_h2 = false;
	side_guest(&g, f, true);
	(void)h2p_ask(g.h2, ASK("GET", "/p") "cookie: a=b\ncookie: c=d\n",
	    NULL);
	fix_until(f, peer_has(fix_origin(f, 0), "\r\n\r\n"));
	assert_true(peer_has(&f->origins[0], "\r\ncookie: a=b; c=d\r\n"));
	side_done(&g);
}

/* --- answers that lie --- */

static const struct {
	const char *claim, *fields, *body;
	bool has_begun;
} lies[] = {
	{ "101", ":status: 101\n", NULL, false },
	{ "no status", "x-a: b\n", NULL, false },
	{ "two statuses", ":status: 200\n:status: 200\n", NULL, false },
	{ "a status of two digits", ":status: 20\n", NULL, false },
	{ "connection", ":status: 200\nconnection: close\n", NULL, false },
	{ "chunked", ":status: 200\ntransfer-encoding: chunked\n", "x", false },
	{ "two lengths",
	    ":status: 200\ncontent-length: 1\n"
	    "content-length: 1\n",
	    "x", false },
	{ "204 with a length", ":status: 204\ncontent-length: 1\n", NULL,
	    false },
	{ "a length, and no body", ":status: 200\ncontent-length: 1\n", NULL,
	    false },
	{ "less than its length", ":status: 200\ncontent-length: 9\n", "x",
	    true },
	{ "more than its length", ":status: 200\ncontent-length: 1\n", "xyz",
	    true },
	{ "a body of 204", ":status: 204\n", "x", true },
	{ "an interim answer that ends", ":status: 103\n", "x", false },
};

static void
rows_59_answers_that_lie_are_never_whole(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		const struct h2p_stream body = { .text = lies[i].body };
		struct h2p_stream *s;
		struct two t = { .o = { .h2 = NULL } };

		f->record_count = 0;
		side_guest(&t.g, f, true);
		s = ask(&t, ASK("GET", "/p"));
		meet_origin(&t, f, 0);
		h2p_answer(t.o.h2, &t.o.h2->streams[0], lies[i].fields,
		    lies[i].body == NULL ? NULL : &body);
		fix_until(f, f->record_count == 1);
		fix_until(f, s->is_ended || s->is_reset);
		if (fix_last(f)->r.reason == REASON_NONE ||
		    (!h2p_has(s->head, ":status: 502\n") && !s->is_reset))
			fail_msg("%s: reason %d, %s", lies[i].claim,
			    (int)fix_last(f)->r.reason, s->head);
		/* Nothing more is asked of it. */
		(void)ask(&t, ASK("GET", "/p"));
		(void)fix_origin(f, 1);
		done(&t);
		fix_close(f);
		fix_forget_origins(f);
		pool_flush(&f->gate);
	}
}

static void
too_many_interim_answers_end_it(void **state)
{
	struct fix *f = *state;
	struct h2p_stream *s;
	struct two t = { .o = { .h2 = NULL } };

	side_guest(&t.g, f, true);
	s = ask(&t, ASK("GET", "/p"));
	meet_origin(&t, f, 0);
	for (unsigned int i = 0; i < 9; i++)
		h2p_interim(t.o.h2, &t.o.h2->streams[0], ":status: 103\n");
	fix_until(f, s->is_ended);
	assert_true(h2p_has(s->head, ":status: 502\n"));
	done(&t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(exchanges_share_a_connection),
		TEST(a_stream_that_waits_stops_no_other),
		TEST(uploads_that_wait_stop_no_other),
		TEST(one_large_upload_may_have_more),
		TEST(an_idle_connection_ends_in_time),
		TEST(a_credential_goes_out_on_a_connection_of_its_own),
		TEST(a_connection_ends_with_the_credential_it_carried),
		TEST(trailers_do_not_go_where_anything_is_granted),
		TEST(row_89_a_credential_does_not_come_back),
		TEST(row_89_a_placeholder_in_data_is_not_replaced),
		TEST(a_denial_says_why),
		TEST(a_denied_upload_is_stopped),
		TEST(grpc_is_denied_in_its_own_words),
		TEST(one_who_waits_to_send_is_told_to),
		TEST(crumbs_of_a_cookie_are_one),
		TEST(rows_59_answers_that_lie_are_never_whole),
		TEST(too_many_interim_answers_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
