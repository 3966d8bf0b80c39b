/*
 * The plan's defaults and what must hold between its numbers. A plan that
 * passes the check is what device.c and the ruleset rely on.
 */
#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"
#include "netfilter/plan.h"

struct net_plan
net_plan_default(void)
{
	return (struct net_plan){
		.guest_ip = 0x64400002,   /* 100.64.0.2 */
		.gateway_ip = 0x64400001, /* 100.64.0.1 */
		.prefix_len = 30,
		/* Locally administered, "tw". */
		.guest_mac = { 0x02, 0x74, 0x77, 0x00, 0x00, 0x02 },
		.gateway_mac = { 0x02, 0x74, 0x77, 0x00, 0x00, 0x01 },
		.synthetic_net = 0xc6120000, /* 198.18.0.0, RFC 2544 */
		.synthetic_prefix_len = 15,
		.proxy_port = 3128,
		.transparent_port = 3129,
		.log_group = 1,
		.log_per_second = 10,
		.refuse_per_second = 200,
		.mtu = 1500,
		.tap_name = "tap0",
		.veth_name = "veth0",
	};
}

uint32_t
net_prefix_mask(uint8_t len)
{
	return (uint32_t) ~(UINT64_C(0xffffffff) >> len);
}

static bool
prefixes_overlap(uint32_t a, uint8_t a_len, uint32_t b, uint8_t b_len)
{
	uint32_t mask = net_prefix_mask(a_len < b_len ? a_len : b_len);

	return (a & mask) == (b & mask);
}

/* Neither the first nor the last address of the prefix. */
static bool
is_host_address(uint32_t address, uint8_t prefix_len)
{
	uint32_t rest = address & ~net_prefix_mask(prefix_len);

	return rest != 0 && rest != ~net_prefix_mask(prefix_len);
}

static bool
is_unicast_prefix(uint32_t net)
{
	uint32_t first = net >> 24;

	return first != 0 && first != 127 && first < 224;
}

static int
check_addresses(const struct net_plan *p, struct err *err)
{
	uint32_t mask;

	if (p->prefix_len < 8 || p->prefix_len > 30)
		return err_at(err, NULL, 0,
		    "guest prefix /%u: give 8 to 30 bits", p->prefix_len);
	mask = net_prefix_mask(p->prefix_len);
	if ((p->guest_ip & mask) != (p->gateway_ip & mask) ||
	    p->guest_ip == p->gateway_ip ||
	    !is_host_address(p->guest_ip, p->prefix_len) ||
	    !is_host_address(p->gateway_ip, p->prefix_len) ||
	    !is_unicast_prefix(p->guest_ip))
		return err_at(err, NULL, 0,
		    "guest and gateway must be two addresses of one /%u",
		    p->prefix_len);
	if (p->synthetic_prefix_len < 8 || p->synthetic_prefix_len > 24 ||
	    (p->synthetic_net & ~net_prefix_mask(p->synthetic_prefix_len)) !=
		0 ||
	    !is_unicast_prefix(p->synthetic_net))
		return err_at(err, NULL, 0,
		    "synthetic range: give a unicast network of 8 to 24 bits");
	if (prefixes_overlap(p->guest_ip, p->prefix_len, p->synthetic_net,
		p->synthetic_prefix_len))
		return err_at(err, NULL, 0,
		    "the synthetic range holds the guest's own network");
	return 0;
}

static bool
is_station_mac(const uint8_t mac[NET_MAC_BYTES])
{
	static const uint8_t zero[NET_MAC_BYTES];

	return (mac[0] & 1) == 0 && memcmp(mac, zero, sizeof(zero)) != 0;
}

static bool
is_device_name(const char name[IFNAMSIZ])
{
	size_t len = strnlen(name, IFNAMSIZ);

	for (size_t i = 0; i < len && len < IFNAMSIZ; i++)
		if (!ascii_is_alnum((uint8_t)name[i]))
			return false;
	return len > 0 && len < IFNAMSIZ;
}

int
net_plan_check(const struct net_plan *plan, struct err *err)
{
	int rc = check_addresses(plan, err);

	if (rc != 0)
		return rc;
	if (!is_station_mac(plan->guest_mac) ||
	    !is_station_mac(plan->gateway_mac) ||
	    memcmp(plan->guest_mac, plan->gateway_mac, NET_MAC_BYTES) == 0)
		return err_at(err, NULL, 0,
		    "guest and gateway need two unicast MAC addresses");
	if (plan->proxy_port == 0 || plan->transparent_port == 0 ||
	    plan->proxy_port == plan->transparent_port ||
	    plan->proxy_port == NET_DNS_PORT ||
	    plan->transparent_port == NET_DNS_PORT)
		return err_at(err, NULL, 0,
		    "proxy and transparent port must differ, and not be %d",
		    NET_DNS_PORT);
	if (plan->mtu < 576 || plan->mtu > 65521)
		return err_at(err, NULL, 0, "mtu %u: give 576 to 65521",
		    (unsigned int)plan->mtu);
	if (!is_device_name(plan->tap_name) ||
	    !is_device_name(plan->veth_name) ||
	    strcmp(plan->tap_name, "lo") == 0 ||
	    strcmp(plan->veth_name, "lo") == 0)
		return err_at(err, NULL, 0,
		    "device names are letters and digits, and not \"lo\"");
	if (plan->log_per_second == 0 || plan->refuse_per_second == 0)
		return err_at(err, NULL, 0, "a rate of 0 would never match");
	return 0;
}
