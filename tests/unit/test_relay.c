/*
 * Relays: every byte arrives, once and in order, whoever is slow, and nothing
 * of ours holds it meanwhile.
 */
#include "gate_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client_hello.h"
#include "count_fds.h"
#include "loop_pause.h"
#include "proxy/conn.h"
#include "proxy/pipes.h"
#include "proxy/relay.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow through]\nhost = through.example.org\nport = PORT\n"           \
	"tls = passthrough\n"

#define MEGABYTE (1u << 20)

static int
setup(void **state)
{
	*state = fixture_new(POLICY, NULL);
	return 0;
}

static int
teardown(void **state)
{
	clock_test_release();
	fixture_free(*state);
	return 0;
}

struct joined {
	int guest, origin;
};

static struct joined
join(struct fixture *f)
{
	struct joined j = { .guest = fixture_guest_here(f) };
	uint8_t hello[512], got[512];
	size_t len = client_hello("through.example.org", false, hello);

	fixture_write(j.guest, hello, len);
	j.origin = fixture_accept(f);
	assert_int_equal(fixture_read(f, j.origin, got, len), (ssize_t)len);
	return j;
}

static void
part(struct fixture *f, struct joined *j)
{
	fd_close(&j->guest);
	fd_close(&j->origin);
	fixture_wait_closed(f);
}

/* Bytes that tell their place in the stream, in a period of no power of 2. */
static uint8_t
byte_at(uint64_t place)
{
	return (uint8_t)((place * 2654435761u) >> 13);
}

struct flow {
	int from, to;
	uint64_t total, sent, got;
};

/* One non-blocking step of writing and reading. False: both are done. */
static bool
flow_step(struct flow *x, size_t piece)
{
	static uint8_t buf[MEGABYTE];
	size_t len = piece;
	ssize_t n;

	if (len > x->total - x->sent)
		len = (size_t)(x->total - x->sent);
	for (size_t i = 0; i < len; i++)
		buf[i] = byte_at(x->sent + i);
	n = len == 0 ? 0 : send(x->from, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	assert_true(n >= 0 || errno == EAGAIN);
	x->sent += n > 0 ? (uint64_t)n : 0;
	n = recv(x->to, buf, sizeof(buf), MSG_DONTWAIT);
	assert_true(n >= 0 || errno == EAGAIN);
	for (ssize_t i = 0; i < n; i++)
		if (buf[i] != byte_at(x->got + (uint64_t)i))
			fail_msg("byte %zd of a read is another", i);
	x->got += n > 0 ? (uint64_t)n : 0;
	return x->got < x->total;
}

static void
run_flows(struct fixture *f, struct flow *flows, size_t count, size_t piece)
{
	bool is_running = true;

	while (is_running) {
		is_running = false;
		for (size_t i = 0; i < count; i++)
			if (flow_step(&flows[i], piece))
				is_running = true;
		fixture_turn(f);
	}
}

static void
carries_64_megabytes_each_way_at_once(void **state)
{
	struct fixture *f = *state;
	struct joined j = join(f);
	struct flow flows[] = {
		{ j.guest, j.origin, 64 * MEGABYTE, 0, 0 },
		{ j.origin, j.guest, 64 * MEGABYTE, 0, 0 },
	};
	const struct fixture_record *rec;

	run_flows(f, flows, 2, MEGABYTE);
	part(f, &j);
	rec = fixture_wait_record(f, 1);
	assert_true(rec->r.up >= 64 * MEGABYTE);
	assert_int_equal(rec->r.down, 64 * MEGABYTE);
	assert_string_equal(rec->detail, "");
}

static void
carries_bytes_one_by_one(void **state)
{
	struct fixture *f = *state;
	struct joined j = join(f);
	struct flow flows[] = {
		{ j.guest, j.origin, 3000, 0, 0 },
		{ j.origin, j.guest, 3000, 0, 0 },
	};
	int on = 1;

	assert_int_equal(setsockopt(j.guest, IPPROTO_TCP, TCP_NODELAY, &on,
			     sizeof(on)),
	    0);
	run_flows(f, flows, 2, 1);
	part(f, &j);
}

/* Pieces around the sizes where the ways of moving change. */
static void
carries_pieces_of_every_size(void **state)
{
	static const size_t pieces[] = { 1, 4095, 4096, 32767, 32768, 65535,
		65536, 65537, 200000 };
	struct fixture *f = *state;
	struct joined j = join(f);

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct flow flows[] = {
			{ j.guest, j.origin, pieces[i], 0, 0 },
			{ j.origin, j.guest, 3 * pieces[i], 0, 0 },
		};

		run_flows(f, flows, 2, pieces[i]);
	}
	part(f, &j);
}

