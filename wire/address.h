/*
 * IP addresses: text, prefixes, and what an address is for. The dialler
 * classifies every address an answer holds and dials ADDRESS_GLOBAL only;
 * anything else needs an [address] section of the host's configuration.
 */
#ifndef TAPWARD_WIRE_ADDRESS_H
#define TAPWARD_WIRE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/names.h"

enum address_family {
	ADDRESS_NONE = 0, /* zeroed memory is no address */
	ADDRESS_IPV4 = 4,
	ADDRESS_IPV6 = 6,
};

/* Network byte order; IPv4 in the first four bytes, the others zero. */
struct address {
	enum address_family family;
	uint8_t bytes[16];
};

struct prefix {
	struct address address; /* bits past length are zero */
	uint8_t length;
};

/*
 * By the IANA special-purpose registries (RFC 6890) and the multicast ones.
 * An address with an IPv4 address inside it takes the class of that one if it
 * is not global, so that no wrapping hides a private or metadata address.
 */
enum address_class {
	ADDRESS_INVALID = 0,  /* no family */
	ADDRESS_GLOBAL,       /* the only one dialled by default */
	ADDRESS_METADATA,     /* a cloud's metadata service: never dialled */
	ADDRESS_UNSPECIFIED,  /* 0.0.0.0, :: */
	ADDRESS_THIS_NETWORK, /* 0.0.0.0/8 */
	ADDRESS_LOOPBACK,
	ADDRESS_PRIVATE, /* RFC 1918 */
	ADDRESS_SHARED,  /* carrier NAT, RFC 6598 */
	ADDRESS_LINK_LOCAL,
	ADDRESS_UNIQUE_LOCAL, /* fc00::/7 */
	ADDRESS_SITE_LOCAL,   /* fec0::/10, deprecated */
	ADDRESS_PROTOCOL,     /* IETF protocol assignments */
	ADDRESS_DOCUMENTATION,
	ADDRESS_BENCHMARK,
	ADDRESS_RELAY, /* 6to4 relay anycast, AS112 and the like */
	ADDRESS_MULTICAST,
	ADDRESS_BROADCAST,
	ADDRESS_RESERVED, /* 240.0.0.0/4; IPv6 outside 2000::/3 */
	ADDRESS_MAPPED,   /* IPv4-mapped, -compatible, -translated */
	ADDRESS_NAT64,
	ADDRESS_TUNNEL,  /* 6to4, Teredo, ISATAP */
	ADDRESS_DISCARD, /* 100::/64 and its like */
	ADDRESS_CLASS_COUNT
};

enum address_class address_classify(const struct address *a);
/* "private"; for records and messages. */
const char *address_class_name(enum address_class c);

/* ret from an IPv4 address in host byte order. */
struct address address_from_ipv4(uint32_t host_order);
/* Host byte order; 0 for another family. */
uint32_t address_to_ipv4(const struct address *a);

/*
 * A strict dotted quad (RFC 3986 3.2.2: no leading zero, four parts), or IPv6
 * as RFC 4291 2.2 without zone or brackets. Anything else is false.
 */
bool address_parse(struct span in, struct address *ret);
/* RFC 5952 text; "-" for no family. Room for a port is left. Returns buf. */
const char *address_format(const struct address *a,
    char buf[ADDRESS_TEXT_SIZE]);
bool address_equals(const struct address *a, const struct address *b);

/*
 * "10.20.0.0/16", "fd00::/8"; without '/' a single address. False when a bit
 * past the length is set: a slip in a prefix must not widen it.
 */
bool prefix_parse(struct span in, struct prefix *ret);
/* False across families. */
bool prefix_contains(const struct prefix *p, const struct address *a);

#endif
