/*
 * Addresses, routes and routing rules of a sandbox's namespace, over
 * rtnetlink. Every function works in the namespace that the caller is in.
 */
#ifndef TAPWARD_NETFILTER_ROUTE_H
#define TAPWARD_NETFILTER_ROUTE_H

#include "base/err.h"
#include "netfilter/plan.h"

/*
 * lo up, and what TPROXY needs: packets with NET_MARK use table NET_TABLE,
 * where every address is local. Table main never gets such a route, so that
 * without the ruleset's mark nothing is local but the gateway. 0 or -errno.
 */
int route_base_setup(void);

/*
 * The gateway's address on device, without a route that leads further, and
 * the guest's permanent neighbour entry, which no ARP answer can change. Again
 * after each time the device was down: the entry goes with that. 0 or -errno.
 */
int route_address_setup(const struct net_plan *plan, const char *device);

/*
 * For the guest's side of a veth: its address on device and a default route
 * by the gateway; device and lo must be up. 0 or -errno.
 */
int route_guest_setup(const struct net_plan *plan, const char *device);

/*
 * Reads back that the namespace has lo, device and no other link, and the
 * addresses, rules and routes of the calls above and no other. -EBADMSG, err
 * then says what is strange; 0 or -errno.
 */
int route_verify(const struct net_plan *plan, const char *device,
    struct err *err);

#endif
