/*
 * The host's side of every sandbox's network: our own namespace, to which
 * every function that enters a sandbox's returns.
 */
#ifndef TAPWARD_NETFILTER_NET_HOST_H
#define TAPWARD_NETFILTER_NET_HOST_H

#include <stdint.h>

#include "base/err.h"

struct net_host {
	int home_fd;
	uint64_t home_inode;
};

/*
 * Opens it and checks that namespaces, taps and nftables are to be had here,
 * in a namespace that it throws away. 0 or -errno, and a text that says what
 * is missing.
 */
int net_host_init(struct net_host *host, struct err *err);
void net_host_done(struct net_host *host);

#endif
