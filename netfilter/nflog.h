/*
 * Reads what a NET_SOCKET_LOG delivers: netlink datagrams that hold packets
 * which the ruleset dropped, with the reason as prefix. Pure; the bytes inside
 * are a guest's.
 */
#ifndef TAPWARD_NETFILTER_NFLOG_H
#define TAPWARD_NETFILTER_NFLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/reason.h"

/* Room for one datagram of the kernel. */
#define NFLOG_DATAGRAM_MAX 65536
/* Bytes of a packet that are kept, from its network header on. */
#define NFLOG_COPY_BYTES 128

struct nflog_packet {
	enum reason reason;
	uint16_t ethertype;  /* as on the wire, a VLAN tag included; or 0 */
	struct span frame;   /* link header; empty where there is none */
	struct span payload; /* from the network header on, cut */
	/* Of a whole IPv4 header; else zero. */
	bool has_ip;
	uint8_t protocol;
	uint32_t source, destination; /* host byte order */
	/* Of TCP and UDP with their first 4 bytes there; else zero. */
	bool has_ports;
	uint16_t source_port, destination_port;
};

enum nflog_result {
	NFLOG_OK,        /* *ret holds a packet; ask again */
	NFLOG_END,       /* the datagram is used up */
	NFLOG_SKIPPED,   /* a message of another kind; ask again */
	NFLOG_MALFORMED, /* ends the datagram */
};

/* Takes the next message off r, a reader over one datagram. */
enum nflog_result nflog_next(struct rd *r, struct nflog_packet *ret);

#endif
