#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/channel_support.h"

/* Sends until it would have to wait; how many went. */
static uint32_t
fill(struct chan *c)
{
	const struct wr number = { (uint8_t[4]){ 0 }, 4, 4, false };
	uint32_t sent = 0;

	while (chan_try_send(c, TYPE_NUMBER, 1, &number) == 0)
		sent++;
	assert_true(sent > 10 && chan_is_open(c));
	return sent;
}

static void
a_slow_receiver_gets_all_in_order(void **state)
{
	int ends[2], before = count_fds();
	struct event_base *base = event_base_new();
	struct seen a, b;
	uint32_t sent, read_raw = 0;
	uint8_t raw[64];

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	sent = fill(a.chan);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(send_number(a.chan, 5000 + i), 0);
	/* Once something waits, nothing goes before it, room or not. */
	for (; read_raw < 10; read_raw++)
		assert_int_equal(recv(ends[1], raw, sizeof(raw), 0), 12);
	assert_int_equal(chan_try_send(a.chan, TYPE_NUMBER, 1, NULL), -EAGAIN);
	open_chan(&b, base, ends[1]);
	sent -= read_raw;
	while (b.count < sent + 1000)
		turn(base);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(b.numbers[(sent + i) % 1024], 5000 + i);
	chan_free(a.chan);
	chan_free(b.chan);
	event_base_free(base);
	assert_int_equal(count_fds(), before);
}

static void
descriptors_wait_with_their_packet(void **state)
{
	int ends[2], before = count_fds();
	struct event_base *base = event_base_new();
	struct seen a, b;
	uint32_t sent;

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	sent = fill(a.chan);
	for (int i = 0; i < 2; i++) {
		AUTO_CLOSE int fd = some_fd();

		assert_int_equal(chan_send(a.chan, TYPE_FDS, 0, NULL, &fd, 1),
		    0);
	}
	open_chan(&b, base, ends[1]);
	while (b.count < sent + 2)
		turn(base);
	assert_int_not_equal(fcntl(b.taken_fd, F_GETFD), -1);
	fd_close(&b.taken_fd);
	chan_free(a.chan);
	chan_free(b.chan);
	event_base_free(base);
	assert_int_equal(count_fds(), before);
}

static void
what_waits_goes_with_its_channel(void **state)
{
	int ends[2], before = count_fds();
	struct event_base *base = event_base_new();
	struct seen a;
	int fd = some_fd();

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	(void)fill(a.chan);
	for (int i = 0; i < 10; i++)
		assert_int_equal(chan_send(a.chan, TYPE_FDS, 0, NULL, &fd, 1),
		    0);
	chan_free(a.chan);
	fd_close(&fd);
	fd_close(&ends[1]);
	event_base_free(base);
	assert_int_equal(count_fds(), before);
}

static void
a_receiver_that_never_reads_is_ended(void **state)
{
	struct event_base *base = event_base_new();
	struct seen a;
	int ends[2], rc = 0;
	uint32_t sent = 0;

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	while (rc == 0 && sent++ < 100000)
		rc = send_number(a.chan, sent);
	assert_int_equal(rc, -ENOBUFS);
	assert_true(sent > CHAN_QUEUE_MAX);
	assert_false(chan_is_open(a.chan));
	assert_int_equal(send_number(a.chan, 1), -EPIPE);
	assert_int_equal(a.closed, 0);
	run_until_closed(&a);
	fd_close(&ends[1]);
	event_base_free(base);
}

static void
what_waits_is_bounded_in_bytes_too(void **state)
{
	static uint8_t buf[CHAN_PACKET_MAX - CHAN_HEADER_BYTES];
	const struct wr w = { buf, sizeof(buf), sizeof(buf), false };
	struct event_base *base = event_base_new();
	struct seen a;
	int ends[2], rc = 0;
	unsigned int sent = 0;

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	while (rc == 0 && sent++ < CHAN_QUEUE_MAX)
		rc = chan_send(a.chan, TYPE_BYTES, 0, &w, NULL, 0);
	assert_int_equal(rc, -ENOBUFS);
	assert_in_range(sent, CHAN_QUEUE_MAX_BYTES / CHAN_PACKET_MAX,
	    CHAN_QUEUE_MAX_BYTES / CHAN_PACKET_MAX + 8);
	run_until_closed(&a);
	fd_close(&ends[1]);
	event_base_free(base);
}

enum { ASKED = 40 };

