/*
 * The sockets through which a guest reaches its gate, made by root inside the
 * sandbox's namespace and handed over: the gate can make none itself.
 */
#ifndef TAPWARD_NETFILTER_SOCKETS_H
#define TAPWARD_NETFILTER_SOCKETS_H

#include "netfilter/plan.h"

enum net_socket {
	/* Listener; getsockname() of a connection is what the guest dialled. */
	NET_SOCKET_TRANSPARENT,
	/* Listener on the gateway address for CONNECT and absolute-form. */
	NET_SOCKET_PROXY,
	/*
	 * Datagrams to port 53 of any address. IP_PKTINFO comes with each;
	 * send it back as ipi_spec_dst = ipi_addr to answer from there.
	 */
	NET_SOCKET_DNS_UDP,
	/* Listener for port 53 of any address. */
	NET_SOCKET_DNS_TCP,
	/* Datagrams to port 123 of the gateway address. */
	NET_SOCKET_SNTP,
	/* NFLOG, for the recorder; see nflog.h. */
	NET_SOCKET_LOG,
	NET_SOCKET_COUNT
};

struct net_sockets {
	int fd[NET_SOCKET_COUNT]; /* -1 where there is none */
};

#define NET_SOCKETS_NONE ((struct net_sockets){ { -1, -1, -1, -1, -1, -1 } })

/*
 * Makes those that are -1 in s, non-blocking and close-on-exec, in the
 * namespace the caller is in; the gateway address need not be there yet.
 * 0 or -errno; s then holds some, for net_sockets_close().
 */
int net_sockets_open(const struct net_plan *plan, struct net_sockets *s);
void net_sockets_close(struct net_sockets *s);

#endif
