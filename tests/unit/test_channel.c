#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/channel_support.h"

static void
messages_arrive_with_their_ids(void **state)
{
	struct event_base *base = event_base_new();
	struct seen a, b;
	int ends[2];

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	open_chan(&b, base, ends[1]);
	for (uint32_t i = 1; i <= 100; i++)
		assert_int_equal(send_number(a.chan, 1000 + i), 0);
	settle(base);
	assert_int_equal(b.count, 100);
	assert_int_equal(b.numbers[99], 1100);
	assert_int_equal(b.last_id, 100);
	chan_free(a.chan);
	run_until_closed(&b);
	assert_int_equal(b.closed, 1);
	event_base_free(base);
}

static void
descriptors_arrive_and_what_is_left_is_closed(void **state)
{
	struct event_base *base = event_base_new();
	struct seen a, b;
	int ends[2], fds[2], before;

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	open_chan(&b, base, ends[1]);
	before = count_fds();
	fds[0] = memfd_create("passed", MFD_CLOEXEC);
	fds[1] = some_fd();
	assert_int_equal(fd_write_all(fds[0], "it", 2), 0);
	assert_int_equal(chan_send(a.chan, TYPE_FDS, 0, NULL, fds, 2), 0);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	turn(base);
	assert_int_equal(b.count, 1);
	assert_int_equal(count_fds(), before + 1);
	assert_int_equal(lseek(b.taken_fd, 0, SEEK_END), 2);
	assert_true(fcntl(b.taken_fd, F_GETFD) & FD_CLOEXEC);
	fd_close(&b.taken_fd);
	assert_true(chan_is_open(b.chan));
	chan_free(a.chan);
	chan_free(b.chan);
	event_base_free(base);
}

static void
as_many_descriptors_as_may_come(void **state)
{
	struct event_base *base = event_base_new();
	struct seen s;
	int ends[2], before;

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&s, base, ends[0]);
	before = count_fds();
	send_raw(ends[1], "\1\20" MANY, 8, 16);
	turn(base);
	assert_int_equal(s.count, 1);
	assert_true(chan_is_open(s.chan));
	assert_int_equal(count_fds(), before);
	chan_free(s.chan);
	fd_close(&ends[1]);
	event_base_free(base);
}

static void
a_broken_packet_ends_its_channel(void **state)
{
	static uint8_t oversize[CHAN_PACKET_MAX + 1] = { 1, 0, 0, TYPE_BYTES };
	static const struct {
		const char *claim;
		const void *bytes;
		size_t len;
		unsigned int fd_count;
	} rows[] = {
		{ "nothing", "", 0, 0 },
		{ "nothing, with descriptors", "", 0, 3 },
		{ "a byte", "\1", 1, 0 },
		{ "half a head, with descriptors", "\1\2\0\4", 4, 2 },
		{ "another version", "\2\0" NUMBER "abcd", 12, 0 },
		{ "a type without a row", "\1\0\0\3\0\0\0\1", 8, 0 },
		{ "a type's other byte", "\1\0\2\2\0\0\0\1", 8, 0 },
		{ "a body over its limit", "\1\0" NUMBER "abcde", 13, 0 },
		{ "a body that is short", "\1\0" NUMBER "abc", 11, 0 },
		{ "no body where one is due", "\1\0" NUMBER, 8, 0 },
		{ "a descriptor nobody asked for", "\1\1" NUMBER "abcd", 12,
		    1 },
		{ "one that the head hides", "\1\0" NUMBER "abcd", 12, 1 },
		{ "one that the head only claims", "\1\1" FDS, 8, 0 },
		{ "too few", "\1\0" FDS, 8, 0 },
		{ "too many", "\1\3" FDS, 8, 3 },
		{ "more than the head says", "\1\1" FDS, 8, 2 },
		{ "one over what any may bring", "\1\21" REFUSED, 8, 17 },
		{ "one over that, which the head hides", "\1\20" MANY, 8, 17 },
		{ "far over what any may bring", "\1\100" REFUSED, 8, 64 },
		{ "what its handler refuses", "\1\0" REFUSED, 8, 0 },
		{ "that, with descriptors", "\1\20" REFUSED, 8, 16 },
		{ "a packet over the limit", oversize, sizeof(oversize), 0 },
		{ "that, with descriptors", oversize, sizeof(oversize), 2 },
	};

	(void)state;
	log_init("test", LOG_LEVEL_ERR);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct event_base *base = event_base_new();
		struct seen s;
		int ends[2], before = count_fds();

		print_message("%s\n", rows[i].claim);
		assert_int_equal(chan_pair(ends), 0);
		open_chan(&s, base, ends[0]);
		send_raw(ends[1], rows[i].bytes, rows[i].len, rows[i].fd_count);
		/* What follows a break is not read. */
		send_raw(ends[1], "\1\0" NUMBER "abcd", 12, 0);
		run_until_closed(&s);
		assert_int_equal(s.closed, 1);
		fd_close(&s.taken_fd);
		assert_true(s.count == 0 || s.numbers[0] != 0x61626364);
		fd_close(&ends[1]);
		assert_int_equal(count_fds(), before);
		event_base_free(base);
	}
}

