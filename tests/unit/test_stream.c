/*
 * Streams of TLS by themselves: the test plays the peer with the library alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "proxy/stream.h"
#include "proxy/x509_make.h"

#define RECORD 16384
#define DAY_S 86400

struct two {
	struct event_base *base;
	SSL_CTX *ours, *theirs;
	struct stream s;
	SSL *peer;
	int peer_fd;
	unsigned int ready_count;
};

static void
on_ready(struct stream *s, void *arg)
{
	struct two *t = arg;

	(void)s;
	t->ready_count++;
}

static SSL_CTX *
context_with_key(void)
{
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *key = x509_make_key();
	X509 *x = X509_new();
	int64_t now = time(NULL);

	assert_true(x509_make_serial(x));
	assert_true(x509_make_validity(x, now - DAY_S, now + DAY_S));
	assert_true(x509_make_name(X509_get_subject_name(x), "test"));
	assert_int_equal(X509_set_pubkey(x, key), 1);
	assert_true(X509_sign(x, key, EVP_sha256()) > 0);
	assert_int_equal(SSL_CTX_use_cert_and_key(c, x, key, NULL, 1), 1);
	assert_int_equal(SSL_CTX_set_num_tickets(c, 1), 1);
	(void)SSL_CTX_set_mode(c,
	    SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_read_ahead(c, 1);
	X509_free(x);
	EVP_PKEY_free(key);
	return c;
}

static void
shake(struct two *t)
{
	enum stream_result r = STREAM_AGAIN;
	int rc = 0;

	for (int i = 0; i < 10 && (rc != 1 || r != STREAM_OK); i++) {
		if (rc != 1)
			rc = SSL_do_handshake(t->peer);
		if (r != STREAM_OK)
			r = stream_handshake(&t->s);
	}
	assert_int_equal(rc, 1);
	assert_int_equal(r, STREAM_OK);
}

/* A pair whose handshake is done, and whose sockets hold little. */
static struct two *
open_two(int version)
{
	struct two *t = calloc(1, sizeof(*t));
	const int small = 4096;
	int fds[2];
	SSL *ssl;

	t->base = event_base_new();
	t->ours = context_with_key();
	t->theirs = SSL_CTX_new(TLS_client_method());
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fd_set_nonblock(fds[i], true), 0);
		assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF,
				     &small, sizeof(small)),
		    0);
	}
	ssl = SSL_new(t->ours);
	SSL_set_accept_state(ssl);
	assert_int_equal(SSL_set_max_proto_version(ssl, version), 1);
	stream_init(&t->s, t->base, fds[0], ssl, on_ready, t);
	t->peer_fd = fds[1];
	t->peer = SSL_new(t->theirs);
	SSL_set_connect_state(t->peer);
	(void)SSL_set_mode(t->peer,
	    SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	assert_int_equal(SSL_set_fd(t->peer, fds[1]), 1);
	shake(t);
	return t;
}

static void
close_two(struct two *t)
{
	stream_done(&t->s);
	SSL_free(t->peer);
	(void)close(t->s.fd);
	(void)close(t->peer_fd);
	SSL_CTX_free(t->ours);
	SSL_CTX_free(t->theirs);
	event_base_free(t->base);
	free(t);
}

static void
fill(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 7 + i / 251);
}

/* All that the peer reads until it has to wait. */
static size_t
peer_read(struct two *t, uint8_t *buf, size_t size)
{
	size_t total = 0, len = 0;

	while (total < size &&
	    SSL_read_ex(t->peer, buf + total, size - total, &len) == 1)
		total += len;
	return total;
}

