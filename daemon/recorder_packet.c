/*
 * What a dropped packet was, in one clause: protocol, flags, addresses. All
 * of it is a guest's bytes; only what parses is shown, and as numbers.
 */
#include "daemon/recorder_packet.h"

#include <stdio.h>

#include "conf/verdict.h"
#include "wire/ip.h"

static void
write_protocol(struct wr *w, const struct ip_summary *s)
{
	const char *name = ip_protocol_name(s->protocol);

	if (s->arp_operation != 0)
		wr_fmt(w, "arp operation=%u ", s->arp_operation);
	else if (!s->has_protocol)
		wr_fmt(w, "ethertype=0x%04x ", s->ethertype);
	else if (name != NULL)
		wr_fmt(w, "%s ", name);
	else
		wr_fmt(w, "protocol=%u ", s->protocol);
	if (s->has_icmp)
		wr_fmt(w, "type=%u code=%u ", s->icmp_type, s->icmp_code);
	if (s->has_tcp_flags)
		wr_fmt(w, "flags=0x%02x ", s->tcp_flags);
}

/* The sender by its Ethernet header (IEEE 802.3: destination, source). */
static void
write_mac(struct wr *w, struct span frame)
{
	struct rd r = rd_span(frame);

	rd_skip(&r, 6);
	if (rd_left(&r) < 6)
		return;
	wr_text(w, "mac=");
	for (int i = 0; i < 6; i++)
		wr_fmt(w, "%s%02x", i == 0 ? "" : ":", rd_u8(&r));
	wr_text(w, " ");
}

static void
write_source(struct wr *w, const struct ip_summary *s)
{
	if (s->source.family != ADDRESS_NONE) {
		char text[ADDRESS_TEXT_SIZE];

		wr_fmt(w, "from=%s ", address_format(&s->source, text));
	}
	if (s->is_fragment)
		wr_text(w, "fragment ");
	if (s->has_options)
		wr_text(w, "options ");
}

void
recorder_packet_describe(const struct nflog_packet *packet,
    struct recorder_packet *ret)
{
	const struct ip_summary s =
	    ip_read_packet(packet->ethertype, packet->payload);
	struct wr w = wr_init(ret->detail, sizeof(ret->detail));
	struct audit_record *r = &ret->record;

	*r = audit_record_init(AUDIT_PACKET);
	r->verdict = ACTION_DENY;
	r->reason = packet->reason;
	write_protocol(&w, &s);
	write_mac(&w, packet->frame);
	write_source(&w, &s);
	/* Each word ends with a blank. */
	r->detail = (struct span){ w.buf, w.len > 0 ? w.len - 1 : 0 };
	if (s.destination.family == ADDRESS_NONE)
		return;
	r->address = address_format(&s.destination, ret->address);
	if (s.has_ports)
		r->port = s.destination_port;
}