static void
what_a_message_held_is_wiped(void **state)
{
	struct event_base *base = event_base_new();
	static uint8_t buf[70000];
	struct wr w = wr_init(buf, sizeof(buf));
	struct seen a, b;
	int ends[2];

	(void)state;
	for (size_t i = 0; i < sizeof(buf); i++)
		wr_u8(&w, 0x55);
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	open_chan(&b, base, ends[1]);
	assert_int_equal(chan_send(a.chan, TYPE_BYTES, 0, &w, NULL, 0), 0);
	turn(base);
	assert_int_equal(b.body_len, sizeof(buf));
	for (size_t i = 0; i < sizeof(buf); i++)
		assert_int_equal(b.body[i], 0);
	chan_free(a.chan);
	chan_free(b.chan);
	event_base_free(base);
}

static void
last_words_are_heard_though_nobody_listens(void **state)
{
	struct event_base *base = event_base_new();
	struct seen a;
	int ends[2];

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	for (int i = 0; i < 100; i++)
		send_raw(ends[1], "\1\0" NUMBER "abcd", 12, 0);
	fd_close(&ends[1]);
	/* We learn that it is gone by sending, before we have read. */
	assert_int_equal(send_number(a.chan, 1), -EPIPE);
	assert_int_equal(a.count, 0);
	run_until_closed(&a);
	assert_int_equal(a.count, 100);
	assert_int_equal(a.closed, 1);
	event_base_free(base);
}

static void
last_words_are_heard_though_ours_were_not(void **state)
{
	struct event_base *base = event_base_new();
	struct seen a;
	int ends[2];

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	/* Closed with our message unread: recvmsg() says ECONNRESET once. */
	assert_int_equal(send_number(a.chan, 1), 0);
	for (int i = 0; i < 3; i++)
		send_raw(ends[1], "\1\0" NUMBER "abcd", 12, 0);
	fd_close(&ends[1]);
	run_until_closed(&a);
	assert_int_equal(a.count, 3);
	event_base_free(base);
}

static void
a_handler_may_fail_to_answer(void **state)
{
	struct event_base *base = event_base_new();
	struct seen a;
	int ends[2];

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	for (int i = 0; i < 3; i++)
		send_raw(ends[1], "\1\0\0\12\0\0\0\1abcd", 12, 0);
	fd_close(&ends[1]);
	run_until_closed(&a);
	assert_int_equal(a.count, 3);
	assert_int_equal(a.closed, 1);
	event_base_free(base);
}

