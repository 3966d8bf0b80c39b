/*
 * Taps by ioctl, everything else by rtnetlink. Closing a persistent tap costs
 * 50 us; deleting a device waits for RCU, some 20 ms, so that only happens
 * where somebody would notice a device that lives on for a moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "netfilter/device.h"
#include "netfilter/netlink.h"
#include "netfilter/netns.h"
#include "netfilter/route.h"

/* IFF_LOWER_UP; <linux/if.h> and <net/if.h> do not go together. */
#define LOWER_UP_FLAG 0x10000U

static int
name_copy(char dst[IFNAMSIZ], const char *name)
{
	size_t len = strnlen(name, IFNAMSIZ);

	if (len == 0 || len == IFNAMSIZ)
		return -EINVAL;
	memcpy(dst, name, len + 1);
	return 0;
}

int
device_tap_open(const char *name, int flags, int *ret_fd)
{
	AUTO_CLOSE int fd = -1;
	struct ifreq ifr = { .ifr_flags =
				 (short)(IFF_TAP | IFF_NO_PI | flags) };
	int rc = name_copy(ifr.ifr_name, name);

	if (rc != 0)
		return rc;
	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1)
		return -errno;
	if (ioctl(fd, TUNSETIFF, &ifr) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* A request about one link by its name, sent alone. */
static int
link_request(uint16_t type, uint16_t flags, const char *name,
    void (*fill)(struct nlmsghdr *nlh, struct ifinfomsg *ifi, const void *arg),
    const void *arg)
{
	AUTO_CLOSE int fd = -1;
	struct netlink_batch b;
	struct nlmsghdr *nlh;
	int rc = netlink_open(NETLINK_ROUTE, &fd);

	if (rc != 0)
		return rc;
	netlink_batch_init(&b);
	nlh = netlink_batch_next(&b, type, (uint16_t)(NLM_F_ACK | flags));
	if (nlh != NULL) {
		struct ifinfomsg *ifi =
		    mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

		ifi->ifi_family = AF_UNSPEC;
		mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
		if (fill != NULL)
			fill(nlh, ifi, arg);
		netlink_batch_push(&b, nlh);
	}
	rc = netlink_batch_send(fd, &b, NULL);
	netlink_batch_done(&b);
	return rc;
}

static void
fill_identity(struct nlmsghdr *nlh, struct ifinfomsg *ifi, const void *arg)
{
	const struct net_plan *plan = arg;

	(void)ifi;
	mnl_attr_put(nlh, IFLA_ADDRESS, NET_MAC_BYTES, plan->gateway_mac);
	mnl_attr_put_u32(nlh, IFLA_MTU, plan->mtu);
}

int
device_set_identity(const struct net_plan *plan, const char *name)
{
	return link_request(RTM_NEWLINK, 0, name, fill_identity, plan);
}

int
device_tap_create(const struct net_plan *plan)
{
	AUTO_CLOSE int fd = -1;
	int rc = device_tap_open(plan->tap_name, 0, &fd);

	if (rc != 0)
		return rc;
	/* Without an owner it would be everybody's (tun_not_capable()). */
	if (ioctl(fd, TUNSETOWNER, (unsigned long)DEVICE_NO_OWNER) == -1 ||
	    ioctl(fd, TUNSETPERSIST, 1UL) == -1)
		return -errno;
	return device_set_identity(plan, plan->tap_name);
}

int
device_tap_set_owner(const char *name, uint32_t owner)
{
	AUTO_CLOSE int fd = -1;
	int rc;

	rc = device_tap_open(name, 0, &fd);
	if (rc != 0)
		return rc;
	return ioctl(fd, TUNSETOWNER, (unsigned long)owner) == -1 ? -errno : 0;
}

struct veth_request {
	const struct net_plan *plan;
	const struct device_guest *guest;
};

static void
fill_veth(struct nlmsghdr *nlh, struct ifinfomsg *ifi, const void *arg)
{
	const struct veth_request *v = arg;
	struct nlattr *info, *data, *peer;
	struct ifinfomsg *peer_ifi;

	fill_identity(nlh, ifi, v->plan);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	peer_ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*peer_ifi));
	peer_ifi->ifi_family = AF_UNSPEC;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, v->guest->name);
	mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, (uint32_t)v->guest->ns_fd);
	mnl_attr_put(nlh, IFLA_ADDRESS, NET_MAC_BYTES, v->plan->guest_mac);
	mnl_attr_put_u32(nlh, IFLA_MTU, v->plan->mtu);
	mnl_attr_nest_end(nlh, peer);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
}