static void
passes_the_end_of_the_guests_stream_on(void **state)
{
	struct fixture *f = *state;
	struct joined j = join(f);
	uint8_t got[64];

	fixture_write(j.guest, "request", 7);
	assert_int_equal(shutdown(j.guest, SHUT_WR), 0);
	assert_int_equal(fixture_read(f, j.origin, got, 64), 7);
	/* The other way stays open. */
	assert_int_equal(f->gate.conn_count, 1);
	fixture_write(j.origin, "answer", 6);
	fd_close(&j.origin);
	assert_int_equal(fixture_read(f, j.guest, got, 64), 6);
	fixture_wait_closed(f);
	part(f, &j);
	assert_int_equal(fixture_wait_record(f, 1)->r.reason, REASON_NONE);
}

static void
passes_the_end_of_the_origins_stream_on(void **state)
{
	struct fixture *f = *state;
	struct joined j = join(f);
	uint8_t got[64];

	assert_int_equal(shutdown(j.origin, SHUT_WR), 0);
	assert_int_equal(fixture_read(f, j.guest, got, 64), 0);
	assert_int_equal(f->gate.conn_count, 1);
	fixture_write(j.guest, "still here", 10);
	assert_int_equal(fixture_read(f, j.origin, got, 10), 10);
	part(f, &j);
}

/* The end may come in one piece with the last bytes, or with the hello. */
static void
carries_a_guest_that_has_sent_all_before_it_is_joined(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512], got[600];
	size_t len = client_hello("through.example.org", false, hello);
	int guest = fixture_guest_here(f), origin;

	fixture_write(guest, hello, len);
	fixture_write(guest, "rest", 4);
	assert_int_equal(shutdown(guest, SHUT_WR), 0);
	origin = fixture_accept(f);
	assert_int_equal(fixture_read(f, origin, got, sizeof(got)),
	    (ssize_t)len + 4);
	(void)close(origin);
	(void)close(guest);
	fixture_wait_closed(f);
}

static void
reset_by_linger(int *fd)
{
	struct linger now = { 1, 0 };

	assert_int_equal(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now,
			     sizeof(now)),
	    0);
	fd_close(fd);
}

static void
passes_a_reset_on_in_both_directions(void **state)
{
	struct fixture *f = *state;
	uint8_t got[1];

	for (int i = 0; i < 2; i++) {
		struct joined j = join(f);

		reset_by_linger(i == 0 ? &j.guest : &j.origin);
		assert_int_equal(fixture_read(f, i == 0 ? j.origin : j.guest,
				     got, 1),
		    -ECONNRESET);
		assert_string_equal(fixture_wait_record(f, (size_t)i + 1)
					->detail,
		    "reset");
		part(f, &j);
	}
}

/* Writes until nobody takes more. Returns how much went in. */
static uint64_t
fill(struct fixture *f, int fd)
{
	static uint8_t buf[65536];
	uint64_t total = 0;
	int refused = 0;

	while (refused < 50) {
		ssize_t n =
		    send(fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_NOSIGNAL);

		refused = n > 0 ? 0 : refused + 1;
		total += n > 0 ? (uint64_t)n : 0;
		assert_true(total < 64 * MEGABYTE);
		fixture_turn(f);
	}
	return total;
}

static void
holds_nothing_for_a_guest_that_does_not_read(void **state)
{
	struct fixture *f = *state;
	struct joined j = join(f);
	static uint8_t buf[MEGABYTE];
	size_t before = mallinfo2().uordblks, after;
	uint64_t total = fill(f, j.origin), got = 0;

	after = mallinfo2().uordblks;
	/* One event for "writable" is all. */
	assert_true(after < before + 1024);
	while (got < total) {
		ssize_t n = recv(j.guest, buf, sizeof(buf), MSG_DONTWAIT);

		got += n > 0 ? (uint64_t)n : 0;
		fixture_turn(f);
	}
	part(f, &j);
}

