/*
 * Overlapping connects. Loopback alone: an address that does not answer is a
 * listener whose queue is full.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "proxy/dialler_connect.h"
#include "tests/unit/count_fds.h"

#define FILL 8
#define DEADLINE_S 20

struct result {
	struct event_base *base;
	unsigned int count;
	int fd;
	int err;
	struct address address;
};

static void
on_connected(int fd, int err, const struct address *a, void *arg)
{
	struct result *r = arg;

	r->count++;
	r->fd = fd;
	r->err = err;
	r->address = *a;
}

static struct address
ipv4(const char *text)
{
	struct address a;

	assert_true(address_parse(span_of(text), &a));
	return a;
}

static int
listen_on(const char *text, uint16_t port, int backlog)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, text, &sa.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

static uint16_t
port_of(int fd)
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	return ntohs(sa.sin_port);
}

/* Connections that nobody accepts, until the kernel takes no more. */
static void
fill_queue(const char *text, uint16_t port, int fds[FILL])
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons(port) };

	assert_int_equal(inet_pton(AF_INET, text, &sa.sin_addr), 1);
	for (int i = 0; i < FILL; i++) {
		fds[i] = socket(AF_INET,
		    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(fds[i], (struct sockaddr *)&sa, sizeof(sa));
	}
}

static struct dialler_connect *
start(struct result *r, const struct address *addresses, unsigned int count,
    uint16_t port, uint32_t timeout_ms)
{
	const struct dialler_connect_ask ask = { .addresses = addresses,
		.count = count,
		.port = port,
		.timeout_ms = timeout_ms,
		.done = on_connected,
		.arg = r };

	return dialler_connect_start(r->base, &ask);
}

static void
run_until_done(struct result *r)
{
	const struct timeval deadline = { DEADLINE_S, 0 };

	while (r->count == 0) {
		assert_int_equal(event_base_loopexit(r->base, &deadline), 0);
		assert_int_equal(event_base_loop(r->base, EVLOOP_ONCE), 0);
		assert_false(event_base_got_exit(r->base));
	}
}

static void
assert_nodelay(int fd)
{
	int on = 0;
	socklen_t len = sizeof(on);

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &len),
	    0);
	assert_int_equal(on, 1);
}

static void
does_not_wait_for_an_address_that_is_silent(void **state)
{
	const struct address tries[] = { ipv4("127.0.0.4"), ipv4("127.0.0.5") };
	struct result r = { .base = event_base_new() };
	const int silent = listen_on("127.0.0.4", 0, 0);
	const uint16_t port = port_of(silent);
	const int good = listen_on("127.0.0.5", port, 8);
	int fill[FILL];
	uint64_t begin;

	(void)state;
	fill_queue("127.0.0.4", port, fill);
	begin = clock_mono_ms();
	assert_non_null(start(&r, tries, 2, port, 10000));
	run_until_done(&r);
	assert_true(r.fd != -1);
	assert_true(address_equals(&r.address, &tries[1]));
	assert_true(clock_mono_ms() - begin >= DIALLER_CONNECT_STAGGER_MS - 20);
	assert_nodelay(r.fd);
	(void)close(r.fd);
	for (int i = 0; i < FILL; i++)
		(void)close(fill[i]);
	(void)close(silent);
	(void)close(good);
	event_base_free(r.base);
}

/* Its other end resets it; whoever holds it then tries to use it again. */
static void
assert_cannot_be_made_anew(int fd, int listener)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons(port_of(listener)) };
	const int end = accept(listener, NULL, NULL);
	char c;

	assert_int_equal(setsockopt(end, SOL_SOCKET, SO_LINGER, &now,
			     sizeof(now)),
	    0);
	(void)close(end);
	assert_int_equal(recv(fd, &c, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(inet_pton(AF_INET, "127.0.0.5", &sa.sin_addr), 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sendto(fd, "x", 1, MSG_FASTOPEN,
				     (struct sockaddr *)&sa, sizeof(sa)),
		    -1);
		assert_int_equal(errno, EISCONN);
	}
}

static void
a_connection_cannot_be_made_anew(void **state)
{
	const struct address tries[] = { ipv4("127.0.0.5") };
	struct result r = { .base = event_base_new() };
	const int good = listen_on("127.0.0.5", 0, 8);

	(void)state;
	assert_non_null(start(&r, tries, 1, port_of(good), 10000));
	run_until_done(&r);
	assert_cannot_be_made_anew(r.fd, good);
	(void)close(r.fd);
	(void)close(good);
	event_base_free(r.base);
}

