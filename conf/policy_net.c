/*
 * What a policy opens of the network: ports, and addresses of tcp hosts. They
 * are the policy's; where its sandbox learns, the ceiling's are beside them.
 *
 * The address of a tcp host follows from its name (build.c), so that both
 * files have the same for it, and so has the policy that is learned. Where two
 * names fall together the policy's keeps its own, and the ceiling's has none.
 */
#include <string.h>

#include "conf/image.h"

static bool
tcp_at(const struct policy *p, size_t i, struct policy_tcp *ret)
{
	return i < IMAGE_TCP_MAX && image_tcp(p, (uint32_t)i, ret);
}

static uint32_t
address_of(const struct policy *p, const char *host)
{
	struct policy_tcp tcp;
	struct image_run run;
	bool is_inline;

	/* Most names are none of these: one look-up says so. */
	if (!image_find(p, PATTERN_EXACT, span_of(host), &run, &is_inline))
		return 0;
	for (size_t i = 0; tcp_at(p, i, &tcp); i++) {
		if (strcmp(tcp.host, host) == 0)
			return tcp.address;
	}
	return 0;
}

static bool
find(const struct policy *p, uint32_t address, uint16_t port,
    struct policy_tcp *ret)
{
	struct policy_tcp tcp;

	for (size_t i = 0; tcp_at(p, i, &tcp); i++) {
		if (tcp.address == address && tcp.port == port) {
			*ret = tcp;
			return true;
		}
	}
	return false;
}

/* Some host of the policy has it. */
static bool
is_taken(const struct policy *p, uint32_t address)
{
	struct policy_tcp tcp;

	for (size_t i = 0; tcp_at(p, i, &tcp); i++) {
		if (tcp.address == address)
			return true;
	}
	return false;
}

uint32_t
policy_tcp_address(const struct policy_pair *pair, const char *host)
{
	uint32_t address;

	if (pair->policy == NULL)
		return 0;
	address = address_of(pair->policy, host);
	if (address != 0 || !policy_pair_learns(pair))
		return address;
	address = address_of(pair->ceiling, host);
	return address != 0 && is_taken(pair->policy, address) ? 0 : address;
}

bool
policy_tcp_find(const struct policy_pair *pair, uint32_t address, uint16_t port,
    struct policy_tcp *ret)
{
	if (pair->policy == NULL)
		return false;
	if (find(pair->policy, address, port, ret))
		return true;
	return policy_pair_learns(pair) &&
	    find(pair->ceiling, address, port, ret) &&
	    policy_tcp_address(pair, ret->host) == address;
}

size_t
policy_tcp_all(const struct policy_pair *pair, struct policy_tcp *ret,
    size_t max)
{
	struct policy_tcp tcp, other;
	size_t n = 0;

	if (pair->policy == NULL)
		return 0;
	for (size_t i = 0; tcp_at(pair->policy, i, &tcp); i++) {
		if (n < max)
			ret[n] = tcp;
		n++;
	}
	if (!policy_pair_learns(pair))
		return n;
	for (size_t i = 0; tcp_at(pair->ceiling, i, &tcp); i++) {
		if (find(pair->policy, tcp.address, tcp.port, &other) ||
		    policy_tcp_address(pair, tcp.host) != tcp.address)
			continue;
		if (n < max)
			ret[n] = tcp;
		n++;
	}
	return n;
}

static uint32_t
port_at(const struct policy *p, uint32_t i)
{
	return p == NULL ? IMAGE_NONE : image_u16(p, IMAGE_ALL_PORTS, i);
}

size_t
policy_ports(const struct policy_pair *pair, uint16_t *ret_ports,
    size_t ports_max)
{
	const struct policy *beside =
	    policy_pair_learns(pair) ? pair->ceiling : NULL;
	uint32_t i = 0, k = 0;
	size_t n = 0;

	while (n < UINT16_MAX) {
		uint32_t a = port_at(pair->policy, i);
		uint32_t b = port_at(beside, k);
		uint32_t least = a < b ? a : b;

		if (least == IMAGE_NONE)
			break;
		i += a == least ? 1 : 0;
		k += b == least ? 1 : 0;
		if (n < ports_max)
			ret_ports[n] = (uint16_t)least;
		n++;
	}
	return n;
}

/* Beyond these no port is looked at. */
#define NAME_PORTS_MAX 64

struct verdict
policy_judge_name(const struct policy_pair *pair, const char *host)
{
	struct verdict v = policy_judge_connect(pair, host, 443);
	uint16_t ports[NAME_PORTS_MAX];
	size_t count = 0;

	if (v.action != ACTION_ALLOW)
		count = policy_ports(pair, ports, NAME_PORTS_MAX);
	for (size_t i = 0;
	     i < count && i < NAME_PORTS_MAX && v.action != ACTION_ALLOW; i++) {
		struct verdict o = policy_judge_connect(pair, host, ports[i]);

		if (o.action > v.action)
			v = o;
	}
	return v;
}