/* More relays stand still than there are pipes: one more still moves. */
static void
moves_bytes_when_all_pipes_are_lent(void **state)
{
	struct fixture *f = *state;
	struct joined stuck[PIPES_MAX + 6], j;
	struct flow flows[2];

	for (size_t i = 0; i < PIPES_MAX + 6; i++) {
		int small = 4096;

		stuck[i] = join(f);
		(void)setsockopt(stuck[i].guest, SOL_SOCKET, SO_RCVBUF, &small,
		    sizeof(small));
		(void)fill(f, stuck[i].origin);
	}
	j = join(f);
	flows[0] = (struct flow){ j.guest, j.origin, 4 * MEGABYTE, 0, 0 };
	flows[1] = (struct flow){ j.origin, j.guest, 4 * MEGABYTE, 0, 0 };
	run_flows(f, flows, 2, MEGABYTE);
	for (size_t i = 0; i < PIPES_MAX + 6; i++) {
		fd_close(&stuck[i].guest);
		fd_close(&stuck[i].origin);
	}
	part(f, &j);
}

static void
ends_a_relay_that_has_been_idle_too_long(void **state)
{
	struct fixture *f = *state;
	struct joined j;
	uint8_t got[1];
	const struct fixture_record *rec;

	f->gate.limits.relay_idle_timeout_ms = 40;
	j = join(f);
	assert_int_equal(fixture_read(f, j.guest, got, 1), -ECONNRESET);
	rec = fixture_wait_record(f, 1);
	assert_int_equal(rec->r.reason, REASON_TIMEOUT);
	assert_int_equal(rec->r.verdict, ACTION_ALLOW);
	part(f, &j);
}

/* By a clock that stands: a machine that stalls makes nobody idle. */
static void
keeps_a_relay_that_moves_bytes(void **state)
{
	struct fixture *f = *state;
	struct joined j;
	uint8_t got[1];

	f->gate.limits.relay_idle_timeout_ms = 20;
	clock_test_set(clock_mono_ms(), clock_boot_ms(), clock_wall_ms());
	j = join(f);
	for (int i = 0; i < 8; i++) {
		clock_test_advance(15);
		fixture_write(j.guest, "x", 1);
		assert_int_equal(fixture_read(f, j.origin, got, 1), 1);
		/* Its timer comes meanwhile. */
		(void)loop_pause(f->base, 25);
	}
	assert_int_equal(f->gate.conn_count, 1);
	clock_test_advance(20);
	assert_int_equal(fixture_read(f, j.guest, got, 1), -ECONNRESET);
	clock_test_release();
	part(f, &j);
}

/* One that moves as fast as it can must not keep the others waiting. */
static void
gives_others_their_turn(void **state)
{
	struct fixture *f = *state;
	struct joined fast = join(f), slow = join(f);
	struct flow flow = { fast.origin, fast.guest, 8 * MEGABYTE, 0, 0 };
	uint8_t got[4];

	while (flow_step(&flow, MEGABYTE)) {
		fixture_turn(f);
		fixture_write(slow.guest, "ping", 4);
		assert_int_equal(fixture_read(f, slow.origin, got, 4), 4);
	}
	fd_close(&fast.guest);
	fd_close(&fast.origin);
	part(f, &slow);
}

static void
leaves_no_descriptor_behind(void **state)
{
	struct fixture *f = *state;
	struct joined j = join(f);
	int before, after;

	part(f, &j);
	before = count_fds();
	for (int i = 0; i < 50; i++) {
		j = join(f);
		(void)fill(f, i % 2 == 0 ? j.guest : j.origin);
		part(f, &j);
	}
	after = count_fds();
	/* Pipes that came back empty are kept: at most one for each way. */
	assert_true(after <= before + 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(carries_64_megabytes_each_way_at_once),
		TEST(carries_bytes_one_by_one),
		TEST(carries_pieces_of_every_size),
		TEST(passes_the_end_of_the_guests_stream_on),
		TEST(passes_the_end_of_the_origins_stream_on),
		TEST(carries_a_guest_that_has_sent_all_before_it_is_joined),
		TEST(passes_a_reset_on_in_both_directions),
		TEST(holds_nothing_for_a_guest_that_does_not_read),
		TEST(moves_bytes_when_all_pipes_are_lent),
		TEST(ends_a_relay_that_has_been_idle_too_long),
		TEST(keeps_a_relay_that_moves_bytes),
		TEST(gives_others_their_turn),
		TEST(leaves_no_descriptor_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
