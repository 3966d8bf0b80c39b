/*
 * Connections to origins that are kept: what they are used for again, and
 * which requests are sent a second time when one turns out to be closed.
 */
#include "side_peer.h"

#include <string.h>
#include <unistd.h>

#include "proxy/pool.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow plain]\nhost = a.example.org\nport = 80\nscheme = http\n"      \
	"[allow api]\nhost = api.example.org\n"

#define HOST "Host: a.example.org\r\n"
#define GET "GET / HTTP/1.1\r\n" HOST "\r\n"
#define OK2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

#define ASK(method, path)                                                      \
	":method: " method "\n:scheme: https\n:authority: api.example.org\n"   \
	":path: " path "\n"

static int
setup(void **state)
{
	*state = fix_new(POLICY);
	return 0;
}

static int
setup_h2(void **state)
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

/* --- HTTP/1.1 --- */

static void
a_pooled_connection_that_is_closed_is_replaced_once(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, GET);
	peer_say(o, OK2);
	fix_until(f, pool_count(&f->gate) == 1);
	peer_clear(&f->guest);
	/* It reads the second request, and closes instead of an answer. */
	peer_clear(o);
	peer_say(&f->guest, GET);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	peer_drop(o);
	o = fix_origin(f, 1);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
	assert_int_equal(f->record_count, 2);
	assert_int_equal(f->origin_count, 2);
}

static const struct {
	const char *request;
	const char *sign; /* that all of it is there */
	bool is_repeated; /* RFC 9110 9.2.2, and nothing of a body is gone */
} stale[] = {
	{ "GET / HTTP/1.1\r\n" HOST "\r\n", "\r\n\r\n", true },
	{ "HEAD / HTTP/1.1\r\n" HOST "\r\n", "\r\n\r\n", true },
	{ "OPTIONS / HTTP/1.1\r\n" HOST "\r\n", "\r\n\r\n", true },
	{ "DELETE / HTTP/1.1\r\n" HOST "\r\n", "\r\n\r\n", true },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "\r\n\r\n",
	    true },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n", "\r\n\r\n",
	    true },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nh", "h", false },
	{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi", "hi",
	    false },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "\r\n\r\n",
	    false },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi", "hi",
	    false },
	{ "PATCH / HTTP/1.1\r\n" HOST "\r\n", "\r\n\r\n", false },
	{ "LOCK / HTTP/1.1\r\n" HOST "\r\n", "\r\n\r\n", false },
};

/* It reads the second request, and closes instead of an answer. */
static void
what_a_stale_connection_ate_is_sent_once_more_if_it_may_be(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(stale) / sizeof(stale[0]); i++) {
		struct peer *o;

		fix_open_http(f);
		o = fix_ask(f, GET);
		peer_say(o, OK2);
		fix_until(f, pool_count(&f->gate) == 1);
		peer_clear(&f->guest);
		peer_clear(o);
		peer_say(&f->guest, stale[i].request);
		fix_until(f, peer_has(o, "\r\n\r\n"));
		fix_until(f, peer_has(o, stale[i].sign));
		peer_drop(o);
		if (stale[i].is_repeated) {
			o = fix_origin(f, 1);
			fix_until(f, peer_has(o, "\r\n\r\n"));
			/* Once: this one was not idle. */
			peer_drop(o);
		}
		fix_until(f, peer_has(&f->guest, "HTTP/1.1 502 "));
		if (f->origin_count != (stale[i].is_repeated ? 2 : 1))
			fail_msg("%zu origins: %s", f->origin_count,
			    stale[i].request);
		fix_close(f);
		fix_forget_origins(f);
	}
}

