/*
 * The life of a sandbox's network: made, taken up again, and gone without a
 * trace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "tests/unit/count_fds.h"
#include "tests/unit/frames.h"
#include "tests/unit/sandbox_support.h"

#define CYCLES 200

/* How many names and mounts of namespaces, and descriptors, there are. */
struct traces {
	unsigned int names, mounts;
	int fds;
};

static void
count_name(const char *name, void *arg)
{
	struct traces *t = arg;

	/* whatever else runs on this machine has names of its own */
	t->names +=
	    strncmp(name, NETNS_PREFIX NAME, strlen(NETNS_PREFIX NAME)) == 0;
}

static struct traces
count_traces(void)
{
	struct traces t = { 0, 0, count_fds() };
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[1024];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		t.mounts += strstr(line, NETNS_PREFIX NAME) != NULL;
	(void)fclose(f);
	assert_int_equal(netns_name_each(count_name, &t), 0);
	return t;
}

static int
compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct timing {
	uint64_t us[CYCLES];
	unsigned int count;
};

static void
print_timing(const char *what, struct timing *t)
{
	qsort(t->us, t->count, sizeof(t->us[0]), compare_u64);
	print_message("%s: median %llu us, p99 %llu us\n", what,
	    (unsigned long long)t->us[t->count / 2],
	    (unsigned long long)t->us[t->count * 99 / 100]);
}

static void
nothing_is_left_after_many(void **state)
{
	static struct timing prepare, finish, removal;
	struct net_request req = tap_request();
	struct traces before = count_traces();
	struct traces after;

	(void)state;
	for (unsigned int i = 0; i < CYCLES; i++) {
		struct sandbox_net *n = NULL;
		struct err err = { "" };
		uint64_t at[4] = { clock_mono_us() };

		assert_int_equal(sandbox_net_prepare(&host, &plan,
				     NET_DEVICE_TAP, &n, &err),
		    0);
		at[1] = clock_mono_us();
		req.owner = 1000 + i;
		if (sandbox_net_finish(n, &req, &err) != 0)
			fail_msg("%s", err.text);
		at[2] = clock_mono_us();
		assert_int_equal(sandbox_net_remove(n), 0);
		at[3] = clock_mono_us();
		prepare.us[prepare.count++] = at[1] - at[0];
		finish.us[finish.count++] = at[2] - at[1];
		removal.us[removal.count++] = at[3] - at[2];
	}
	after = count_traces();
	assert_int_equal(after.names, before.names);
	assert_int_equal(after.mounts, before.mounts);
	assert_int_equal(after.fds, before.fds);
	print_timing("prepare", &prepare);
	print_timing("finish", &finish);
	print_timing("remove", &removal);
}

/* Deletes what is behind a descriptor, so that its inode can be looked for. */
static void
a_namespace_goes_with_its_last_descriptor(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	AUTO_CLOSE int ns = dup(sandbox_net_fd(n));
	AUTO_CLOSE int again = -1;
	enum device_state s;

	(void)state;
	assert_int_equal(sandbox_net_remove(n), 0);
	assert_int_equal(netns_name_open(NETNS_PREFIX NAME, &again), -ENOENT);
	/* Whoever still is inside has a device that is closed. */
	assert_int_equal(netns_enter(ns), 0);
	assert_int_equal(device_state(plan.tap_name, &s), 0);
	netns_leave(host.home_fd);
	assert_int_equal(s, DEVICE_DOWN);
}

static void
a_vmm_loses_its_tap_with_the_sandbox(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	AUTO_CLOSE int tap = -1;
	struct frame f;

	(void)state;
	assert_int_equal(sandbox_net_open_tap(n, 0, &tap), 0);
	frame_arp(&f, &plan);
	assert_true(frame_send(tap, &f));
	assert_int_equal(sandbox_net_remove(n), 0);
	assert_false(frame_send(tap, &f));
}

static void
a_second_one_of_a_name_is_refused(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *first = create(&req);
	struct sandbox_net *second = NULL;
	struct err err = { "" };
	AUTO_CLOSE int ns = -1;

	(void)state;
	assert_int_equal(sandbox_net_prepare(&host, &plan, NET_DEVICE_TAP,
			     &second, &err),
	    0);
	assert_int_equal(sandbox_net_finish(second, &req, &err), -EEXIST);
	assert_int_equal(sandbox_net_remove(second), 0);
	/* And its removal left the first one's name alone. */
	assert_int_equal(netns_name_open(NETNS_PREFIX NAME, &ns), 0);
	expect_verified(first);
	assert_int_equal(sandbox_net_remove(first), 0);
}

