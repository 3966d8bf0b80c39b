/*
 * What an address is for: the IANA IPv4 and IPv6 Special-Purpose Address
 * Registries (RFC 6890, RFC 8190), the multicast registries, and the metadata
 * services of clouds. The first row that matches counts, so narrower ones
 * come first. A registry's "globally reachable" anycast and relay blocks are
 * refused too: no origin that a policy names lives there.
 */
#include <assert.h>
#include <string.h>

#include "wire/address.h"

/* Where an IPv6 address carries an IPv4 one. */
enum embedded {
	EMBEDDED_NONE,
	EMBEDDED_LAST,   /* bytes 12 to 15 */
	EMBEDDED_6TO4,   /* bytes 2 to 5, RFC 3056 2 */
	EMBEDDED_TEREDO, /* bytes 12 to 15 inverted, RFC 4380 4 */
};

static const struct {
	uint32_t address;
	unsigned int length;
	enum address_class class;
} ipv4_rows[] = {
	/* Metadata services hand out the host's own credentials. */
	{ 0xa9fea9fe, 32, ADDRESS_METADATA }, /* 169.254.169.254, most */
	{ 0xa9feaa02, 32, ADDRESS_METADATA }, /* 169.254.170.2, ECS */
	{ 0xa9feaa17, 32, ADDRESS_METADATA }, /* 169.254.170.23, EKS */
	{ 0xa9fe0017, 32, ADDRESS_METADATA }, /* 169.254.0.23, Tencent */
	{ 0xa9fe2a2a, 32, ADDRESS_METADATA }, /* 169.254.42.42, Scaleway */
	{ 0x646464c8, 32, ADDRESS_METADATA }, /* 100.100.100.200, Alibaba */
	{ 0xa83f8110, 32, ADDRESS_METADATA }, /* 168.63.129.16, Azure */
	{ 0xc00000c0, 32, ADDRESS_METADATA }, /* 192.0.0.192, Oracle */

	{ 0x00000000, 32, ADDRESS_UNSPECIFIED },   /* RFC 1122 3.2.1.3 */
	{ 0x00000000, 8, ADDRESS_THIS_NETWORK },   /* RFC 791 3.2 */
	{ 0x0a000000, 8, ADDRESS_PRIVATE },        /* RFC 1918 */
	{ 0x64400000, 10, ADDRESS_SHARED },        /* RFC 6598 */
	{ 0x7f000000, 8, ADDRESS_LOOPBACK },       /* RFC 1122 3.2.1.3 */
	{ 0xa9fe0000, 16, ADDRESS_LINK_LOCAL },    /* RFC 3927 */
	{ 0xac100000, 12, ADDRESS_PRIVATE },       /* RFC 1918 */
	{ 0xc0000000, 24, ADDRESS_PROTOCOL },      /* RFC 6890 2.1 */
	{ 0xc0000200, 24, ADDRESS_DOCUMENTATION }, /* RFC 5737 */
	{ 0xc01fc400, 24, ADDRESS_RELAY },         /* RFC 7535, AS112 */
	{ 0xc034c100, 24, ADDRESS_RELAY },         /* RFC 7450, AMT */
	{ 0xc0586300, 24, ADDRESS_RELAY },         /* RFC 7526, 6to4 */
	{ 0xc0a80000, 16, ADDRESS_PRIVATE },       /* RFC 1918 */
	{ 0xc0af3000, 24, ADDRESS_RELAY },         /* RFC 7534, AS112 */
	{ 0xc6120000, 15, ADDRESS_BENCHMARK },     /* RFC 2544 */
	{ 0xc6336400, 24, ADDRESS_DOCUMENTATION }, /* RFC 5737 */
	{ 0xcb007100, 24, ADDRESS_DOCUMENTATION }, /* RFC 5737 */
	{ 0xe0000000, 4, ADDRESS_MULTICAST },      /* RFC 5771 */
	{ 0xffffffff, 32, ADDRESS_BROADCAST },     /* RFC 919 7 */
	{ 0xf0000000, 4, ADDRESS_RESERVED },       /* RFC 1112 4 */
};

#define V6(...)                                                                \
	{                                                                      \
		.family = ADDRESS_IPV6, .bytes = { __VA_ARGS__ }               \
	}