/* Asks and does not read; a answers first. Returns the asker's end. */
static int
ask_unread(struct seen *a, struct event_base *base)
{
	const int small = 1;
	int ends[2];

	assert_int_equal(chan_pair(ends), 0);
	assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small,
			     sizeof(small)),
	    0);
	chan_answer_first(open_chan(a, base, ends[0]));
	for (int i = 0; i < ASKED; i++) {
		send_raw(ends[1], "\1\0" ANSWER "\0\0\0\7", 12, 0);
		settle(base);
	}
	assert_in_range(a->count, 2, ASKED / 2);
	assert_true(chan_is_open(a->chan));
	return ends[1];
}

static void
who_does_not_read_is_not_read(void **state)
{
	struct event_base *base = event_base_new();
	struct seen a;
	uint8_t raw[16];
	int peer = ask_unread(&a, base);

	(void)state;
	for (int i = 0; i < ASKED; i++) {
		assert_int_equal(recv(peer, raw, sizeof(raw), MSG_DONTWAIT),
		    12);
		settle(base);
	}
	assert_int_equal(a.count, ASKED);
	/* Its end is seen while it is not read, and what it sent is heard. */
	fd_close(&peer);
	run_until_closed(&a);
	peer = ask_unread(&a, base);
	fd_close(&peer);
	run_until_closed(&a);
	assert_int_equal(a.count, ASKED);
	event_base_free(base);
}

static void
what_gathered_is_taken_in_one_turn(void **state)
{
	struct event_base *base = event_base_new();
	struct seen a, b;
	int ends[2];

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	(void)open_many(&b, base, ends[1]);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(send_number(a.chan, i), 0);
	turn(base);
	assert_int_equal(b.count, 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(b.numbers[i], i);
	chan_free(a.chan);
	chan_free(b.chan);
	event_base_free(base);
}

/* What came before the bad one counts, what came behind it does not. */
static void
one_that_breaks_the_rules_ends_it_among_many(void **state)
{
	static const struct {
		const char *claim;
		uint16_t type;
		size_t len;
		unsigned int fd_count;
	} rows[] = {
		{ "a body over every limit", TYPE_NUMBER, 100, 0 },
		{ "a body over its own", TYPE_NUMBER, 5, 0 },
		{ "a type of no row", TYPE_ANSWER, 4, 0 },
		{ "a descriptor", TYPE_NUMBER, 4, 1 },
		{ "a handler that refuses", TYPE_REFUSED, 4, 0 },
	};
	uint8_t buf[100] = { 0 };
	int before = count_fds();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct event_base *base = event_base_new();
		struct wr w = { buf, sizeof(buf), rows[i].len, false };
		struct seen a, b;
		int ends[2];

		assert_int_equal(chan_pair(ends), 0);
		open_chan(&a, base, ends[0]);
		(void)open_many(&b, base, ends[1]);
		assert_int_equal(send_number(a.chan, 1), 0);
		assert_int_equal(chan_send(a.chan, rows[i].type, 0, &w,
				     &ends[0], rows[i].fd_count),
		    0);
		assert_int_equal(send_number(a.chan, 2), 0);
		settle(base);
		if (b.count != 1 || b.closed != 1)
			fail_msg("%s: %u taken, closed %u times", rows[i].claim,
			    b.count, b.closed);
		chan_free(a.chan);
		event_base_free(base);
	}
	assert_int_equal(count_fds(), before);
}

static void
what_does_not_fit_is_not_sent(void **state)
{
	static uint8_t buf[CHAN_PACKET_MAX];
	static const struct wr bodies[] = {
		{ buf, sizeof(buf), CHAN_PACKET_MAX - CHAN_HEADER_BYTES + 1,
		    false },
		{ buf, 4, 2, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct event_base *base = event_base_new();
		struct seen a;
		int ends[2];

		assert_int_equal(chan_pair(ends), 0);
		open_chan(&a, base, ends[0]);
		assert_int_equal(chan_send(a.chan, TYPE_BYTES, 0, &bodies[i],
				     NULL, 0),
		    -EMSGSIZE);
		assert_false(chan_is_open(a.chan));
		assert_int_equal(a.closed, 0);
		run_until_closed(&a);
		assert_int_equal(recv(ends[1], buf, sizeof(buf), 0), 0);
		fd_close(&ends[1]);
		event_base_free(base);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_receiver_gets_all_in_order),
		cmocka_unit_test(descriptors_wait_with_their_packet),
		cmocka_unit_test(what_waits_goes_with_its_channel),
		cmocka_unit_test(a_receiver_that_never_reads_is_ended),
		cmocka_unit_test(what_waits_is_bounded_in_bytes_too),
		cmocka_unit_test(who_does_not_read_is_not_read),
		cmocka_unit_test(what_gathered_is_taken_in_one_turn),
		cmocka_unit_test(one_that_breaks_the_rules_ends_it_among_many),
		cmocka_unit_test(what_does_not_fit_is_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