static void
two_with_the_same_addresses_live_side_by_side(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *a = create(&req);
	struct sandbox_net *b;
	AUTO_CLOSE int tap_a = -1;
	AUTO_CLOSE int tap_b = -1;
	struct net_counters c;
	struct frame f;

	(void)state;
	req.name = NAME "-b";
	b = create(&req);
	assert_int_equal(sandbox_net_open_tap(a, 0, &tap_a), 0);
	assert_int_equal(sandbox_net_open_tap(b, 0, &tap_b), 0);
	frame_icmp_echo(&f, &plan, plan.gateway_ip);
	assert_true(frame_send(tap_a, &f));
	assert_int_equal(sandbox_net_counters(a, &c), 0);
	assert_int_equal(c.packets[REASON_PACKET_ICMP], 1);
	assert_int_equal(sandbox_net_counters(b, &c), 0);
	assert_int_equal(c.packets[REASON_PACKET_ICMP], 0);
	assert_int_equal(sandbox_net_remove(a), 0);
	expect_verified(b);
	assert_int_equal(sandbox_net_remove(b), 0);
}

static void
refuse_guest(struct sandbox_net *n, int ns_fd, int want)
{
	struct net_request req = { .name = NAME,
		.device = NET_DEVICE_VETH,
		.guest = { ns_fd, "eth0", true } };
	struct err err = { "" };

	assert_int_equal(sandbox_net_finish(n, &req, &err), want);
	assert_true(err.text[0] != '\0');
}

static void
the_hosts_own_namespace_gets_no_guest(void **state)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct sandbox_net *n = NULL;

	(void)state;
	assert_int_equal(sandbox_net_prepare(&host, &plan, NET_DEVICE_VETH, &n,
			     NULL),
	    0);
	refuse_guest(n, host.home_fd, -EPERM);
	refuse_guest(n, sandbox_net_fd(n), -EPERM);
	refuse_guest(n, null, -EINVAL);
	refuse_guest(n, -1, -EINVAL);
	assert_int_equal(sandbox_net_remove(n), 0);
}

static void
the_same_guest_can_have_a_sandbox_again_at_once(void **state)
{
	AUTO_CLOSE int guest = -1;
	struct traces before, after;

	(void)state;
	assert_int_equal(netns_create(host.home_fd, &guest), 0);
	before = count_traces();
	for (unsigned int i = 0; i < 10; i++) {
		struct net_request req = { .name = NAME,
			.device = NET_DEVICE_VETH,
			.guest = { guest, "eth0", true } };
		struct sandbox_net *n = create(&req);

		expect_verified(n);
		assert_int_equal(sandbox_net_remove(n), 0);
	}
	after = count_traces();
	assert_int_equal(after.fds, before.fds);
	assert_int_equal(after.names, before.names);
}

