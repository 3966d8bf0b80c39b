/*
 * A frame says of its packet what the packet says alone; nothing is told
 * twice or out of bytes that are not there.
 */
#include "fuzz_wire.h"

#include "wire/ip.h"

static void
is_sound(const struct ip_summary *s)
{
	HOLDS(!(s->has_ports && s->has_icmp));
	HOLDS(!s->has_ports || s->has_protocol);
	HOLDS(!s->has_tcp_flags || s->has_ports);
	HOLDS(s->source.family == s->destination.family || s->is_truncated);
	HOLDS(s->arp_operation == 0 || s->ethertype == IP_ETHERTYPE_ARP);
	if (s->has_protocol)
		HOLDS(s->ethertype == IP_ETHERTYPE_IPV4 ||
		    s->ethertype == IP_ETHERTYPE_IPV6);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ip_summary frame = ip_read_frame((struct span){ data, size });
	struct rd r = rd_init(data, size);
	struct ip_summary packet;

	is_sound(&frame);
	if (!frame.has_ethernet)
		return 0;
	rd_skip(&r, 14 + 4 * (size_t)frame.vlan_tags);
	HOLDS(rd_ok(&r));
	packet = ip_read_packet(frame.ethertype, rd_take(&r, rd_left(&r)));
	is_sound(&packet);
	HOLDS(address_equals(&frame.source, &packet.source));
	HOLDS(address_equals(&frame.destination, &packet.destination));
	HOLDS(frame.has_ports == packet.has_ports);
	HOLDS(frame.destination_port == packet.destination_port);
	HOLDS(frame.is_truncated == packet.is_truncated);
	return 0;
}
