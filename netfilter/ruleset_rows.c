/*
 * The rows. Accepting rows come first in each chain and name every field they
 * rely on; the rows after them only find the name of the refusal. A match
 * that cannot be read (a frame cut short) fails its row, so what no row
 * catches still meets the chain's drop policy.
 */
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include "netfilter/ruleset_rows.h"

#define IS(f, v)                                                               \
	{                                                                      \
		FIELD_##f, TEST_IS, VALUE_##v                                  \
	}
#define NOT(f, v)                                                              \
	{                                                                      \
		FIELD_##f, TEST_IS_NOT, VALUE_##v                              \
	}
#define AT_LEAST(f, v)                                                         \
	{                                                                      \
		FIELD_##f, TEST_AT_LEAST, VALUE_##v                            \
	}
#define AT_MOST(f, v)                                                          \
	{                                                                      \
		FIELD_##f, TEST_AT_MOST, VALUE_##v                             \
	}
#define IN(f, v)                                                               \
	{                                                                      \
		FIELD_##f, TEST_IN_SET, VALUE_##v                              \
	}
#define ANYTHING                                                               \
	{                                                                      \
		FIELD_NONE, TEST_IS, VALUE_NONE                                \
	}

/* What an IPv4 frame of the guest looks like, whatever it carries. */
#define GUEST_FRAME                                                            \
	IS(ETHER_TYPE, ETHER_IP4), IS(PROTOCOL, ETHER_IP4),                    \
	    IS(ETHER_SOURCE, GUEST_MAC), IS(ETHER_TARGET, GATEWAY_MAC),        \
	    IS(IP_VERSION_IHL, PLAIN_IP4_HEADER), IS(IP_FRAGMENT, WHOLE),      \
	    IS(IP_SOURCE, GUEST_IP)

/* Answers to ARP cost us more than they cost the guest. */
#define ARP_PER_SECOND 100