static const struct {
	struct prefix prefix;
	enum address_class class;
	enum embedded embedded;
} ipv6_rows[] = {
	/* fd00:ec2::254 and fd00:ec2::23, AWS */
	{ { V6(0xfd, 0, 0x0e, 0xc2, [14] = 0x02, 0x54), 128 }, ADDRESS_METADATA,
	    EMBEDDED_NONE },
	{ { V6(0xfd, 0, 0x0e, 0xc2, [14] = 0x00, 0x23), 128 }, ADDRESS_METADATA,
	    EMBEDDED_NONE },
	/* fd20:ce::254, Google */
	{ { V6(0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54), 128 },
	    ADDRESS_METADATA, EMBEDDED_NONE },
	/* fd00:c1::a9fe:a9fe, Oracle */
	{ { V6(0xfd, 0, 0x00, 0xc1, [12] = 0xa9, 0xfe, 0xa9, 0xfe), 128 },
	    ADDRESS_METADATA, EMBEDDED_NONE },
	/* fd00:42::42, Scaleway */
	{ { V6(0xfd, 0, 0x00, 0x42, [15] = 0x42), 128 }, ADDRESS_METADATA,
	    EMBEDDED_NONE },
	/* fd00:a9fe:a9fe::1 */
	{ { V6(0xfd, 0, 0xa9, 0xfe, 0xa9, 0xfe, [15] = 0x01), 128 },
	    ADDRESS_METADATA, EMBEDDED_NONE },
	/* fd00:100::100:200, Alibaba */
	{ { V6(0xfd, 0, 0x01, 0x00, [12] = 0x01, 0x00, 0x02, 0x00), 128 },
	    ADDRESS_METADATA, EMBEDDED_NONE },
	/* fe80::a9fe:a9fe, OpenStack */
	{ { V6(0xfe, 0x80, [12] = 0xa9, 0xfe, 0xa9, 0xfe), 128 },
	    ADDRESS_METADATA, EMBEDDED_NONE },

	/* RFC 4291 2.5.2, 2.5.3 */
	{ { V6(0), 128 }, ADDRESS_UNSPECIFIED, EMBEDDED_NONE },
	{ { V6([15] = 1), 128 }, ADDRESS_LOOPBACK, EMBEDDED_NONE },
	/* ::/96, ::ffff:0:0/96, RFC 4291 2.5.5; ::ffff:0:0:0/96, RFC 2765 */
	{ { V6(0), 96 }, ADDRESS_MAPPED, EMBEDDED_LAST },
	{ { V6([10] = 0xff, 0xff), 96 }, ADDRESS_MAPPED, EMBEDDED_LAST },
	{ { V6([8] = 0xff, 0xff), 96 }, ADDRESS_MAPPED, EMBEDDED_LAST },
	/* 64:ff9b::/96, RFC 6052; 64:ff9b:1::/48, RFC 8215 */
	{ { V6(0, 0x64, 0xff, 0x9b), 96 }, ADDRESS_NAT64, EMBEDDED_LAST },
	{ { V6(0, 0x64, 0xff, 0x9b, 0, 1), 48 }, ADDRESS_NAT64, EMBEDDED_LAST },
	/* 100::/64, RFC 6666; 100:0:0:1::/64, RFC 9780 */
	{ { V6(0x01), 64 }, ADDRESS_DISCARD, EMBEDDED_NONE },
	{ { V6(0x01, [7] = 1), 64 }, ADDRESS_DISCARD, EMBEDDED_NONE },
	/* 2001::/32, RFC 4380 */
	{ { V6(0x20, 0x01), 32 }, ADDRESS_TUNNEL, EMBEDDED_TEREDO },
	/* 2001:2::/48, RFC 5180 */
	{ { V6(0x20, 0x01, 0, 2), 48 }, ADDRESS_BENCHMARK, EMBEDDED_NONE },
	/* 2001:3::/32, RFC 7450; 2001:4:112::/48, RFC 7535 */
	{ { V6(0x20, 0x01, 0, 3), 32 }, ADDRESS_RELAY, EMBEDDED_NONE },
	{ { V6(0x20, 0x01, 0, 4, 0x01, 0x12), 48 }, ADDRESS_RELAY,
	    EMBEDDED_NONE },
	/* 2001::/23, RFC 2928: ORCHID (RFC 7343), DRIP (RFC 9374), ... */
	{ { V6(0x20, 0x01), 23 }, ADDRESS_PROTOCOL, EMBEDDED_NONE },
	/* 2001:db8::/32, RFC 3849; 3fff::/20, RFC 9637 */
	{ { V6(0x20, 0x01, 0x0d, 0xb8), 32 }, ADDRESS_DOCUMENTATION,
	    EMBEDDED_NONE },
	{ { V6(0x3f, 0xff), 20 }, ADDRESS_DOCUMENTATION, EMBEDDED_NONE },
	/* 2002::/16, RFC 3056 */
	{ { V6(0x20, 0x02), 16 }, ADDRESS_TUNNEL, EMBEDDED_6TO4 },
	/* 2620:4f:8000::/48, RFC 7534 */
	{ { V6(0x26, 0x20, 0x00, 0x4f, 0x80, 0x00), 48 }, ADDRESS_RELAY,
	    EMBEDDED_NONE },
	/* 5f00::/16, RFC 9602 */
	{ { V6(0x5f), 16 }, ADDRESS_PROTOCOL, EMBEDDED_NONE },
	{ { V6(0xfc), 7 }, ADDRESS_UNIQUE_LOCAL, EMBEDDED_NONE }, /* 4193 */
	{ { V6(0xfe, 0x80), 10 }, ADDRESS_LINK_LOCAL, EMBEDDED_NONE },
	/* fec0::/10, RFC 3879; ff00::/8, RFC 4291 2.7 */
	{ { V6(0xfe, 0xc0), 10 }, ADDRESS_SITE_LOCAL, EMBEDDED_NONE },
	{ { V6(0xff), 8 }, ADDRESS_MULTICAST, EMBEDDED_NONE },
	/* RFC 4291 2.4: global unicast is assigned from 2000::/3 only. */
	{ { V6(0x20), 3 }, ADDRESS_GLOBAL, EMBEDDED_NONE },
};

