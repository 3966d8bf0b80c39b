/*
 * A guest that sends as fast as it can, while the ruleset is changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "tests/unit/frames.h"
#include "tests/unit/sandbox_support.h"

static struct sandbox_net *net;
static int tap = -1;

/* The answers of the kernel come while the guest's write is under way. */
static void
discard_answers(void)
{
	struct frame f;

	while (frame_receive(tap, 0, &f))
		continue;
}

static void
an_arp_flood_is_answered_in_part(void **state)
{
	struct net_counters before, after;
	struct frame f;

	(void)state;
	frame_arp(&f, &plan);
	assert_int_equal(sandbox_net_counters(net, &before), 0);
	for (unsigned int i = 0; i < 5000; i++)
		assert_true(frame_send(tap, &f));
	assert_int_equal(sandbox_net_counters(net, &after), 0);
	assert_true(after.packets[REASON_PACKET_ARP] -
		before.packets[REASON_PACKET_ARP] >
	    4000);
	discard_answers();
}

/* The child floods; what it sent it tells by its pipe. */
static void
flood(int out)
{
	struct frame refused, kept;
	uint64_t sent[2] = { 0, 0 };
	uint64_t until = clock_mono_ms() + 1500;

	frame_udp(&refused, &plan, 0x08080808, 23000, 9, "flood");
	frame_tcp(&kept, &plan, 0xc6120304, 23001, 443, TCP_FLAG_ACK);
	while (clock_mono_ms() < until)
		for (unsigned int i = 0; i < 64; i++) {
			sent[0] += frame_send(tap, &refused);
			sent[1] += frame_send(tap, &kept);
		}
	_exit(write(out, sent, sizeof(sent)) == sizeof(sent) ? 0 : 1);
}

static unsigned int
update_until_end(pid_t child)
{
	static const uint16_t more[] = { 1000, 2000, 3000 };
	const struct net_opening wide = { more, ROWS(more), reserved,
		ROWS(reserved) };
	const struct net_opening narrow = { NULL, 0, NULL, 0 };
	unsigned int updates = 0;
	int status = 0;

	while (waitpid(child, &status, WNOHANG) == 0) {
		struct err err = { "" };

		if (sandbox_net_update(net, updates % 2 ? &narrow : &wide,
			&err) != 0)
			fail_msg("%s", err.text);
		updates++;
		discard_answers();
	}
	assert_int_equal(status, 0);
	return updates;
}

/*
 * Every refused packet is counted, so none passed; and a port that both the
 * old and the new policy have is never closed in between.
 */
static void
updates_under_flood_leak_nothing(void **state)
{
	struct net_counters before, after;
	uint64_t sent[2];
	unsigned int updates;
	int out[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(out), 0);
	assert_int_equal(sandbox_net_counters(net, &before), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		flood(out[1]);
	updates = update_until_end(child);
	assert_int_equal(read(out[0], sent, sizeof(sent)), sizeof(sent));
	fd_close(&out[0]);
	fd_close(&out[1]);
	assert_int_equal(sandbox_net_counters(net, &after), 0);
	assert_int_equal(after.packets[REASON_PACKET_UDP] -
		before.packets[REASON_PACKET_UDP],
	    sent[0]);
	assert_int_equal(after.packets[REASON_PACKET_TCP] -
		before.packets[REASON_PACKET_TCP],
	    0);
	assert_true(sent[0] > 1000 && updates > 10);
	print_message("%u updates under %llu packets: 0 leaked, 0 lost\n",
	    updates, (unsigned long long)(sent[0] + sent[1]));
}

static int
open_sandbox(void **state)
{
	const struct net_request req = tap_request();

	(void)state;
	net = create(&req);
	return sandbox_net_open_tap(net, 0, &tap);
}

static int
close_sandbox(void **state)
{
	(void)state;
	fd_close(&tap);
	return sandbox_net_remove(net);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    an_arp_flood_is_answered_in_part, open_sandbox,
		    close_sandbox),
		cmocka_unit_test_setup_teardown(
		    updates_under_flood_leak_nothing, open_sandbox,
		    close_sandbox),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
