#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "netfilter/device.h"
#include "netfilter/netns.h"
#include "netfilter/route.h"

#define OWNER 12345

static int home = -1;
static struct net_plan plan;

/* Each test runs inside a namespace of its own. */
static int
enter_new(void **state)
{
	static int ns;

	plan = net_plan_default();
	if (netns_create(home, &ns) != 0 || netns_enter(ns) != 0)
		return -1;
	*state = &ns;
	return route_base_setup();
}

static int
leave_new(void **state)
{
	int *ns = *state;

	netns_leave(home);
	fd_close(ns);
	return 0;
}

static enum device_state
state_of(const char *name)
{
	enum device_state s = DEVICE_GONE;

	assert_int_equal(device_state(name, &s), 0);
	return s;
}

static void
a_tap_is_made_closed_and_kept(void **state)
{
	struct err err = { "" };

	(void)state;
	assert_int_equal(state_of(plan.tap_name), DEVICE_GONE);
	assert_int_equal(device_tap_create(&plan), 0);
	assert_int_equal(state_of(plan.tap_name), DEVICE_DOWN);
	assert_int_equal(route_address_setup(&plan, plan.tap_name), 0);
	if (route_verify(&plan, plan.tap_name, &err) != 0)
		fail_msg("%s", err.text);
}

static void
a_vmm_that_attaches_makes_it_ready(void **state)
{
	AUTO_CLOSE int fd = -1;
	AUTO_CLOSE int second = -1;

	(void)state;
	assert_int_equal(device_tap_create(&plan), 0);
	assert_int_equal(device_set_up(plan.tap_name, true), 0);
	assert_int_equal(state_of(plan.tap_name), DEVICE_WAITING);
	assert_int_equal(device_tap_open(plan.tap_name, IFF_VNET_HDR, &fd), 0);
	assert_int_equal(state_of(plan.tap_name), DEVICE_READY);
	assert_int_equal(device_tap_open(plan.tap_name, 0, &second), -EBUSY);
	fd_close(&fd);
	assert_int_equal(state_of(plan.tap_name), DEVICE_WAITING);
}

/*
 * Attaches as that user, with a descriptor that root opened, as a VMM is
 * given one; the exit status tells.
 */
static int
attach_as(uid_t uid)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI };
		int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

		(void)strcpy(ifr.ifr_name, plan.tap_name);
		if (fd == -1 || setgroups(0, NULL) != 0 || setgid(uid) != 0 ||
		    setuid(uid) != 0)
			_exit(99);
		_exit(ioctl(fd, TUNSETIFF, &ifr) == 0 ? 0 : errno);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
only_the_owner_may_attach(void **state)
{
	(void)state;
	assert_int_equal(device_tap_create(&plan), 0);
	assert_int_equal(attach_as(OWNER), EPERM);
	assert_int_equal(device_tap_set_owner(plan.tap_name, OWNER), 0);
	assert_int_equal(attach_as(OWNER + 1), EPERM);
	assert_int_equal(attach_as(OWNER), 0);
}

static void
a_veth_serves_a_namespace(void **state)
{
	int *ns = *state;
	AUTO_CLOSE int guest_ns = -1;
	struct device_guest guest = { -1, "eth0", true };

	assert_int_equal(netns_create(*ns, &guest_ns), 0);
	guest.ns_fd = guest_ns;
	assert_int_equal(device_veth_create(&plan, &guest, *ns), 0);
	assert_int_equal(state_of(plan.veth_name), DEVICE_DOWN);
	assert_int_equal(device_set_up(plan.veth_name, true), 0);
	assert_int_equal(state_of(plan.veth_name), DEVICE_READY);
	assert_int_equal(netns_enter(guest_ns), 0);
	assert_int_equal(state_of("eth0"), DEVICE_READY);
	netns_leave(*ns);
	/* The guest's end goes with ours, at once. */
	assert_int_equal(device_delete(plan.veth_name), 0);
	assert_int_equal(netns_enter(guest_ns), 0);
	assert_int_equal(state_of("eth0"), DEVICE_GONE);
	netns_leave(*ns);
}