static bool
has_bytes(int fd)
{
	uint8_t byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

static void
what_the_socket_does_not_take_goes_when_it_does(void **state)
{
	static uint8_t all[6 * RECORD], got[sizeof(all)];
	struct two *t = open_two(TLS1_3_VERSION);
	size_t at = 0, read = 0;

	(void)state;
	fill(all, sizeof(all));
	while (at < sizeof(all) || stream_has_unsent(&t->s)) {
		struct span rest = { all + at, sizeof(all) - at };
		size_t len = 0;

		if (rest.len > 0 &&
		    stream_write(&t->s, rest, &len) == STREAM_OK)
			at += len;
		read += peer_read(t, got + read, sizeof(got) - read);
		(void)event_base_loop(t->base, EVLOOP_NONBLOCK);
	}
	read += peer_read(t, got + read, sizeof(got) - read);
	assert_int_equal(read, sizeof(all));
	assert_memory_equal(got, all, sizeof(all));
	/* It was told of room, since it had to wait for it. */
	assert_true(t->ready_count > 0);
	close_two(t);
}

static void
takes_no_more_while_something_waits(void **state)
{
	static uint8_t all[4 * RECORD];
	struct two *t = open_two(TLS1_3_VERSION);
	size_t len = 0;

	(void)state;
	assert_int_equal(stream_write(&t->s, (struct span){ all, sizeof(all) },
			     &len),
	    STREAM_OK);
	assert_int_equal(len, sizeof(all));
	assert_true(stream_has_unsent(&t->s));
	for (int i = 0; i < 3; i++)
		assert_int_equal(stream_write(&t->s,
				     (struct span){ all, sizeof(all) }, &len),
		    STREAM_AGAIN);
	close_two(t);
}

static void
a_ticket_goes_with_the_first_answer(void **state)
{
	struct two *t = open_two(TLS1_3_VERSION);
	uint8_t buf[16];
	size_t len;

	(void)state;
	assert_int_equal(stream_read(&t->s, buf, sizeof(buf), &len),
	    STREAM_AGAIN);
	assert_false(has_bytes(t->peer_fd));
	/* Nothing that a close had to wait for. */
	assert_false(stream_has_unsent(&t->s));
	assert_int_equal(stream_write(&t->s, span_of("answer"), &len),
	    STREAM_OK);
	assert_int_equal(peer_read(t, buf, sizeof(buf)), 6);
	assert_memory_equal(buf, "answer", 6);
	assert_int_equal(SSL_SESSION_has_ticket(SSL_get0_session(t->peer)), 1);
	close_two(t);
}

static void
a_peer_of_tls_1_2_waits_for_nothing_else(void **state)
{
	/* Its last flight is ours: shake() ends only when it came. */
	struct two *t = open_two(TLS1_2_VERSION);
	uint8_t buf[16];
	size_t len;

	(void)state;
	assert_int_equal(stream_write(&t->s, span_of("answer"), &len),
	    STREAM_OK);
	assert_int_equal(peer_read(t, buf, sizeof(buf)), 6);
	close_two(t);
}

static void
peer_write(struct two *t, const uint8_t *p, size_t len)
{
	size_t n;

	assert_int_equal(SSL_write_ex(t->peer, p, len, &n), 1);
	assert_int_equal(n, len);
}

static void
a_read_takes_all_records_that_came(void **state)
{
	struct two *t = open_two(TLS1_3_VERSION);
	uint8_t all[900], got[sizeof(all)];
	size_t len = 0;

	(void)state;
	fill(all, sizeof(all));
	stream_keep_buffers(&t->s);
	for (size_t i = 0; i < 3; i++)
		peer_write(t, all + i * 300, 300);
	assert_int_equal(stream_read(&t->s, got, sizeof(got), &len), STREAM_OK);
	assert_int_equal(len, sizeof(all));
	assert_memory_equal(got, all, sizeof(all));
	assert_false(stream_has_more(&t->s));
	assert_int_equal(stream_read(&t->s, got, sizeof(got), &len),
	    STREAM_AGAIN);
	close_two(t);
}

/* The end is told after the bytes, once and again. */
static void
an_end_comes_after_what_came_with_it(void **state)
{
	static const struct {
		const char *claim;
		bool says_so, resets;
		enum stream_result want;
	} rows[] = {
		{ "close_notify", true, false, STREAM_END },
		{ "an end without it", false, false, STREAM_CUT },
		{ "a record that is none", false, true, STREAM_FAILED },
	};
	uint8_t got[64];
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct two *t = open_two(TLS1_3_VERSION);

		peer_write(t, (const uint8_t *)"last", 4);
		if (rows[i].says_so)
			(void)SSL_shutdown(t->peer);
		if (rows[i].resets)
			assert_int_equal(write(t->peer_fd, "\x16\x03\x03\0\1x",
					     6),
			    6);
		(void)shutdown(t->peer_fd, SHUT_WR);
		if (stream_read(&t->s, got, sizeof(got), &len) != STREAM_OK ||
		    len != 4 || memcmp(got, "last", 4) != 0)
			fail_msg("%s: the bytes are lost", rows[i].claim);
		for (int k = 0; k < 2; k++)
			if (stream_read(&t->s, got, sizeof(got), &len) !=
			    rows[i].want)
				fail_msg("%s: told as something else",
				    rows[i].claim);
		close_two(t);
	}
}