static enum address_class
classify_ipv4(uint32_t address)
{
	for (size_t i = 0; i < sizeof(ipv4_rows) / sizeof(ipv4_rows[0]); i++) {
		unsigned int rest = 32 - ipv4_rows[i].length;

		if (address >> rest == ipv4_rows[i].address >> rest)
			return ipv4_rows[i].class;
	}
	return ADDRESS_GLOBAL;
}

/* What the address inside is for, or outer when that one would be global. */
static enum address_class
narrower(uint32_t inner, enum address_class outer)
{
	enum address_class c = classify_ipv4(inner);

	return c == ADDRESS_GLOBAL ? outer : c;
}

static uint32_t
embedded_at(const struct address *a, size_t offset)
{
	struct rd r = rd_init(a->bytes, sizeof(a->bytes));

	rd_skip(&r, offset);
	return rd_u32(&r);
}

/* RFC 5214 6.1: the interface identifier of ISATAP, under any prefix. */
static bool
is_isatap(const struct address *a)
{
	return (embedded_at(a, 8) & ~UINT32_C(0x02000000)) == 0x00005efe;
}

static enum address_class
classify_embedded(const struct address *a, enum address_class outer,
    enum embedded where)
{
	switch (where) {
	case EMBEDDED_NONE:
		break;
	case EMBEDDED_LAST:
		return narrower(embedded_at(a, 12), outer);
	case EMBEDDED_6TO4:
		return narrower(embedded_at(a, 2), outer);
	case EMBEDDED_TEREDO:
		return narrower(~embedded_at(a, 12), outer);
	}
	return outer;
}

static enum address_class
classify_ipv6(const struct address *a)
{
	if (is_isatap(a))
		return narrower(embedded_at(a, 12), ADDRESS_TUNNEL);
	for (size_t i = 0; i < sizeof(ipv6_rows) / sizeof(ipv6_rows[0]); i++)
		if (prefix_contains(&ipv6_rows[i].prefix, a))
			return classify_embedded(a, ipv6_rows[i].class,
			    ipv6_rows[i].embedded);
	return ADDRESS_RESERVED;
}

enum address_class
address_classify(const struct address *a)
{
	switch (a->family) {
	case ADDRESS_IPV4:
		return classify_ipv4(address_to_ipv4(a));
	case ADDRESS_IPV6:
		return classify_ipv6(a);
	case ADDRESS_NONE:
		break;
	}
	return ADDRESS_INVALID;
}

const char *
address_class_name(enum address_class c)
{
	static const char *const names[] = {
		[ADDRESS_INVALID] = "invalid",
		[ADDRESS_GLOBAL] = "global",
		[ADDRESS_METADATA] = "metadata",
		[ADDRESS_UNSPECIFIED] = "unspecified",
		[ADDRESS_THIS_NETWORK] = "this-network",
		[ADDRESS_LOOPBACK] = "loopback",
		[ADDRESS_PRIVATE] = "private",
		[ADDRESS_SHARED] = "shared",
		[ADDRESS_LINK_LOCAL] = "link-local",
		[ADDRESS_UNIQUE_LOCAL] = "unique-local",
		[ADDRESS_SITE_LOCAL] = "site-local",
		[ADDRESS_PROTOCOL] = "protocol",
		[ADDRESS_DOCUMENTATION] = "documentation",
		[ADDRESS_BENCHMARK] = "benchmark",
		[ADDRESS_RELAY] = "relay",
		[ADDRESS_MULTICAST] = "multicast",
		[ADDRESS_BROADCAST] = "broadcast",
		[ADDRESS_RESERVED] = "reserved",
		[ADDRESS_MAPPED] = "ipv4-mapped",
		[ADDRESS_NAT64] = "nat64",
		[ADDRESS_TUNNEL] = "tunnel",
		[ADDRESS_DISCARD] = "discard",
	};

	static_assert(sizeof(names) / sizeof(names[0]) == ADDRESS_CLASS_COUNT,
	    "a name for each class");
	return names[c];
}