static void
one_flood_does_not_starve_another_channel(void **state)
{
	struct event_base *base = event_base_new();
	struct seen loud, quiet;
	int l[2], q[2];

	(void)state;
	assert_int_equal(chan_pair(l), 0);
	assert_int_equal(chan_pair(q), 0);
	open_chan(&loud, base, l[0]);
	open_chan(&quiet, base, q[0]);
	quiet.others_count = &loud.count;
	for (int i = 0; i < 200; i++)
		send_raw(l[1], "\1\0" NUMBER "abcd", 12, 0);
	send_raw(q[1], "\1\0" NUMBER "abcd", 12, 0);
	while (loud.count < 200 || quiet.count < 1)
		turn(base);
	assert_in_range(quiet.others_count_at_first, 0, 64);
	chan_free(loud.chan);
	chan_free(quiet.chan);
	fd_close(&l[1]);
	fd_close(&q[1]);
	event_base_free(base);
}

/* One quick packet makes it busy; what comes then is costly to answer. */
static void
costly_packets_end_a_turn_by_the_time_they_take(void **state)
{
	struct event_base *base = event_base_new();
	struct seen loud, quiet;
	int l[2], q[2];

	(void)state;
	clock_test_set(1000000, 1000000, 1000000);
	assert_int_equal(chan_pair(l), 0);
	assert_int_equal(chan_pair(q), 0);
	open_chan(&loud, base, l[0]);
	open_chan(&quiet, base, q[0]);
	loud.takes_ms = 20;
	for (int i = 0; i < 40; i++)
		send_raw(l[1], "\1\0" NUMBER "abcd", 12, 0);
	turn(base);
	assert_int_equal(loud.count, 1);
	send_raw(q[1], "\1\0" NUMBER "abcd", 12, 0);
	turn(base);
	assert_int_equal(quiet.count, 1);
	assert_int_equal(loud.count, 2);
	while (loud.count < 40)
		turn(base);
	chan_free(loud.chan);
	chan_free(quiet.chan);
	fd_close(&l[1]);
	fd_close(&q[1]);
	event_base_free(base);
	clock_test_release();
}

static void
a_handler_may_free_another_channel(void **state)
{
	int pa[2], pb[2], before = count_fds();
	struct event_base *base = event_base_new();
	struct seen a, b;

	(void)state;
	assert_int_equal(chan_pair(pa), 0);
	assert_int_equal(chan_pair(pb), 0);
	open_chan(&a, base, pa[0]);
	open_chan(&b, base, pb[0]);
	/* Both are ready in one turn; whichever comes first frees the other. */
	a.victim = b.chan;
	b.victim = a.chan;
	send_raw(pa[1], "\1\0" NUMBER "abcd", 12, 0);
	send_raw(pb[1], "\1\0" NUMBER "abcd", 12, 0);
	turn(base);
	assert_int_equal(a.count + b.count, 1);
	chan_free(a.count == 1 ? a.chan : b.chan);
	chan_free(NULL);
	assert_int_equal(a.closed + b.closed, 0);
	fd_close(&pa[1]);
	fd_close(&pb[1]);
	event_base_free(base);
	assert_int_equal(count_fds(), before);
}

static void
a_channel_over_nothing_is_none(void **state)
{
	struct event_base *base = event_base_new();

	(void)state;
	assert_null(chan_new(base, -1, rules, 1, on_closed, NULL));
	event_base_free(base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_arrive_with_their_ids),
		cmocka_unit_test(descriptors_arrive_and_what_is_left_is_closed),
		cmocka_unit_test(as_many_descriptors_as_may_come),
		cmocka_unit_test(a_broken_packet_ends_its_channel),
		cmocka_unit_test(what_a_message_held_is_wiped),
		cmocka_unit_test(last_words_are_heard_though_nobody_listens),
		cmocka_unit_test(last_words_are_heard_though_ours_were_not),
		cmocka_unit_test(a_handler_may_fail_to_answer),
		cmocka_unit_test(one_flood_does_not_starve_another_channel),
		cmocka_unit_test(
		    costly_packets_end_a_turn_by_the_time_they_take),
		cmocka_unit_test(a_handler_may_free_another_channel),
		cmocka_unit_test(a_channel_over_nothing_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