static void
a_name_taken_in_the_guest_leaves_nothing(void **state)
{
	int *ns = *state;
	AUTO_CLOSE int guest_ns = -1;
	struct device_guest guest = { -1, "tap0", true };

	assert_int_equal(netns_create(*ns, &guest_ns), 0);
	assert_int_equal(netns_enter(guest_ns), 0);
	assert_int_equal(device_tap_create(&plan), 0);
	netns_leave(*ns);
	guest.ns_fd = guest_ns;
	assert_int_equal(device_veth_create(&plan, &guest, *ns), -EEXIST);
	assert_int_equal(state_of(plan.veth_name), DEVICE_GONE);
}

static bool
is_touched(int watch, const char *name)
{
	struct pollfd p = { .fd = watch, .events = POLLIN };
	bool touched = false;

	if (poll(&p, 1, 1000) == 1)
		assert_int_equal(device_watch_drain(watch, name, &touched), 0);
	return touched;
}

static void
the_watch_sees_the_device_come_and_go(void **state)
{
	AUTO_CLOSE int watch = -1;

	(void)state;
	assert_int_equal(device_watch_open(&watch), 0);
	assert_int_equal(device_tap_create(&plan), 0);
	assert_true(is_touched(watch, plan.tap_name));
	assert_int_equal(device_set_up(plan.tap_name, true), 0);
	assert_true(is_touched(watch, plan.tap_name));
	assert_int_equal(device_set_up("lo", false), 0);
	assert_false(is_touched(watch, plan.tap_name));
	assert_int_equal(device_delete(plan.tap_name), 0);
	assert_true(is_touched(watch, plan.tap_name));
	assert_int_equal(device_delete(plan.tap_name), -ENODEV);
}

static void
refuse_verify(const char *claim)
{
	struct err err = { "" };
	int rc = route_verify(&plan, plan.tap_name, &err);

	if (rc != -EBADMSG || err.text[0] == '\0')
		fail_msg("%s: %d \"%s\"", claim, rc, err.text);
}

static void
reading_back_finds_what_is_strange(void **state)
{
	struct net_plan other = plan;

	(void)state;
	assert_int_equal(device_tap_create(&plan), 0);
	refuse_verify("no address");
	assert_int_equal(route_address_setup(&plan, plan.tap_name), 0);

	(void)strcpy(other.tap_name, "other");
	assert_int_equal(device_tap_create(&other), 0);
	refuse_verify("a second device");
	assert_int_equal(device_delete("other"), 0);

	other = plan;
	other.gateway_mac[5] = 9;
	assert_int_equal(device_set_identity(&other, plan.tap_name), 0);
	refuse_verify("another MAC");
	assert_int_equal(device_set_identity(&plan, plan.tap_name), 0);
	assert_int_equal(route_verify(&plan, plan.tap_name, NULL), 0);

	assert_int_equal(device_set_up(plan.tap_name, true), 0);
	assert_int_equal(route_verify(&plan, plan.tap_name, NULL), 0);
	other = plan;
	other.guest_ip = 0x0a000001;
	other.gateway_ip = 0x64400002;
	assert_int_equal(route_guest_setup(&other, plan.tap_name), 0);
	refuse_verify("a second address and a default route");
}

static int
open_home(void **state)
{
	(void)state;
	return netns_current(&home);
}

static int
close_home(void **state)
{
	(void)state;
	fd_close(&home);
	return 0;
}

#define IN_NEW(test) cmocka_unit_test_setup_teardown(test, enter_new, leave_new)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		IN_NEW(a_tap_is_made_closed_and_kept),
		IN_NEW(a_vmm_that_attaches_makes_it_ready),
		IN_NEW(only_the_owner_may_attach),
		IN_NEW(a_veth_serves_a_namespace),
		IN_NEW(a_name_taken_in_the_guest_leaves_nothing),
		IN_NEW(the_watch_sees_the_device_come_and_go),
		IN_NEW(reading_back_finds_what_is_strange),
	};

	return cmocka_run_group_tests(tests, open_home, close_home);
}