/* The first SYN finds no room, the second, after a second, does. */
static void
nor_can_one_that_was_waited_for(void **state)
{
	const struct address tries[] = { ipv4("127.0.0.4") };
	struct result r = { .base = event_base_new() };
	const int slow = listen_on("127.0.0.4", 0, 0);
	int fill[FILL];

	(void)state;
	fill_queue("127.0.0.4", port_of(slow), fill);
	assert_non_null(start(&r, tries, 1, port_of(slow), 10000));
	assert_int_equal(event_base_loop(r.base, EVLOOP_NONBLOCK), 0);
	assert_int_equal(r.count, 0);
	for (int i = 0; i < FILL; i++)
		(void)close(fill[i]);
	(void)close(accept(slow, NULL, NULL));
	run_until_done(&r);
	assert_true(r.fd != -1);
	assert_nodelay(r.fd);
	assert_cannot_be_made_anew(r.fd, slow);
	(void)close(r.fd);
	(void)close(slow);
	event_base_free(r.base);
}

static void
gives_up_at_its_deadline_and_closes_all(void **state)
{
	const struct address tries[] = { ipv4("127.0.0.4") };
	const int before = count_fds();
	struct result r = { .base = event_base_new() };
	const int silent = listen_on("127.0.0.4", 0, 0);
	const uint16_t port = port_of(silent);
	int fill[FILL];

	(void)state;
	fill_queue("127.0.0.4", port, fill);
	assert_non_null(start(&r, tries, 1, port, 100));
	run_until_done(&r);
	assert_int_equal(r.fd, -1);
	assert_int_equal(r.err, ETIMEDOUT);
	for (int i = 0; i < FILL; i++)
		(void)close(fill[i]);
	(void)close(silent);
	event_base_free(r.base);
	assert_int_equal(count_fds(), before);
}

static void
says_so_when_all_refuse(void **state)
{
	const struct address tries[] = { ipv4("127.0.0.4"), ipv4("127.0.0.5"),
		ipv4("127.0.0.6") };
	struct result r = { .base = event_base_new() };
	const int probe = listen_on("127.0.0.7", 0, 1);
	const uint16_t port = port_of(probe);

	(void)state;
	assert_non_null(start(&r, tries, 3, port, 5000));
	/* Never from inside the call. */
	assert_int_equal(r.count, 0);
	run_until_done(&r);
	assert_int_equal(r.err, ECONNREFUSED);
	(void)close(probe);
	event_base_free(r.base);
}

static void
leaves_nothing_when_it_is_cancelled(void **state)
{
	const struct address tries[] = { ipv4("127.0.0.4") };
	const int before = count_fds();
	struct result r = { .base = event_base_new() };
	const int good = listen_on("127.0.0.4", 0, 8);

	(void)state;
	dialler_connect_cancel(start(&r, tries, 1, port_of(good), 5000));
	assert_int_equal(event_base_loop(r.base, EVLOOP_NONBLOCK), 1);
	assert_int_equal(r.count, 0);
	(void)close(good);
	event_base_free(r.base);
	assert_int_equal(count_fds(), before);
}

static void
tries_families_in_turn(void **state)
{
	static const char *const texts[] = { "192.0.2.1", "192.0.2.2",
		"192.0.2.3", "2001:db8::1", "2001:db8::2" };
	static const char *const ipv4_first[] = { "192.0.2.1", "2001:db8::1",
		"192.0.2.2", "2001:db8::2", "192.0.2.3" };
	static const char *const ipv6_first[] = { "2001:db8::1", "192.0.2.1",
		"2001:db8::2", "192.0.2.2", "192.0.2.3" };
	struct address in[5], many[20], out[DIALLER_CONNECT_TRIES_MAX];
	char buf[ADDRESS_TEXT_SIZE];

	(void)state;
	for (int i = 0; i < 5; i++)
		in[i] = ipv4(texts[i]);
	assert_int_equal(dialler_connect_order(in, 5, false, out), 5);
	for (int i = 0; i < 5; i++)
		assert_string_equal(address_format(&out[i], buf),
		    ipv4_first[i]);
	assert_int_equal(dialler_connect_order(in, 5, true, out), 5);
	for (int i = 0; i < 5; i++)
		assert_string_equal(address_format(&out[i], buf),
		    ipv6_first[i]);
	for (int i = 0; i < 20; i++)
		many[i] = in[0];
	assert_int_equal(dialler_connect_order(many, 20, true, out),
	    DIALLER_CONNECT_TRIES_MAX);
	assert_int_equal(dialler_connect_order(in, 0, true, out), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(does_not_wait_for_an_address_that_is_silent),
		cmocka_unit_test(a_connection_cannot_be_made_anew),
		cmocka_unit_test(nor_can_one_that_was_waited_for),
		cmocka_unit_test(gives_up_at_its_deadline_and_closes_all),
		cmocka_unit_test(says_so_when_all_refuse),
		cmocka_unit_test(leaves_nothing_when_it_is_cancelled),
		cmocka_unit_test(tries_families_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
