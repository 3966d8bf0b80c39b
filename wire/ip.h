/*
 * Headers of a dropped packet, for its audit record. Never a decision: the
 * kernel's ruleset has already dropped it. Total over any bytes; what was cut
 * or does not parse is left out.
 */
#ifndef TAPWARD_WIRE_IP_H
#define TAPWARD_WIRE_IP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/address.h"

enum {
	IP_ETHERTYPE_IPV4 = 0x0800,
	IP_ETHERTYPE_ARP = 0x0806,
	IP_ETHERTYPE_VLAN = 0x8100,
	IP_ETHERTYPE_IPV6 = 0x86dd,
	IP_ETHERTYPE_QINQ = 0x88a8,
};

enum {
	IP_PROTOCOL_ICMP = 1,
	IP_PROTOCOL_TCP = 6,
	IP_PROTOCOL_UDP = 17,
	IP_PROTOCOL_ICMPV6 = 58,
};

struct ip_summary {
	bool has_ethernet;
	uint8_t source_mac[6];
	uint8_t destination_mac[6];
	uint16_t ethertype; /* behind VLAN tags; 0 for an LLC frame */
	unsigned int vlan_tags;
	/* family ADDRESS_NONE where there was no address. For ARP: sender and
	 * target. */
	struct address source;
	struct address destination;
	uint16_t arp_operation; /* 1 request, 2 answer, 0 not ARP */
	bool has_protocol;
	uint8_t protocol;
	bool is_fragment;
	bool has_options; /* IPv4 options or IPv6 extension headers */
	bool has_ports;
	uint16_t source_port;
	uint16_t destination_port;
	bool has_tcp_flags;
	uint8_t tcp_flags;
	bool has_icmp;
	uint8_t icmp_type;
	uint8_t icmp_code;
	bool is_truncated; /* a header went past the captured bytes */
};

/* From the Ethernet header on. */
struct ip_summary ip_read_frame(struct span frame);
/* From the header that ethertype names on. */
struct ip_summary ip_read_packet(uint16_t ethertype, struct span packet);
/* "tcp", "udp", "icmp", "icmpv6"; NULL for those without a row. */
const char *ip_protocol_name(uint8_t protocol);

#endif
