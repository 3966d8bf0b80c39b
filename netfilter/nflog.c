/*
 * Netlink framing is in host byte order and 4-byte aligned; what is inside
 * NFLOG's attributes is in network order. Everything is read bounds-checked,
 * since a packet's bytes and lengths are a guest's.
 */
#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <string.h>

#include "netfilter/nflog.h"

#define NFGENMSG_BYTES 4
#define ATTR_HEADER_BYTES 4
#define ETHER_HEADER_BYTES 14
/* Without the nested and byte order flags. */
#define ATTR_TYPE_MASK 0x3fffU
#define IP4_HEADER_BYTES 20

static uint16_t
host_u16(struct rd *r)
{
	struct span s = rd_take(r, sizeof(uint16_t));
	uint16_t v = 0;

	if (s.len == sizeof(v))
		memcpy(&v, s.ptr, sizeof(v));
	return v;
}

static uint32_t
host_u32(struct rd *r)
{
	struct span s = rd_take(r, sizeof(uint32_t));
	uint32_t v = 0;

	if (s.len == sizeof(v))
		memcpy(&v, s.ptr, sizeof(v));
	return v;
}

/* The last message or attribute may come without its padding. */
static void
skip_padding(struct rd *r, size_t len)
{
	size_t padding = (4 - len % 4) % 4;

	rd_skip(r, padding < rd_left(r) ? padding : rd_left(r));
}

/* "packet-arp" and a NUL. */
static enum reason
parse_prefix(struct span s)
{
	char code[48];
	enum reason r;

	if (s.len == 0 || s.len > sizeof(code) || s.ptr[s.len - 1] != '\0')
		return REASON_PACKET_OTHER;
	memcpy(code, s.ptr, s.len);
	if (!reason_find(code, &r) || r < REASON_PACKET_ETHERTYPE)
		return REASON_PACKET_OTHER;
	return r;
}

/* RFC 791 3.1; only what is whole, and only a first fragment has ports. */
static void
parse_ip4(struct nflog_packet *p)
{
	struct rd r = rd_span(p->payload);
	uint8_t version_ihl = rd_u8(&r);
	size_t header = (size_t)4 * (version_ihl & 0x0fU);
	uint16_t fragment;

	rd_skip(&r, 5);
	fragment = rd_u16(&r);
	rd_skip(&r, 1);
	p->protocol = rd_u8(&r);
	rd_skip(&r, 2);
	p->source = rd_u32(&r);
	p->destination = rd_u32(&r);
	p->has_ip =
	    rd_ok(&r) && version_ihl >> 4 == 4 && header >= IP4_HEADER_BYTES;
	if (!p->has_ip) {
		p->protocol = 0;
		p->source = 0;
		p->destination = 0;
		return;
	}
	rd_skip(&r, header - IP4_HEADER_BYTES);
	if ((p->protocol != 6 && p->protocol != 17) ||
	    (fragment & 0x1fff) != 0 || !rd_ok(&r) || rd_left(&r) < 4)
		return;
	p->source_port = rd_u16(&r);
	p->destination_port = rd_u16(&r);
	p->has_ports = true;
}

static void
parse_ethertype(struct nflog_packet *p)
{
	struct rd r = rd_span(p->frame);

	if (p->frame.len < ETHER_HEADER_BYTES)
		return;
	rd_skip(&r, 12);
	p->ethertype = rd_u16(&r);
}

static void
take_attribute(struct nflog_packet *p, uint16_t type, struct span value)
{
	struct rd r = rd_span(value);

	if (type == NFULA_PREFIX)
		p->reason = parse_prefix(value);
	else if (type == NFULA_PAYLOAD)
		p->payload = value;
	else if (type == NFULA_HWHEADER)
		p->frame = value;
	else if (type == NFULA_PACKET_HDR)
		/* Only until the link header, if any, says it better. */
		p->ethertype = rd_u16(&r);
}

/* struct nfgenmsg, then attributes. */
static bool
parse_packet(struct rd *r, struct nflog_packet *p)
{
	uint16_t hw_protocol;

	*p = (struct nflog_packet){ .reason = REASON_PACKET_OTHER };
	rd_skip(r, NFGENMSG_BYTES);
	while (rd_ok(r) && rd_left(r) > 0) {
		uint16_t len = host_u16(r);
		uint16_t type = host_u16(r) & ATTR_TYPE_MASK;
		struct span value;

		if (len < ATTR_HEADER_BYTES)
			return false;
		value = rd_take(r, len - (size_t)ATTR_HEADER_BYTES);
		skip_padding(r, len);
		if (rd_ok(r))
			take_attribute(p, type, value);
	}
	if (!rd_ok(r))
		return false;
	/* A tagged frame's payload starts behind the tag. */
	hw_protocol = p->ethertype;
	parse_ethertype(p);
	if (hw_protocol == 0x0800)
		parse_ip4(p);
	return true;
}

enum nflog_result
nflog_next(struct rd *r, struct nflog_packet *ret)
{
	struct nflog_packet p;
	uint32_t len;
	uint16_t type;
	struct rd body;

	if (rd_left(r) == 0)
		return rd_ok(r) ? NFLOG_END : NFLOG_MALFORMED;
	len = host_u32(r);
	type = host_u16(r);
	rd_skip(r, NLMSG_HDRLEN - 6);
	if (len < NLMSG_HDRLEN) {
		rd_fail(r);
		return NFLOG_MALFORMED;
	}
	body = rd_sub(r, len - NLMSG_HDRLEN);
	skip_padding(r, len);
	if (!rd_ok(r))
		return NFLOG_MALFORMED;
	if (type != ((NFNL_SUBSYS_ULOG << 8) | NFULNL_MSG_PACKET))
		return NFLOG_SKIPPED;
	if (!parse_packet(&body, &p)) {
		rd_fail(r);
		return NFLOG_MALFORMED;
	}
	*ret = p;
	return NFLOG_OK;
}