static void
one_prepared_for_a_tap_can_be_a_veth(void **state)
{
	AUTO_CLOSE int guest = -1;
	struct net_request req = { .name = NAME, .device = NET_DEVICE_VETH };
	struct sandbox_net *n = NULL;
	struct err err = { "" };

	(void)state;
	assert_int_equal(netns_create(host.home_fd, &guest), 0);
	req.guest = (struct device_guest){ guest, "eth0", false };
	assert_int_equal(sandbox_net_prepare(&host, &plan, NET_DEVICE_TAP, &n,
			     &err),
	    0);
	if (sandbox_net_finish(n, &req, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(sandbox_net_device(n), plan.veth_name);
	assert_int_equal(sandbox_net_remove(n), 0);

	req = tap_request();
	assert_int_equal(sandbox_net_prepare(&host, &plan, NET_DEVICE_VETH, &n,
			     &err),
	    0);
	if (sandbox_net_finish(n, &req, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(sandbox_net_device(n), plan.tap_name);
	assert_int_equal(sandbox_net_remove(n), 0);
}

static void
a_new_supervisor_takes_it_up(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	struct sandbox_net *again = NULL;
	struct net_kept kept = { sandbox_net_inode(n), NET_SOCKETS_NONE };
	struct err err = { "" };

	(void)state;
	for (unsigned int i = 0; i < NET_SOCKET_COUNT; i++)
		kept.sockets.fd[i] = dup(sandbox_net_sockets(n)->fd[i]);
	sandbox_net_forget(n);
	if (sandbox_net_adopt(&host, &plan, &req, &kept, &again, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(kept.sockets.fd[0], -1);
	expect_verified(again);
	sandbox_net_forget(again);

	/* Without the sockets it makes them anew. */
	if (sandbox_net_adopt(&host, &plan, &req, &kept, &again, &err) != 0)
		fail_msg("%s", err.text);
	for (unsigned int i = 0; i < NET_SOCKET_COUNT; i++)
		assert_int_not_equal(sandbox_net_sockets(again)->fd[i], -1);
	assert_int_equal(sandbox_net_remove(again), 0);
	assert_int_equal(sandbox_net_adopt(&host, &plan, &req, &kept, &again,
			     &err),
	    -ENOENT);
}

static void
another_namespace_of_the_name_is_not_taken_up(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	struct net_kept other = { sandbox_net_inode(n) + 1, NET_SOCKETS_NONE };
	struct sandbox_net *again = NULL;
	struct err err = { "" };

	(void)state;
	assert_int_equal(sandbox_net_adopt(&host, &plan, &req, &other, &again,
			     &err),
	    -ESTALE);
	assert_int_equal(sandbox_net_remove(n), 0);
}

static void
a_sweep_takes_away_what_a_crash_left(void **state)
{
	struct traces before = count_traces();
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	AUTO_CLOSE int tap = -1;
	struct traces after;
	struct frame f;

	(void)state;
	assert_int_equal(sandbox_net_open_tap(n, 0, &tap), 0);
	sandbox_net_forget(n);
	assert_int_equal(sandbox_net_sweep(&host, &plan, NETNS_PREFIX NAME), 0);
	frame_arp(&f, &plan);
	assert_false(frame_send(tap, &f));
	fd_close(&tap);
	after = count_traces();
	assert_int_equal(after.names, before.names);
	assert_int_equal(after.mounts, before.mounts);
	assert_int_equal(after.fds, before.fds);
}

/* As many openings as a policy may bring, and none more. */
static void
a_policy_at_its_limit_fits(void **state)
{
	static uint16_t many_ports[NET_PORTS_MAX + 1];
	static struct net_reserved many[NET_RESERVED_MAX + 1];
	struct net_opening wide = { many_ports, NET_PORTS_MAX, many,
		NET_RESERVED_MAX };
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	struct err err = { "" };
	uint64_t at;

	(void)state;
	for (unsigned int i = 0; i < ROWS(many_ports); i++)
		many_ports[i] = (uint16_t)(10000 + i);
	for (unsigned int i = 0; i < ROWS(many); i++)
		many[i] = (struct net_reserved){ 0xc6120000 + i, 5432 };
	at = clock_mono_us();
	if (sandbox_net_update(n, &wide, &err) != 0)
		fail_msg("%s", err.text);
	print_message("update to %d ports, %d addresses: %llu us\n",
	    NET_PORTS_MAX, NET_RESERVED_MAX,
	    (unsigned long long)(clock_mono_us() - at));
	expect_verified(n);
	wide.port_count++;
	assert_int_equal(sandbox_net_update(n, &wide, &err), -E2BIG);
	wide.port_count--;
	wide.reserved_count++;
	assert_int_equal(sandbox_net_update(n, &wide, &err), -E2BIG);
	expect_verified(n);
	assert_int_equal(sandbox_net_update(n, &req.open, &err), 0);
	expect_verified(n);
	assert_int_equal(sandbox_net_remove(n), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_after_many),
		cmocka_unit_test(a_namespace_goes_with_its_last_descriptor),
		cmocka_unit_test(a_vmm_loses_its_tap_with_the_sandbox),
		cmocka_unit_test(a_second_one_of_a_name_is_refused),
		cmocka_unit_test(two_with_the_same_addresses_live_side_by_side),
		cmocka_unit_test(the_hosts_own_namespace_gets_no_guest),
		cmocka_unit_test(
		    the_same_guest_can_have_a_sandbox_again_at_once),
		cmocka_unit_test(one_prepared_for_a_tap_can_be_a_veth),
		cmocka_unit_test(a_new_supervisor_takes_it_up),
		cmocka_unit_test(another_namespace_of_the_name_is_not_taken_up),
		cmocka_unit_test(a_sweep_takes_away_what_a_crash_left),
		cmocka_unit_test(a_policy_at_its_limit_fits),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
