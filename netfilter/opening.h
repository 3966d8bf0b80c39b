/*
 * What a policy opens in a sandbox's ruleset: the contents of its two sets.
 */
#ifndef TAPWARD_NETFILTER_OPENING_H
#define TAPWARD_NETFILTER_OPENING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reserved address of a `scheme = tcp` host and a port of it. */
struct net_reserved {
	uint32_t address; /* host byte order */
	uint16_t port;
};

struct net_opening {
	const uint16_t *ports; /* on the synthetic range; 80, 443 always are */
	size_t port_count;     /* at most NET_PORTS_MAX */
	const struct net_reserved *reserved;
	size_t reserved_count; /* at most NET_RESERVED_MAX */
};

#define NET_OPENING_NONE ((struct net_opening){ NULL, 0, NULL, 0 })

/*
 * A copy that the caller owns. -E2BIG for more than there may be, -ENOMEM;
 * or 0.
 */
int net_opening_copy(const struct net_opening *from, struct net_opening *ret);
/* Frees a copy; it is then empty. Only for what net_opening_copy() made. */
void net_opening_done(struct net_opening *o);
/* Whatever inner opens, outer opens too. */
bool net_opening_contains(const struct net_opening *outer,
    const struct net_opening *inner);

#endif