/* Its event and the guest's are in one turn of the loop. */
static void
row_59_a_pooled_connection_that_has_spoken_is_not_taken(void **state)
{
	static const char evil[] =
	    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
	const struct origin_key key = { .host = "a.example.org",
		.port = 80,
		.scheme = SCHEME_HTTP };
	struct fix *f = *state;
	struct origin *o;
	struct peer *p;

	fix_open_http(f);
	p = fix_ask(f, GET);
	peer_say(p, OK2);
	fix_until(f, pool_count(&f->gate) == 1);
	o = pool_take(&f->gate, &key, UINT64_MAX);
	assert_non_null(o);
	pool_put(&f->gate, o);
	assert_int_equal(write(p->fd, evil, sizeof(evil) - 1),
	    sizeof(evil) - 1);
	assert_null(pool_take(&f->gate, &key, UINT64_MAX));
	assert_int_equal(pool_count(&f->gate), 0);
}

static void
row_59_an_origin_that_speaks_first_is_not_asked(void **state)
{
	struct fix *f = *state;

	f->greeting = OK2;
	fix_open_http(f);
	peer_say(&f->guest, GET);
	fix_until(f, peer_has(&f->guest, "HTTP/1.1 502 "));
	assert_int_equal(fix_last(f)->r.reason, REASON_BAD_RESPONSE);
	fix_settle(f);
	assert_int_equal(f->origin_count, 1);
	assert_int_equal(f->origins[0].in_len, 0);
	assert_true(f->origins[0].is_ended);
}

static void
what_was_dialled_under_another_policy_is_not_used(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, GET);
	peer_say(o, OK2);
	fix_until(f, pool_count(&f->gate) == 1);
	fix_close(f);
	/* No connection is there that would be told. */
	fix_set_policy(f, POLICY);
	fix_open_http(f);
	(void)fix_ask(f, GET);
	assert_int_equal(f->origin_count, 2);
}

/* --- HTTP/2 --- */

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

static void
after_goaway_the_next_is_dialled_anew(void **state)
{
	struct fix *f = *state;
	struct h2p_stream *first, *next;
	struct two t, other;

	side_guest(&t.g, f, true);
	first = ask(&t, ASK("GET", "/p"));
	meet_origin(&t, f, 0);
	assert_int_equal(nghttp2_submit_goaway(t.o.h2->session, 0, 1, 0, NULL,
			     0),
	    0);
	fix_settle(f);
	next = ask(&t, ASK("GET", "/p"));
	meet_origin(&other, f, 1);
	h2p_answer(other.o.h2, &other.o.h2->streams[0], ":status: 204\n", NULL);
	fix_until(f, next->is_ended);
	/* What was asked before is still answered, then it ends. */
	h2p_answer(t.o.h2, &t.o.h2->streams[0], ":status: 204\n", NULL);
	fix_until(f, first->is_ended);
	fix_until(f, t.o.p->is_ended);
	side_done(&other.o);
	done(&t);
}

/* Whatever it is: the origin has done nothing with it (RFC 9113 8.7). */
static void
what_goaway_leaves_out_is_asked_elsewhere(void **state)
{
	static const char *const asks[] = { ASK("GET", "/p"),
		ASK("POST", "/p") "content-length: 0\n", ASK("PATCH", "/p") };
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		struct h2p_stream *first, *next;
		struct two t, other;

		side_guest(&t.g, f, true);
		first = ask(&t, ASK("GET", "/p"));
		meet_origin(&t, f, 0);
		fix_settle(f);
		next = ask(&t, asks[i]);
		fix_until(f, t.o.h2->count == 2);
		assert_int_equal(nghttp2_submit_goaway(t.o.h2->session, 0, 1, 0,
				     NULL, 0),
		    0);
		meet_origin(&other, f, 1);
		h2p_answer(other.o.h2, &other.o.h2->streams[0],
		    ":status: 204\n", NULL);
		fix_until(f, next->is_ended);
		assert_true(h2p_has(next->head, ":status: 204\n"));
		h2p_answer(t.o.h2, &t.o.h2->streams[0], ":status: 204\n", NULL);
		fix_until(f, first->is_ended);
		side_done(&other.o);
		done(&t);
		fix_close(f);
		fix_forget_origins(f);
	}
}

