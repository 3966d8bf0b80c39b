#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "netfilter/plan.h"

#define ROWS(a) (sizeof(a) / sizeof((a)[0]))

static void
the_default_plan_holds(void **state)
{
	const struct net_plan plan = net_plan_default();
	struct err err = { "" };

	(void)state;
	assert_int_equal(net_plan_check(&plan, &err), 0);
	assert_int_equal(plan.guest_ip, 0x64400002);
	assert_int_equal(plan.gateway_ip, 0x64400001);
}

static void
set_prefix_31(struct net_plan *p)
{
	p->prefix_len = 31;
}

static void
set_guest_as_gateway(struct net_plan *p)
{
	p->guest_ip = p->gateway_ip;
}

static void
set_guest_elsewhere(struct net_plan *p)
{
	p->guest_ip = 0x0a000002;
}

static void
set_guest_broadcast(struct net_plan *p)
{
	p->guest_ip = 0x64400003;
}

static void
set_synthetic_over_guest(struct net_plan *p)
{
	p->synthetic_net = 0x64000000;
	p->synthetic_prefix_len = 8;
}

static void
set_synthetic_multicast(struct net_plan *p)
{
	p->synthetic_net = 0xe0000000;
}

static void
set_synthetic_crooked(struct net_plan *p)
{
	p->synthetic_net |= 1;
}

static void
set_multicast_mac(struct net_plan *p)
{
	p->guest_mac[0] |= 1;
}

static void
set_one_mac(struct net_plan *p)
{
	memcpy(p->guest_mac, p->gateway_mac, NET_MAC_BYTES);
}

static void
set_one_port(struct net_plan *p)
{
	p->transparent_port = p->proxy_port;
}

static void
set_dns_port(struct net_plan *p)
{
	p->proxy_port = NET_DNS_PORT;
}

static void
set_small_mtu(struct net_plan *p)
{
	p->mtu = 68;
}

static void
set_lo(struct net_plan *p)
{
	(void)strcpy(p->tap_name, "lo");
}

static void
set_slash(struct net_plan *p)
{
	(void)strcpy(p->veth_name, "a/b");
}

static void
set_no_end(struct net_plan *p)
{
	memset(p->tap_name, 'a', sizeof(p->tap_name));
}

static void
set_no_rate(struct net_plan *p)
{
	p->log_per_second = 0;
}

static const struct {
	const char *claim;
	void (*change)(struct net_plan *p);
} rows[] = {
	{ "a prefix without room for two", set_prefix_31 },
	{ "the guest at the gateway's address", set_guest_as_gateway },
	{ "the guest in another network", set_guest_elsewhere },
	{ "the guest at the broadcast address", set_guest_broadcast },
	{ "synthetic range over the guest's", set_synthetic_over_guest },
	{ "synthetic range of multicast", set_synthetic_multicast },
	{ "synthetic range with host bits", set_synthetic_crooked },
	{ "a multicast MAC", set_multicast_mac },
	{ "one MAC for both", set_one_mac },
	{ "one port for both listeners", set_one_port },
	{ "the port of DNS", set_dns_port },
	{ "an MTU below IPv4's own", set_small_mtu },
	{ "a device called lo", set_lo },
	{ "a device name with a slash", set_slash },
	{ "a device name without an end", set_no_end },
	{ "a rate of nothing", set_no_rate },
};

static void
refuses_what_would_not_work(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct net_plan plan = net_plan_default();
		struct err err = { "" };

		rows[i].change(&plan);
		if (net_plan_check(&plan, &err) == 0)
			fail_msg("accepts %s", rows[i].claim);
		if (err.text[0] == '\0')
			fail_msg("says nothing about %s", rows[i].claim);
	}
}

static void
a_mask_has_its_bits_in_front(void **state)
{
	(void)state;
	assert_int_equal(net_prefix_mask(0), 0);
	assert_int_equal(net_prefix_mask(1), 0x80000000);
	assert_int_equal(net_prefix_mask(15), 0xfffe0000);
	assert_int_equal(net_prefix_mask(30), 0xfffffffc);
	assert_int_equal(net_prefix_mask(32), 0xffffffff);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_plan_holds),
		cmocka_unit_test(refuses_what_would_not_work),
		cmocka_unit_test(a_mask_has_its_bits_in_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
