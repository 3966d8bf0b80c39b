#include "wire/ip.h"

#include <string.h>

enum {
	IPV6_HOP_BY_HOP = 0,
	IPV6_ROUTING = 43,
	IPV6_FRAGMENT = 44,
	IPV6_DESTINATION = 60,
};

/* More tags or extension headers than that are not followed. */
#define HEADERS_MAX 8

static void
take_bytes(struct rd *r, uint8_t *ret, size_t len)
{
	struct span s = rd_take(r, len);

	if (s.len > 0)
		memcpy(ret, s.ptr, s.len);
}

static struct address
take_address(struct rd *r, enum address_family family)
{
	struct address a = { .family = family };

	take_bytes(r, a.bytes, family == ADDRESS_IPV4 ? 4 : 16);
	return rd_ok(r) ? a : (struct address){ .family = ADDRESS_NONE };
}

static void
read_ports(struct rd *r, struct ip_summary *s)
{
	s->source_port = rd_u16(r);
	s->destination_port = rd_u16(r);
	s->has_ports = rd_ok(r);
	if (s->protocol != IP_PROTOCOL_TCP)
		return;
	rd_skip(r, 9); /* sequence numbers, data offset */
	s->tcp_flags = rd_u8(r);
	s->has_tcp_flags = rd_ok(r);
}

static void
read_icmp(struct rd *r, struct ip_summary *s)
{
	s->icmp_type = rd_u8(r);
	s->icmp_code = rd_u8(r);
	s->has_icmp = rd_ok(r);
}

static void
read_transport(struct rd *r, struct ip_summary *s)
{
	switch (s->protocol) {
	case IP_PROTOCOL_TCP:
	case IP_PROTOCOL_UDP:
		read_ports(r, s);
		break;
	case IP_PROTOCOL_ICMP:
	case IP_PROTOCOL_ICMPV6:
		read_icmp(r, s);
		break;
	default:
		break;
	}
}

/* RFC 791 3.1. */
static void
read_ipv4(struct rd *r, struct ip_summary *s)
{
	uint8_t first = rd_u8(r);
	size_t header_bytes = (size_t)4 * (first & 0xfu);
	uint16_t fragment;

	if (first >> 4 != 4 || header_bytes < 20)
		return;
	rd_skip(r, 5); /* service, total length, identification */
	fragment = rd_u16(r) & 0x3fff;
	rd_skip(r, 1);
	s->protocol = rd_u8(r);
	rd_skip(r, 2);
	s->has_protocol = rd_ok(r);
	s->is_fragment = fragment != 0;
	s->source = take_address(r, ADDRESS_IPV4);
	s->destination = take_address(r, ADDRESS_IPV4);
	s->has_options = header_bytes > 20;
	rd_skip(r, header_bytes - 20);
	/* Only the first fragment holds the next header. */
	if ((fragment & 0x1fff) == 0)
		read_transport(r, s);
}

/* One extension header (RFC 8200 4); false when the next is none. */
static bool
take_extension(struct rd *r, struct ip_summary *s, bool *ret_has_transport)
{
	uint8_t type = s->protocol;
	uint8_t next, length;

	if (type != IPV6_HOP_BY_HOP && type != IPV6_ROUTING &&
	    type != IPV6_DESTINATION && type != IPV6_FRAGMENT)
		return false;
	next = rd_u8(r);
	length = rd_u8(r);
	if (type == IPV6_FRAGMENT) {
		*ret_has_transport = (rd_u16(r) & 0xfff8) == 0;
		rd_skip(r, 4);
		s->is_fragment = rd_ok(r);
	} else {
		rd_skip(r, 6 + (size_t)length * 8);
	}
	if (!rd_ok(r))
		return false;
	s->has_options = true;
	s->protocol = next;
	return *ret_has_transport;
}

static void
read_ipv6(struct rd *r, struct ip_summary *s)
{
	bool has_transport = true;

	if (rd_u8(r) >> 4 != 6)
		return;
	rd_skip(r, 5); /* class, flow label, payload length */
	s->protocol = rd_u8(r);
	rd_skip(r, 1);
	s->has_protocol = rd_ok(r);
	s->source = take_address(r, ADDRESS_IPV6);
	s->destination = take_address(r, ADDRESS_IPV6);
	for (int i = 0; i < HEADERS_MAX; i++)
		if (!take_extension(r, s, &has_transport))
			break;
	if (has_transport)
		read_transport(r, s);
}

/* RFC 826, for Ethernet and IPv4. */
static void
read_arp(struct rd *r, struct ip_summary *s)
{
	if (rd_u16(r) != 1)
		return;
	if (rd_u16(r) != IP_ETHERTYPE_IPV4 || rd_u8(r) != 6 || rd_u8(r) != 4)
		return;
	s->arp_operation = rd_u16(r);
	rd_skip(r, 6);
	s->source = take_address(r, ADDRESS_IPV4);
	rd_skip(r, 6);
	s->destination = take_address(r, ADDRESS_IPV4);
}

static void
read_packet(struct rd *r, struct ip_summary *s)
{
	switch (s->ethertype) {
	case IP_ETHERTYPE_IPV4:
		read_ipv4(r, s);
		break;
	case IP_ETHERTYPE_IPV6:
		read_ipv6(r, s);
		break;
	case IP_ETHERTYPE_ARP:
		read_arp(r, s);
		break;
	default:
		break;
	}
	s->is_truncated = !rd_ok(r);
}

/* IEEE 802.3 3.2.6: up to 1500 it is a length, of an LLC frame. */
static void
take_ethertype(struct rd *r, struct ip_summary *s)
{
	uint16_t type = rd_u16(r);

	while ((type == IP_ETHERTYPE_VLAN || type == IP_ETHERTYPE_QINQ) &&
	    s->vlan_tags < HEADERS_MAX) {
		s->vlan_tags++;
		rd_skip(r, 2);
		type = rd_u16(r);
	}
	s->ethertype = type < 0x0600 ? 0 : type;
}

struct ip_summary
ip_read_frame(struct span frame)
{
	struct ip_summary s = { .has_ethernet = false };
	struct rd r = rd_span(frame);

	take_bytes(&r, s.destination_mac, sizeof(s.destination_mac));
	take_bytes(&r, s.source_mac, sizeof(s.source_mac));
	take_ethertype(&r, &s);
	s.has_ethernet = rd_ok(&r);
	read_packet(&r, &s);
	return s;
}

struct ip_summary
ip_read_packet(uint16_t ethertype, struct span packet)
{
	struct ip_summary s = { .ethertype = ethertype };
	struct rd r = rd_span(packet);

	read_packet(&r, &s);
	return s;
}

const char *
ip_protocol_name(uint8_t protocol)
{
	switch (protocol) {
	case IP_PROTOCOL_ICMP:
		return "icmp";
	case IP_PROTOCOL_TCP:
		return "tcp";
	case IP_PROTOCOL_UDP:
		return "udp";
	case IP_PROTOCOL_ICMPV6:
		return "icmpv6";
	default:
		return NULL;
	}
}