/* The stream was not looked at: it is asked once more, elsewhere. */
static void
a_refused_stream_is_asked_once_more(void **state)
{
	struct fix *f = *state;
	struct h2p_stream *s;
	struct two t, other;

	side_guest(&t.g, f, true);
	s = ask(&t, ASK("GET", "/p"));
	meet_origin(&t, f, 0);
	h2p_reset(t.o.h2, &t.o.h2->streams[0], NGHTTP2_REFUSED_STREAM);
	meet_origin(&other, f, 1);
	h2p_reset(other.o.h2, &other.o.h2->streams[0], NGHTTP2_REFUSED_STREAM);
	fix_until(f, s->is_ended);
	assert_true(h2p_has(s->head, ":status: 502\n"));
	assert_int_equal(f->origin_count, 2);
	side_done(&other.o);
	done(&t);
}

/* The body is gone: the guest, who has it, is told that it may ask again. */
static void
a_refused_upload_is_the_guests_to_repeat(void **state)
{
	struct fix *f = *state;
	const struct h2p_stream body = { .text = "hello" };

	for (unsigned int v = 0; v < 2; v++) {
		bool is_h2 = v == 0;
		const struct side_message post = { .method = "POST",
			.body = SIDE_LENGTH,
			.size = 5 };
		struct two t = { .o = { .h2 = NULL } };

		f->record_count = 0;
		side_guest(&t.g, f, is_h2);
		if (is_h2)
			t.g.s = h2p_ask(t.g.h2, ASK("POST", "/p"), &body);
		else
			side_send(&t.g, &post);
		meet_origin(&t, f, 0);
		fix_until(f, t.o.h2->streams[0].body_len == 5);
		h2p_reset(t.o.h2, &t.o.h2->streams[0], NGHTTP2_REFUSED_STREAM);
		fix_until(f, f->record_count == 1);
		assert_int_equal(fix_last(f)->r.reason,
		    REASON_ORIGIN_UNREACHABLE);
		if (is_h2) {
			fix_until(f, t.g.s->is_reset);
			assert_int_equal(t.g.s->error, NGHTTP2_REFUSED_STREAM);
			assert_false(t.g.s->has_head);
		} else {
			fix_until(f, peer_has(&f->guest, "HTTP/1.1 502 "));
		}
		assert_int_equal(fix_last(f)->r.status, is_h2 ? 0 : 502);
		assert_int_equal(f->origin_count, 1);
		done(&t);
		fix_close(f);
		fix_forget_origins(f);
	}
}

static void
a_stale_connection_is_asked_past(void **state)
{
	struct fix *f = *state;
	struct h2p_stream *s;
	struct two t, other;

	side_guest(&t.g, f, true);
	s = ask(&t, ASK("GET", "/p"));
	meet_origin(&t, f, 0);
	h2p_answer(t.o.h2, &t.o.h2->streams[0], ":status: 204\n", NULL);
	fix_until(f, s->is_ended);
	fix_settle(f);
	s = ask(&t, ASK("GET", "/p"));
	fix_until(f, t.o.h2->count == 2);
	peer_drop(t.o.p);
	meet_origin(&other, f, 1);
	h2p_answer(other.o.h2, &other.o.h2->streams[0], ":status: 204\n", NULL);
	fix_until(f, s->is_ended);
	assert_true(h2p_has(s->head, ":status: 204\n"));
	side_done(&other.o);
	done(&t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_H2(name) cmocka_unit_test_setup_teardown(name, setup_h2, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pooled_connection_that_is_closed_is_replaced_once),
		TEST(
		    what_a_stale_connection_ate_is_sent_once_more_if_it_may_be),
		TEST(row_59_a_pooled_connection_that_has_spoken_is_not_taken),
		TEST(row_59_an_origin_that_speaks_first_is_not_asked),
		TEST(what_was_dialled_under_another_policy_is_not_used),
		TEST_H2(after_goaway_the_next_is_dialled_anew),
		TEST_H2(what_goaway_leaves_out_is_asked_elsewhere),
		TEST_H2(a_refused_stream_is_asked_once_more),
		TEST_H2(a_refused_upload_is_the_guests_to_repeat),
		TEST_H2(a_stale_connection_is_asked_past),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