const struct rule_row ruleset_rows[] = {
	{ CHAIN_INGRESS, { GUEST_FRAME, IS(IP_PROTOCOL, TCP) }, 0, END_ACCEPT,
	    REASON_NONE },
	{ CHAIN_INGRESS, { GUEST_FRAME, IS(IP_PROTOCOL, UDP) }, 0, END_ACCEPT,
	    REASON_NONE },
	/* Who has the gateway? And the guest's answer when we ask for it. */
	{ CHAIN_INGRESS,
	    { IS(ETHER_TYPE, ETHER_ARP), IS(PROTOCOL, ETHER_ARP),
		IS(ETHER_SOURCE, GUEST_MAC), IS(ARP_KIND, ARP_KIND_IP4),
		AT_LEAST(ARP_OP, ARP_REQUEST), AT_MOST(ARP_OP, ARP_REPLY),
		IS(ARP_SENDER_MAC, GUEST_MAC), IS(ARP_SENDER_IP, GUEST_IP),
		IS(ARP_TARGET_IP, GATEWAY_IP) },
	    ARP_PER_SECOND, END_ACCEPT, REASON_NONE },
	/* A VLAN tag hides what it carries, so tags are refused here too. */
	{ CHAIN_INGRESS,
	    { NOT(ETHER_TYPE, ETHER_IP4), NOT(ETHER_TYPE, ETHER_ARP) }, 0,
	    END_REFUSE, REASON_PACKET_ETHERTYPE },
	{ CHAIN_INGRESS, { NOT(ETHER_SOURCE, GUEST_MAC) }, 0, END_REFUSE,
	    REASON_PACKET_SOURCE },
	{ CHAIN_INGRESS, { IS(ETHER_TYPE, ETHER_ARP) }, 0, END_REFUSE,
	    REASON_PACKET_ARP },
	{ CHAIN_INGRESS, { NOT(IP_VERSION_IHL, PLAIN_IP4_HEADER) }, 0,
	    END_REFUSE, REASON_PACKET_OPTIONS },
	{ CHAIN_INGRESS, { NOT(IP_FRAGMENT, WHOLE) }, 0, END_REFUSE,
	    REASON_PACKET_FRAGMENT },
	{ CHAIN_INGRESS, { NOT(IP_SOURCE, GUEST_IP) }, 0, END_REFUSE,
	    REASON_PACKET_SOURCE },
	{ CHAIN_INGRESS, { IS(IP_PROTOCOL, ICMP) }, 0, END_REFUSE,
	    REASON_PACKET_ICMP },
	{ CHAIN_INGRESS, { NOT(IP_PROTOCOL, TCP), NOT(IP_PROTOCOL, UDP) }, 0,
	    END_REFUSE, REASON_PACKET_PROTOCOL },
	/* For another MAC than the gateway's, or too short to tell. */
	{ CHAIN_INGRESS, { ANYTHING }, 0, END_REFUSE, REASON_PACKET_OTHER },

	/* The second floor: holds on its own if the first is gone. */
	{ CHAIN_PREROUTING,
	    { IS(IN_DEVICE, DEVICE), IS(FAMILY, FAMILY_IP4),
		IS(IP_SOURCE, GUEST_IP) },
	    0, END_GUEST, REASON_NONE },
	{ CHAIN_PREROUTING, { NOT(FAMILY, FAMILY_IP4) }, 0, END_REFUSE,
	    REASON_PACKET_ETHERTYPE },
	{ CHAIN_PREROUTING, { NOT(IP_SOURCE, GUEST_IP) }, 0, END_REFUSE,
	    REASON_PACKET_SOURCE },
	{ CHAIN_PREROUTING, { ANYTHING }, 0, END_REFUSE, REASON_PACKET_OTHER },

	{ CHAIN_GUEST,
	    { IS(L4, TCP), IS(IP_TARGET_NET, SYNTHETIC_NET),
		IN(TARGET_PORT, PORT_SET) },
	    0, END_TRANSPARENT, REASON_NONE },
	{ CHAIN_GUEST,
	    { IS(L4, TCP), IS(IP_TARGET_NET, SYNTHETIC_NET),
		IN(TARGET_AND_PORT, RESERVED_SET) },
	    0, END_TRANSPARENT, REASON_NONE },
	/* In the set only where a credential says `metadata = yes`. */
	{ CHAIN_GUEST,
	    { IS(L4, TCP), IS(IP_TARGET, METADATA_IP),
		IN(TARGET_AND_PORT, RESERVED_SET) },
	    0, END_TRANSPARENT, REASON_NONE },
	{ CHAIN_GUEST,
	    { IS(L4, TCP), IS(IP_TARGET, GATEWAY_IP),
		IS(TARGET_PORT, PROXY_PORT) },
	    0, END_PASS, REASON_NONE },
	/*
	 * "Any address" is any that a socket could answer from: not this
	 * network, loopback, multicast and broadcast, nor the guest's own
	 * network but for the gateway.
	 */
	{ CHAIN_GUEST, { IS(IP_TARGET_FIRST_BYTE, FIRST_BYTE_0) }, 0,
	    END_REFUSE, REASON_PACKET_OTHER },
	{ CHAIN_GUEST, { IS(IP_TARGET_FIRST_BYTE, FIRST_BYTE_127) }, 0,
	    END_REFUSE, REASON_PACKET_OTHER },
	{ CHAIN_GUEST, { AT_LEAST(IP_TARGET_FIRST_BYTE, FIRST_BYTE_224) }, 0,
	    END_REFUSE, REASON_PACKET_OTHER },
	{ CHAIN_GUEST,
	    { IS(IP_TARGET_NET, GUEST_NET), NOT(IP_TARGET, GATEWAY_IP) }, 0,
	    END_REFUSE, REASON_PACKET_OTHER },
	{ CHAIN_GUEST, { IS(L4, UDP), IS(TARGET_PORT, DNS_PORT) }, 0, END_DNS,
	    REASON_NONE },
	{ CHAIN_GUEST, { IS(L4, TCP), IS(TARGET_PORT, DNS_PORT) }, 0, END_DNS,
	    REASON_NONE },
	{ CHAIN_GUEST,
	    { IS(L4, UDP), IS(IP_TARGET, GATEWAY_IP),
		IS(TARGET_PORT, SNTP_PORT) },
	    0, END_PASS, REASON_NONE },
	{ CHAIN_GUEST, { IS(L4, TCP) }, 0, END_REFUSE, REASON_PACKET_TCP },
	{ CHAIN_GUEST, { IS(L4, UDP) }, 0, END_REFUSE, REASON_PACKET_UDP },
	{ CHAIN_GUEST, { IS(L4, ICMP) }, 0, END_REFUSE, REASON_PACKET_ICMP },
	{ CHAIN_GUEST, { ANYTHING }, 0, END_REFUSE, REASON_PACKET_PROTOCOL },

	{ CHAIN_INPUT, { IS(IN_DEVICE, DEVICE), IS(MARK, MARK) }, 0, END_ACCEPT,
	    REASON_NONE },

	/* Answers only: a gate that was taken over cannot call its guest. */
	{ CHAIN_OUTPUT,
	    { IS(OUT_DEVICE, DEVICE), IS(FAMILY, FAMILY_IP4),
		IS(IP_TARGET, GUEST_IP), IS(L4, TCP), NOT(TCP_SYN_ACK, SYN) },
	    0, END_ACCEPT, REASON_NONE },
	{ CHAIN_OUTPUT,
	    { IS(OUT_DEVICE, DEVICE), IS(FAMILY, FAMILY_IP4),
		IS(IP_TARGET, GUEST_IP), IS(L4, UDP),
		IS(SOURCE_PORT, DNS_PORT) },
	    0, END_ACCEPT, REASON_NONE },
	{ CHAIN_OUTPUT,
	    { IS(OUT_DEVICE, DEVICE), IS(FAMILY, FAMILY_IP4),
		IS(IP_TARGET, GUEST_IP), IS(L4, UDP), IS(IP_SOURCE, GATEWAY_IP),
		IS(SOURCE_PORT, SNTP_PORT) },
	    0, END_ACCEPT, REASON_NONE },
	/* What `reject` and the kernel answer UDP with. */
	{ CHAIN_OUTPUT,
	    { IS(OUT_DEVICE, DEVICE), IS(FAMILY, FAMILY_IP4),
		IS(IP_TARGET, GUEST_IP), IS(L4, ICMP),
		IS(ICMP_TYPE, UNREACHABLE) },
	    0, END_ACCEPT, REASON_NONE },
};
const size_t ruleset_row_count = sizeof(ruleset_rows) / sizeof(ruleset_rows[0]);