/* In the guest's namespace: all that a program there needs but DNS. */
static int
guest_configure(const struct net_plan *plan, const char *name)
{
	int rc = device_set_up("lo", true);

	if (rc == 0)
		rc = device_set_up(name, true);
	return rc != 0 ? rc : route_guest_setup(plan, name);
}

int
device_veth_create(const struct net_plan *plan,
    const struct device_guest *guest, int sandbox_fd)
{
	struct veth_request v = { plan, guest };
	char name[IFNAMSIZ];
	int rc = name_copy(name, guest->name);

	if (rc != 0)
		return rc;
	rc = link_request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
	    plan->veth_name, fill_veth, &v);
	if (rc != 0 || !guest->configure)
		return rc;
	rc = netns_enter(guest->ns_fd);
	if (rc == 0) {
		rc = guest_configure(plan, name);
		netns_leave(sandbox_fd);
	}
	if (rc != 0)
		(void)device_delete(plan->veth_name);
	return rc;
}

static void
fill_up(struct nlmsghdr *nlh, struct ifinfomsg *ifi, const void *arg)
{
	const bool *up = arg;

	(void)nlh;
	ifi->ifi_change = IFF_UP;
	ifi->ifi_flags = *up ? IFF_UP : 0;
}

int
device_set_up(const char *name, bool up)
{
	return link_request(RTM_NEWLINK, 0, name, fill_up, &up);
}

int
device_delete(const char *name)
{
	return link_request(RTM_DELLINK, 0, name, NULL, NULL);
}

static int
on_state(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	enum device_state *state = arg;

	if ((ifi->ifi_flags & IFF_UP) == 0)
		*state = DEVICE_DOWN;
	else
		*state = (ifi->ifi_flags & LOWER_UP_FLAG) ? DEVICE_READY
							  : DEVICE_WAITING;
	return MNL_CB_OK;
}

int
device_state(const char *name, enum device_state *ret)
{
	_Alignas(struct nlmsghdr) char buf[128];
	AUTO_CLOSE int fd = -1;
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	enum device_state state = DEVICE_GONE;
	int rc = netlink_open(NETLINK_ROUTE, &fd);

	if (rc != 0)
		return rc;
	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_seq = 1;
	(void)mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	rc = netlink_ask(fd, nlh, NLM_F_ACK, on_state, &state);
	if (rc == -ENODEV)
		rc = 0;
	if (rc == 0)
		*ret = state;
	return rc;
}

int
device_watch_open(int *ret_fd)
{
	return netlink_watch(NETLINK_ROUTE, RTNLGRP_LINK, ret_fd);
}

struct watch_name {
	const char *name;
	bool is_touched;
};

static int
on_link_event(const struct nlmsghdr *nlh, void *arg)
{
	struct watch_name *w = arg;
	const struct nlattr *attr;

	if (nlh->nlmsg_type != RTM_NEWLINK && nlh->nlmsg_type != RTM_DELLINK)
		return MNL_CB_OK;
	attr = netlink_attr(nlh, sizeof(struct ifinfomsg), IFLA_IFNAME);
	if (attr != NULL && mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) == 0 &&
	    strcmp(mnl_attr_get_str(attr), w->name) == 0)
		w->is_touched = true;
	return MNL_CB_OK;
}

int
device_watch_drain(int fd, const char *name, bool *ret_touched)
{
	struct watch_name w = { name, false };
	bool is_lost = false;
	int rc = netlink_drain(fd, on_link_event, &w, &is_lost);

	*ret_touched = w.is_touched || is_lost;
	return rc;
}
