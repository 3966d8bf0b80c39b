/*
 * The explicit proxy: absolute form and CONNECT (escapes, rows 67 and 73).
 */
#include "inspect_fixture.h"

#include <unistd.h>

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow plain]\nhost = a.example.org\nport = 80\nscheme = http\n"      \
	"path = /**\n"

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
absolute_form_goes_through_the_explicit_proxy(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_explicit(f);
	o = fix_ask(f,
	    "GET http://a.example.org/x HTTP/1.1\r\n" HOST
	    "Proxy-Connection: keep-alive\r\n\r\n");
	assert_true(peer_has(o, "GET /x HTTP/1.1\r\n" HOST "\r\n"));
	peer_say(o, OK2);
	fix_until(f, peer_has(&f->guest, "ok"));
	assert_false(f->is_closed);
	peer_clear(&f->guest);
	peer_clear(o);
	peer_say(&f->guest,
	    "PUT http://a.example.org/y HTTP/1.1\r\n" HOST
	    "Content-Length: 3\r\n\r\nabc");
	fix_until(f, peer_has(o, "abc"));
}

static const struct {
	const char *claim, *request, *want;
} explicit_refusals[] = {
	{ "https in absolute form",
	    "GET https://a.example.org/ HTTP/1.1\r\n" HOST "\r\n",
	    "HTTP/1.1 400 " },
	{ "origin form", GET, "HTTP/1.1 400 " },
	{ "CONNECT to a port that is not TLS",
	    "CONNECT a.example.org:80 HTTP/1.1\r\n"
	    "Host: a.example.org:80\r\n\r\n",
	    "HTTP/1.1 403 " },
	{ "CONNECT to a port without a rule",
	    "CONNECT a.example.org:22 HTTP/1.1\r\n"
	    "Host: a.example.org:22\r\n\r\n",
	    "HTTP/1.1 403 " },
	{ "CONNECT without a port",
	    "CONNECT a.example.org HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 400 " },
	{ "CONNECT with another Host",
	    "CONNECT a.example.org:443 HTTP/1.1\r\n"
	    "Host: b.example.org:443\r\n\r\n",
	    "HTTP/1.1 400 " },
	{ "CONNECT with a body",
	    "CONNECT a.example.org:443 HTTP/1.1\r\n"
	    "Host: a.example.org:443\r\n"
	    "Content-Length: 2\r\n\r\nhi",
	    "HTTP/1.1 400 " },
};

static void
row_67_what_the_explicit_proxy_refuses_it_closes(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0;
	     i < sizeof(explicit_refusals) / sizeof(explicit_refusals[0]);
	     i++) {
		fix_open_explicit(f);
		peer_say(&f->guest, explicit_refusals[i].request);
		fix_until(f, f->guest.is_ended);
		if (!peer_has(&f->guest, explicit_refusals[i].want))
			fail_msg("%s: %s", explicit_refusals[i].claim,
			    fix_guest_text(f));
		assert_true(peer_has(&f->guest, "Connection: close\r\n"));
		assert_int_equal(f->origin_count, 0);
		assert_false(f->has_restarted);
		peer_drop(&f->guest);
		fix_until(f, f->is_closed);
		fix_close(f);
	}
}

static void
row_73_connect_reads_nothing_past_its_head(void **state)
{
	struct fix *f = *state;
	static const char connect[] = "CONNECT denied.example:443 HTTP/1.1\r\n"
				      "Host: denied.example:443\r\n\r\n";
	char left[32] = "";

	for (size_t burst = 0; burst < 2; burst++) {
		fix_open_explicit(f);
		f->guest.burst = burst;
		peer_say(&f->guest, connect);
		peer_say(&f->guest, "hello early");
		fix_until(f, f->has_restarted);
		fix_until(f, f->guest.out_at == f->guest.out_len);
		fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
		assert_memory_equal(f->guest.in, "HTTP/1.1 200 ", 13);
		assert_int_equal(read(f->conn.fd, left, sizeof(left)), 11);
		assert_memory_equal(left, "hello early", 11);
		assert_string_equal(f->restarted_host, "denied.example");
		assert_int_equal(f->conn.port, 443);
		assert_int_equal(f->origin_count, 0);
		fix_close(f);
	}
}

static void
row_73_connect_behind_bytes_that_were_read_is_refused(void **state)
{
	struct fix *f = *state;
	struct peer *o;

	fix_open_explicit(f);
	/* A chunked body is read past its end. */
	peer_say(&f->guest,
	    "POST http://a.example.org/ HTTP/1.1\r\n" HOST
	    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	    "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n"
	    "hello early");
	o = fix_origin(f, 0);
	fix_until(f, peer_has(o, "0\r\n\r\n"));
	peer_say(o, OK2);
	fix_until(f, f->guest.is_ended);
	assert_true(peer_has(&f->guest, "HTTP/1.1 400 "));
	assert_false(f->has_restarted);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(absolute_form_goes_through_the_explicit_proxy),
		TEST(row_67_what_the_explicit_proxy_refuses_it_closes),
		TEST(row_73_connect_reads_nothing_past_its_head),
		TEST(row_73_connect_behind_bytes_that_were_read_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
