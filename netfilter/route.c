/*
 * What is put in place and what is read back are two lists that must agree:
 * who adds a route here adds it to the rows of route_verify() too.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/fd.h"
#include "netfilter/device.h"
#include "netfilter/netlink.h"
#include "netfilter/route.h"

#define RULE_PRIORITY 100
/* lo is the first device of every namespace. */
#define LO_INDEX 1

static int
send_batch(struct netlink_batch *b)
{
	AUTO_CLOSE int fd = -1;
	int rc = netlink_open(NETLINK_ROUTE, &fd);

	if (rc == 0)
		rc = netlink_batch_send(fd, b, NULL);
	netlink_batch_done(b);
	return rc;
}

static int
device_index(const char *name, unsigned int *ret_index)
{
	unsigned int index = if_nametoindex(name);

	if (index == 0)
		return -errno;
	*ret_index = index;
	return 0;
}

static void
add_link_up(struct netlink_batch *b, int index)
{
	struct nlmsghdr *nlh = netlink_batch_next(b, RTM_NEWLINK, NLM_F_ACK);
	struct ifinfomsg *ifi;

	if (nlh == NULL)
		return;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = index;
	ifi->ifi_flags = IFF_UP;
	ifi->ifi_change = IFF_UP;
	netlink_batch_push(b, nlh);
}

static void
add_mark_rule(struct netlink_batch *b)
{
	struct nlmsghdr *nlh = netlink_batch_next(b, RTM_NEWRULE,
	    NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
	struct fib_rule_hdr *rule;

	if (nlh == NULL)
		return;
	rule = mnl_nlmsg_put_extra_header(nlh, sizeof(*rule));
	rule->family = AF_INET;
	rule->table = NET_TABLE;
	rule->action = FR_ACT_TO_TBL;
	mnl_attr_put_u32(nlh, FRA_PRIORITY, RULE_PRIORITY);
	mnl_attr_put_u32(nlh, FRA_FWMARK, NET_MARK);
	mnl_attr_put_u32(nlh, FRA_FWMASK, UINT32_MAX);
	mnl_attr_put_u32(nlh, FRA_TABLE, NET_TABLE);
	netlink_batch_push(b, nlh);
}

static struct rtmsg *
put_route(struct nlmsghdr *nlh, uint8_t table, uint8_t type, uint8_t scope)
{
	struct rtmsg *rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));

	rt->rtm_family = AF_INET;
	rt->rtm_table = table;
	rt->rtm_protocol = RTPROT_STATIC;
	rt->rtm_type = type;
	rt->rtm_scope = scope;
	return rt;
}

static void
add_local_route(struct netlink_batch *b)
{
	struct nlmsghdr *nlh = netlink_batch_next(b, RTM_NEWROUTE,
	    NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);

	if (nlh == NULL)
		return;
	(void)put_route(nlh, NET_TABLE, RTN_LOCAL, RT_SCOPE_HOST);
	mnl_attr_put_u32(nlh, RTA_OIF, LO_INDEX);
	netlink_batch_push(b, nlh);
}

int
route_base_setup(void)
{
	struct netlink_batch b;

	netlink_batch_init(&b);
	add_link_up(&b, LO_INDEX);
	add_mark_rule(&b);
	add_local_route(&b);
	return send_batch(&b);
}

static void
add_address(struct netlink_batch *b, unsigned int index, uint32_t address,
    uint8_t prefix_len)
{
	struct nlmsghdr *nlh = netlink_batch_next(b, RTM_NEWADDR,
	    NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
	struct ifaddrmsg *ifa;

	if (nlh == NULL)
		return;
	ifa = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifa));
	ifa->ifa_family = AF_INET;
	ifa->ifa_prefixlen = prefix_len;
	ifa->ifa_scope = RT_SCOPE_UNIVERSE;
	ifa->ifa_index = index;
	mnl_attr_put_u32(nlh, IFA_LOCAL, htonl(address));
	mnl_attr_put_u32(nlh, IFA_ADDRESS, htonl(address));
	netlink_batch_push(b, nlh);
}

