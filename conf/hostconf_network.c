/*
 * Addresses of the host's configuration.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf/host_pattern.h"
#include "conf/hostconf_parse.h"
#include "wire/address.h"
#include "wire/authority.h"

/* Shortest prefixes: 10.0.0.0/8 and fc00::/7 are the largest there are. */
#define RANGE_BITS_MIN_IPV4 8
#define RANGE_BITS_MIN_IPV6 7

struct message_address
hostconf_address(const struct address *a)
{
	struct message_address m = { .family = (uint8_t)a->family };

	memcpy(m.bytes, a->bytes, sizeof(m.bytes));
	return m;
}

bool
hostconf_parse_endpoint(struct span v, uint16_t default_port,
    struct address *ret, uint16_t *ret_port)
{
	struct span host = v;
	const uint8_t *colon;

	*ret_port = default_port;
	if (address_parse(v, ret))
		return true;
	colon = v.len > 0 ? memrchr(v.ptr, ':', v.len) : NULL;
	if (colon == NULL)
		return false;
	host.len = (size_t)(colon - v.ptr);
	if (!authority_parse_port((struct span){ colon + 1,
				      v.len - host.len - 1 },
		ret_port))
		return false;
	if (host.len > 2 && host.ptr[0] == '[' &&
	    host.ptr[host.len - 1] == ']') {
		host = (struct span){ host.ptr + 1, host.len - 2 };
		return address_parse(host, ret) && ret->family == ADDRESS_IPV6;
	}
	return address_parse(host, ret) && ret->family == ADDRESS_IPV4;
}

const char *
hostconf_take_metrics(struct hostconf_parse *p, struct span v)
{
	struct address a;

	if (!hostconf_parse_endpoint(v, 0, &a, &p->c->metrics_port) ||
	    p->c->metrics_port == 0)
		return "write ADDRESS:PORT, as 127.0.0.1:9464";
	p->c->metrics_address = hostconf_address(&a);
	p->c->has_metrics = true;
	return NULL;
}

const char *
hostconf_take_guest(struct hostconf_parse *p, struct span v)
{
	const uint8_t *slash = memchr(v.ptr, '/', v.len);
	struct span host = v;
	struct address a;
	uint64_t bits;

	if (slash == NULL)
		return "write ADDRESS/BITS, as 100.64.0.2/30";
	host.len = (size_t)(slash - v.ptr);
	if (!address_parse(host, &a) || a.family != ADDRESS_IPV4 ||
	    !limit_parse(UNIT_COUNT,
		(struct span){ slash + 1, v.len - host.len - 1 }, &bits) ||
	    bits < 8 || bits > 30)
		return "write an IPv4 address and 8 to 30 bits, as "
		       "100.64.0.2/30";
	p->c->guest_ip = address_to_ipv4(&a);
	p->c->prefix_len = (uint8_t)bits;
	p->guest_line = p->key;
	return NULL;
}

const char *
hostconf_take_gateway(struct hostconf_parse *p, struct span v)
{
	struct address a;

	if (!address_parse(v, &a) || a.family != ADDRESS_IPV4)
		return "write an IPv4 address, as 100.64.0.1";
	p->c->gateway_ip = address_to_ipv4(&a);
	p->guest_line = p->key;
	return NULL;
}

/* --- [address NAME] ------------------------------------------------------ */

static struct hostconf_address *
present(const struct hostconf_parse *p)
{
	return vec_at(&p->addresses, p->addresses.count - 1);
}

int
hostconf_open_address(struct hostconf_parse *p, const char *name)
{
	struct hostconf_address *a;

	if (p->addresses.count >= DIALLER_EXCEPTIONS_MAX)
		return err_at(p->err, p->file, p->line,
		    "more than %d [address] sections: join some",
		    DIALLER_EXCEPTIONS_MAX);
	for (size_t i = 0; i < p->addresses.count; i++) {
		const struct hostconf_address *other = vec_at(&p->addresses, i);

		if (strcmp(other->name, name) == 0)
			return err_at(p->err, p->file, p->line,
			    "a second [address %s] (first on line %u): rename "
			    "or join them",
			    name, other->line);
	}
	a = vec_add(&p->addresses, 1);
	if (a == NULL)
		return -ENOMEM;
	(void)hostconf_copy(a->name, sizeof(a->name), span_of(name));
	a->line = p->line;
	return 0;
}

const char *
hostconf_parse_pattern(struct span v, char ret[DIALLER_PATTERN_SIZE])
{
	static const char *const stars[PATTERN_KINDS] = { "", "*.", "**." };
	struct host_pattern pattern;
	const char *fault = host_pattern_parse(v, &pattern);

	if (fault != NULL)
		return fault;
	if (pattern.kind != PATTERN_EXACT && strchr(pattern.name, '.') == NULL)
		return "a wildcard on a whole top-level domain";
	(void)snprintf(ret, DIALLER_PATTERN_SIZE, "%s%s", stars[pattern.kind],
	    pattern.name);
	return NULL;
}

