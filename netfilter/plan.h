/*
 * The numbers of one sandbox's network (DESIGN 4). Every sandbox has the same
 * ones by default, which clones of one snapshot need. Addresses are IPv4 in
 * host byte order.
 */
#ifndef TAPWARD_NETFILTER_PLAN_H
#define TAPWARD_NETFILTER_PLAN_H

#include <net/if.h>
#include <stdint.h>

#include "base/err.h"

#define NET_MAC_BYTES 6
/* Ports and reserved addresses that one policy may bring. */
#define NET_PORTS_MAX 1024
#define NET_RESERVED_MAX 4097 /* the last one is for metadata */

/* Fixed by protocol, so not in the plan. */
#define NET_DNS_PORT 53
#define NET_SNTP_PORT 123
/*
 * Where SDKs of clouds look for their machine's metadata: the gate's, and only
 * of a sandbox that is granted a credential for it.
 */
#define NET_METADATA_IP 0xa9fea9fe /* 169.254.169.254 */
#define NET_METADATA_PORT 80

/*
 * Mark of a packet that the ruleset lets reach a socket, and the routing
 * table that such packets use. Only the ruleset sets the mark.
 */
#define NET_MARK 1
#define NET_TABLE 100

struct net_plan {
	uint32_t guest_ip;
	uint32_t gateway_ip; /* in one prefix with guest_ip */
	uint8_t prefix_len;  /* of both; 8 to 30 */
	uint8_t guest_mac[NET_MAC_BYTES];
	uint8_t gateway_mac[NET_MAC_BYTES];
	uint32_t synthetic_net; /* what the gate answers names with */
	uint8_t synthetic_prefix_len;
	uint16_t proxy_port;        /* explicit proxy, on the gateway address */
	uint16_t transparent_port;  /* where TPROXY hands connections to */
	uint16_t log_group;         /* of NFLOG, inside the namespace */
	uint32_t log_per_second;    /* logged packets for each reason */
	uint32_t refuse_per_second; /* ICMP errors sent for refused UDP */
	uint32_t mtu;
	char tap_name[IFNAMSIZ];  /* of the device inside the namespace */
	char veth_name[IFNAMSIZ]; /* the same for veth */
};

/* The default plan of DESIGN 4. */
struct net_plan net_plan_default(void);

/*
 * Finds what would not work: ranges that overlap, a guest address outside the
 * gateway's prefix, a multicast MAC. 0, or -EINVAL with a text in err.
 */
int net_plan_check(const struct net_plan *plan, struct err *err);

/* The first len bits; len is at most 32. */
uint32_t net_prefix_mask(uint8_t len);

#endif