#define META(key, bytes)                                                       \
	{                                                                      \
		true, NFT_META_##key, 0, bytes                                 \
	}
#define LINK(offset, bytes)                                                    \
	{                                                                      \
		false, NFT_PAYLOAD_LL_HEADER, offset, bytes                    \
	}
#define NETWORK(offset, bytes)                                                 \
	{                                                                      \
		false, NFT_PAYLOAD_NETWORK_HEADER, offset, bytes               \
	}
#define TRANSPORT(offset, bytes)                                               \
	{                                                                      \
		false, NFT_PAYLOAD_TRANSPORT_HEADER, offset, bytes             \
	}

const struct field_place ruleset_fields[FIELD_COUNT] = {
	[FIELD_IN_DEVICE] = META(IIFNAME, IFNAMSIZ),
	[FIELD_OUT_DEVICE] = META(OIFNAME, IFNAMSIZ),
	[FIELD_PROTOCOL] = META(PROTOCOL, 2),
	[FIELD_FAMILY] = META(NFPROTO, 1),
	[FIELD_L4] = META(L4PROTO, 1),
	[FIELD_MARK] = META(MARK, 4),
	[FIELD_ETHER_TARGET] = LINK(0, 6),
	[FIELD_ETHER_SOURCE] = LINK(6, 6),
	[FIELD_ETHER_TYPE] = LINK(12, 2),
	[FIELD_ARP_KIND] = NETWORK(0, 6),
	[FIELD_ARP_OP] = NETWORK(6, 2),
	[FIELD_ARP_SENDER_MAC] = NETWORK(8, 6),
	[FIELD_ARP_SENDER_IP] = NETWORK(14, 4),
	[FIELD_ARP_TARGET_IP] = NETWORK(24, 4),
	[FIELD_IP_VERSION_IHL] = NETWORK(0, 1),
	[FIELD_IP_FRAGMENT] = NETWORK(6, 2),
	[FIELD_IP_PROTOCOL] = NETWORK(9, 1),
	[FIELD_IP_SOURCE] = NETWORK(12, 4),
	[FIELD_IP_TARGET] = NETWORK(16, 4),
	[FIELD_IP_TARGET_NET] = NETWORK(16, 4),
	[FIELD_IP_TARGET_FIRST_BYTE] = NETWORK(16, 1),
	[FIELD_SOURCE_PORT] = TRANSPORT(0, 2),
	[FIELD_TARGET_PORT] = TRANSPORT(2, 2),
	[FIELD_TARGET_AND_PORT] = NETWORK(16, 4),
	[FIELD_TCP_SYN_ACK] = TRANSPORT(13, 1),
	[FIELD_ICMP_TYPE] = TRANSPORT(0, 1),
};