static void
a_write_to_nobody_fails(void **state)
{
	static uint8_t all[4 * RECORD];
	struct two *t = open_two(TLS1_3_VERSION);
	enum stream_result r = STREAM_OK;
	size_t len;

	(void)state;
	(void)shutdown(t->peer_fd, SHUT_RDWR);
	(void)close(t->peer_fd);
	t->peer_fd = -1;
	for (int i = 0; i < 3 && r == STREAM_OK; i++)
		r = stream_write(&t->s, (struct span){ all, sizeof(all) },
		    &len);
	assert_int_equal(r, STREAM_FAILED);
	assert_false(stream_has_unsent(&t->s));
	close_two(t);
}

static void
what_waits_moves_with_its_stream(void **state)
{
	static uint8_t all[2 * RECORD], got[sizeof(all)];
	struct two *t = open_two(TLS1_3_VERSION);
	struct stream *to = calloc(1, sizeof(*to));
	size_t len = 0, read = 0;

	(void)state;
	fill(all, sizeof(all));
	assert_int_equal(stream_write(&t->s, (struct span){ all, sizeof(all) },
			     &len),
	    STREAM_OK);
	assert_int_equal(len, sizeof(all));
	stream_move(to, &t->s, on_ready, t);
	assert_true(stream_has_unsent(to));
	while (stream_has_unsent(to)) {
		read += peer_read(t, got + read, sizeof(got) - read);
		(void)event_base_loop(t->base, EVLOOP_NONBLOCK);
	}
	read += peer_read(t, got + read, sizeof(got) - read);
	assert_int_equal(read, sizeof(all));
	assert_memory_equal(got, all, sizeof(all));
	stream_done(to);
	free(to);
	close_two(t);
}

/* KeyUpdate wants one in return: whoever sends many and reads none of them. */
static void
answers_that_nobody_reads_are_bounded(void **state)
{
	struct two *t = open_two(TLS1_3_VERSION);
	uint8_t got[64];
	size_t len, n;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		if (SSL_key_update(t->peer, SSL_KEY_UPDATE_REQUESTED) != 1 ||
		    SSL_write_ex(t->peer, "x", 1, &n) != 1)
			break;
		(void)stream_read(&t->s, got, sizeof(got), &len);
	}
	assert_in_range(t->s.unsent.len, 1, 200000);
	close_two(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    what_the_socket_does_not_take_goes_when_it_does),
		cmocka_unit_test(takes_no_more_while_something_waits),
		cmocka_unit_test(a_ticket_goes_with_the_first_answer),
		cmocka_unit_test(a_peer_of_tls_1_2_waits_for_nothing_else),
		cmocka_unit_test(a_read_takes_all_records_that_came),
		cmocka_unit_test(an_end_comes_after_what_came_with_it),
		cmocka_unit_test(a_write_to_nobody_fails),
		cmocka_unit_test(what_waits_moves_with_its_stream),
		cmocka_unit_test(answers_that_nobody_reads_are_bounded),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
