/*
 * Devices inside a sandbox's namespace. Every function works in the namespace
 * that the caller is in (netns_enter), unless it takes a descriptor.
 */
#ifndef TAPWARD_NETFILTER_DEVICE_H
#define TAPWARD_NETFILTER_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "netfilter/plan.h"

/* The owner of a tap that only root may attach to. */
#define DEVICE_NO_OWNER 0

/*
 * A persistent tap with the gateway's MAC, down and with nobody attached.
 * Whoever attaches chooses IFF_VNET_HDR. Only root may, until it has another
 * owner (a tap without one is everybody's). 0 or -errno.
 */
int device_tap_create(const struct net_plan *plan);
/* Gives the tap to owner. -EBUSY while somebody is attached. */
int device_tap_set_owner(const char *name, uint32_t owner);
/*
 * Attaches to the tap. flags are IFF_VNET_HDR or 0, added to IFF_TAP |
 * IFF_NO_PI. -EBUSY while somebody is attached; 0 or -errno.
 */
int device_tap_open(const char *name, int flags, int *ret_fd);

/* The guest's end of a veth pair. */
struct device_guest {
	int ns_fd;        /* where it goes; borrowed */
	const char *name; /* of the device there, as "eth0" */
	bool configure;   /* set up, with address and default route */
};
/*
 * A veth pair: one end here, down, with the gateway's MAC; the other in the
 * guest's namespace with the guest's. -EEXIST if guest->name is taken there;
 * 0 or -errno. The caller is in the sandbox's namespace, of which sandbox_fd
 * is a descriptor, and is so again afterwards.
 */
int device_veth_create(const struct net_plan *plan,
    const struct device_guest *guest, int sandbox_fd);

/* The gateway's MAC and the MTU, for a device that somebody made anew. */
int device_set_identity(const struct net_plan *plan, const char *name);
int device_set_up(const char *name, bool up);
/* -ENODEV if there is none. Takes some 20 ms in the kernel. */
int device_delete(const char *name);

enum device_state {
	DEVICE_GONE,    /* not there */
	DEVICE_DOWN,    /* there, closed by us or by a stranger */
	DEVICE_WAITING, /* up, but no VMM attached or peer down */
	DEVICE_READY,   /* up and attached */
};
int device_state(const char *name, enum device_state *ret);

/*
 * A non-blocking rtnetlink socket that becomes readable on link events of
 * this namespace, whichever namespace the reader is in. 0 or -errno.
 */
int device_watch_open(int *ret_fd);
/*
 * Reads all that waits on it. *ret_touched: something about name changed, or
 * events were lost, so ask device_state(). 0 or -errno.
 */
int device_watch_drain(int fd, const char *name, bool *ret_touched);

#endif