const char *
hostconf_take_ahost(struct hostconf_parse *p, struct span v)
{
	struct message_exception *x = &present(p)->exception;
	char pattern[DIALLER_PATTERN_SIZE];
	const char *fault = hostconf_parse_pattern(v, pattern);

	if (fault != NULL)
		return fault;
	if (x->host_count >= DIALLER_EXCEPTION_HOSTS_MAX)
		return "too many hosts in one section: write a second one";
	memcpy(x->hosts[x->host_count++], pattern, sizeof(pattern));
	return NULL;
}

const char *
hostconf_take_range(struct hostconf_parse *p, struct span v)
{
	struct message_exception *x = &present(p)->exception;
	struct message_range *r;
	struct prefix prefix;
	enum address_class class;
	bool is_single;

	if (!prefix_parse(v, &prefix))
		return "write ADDRESS/BITS, with no bit set past BITS, as "
		       "10.20.0.0/16";
	class = address_classify(&prefix.address);
	is_single =
	    prefix.length == (prefix.address.family == ADDRESS_IPV4 ? 32 : 128);
	if (class == ADDRESS_METADATA)
		return "the metadata service of a cloud hands out the host's "
		       "own keys: no name may resolve to it";
	if (class == ADDRESS_LOOPBACK && !is_single)
		return "loopback addresses are named one by one, as "
		       "127.0.0.1/32";
	if (class == ADDRESS_UNSPECIFIED || class == ADDRESS_THIS_NETWORK ||
	    class == ADDRESS_MULTICAST || class == ADDRESS_BROADCAST)
		return "nothing can be dialled there";
	if (prefix.length < (prefix.address.family == ADDRESS_IPV4
				    ? RANGE_BITS_MIN_IPV4
				    : RANGE_BITS_MIN_IPV6))
		return "a range wider than any that is set aside for private "
		       "use: name the one that your hosts are in";
	if (x->range_count >= DIALLER_EXCEPTION_RANGES_MAX)
		return "too many ranges in one section: write a second one";
	r = &x->ranges[x->range_count++];
	r->address = hostconf_address(&prefix.address);
	r->bits = prefix.length;
	return NULL;
}

int
hostconf_finish_address(struct hostconf_parse *p)
{
	const struct hostconf_address *a = present(p);

	if (a->exception.host_count > 0 && a->exception.range_count > 0)
		return 0;
	return err_at(p->err, p->file, a->line,
	    "[address %s] needs `host = NAME` and `range = ADDRESS/BITS`",
	    a->name);
}

/* --- what must hold in the whole ------------------------------------------ */

/* The network part of an IPv4 address. */
static uint32_t
mask_of(unsigned int bits)
{
	return bits == 0 ? 0 : ~(UINT32_MAX >> (bits - 1) >> 1);
}

static bool
overlaps(const struct message_range *r, uint32_t net, uint8_t bits)
{
	struct address a = { .family = (enum address_family)r->address.family };
	uint32_t mask = mask_of(bits < r->bits ? bits : r->bits);

	memcpy(a.bytes, r->address.bytes, sizeof(a.bytes));
	if (a.family != ADDRESS_IPV4)
		return false;
	return (address_to_ipv4(&a) & mask) == (net & mask);
}

static int
check_range(const struct hostconf_parse *p, const struct hostconf_address *a,
    const struct message_range *r)
{
	const struct hostconf *c = p->c;

	if (overlaps(r, c->gateway_ip, c->prefix_len) ||
	    overlaps(r, c->synthetic_net, c->synthetic_prefix_len))
		return err_at(p->err, p->file, a->line,
		    "[address %s] has a range that guests' own addresses are "
		    "in: no name may resolve there",
		    a->name);
	for (unsigned int i = 0; i < c->resolver_count; i++) {
		const struct message_address *m = &c->resolvers[i].address;

		if (memcmp(m, &r->address, sizeof(*m)) == 0 &&
		    r->bits == (m->family == 4 ? 32 : 128))
			return err_at(p->err, p->file, a->line,
			    "[address %s] names the resolver: no guest may "
			    "reach it",
			    a->name);
	}
	return 0;
}

int
hostconf_finish_network(struct hostconf_parse *p)
{
	const struct hostconf *c = p->c;
	uint32_t mask = mask_of(c->prefix_len);
	uint32_t low = c->guest_ip & ~mask;

	if ((c->guest_ip & mask) != (c->gateway_ip & mask) ||
	    c->guest_ip == c->gateway_ip || low == 0 || low == ~mask ||
	    (c->gateway_ip & ~mask) == 0 || (c->gateway_ip & ~mask) == ~mask)
		return err_at(p->err, p->file, p->guest_line,
		    "guest and gateway must be two hosts of one network, as "
		    "100.64.0.2/30 and 100.64.0.1");
	for (size_t i = 0; i < p->addresses.count; i++) {
		const struct hostconf_address *a = vec_at(&p->addresses, i);

		for (unsigned int k = 0; k < a->exception.range_count; k++) {
			int rc = check_range(p, a, &a->exception.ranges[k]);

			if (rc != 0)
				return rc;
		}
	}
	return 0;
}
