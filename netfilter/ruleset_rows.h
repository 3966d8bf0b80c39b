/*
 * The ruleset as data: which packets take which end. ruleset_build.c turns
 * rows into netlink objects; nothing else knows how.
 */
#ifndef TAPWARD_NETFILTER_RULESET_ROWS_H
#define TAPWARD_NETFILTER_RULESET_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "netfilter/plan.h"

/* Name of both tables, and of the two sets in the inet one. */
#define RULESET_TABLE "tapward"
#define SET_PORTS "ports"
#define SET_RESERVED "reserved"

enum row_table {
	TABLE_NETDEV, /* ingress of the device */
	TABLE_INET,
	TABLE_COUNT
};

enum row_chain {
	CHAIN_INGRESS,
	CHAIN_PREROUTING,
	CHAIN_GUEST, /* from prerouting: certainly the guest's packets */
	CHAIN_INPUT,
	CHAIN_FORWARD,
	CHAIN_OUTPUT,
	CHAIN_COUNT
};

/* Where a match reads. */
enum row_field {
	FIELD_NONE, /* ends a row's matches */
	FIELD_IN_DEVICE,
	FIELD_OUT_DEVICE,
	FIELD_PROTOCOL, /* the kernel's idea of the EtherType */
	FIELD_FAMILY,
	FIELD_L4,
	FIELD_MARK,
	FIELD_ETHER_TARGET,
	FIELD_ETHER_SOURCE,
	FIELD_ETHER_TYPE,
	FIELD_ARP_KIND, /* hardware, protocol, both lengths */
	FIELD_ARP_OP,
	FIELD_ARP_SENDER_MAC,
	FIELD_ARP_SENDER_IP,
	FIELD_ARP_TARGET_IP,
	FIELD_IP_VERSION_IHL,
	FIELD_IP_FRAGMENT,
	FIELD_IP_PROTOCOL,
	FIELD_IP_SOURCE,
	FIELD_IP_TARGET,
	FIELD_IP_TARGET_NET, /* masked with a value */
	FIELD_IP_TARGET_FIRST_BYTE,
	FIELD_SOURCE_PORT,
	FIELD_TARGET_PORT,
	FIELD_TARGET_AND_PORT, /* address and port together, for a set */
	FIELD_TCP_SYN_ACK,     /* these two flags only */
	FIELD_ICMP_TYPE,
	FIELD_COUNT
};

enum row_value {
	VALUE_NONE,
	VALUE_DEVICE,
	VALUE_GUEST_MAC,
	VALUE_GATEWAY_MAC,
	VALUE_GUEST_IP,
	VALUE_GATEWAY_IP,
	VALUE_GUEST_NET,
	VALUE_SYNTHETIC_NET,
	VALUE_PROXY_PORT,
	VALUE_MARK,
	/* Constants; see ruleset_value(). */
	VALUE_ETHER_IP4,
	VALUE_ETHER_ARP,
	VALUE_ARP_KIND_IP4,
	VALUE_ARP_REQUEST,
	VALUE_ARP_REPLY,
	VALUE_FAMILY_IP4,
	VALUE_PLAIN_IP4_HEADER,
	VALUE_WHOLE,
	VALUE_TCP,
	VALUE_UDP,
	VALUE_ICMP,
	VALUE_DNS_PORT,
	VALUE_SNTP_PORT,
	VALUE_SYN,
	VALUE_UNREACHABLE,
	VALUE_FIRST_BYTE_0,
	VALUE_FIRST_BYTE_127,
	VALUE_FIRST_BYTE_224,
	VALUE_METADATA_IP,
	VALUE_PORT_SET,
	VALUE_RESERVED_SET,
	VALUE_COUNT
};

enum row_test {
	TEST_IS,
	TEST_IS_NOT,
	TEST_AT_LEAST,
	TEST_AT_MOST,
	TEST_IN_SET,
};

struct row_match {
	enum row_field field;
	enum row_test test;
	enum row_value value;
};

enum row_end {
	END_REFUSE, /* zeroed: to the chain of the row's reason */
	END_ACCEPT,
	END_GUEST,       /* to CHAIN_GUEST */
	END_PASS,        /* mark, and accept: local delivery */
	END_TRANSPARENT, /* assign to the transparent listener, then as PASS */
	END_DNS,         /* assign to the DNS sockets, then as PASS */
};

#define ROW_MATCHES_MAX 10

struct rule_row {
	enum row_chain chain;
	struct row_match match[ROW_MATCHES_MAX];
	uint32_t per_second; /* matches no more often; 0: no limit */
	enum row_end end;
	enum reason reason; /* of END_REFUSE */
};

/* In the order in which they are tried; rows of a chain stand together. */
extern const struct rule_row ruleset_rows[];
extern const size_t ruleset_row_count;

/* What happens to a packet that was refused, after counting and logging. */
enum refusal {
	REFUSAL_DROP,
	REFUSAL_RESET,
	REFUSAL_UNREACHABLE,
};
enum refusal ruleset_refusal(enum reason r);

enum row_table ruleset_table_of(enum row_chain chain);
/* Some row of the table ends in this reason, so that it has its chain. */
bool ruleset_has_reason(enum row_table table, enum reason r);

struct field_place {
	bool is_meta;
	uint32_t base;   /* NFT_PAYLOAD_, or NFT_META_ key */
	uint32_t offset; /* of a payload */
	uint32_t len;    /* bytes */
};
extern const struct field_place ruleset_fields[FIELD_COUNT];

#define VALUE_MAX_BYTES 16
/*
 * The bytes that a value compares with, in network order where the field has
 * it so. Returns their number.
 */
size_t ruleset_value(const struct net_plan *plan, const char *device,
    enum row_value value, uint8_t ret[VALUE_MAX_BYTES]);
/* The mask of a field that is compared in part: false for a whole field. */
bool ruleset_mask(const struct net_plan *plan, const struct row_match *m,
    uint8_t ret[VALUE_MAX_BYTES]);

#endif