static const struct {
	uint8_t bytes[6];
	uint8_t len;
} constants[VALUE_COUNT] = {
	[VALUE_ETHER_IP4] = { { 0x08, 0x00 }, 2 },
	[VALUE_ETHER_ARP] = { { 0x08, 0x06 }, 2 },
	/* Ethernet (RFC 826), IPv4, 6 and 4 bytes. */
	[VALUE_ARP_KIND_IP4] = { { 0, 1, 0x08, 0x00, 6, 4 }, 6 },
	[VALUE_ARP_REQUEST] = { { 0, 1 }, 2 },
	[VALUE_ARP_REPLY] = { { 0, 2 }, 2 },
	[VALUE_FAMILY_IP4] = { { NFPROTO_IPV4 }, 1 },
	/* Version 4, five words: no options. */
	[VALUE_PLAIN_IP4_HEADER] = { { 0x45 }, 1 },
	[VALUE_WHOLE] = { { 0, 0 }, 2 },
	[VALUE_TCP] = { { 6 }, 1 },
	[VALUE_UDP] = { { 17 }, 1 },
	[VALUE_ICMP] = { { 1 }, 1 },
	[VALUE_DNS_PORT] = { { 0, NET_DNS_PORT }, 2 },
	[VALUE_SNTP_PORT] = { { 0, NET_SNTP_PORT }, 2 },
	[VALUE_SYN] = { { 0x02 }, 1 },
	[VALUE_UNREACHABLE] = { { 3 }, 1 },
	[VALUE_FIRST_BYTE_0] = { { 0 }, 1 },
	[VALUE_FIRST_BYTE_127] = { { 127 }, 1 },
	[VALUE_FIRST_BYTE_224] = { { 224 }, 1 },
	[VALUE_METADATA_IP] = { { 169, 254, 169, 254 }, 4 },
};

enum refusal
ruleset_refusal(enum reason r)
{
	/* Never a silent drop for TCP: a guest would wait for minutes. */
	if (r == REASON_PACKET_TCP)
		return REFUSAL_RESET;
	/* So that QUIC falls back at once. */
	if (r == REASON_PACKET_UDP)
		return REFUSAL_UNREACHABLE;
	return REFUSAL_DROP;
}

enum row_table
ruleset_table_of(enum row_chain chain)
{
	return chain == CHAIN_INGRESS ? TABLE_NETDEV : TABLE_INET;
}

bool
ruleset_has_reason(enum row_table table, enum reason r)
{
	for (size_t i = 0; i < ruleset_row_count; i++)
		if (ruleset_rows[i].end == END_REFUSE &&
		    ruleset_rows[i].reason == r &&
		    ruleset_table_of(ruleset_rows[i].chain) == table)
			return true;
	return false;
}

static size_t
put_u32(uint8_t ret[VALUE_MAX_BYTES], uint32_t v)
{
	uint32_t be = htonl(v);

	memcpy(ret, &be, sizeof(be));
	return sizeof(be);
}

static size_t
put_u16(uint8_t ret[VALUE_MAX_BYTES], uint16_t v)
{
	uint16_t be = htons(v);

	memcpy(ret, &be, sizeof(be));
	return sizeof(be);
}

static size_t
put_bytes(uint8_t ret[VALUE_MAX_BYTES], const void *ptr, size_t len)
{
	memcpy(ret, ptr, len);
	return len;
}

size_t
ruleset_value(const struct net_plan *plan, const char *device,
    enum row_value value, uint8_t ret[VALUE_MAX_BYTES])
{
	const uint32_t mark = NET_MARK;

	memset(ret, 0, VALUE_MAX_BYTES);
	if (value == VALUE_DEVICE) {
		(void)put_bytes(ret, device, strnlen(device, IFNAMSIZ - 1));
		return IFNAMSIZ;
	}
	if (value == VALUE_GUEST_MAC)
		return put_bytes(ret, plan->guest_mac, NET_MAC_BYTES);
	if (value == VALUE_GATEWAY_MAC)
		return put_bytes(ret, plan->gateway_mac, NET_MAC_BYTES);
	if (value == VALUE_GUEST_IP)
		return put_u32(ret, plan->guest_ip);
	if (value == VALUE_GATEWAY_IP)
		return put_u32(ret, plan->gateway_ip);
	if (value == VALUE_GUEST_NET)
		return put_u32(ret,
		    plan->guest_ip & net_prefix_mask(plan->prefix_len));
	if (value == VALUE_SYNTHETIC_NET)
		return put_u32(ret, plan->synthetic_net);
	if (value == VALUE_PROXY_PORT)
		return put_u16(ret, plan->proxy_port);
	if (value == VALUE_MARK) /* the one value in host order */
		return put_bytes(ret, &mark, sizeof(mark));
	return put_bytes(ret, constants[value].bytes, constants[value].len);
}

bool
ruleset_mask(const struct net_plan *plan, const struct row_match *m,
    uint8_t ret[VALUE_MAX_BYTES])
{
	memset(ret, 0, VALUE_MAX_BYTES);
	if (m->field == FIELD_IP_TARGET_NET) {
		(void)put_u32(ret,
		    net_prefix_mask(m->value == VALUE_GUEST_NET
			    ? plan->prefix_len
			    : plan->synthetic_prefix_len));
		return true;
	}
	if (m->field == FIELD_TCP_SYN_ACK) {
		ret[0] = 0x12;
		return true;
	}
	if (m->field == FIELD_IP_FRAGMENT) {
		/* All but DF: the reserved bit, MF and the offset. */
		(void)put_u16(ret, 0xbfff);
		return true;
	}
	return false;
}