static void
add_neighbour(struct netlink_batch *b, unsigned int index, uint32_t address,
    const uint8_t mac[NET_MAC_BYTES])
{
	struct nlmsghdr *nlh = netlink_batch_next(b, RTM_NEWNEIGH,
	    NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
	struct ndmsg *nd;

	if (nlh == NULL)
		return;
	nd = mnl_nlmsg_put_extra_header(nlh, sizeof(*nd));
	nd->ndm_family = AF_INET;
	nd->ndm_ifindex = (int)index;
	nd->ndm_state = NUD_PERMANENT;
	mnl_attr_put_u32(nlh, NDA_DST, htonl(address));
	mnl_attr_put(nlh, NDA_LLADDR, NET_MAC_BYTES, mac);
	netlink_batch_push(b, nlh);
}

int
route_address_setup(const struct net_plan *plan, const char *device)
{
	struct netlink_batch b;
	unsigned int index = 0;
	int rc = device_index(device, &index);

	if (rc != 0)
		return rc;
	netlink_batch_init(&b);
	add_address(&b, index, plan->gateway_ip, plan->prefix_len);
	add_neighbour(&b, index, plan->guest_ip, plan->guest_mac);
	return send_batch(&b);
}

int
route_guest_setup(const struct net_plan *plan, const char *device)
{
	struct netlink_batch b;
	struct nlmsghdr *nlh;
	unsigned int index = 0;
	int rc = device_index(device, &index);

	if (rc != 0)
		return rc;
	netlink_batch_init(&b);
	add_address(&b, index, plan->guest_ip, plan->prefix_len);
	nlh = netlink_batch_next(&b, RTM_NEWROUTE,
	    NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
	if (nlh != NULL) {
		(void)put_route(nlh, RT_TABLE_MAIN, RTN_UNICAST,
		    RT_SCOPE_UNIVERSE);
		mnl_attr_put_u32(nlh, RTA_GATEWAY, htonl(plan->gateway_ip));
		mnl_attr_put_u32(nlh, RTA_OIF, index);
		netlink_batch_push(&b, nlh);
	}
	return send_batch(&b);
}

/* What a check has seen so far. */
struct seen {
	const struct net_plan *plan;
	unsigned int index; /* of the sandbox's device */
	unsigned int links, addresses, rules, mark_rules, local_routes;
	const char *strange; /* the first thing that should not be there */
};

static int
strange(struct seen *s, const char *what)
{
	if (s->strange == NULL)
		s->strange = what;
	return MNL_CB_OK;
}

static int
on_link(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct seen *s = arg;
	const struct nlattr *attr;

	if (ifi->ifi_index == LO_INDEX)
		return MNL_CB_OK;
	if ((unsigned int)ifi->ifi_index != s->index)
		return strange(s, "a device that is not the sandbox's");
	s->links++;
	attr = netlink_attr(nlh, sizeof(*ifi), IFLA_ADDRESS);
	if (attr == NULL || mnl_attr_get_payload_len(attr) != NET_MAC_BYTES ||
	    memcmp(mnl_attr_get_payload(attr), s->plan->gateway_mac,
		NET_MAC_BYTES) != 0)
		return strange(s, "another MAC on the device");
	return MNL_CB_OK;
}

static int
on_address(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	struct seen *s = arg;

	if (ifa->ifa_index == LO_INDEX)
		return MNL_CB_OK;
	if (ifa->ifa_index != s->index ||
	    netlink_attr_u32(nlh, sizeof(*ifa), IFA_LOCAL) !=
		htonl(s->plan->gateway_ip) ||
	    ifa->ifa_prefixlen != s->plan->prefix_len)
		return strange(s, "an address that is not the gateway's");
	s->addresses++;
	return MNL_CB_OK;
}

static int
on_rule(const struct nlmsghdr *nlh, void *arg)
{
	const struct fib_rule_hdr *rule = mnl_nlmsg_get_payload(nlh);
	struct seen *s = arg;
	uint32_t table;

	table = netlink_attr_u32(nlh, sizeof(*rule), FRA_TABLE);
	s->rules++;
	if (rule->action != FR_ACT_TO_TBL || rule->src_len != 0 ||
	    rule->dst_len != 0)
		return strange(s, "a routing rule that is not ours");
	if (table == RT_TABLE_LOCAL || table == RT_TABLE_MAIN ||
	    table == RT_TABLE_DEFAULT)
		return MNL_CB_OK;
	if (table != NET_TABLE ||
	    netlink_attr_u32(nlh, sizeof(*rule), FRA_FWMARK) != NET_MARK ||
	    netlink_attr_u32(nlh, sizeof(*rule), FRA_FWMASK) != UINT32_MAX)
		return strange(s, "a routing rule that is not ours");
	s->mark_rules++;
	return MNL_CB_OK;
}

static int
on_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct seen *s = arg;
	uint32_t table, oif;

	table = netlink_attr_u32(nlh, sizeof(*rt), RTA_TABLE);
	oif = netlink_attr_u32(nlh, sizeof(*rt), RTA_OIF);
	/* The kernel's own: of the addresses that on_address() has seen. */
	if (table == RT_TABLE_LOCAL && rt->rtm_protocol == RTPROT_KERNEL)
		return MNL_CB_OK;
	if (table == RT_TABLE_MAIN && rt->rtm_protocol == RTPROT_KERNEL &&
	    oif == s->index && rt->rtm_dst_len == s->plan->prefix_len &&
	    netlink_attr(nlh, sizeof(*rt), RTA_GATEWAY) == NULL)
		return MNL_CB_OK;
	if (table != NET_TABLE || rt->rtm_type != RTN_LOCAL ||
	    rt->rtm_dst_len != 0 || oif != LO_INDEX)
		return strange(s, "a route that is not ours");
	s->local_routes++;
	return MNL_CB_OK;
}

static int
dump(int fd, uint16_t type, size_t header, uint8_t family, mnl_cb_t fn,
    struct seen *s)
{
	_Alignas(struct nlmsghdr) char buf[128];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	uint8_t *extra = mnl_nlmsg_put_extra_header(nlh, header);

	/* Each of the four headers starts with the family. */
	extra[0] = family;
	nlh->nlmsg_type = type;
	nlh->nlmsg_seq = type;
	return netlink_ask(fd, nlh, NLM_F_DUMP, fn, s);
}

static int
dump_all(struct seen *s)
{
	AUTO_CLOSE int fd = -1;
	int rc = netlink_open(NETLINK_ROUTE, &fd);

	if (rc == 0)
		rc = dump(fd, RTM_GETLINK, sizeof(struct ifinfomsg), AF_UNSPEC,
		    on_link, s);
	if (rc == 0)
		rc = dump(fd, RTM_GETADDR, sizeof(struct ifaddrmsg), AF_INET,
		    on_address, s);
	if (rc == 0)
		rc = dump(fd, RTM_GETRULE, sizeof(struct fib_rule_hdr), AF_INET,
		    on_rule, s);
	if (rc == 0)
		rc = dump(fd, RTM_GETROUTE, sizeof(struct rtmsg), AF_INET,
		    on_route, s);
	return rc;
}

int
route_verify(const struct net_plan *plan, const char *device, struct err *err)
{
	struct seen s = { .plan = plan };
	int rc = device_index(device, &s.index);

	if (rc == 0)
		rc = dump_all(&s);
	if (rc != 0)
		return err_os(err, rc, "reading back the routes");
	if (s.strange == NULL && s.links != 1)
		s.strange = "no device";
	if (s.strange == NULL && s.addresses != 1)
		s.strange = "no gateway address";
	if (s.strange == NULL &&
	    (s.rules != 4 || s.mark_rules != 1 || s.local_routes != 1))
		s.strange = "the rule or the route for TPROXY is missing";
	if (s.strange != NULL)
		return err_os(err, -EBADMSG, "%s: %s", device, s.strange);
	return 0;
}
