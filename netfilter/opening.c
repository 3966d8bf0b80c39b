/*
 * Copies are made so that a ruleset can be put in place again long after the
 * policy's image is gone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "netfilter/opening.h"
#include "netfilter/plan.h"

void
net_opening_done(struct net_opening *o)
{
	/* Our own copies; const is for the borrowers. */
	free((void *)(uintptr_t)o->ports);
	free((void *)(uintptr_t)o->reserved);
	*o = NET_OPENING_NONE;
}

int
net_opening_copy(const struct net_opening *from, struct net_opening *ret)
{
	uint16_t *ports = NULL;
	struct net_reserved *reserved = NULL;

	if (from->port_count > NET_PORTS_MAX ||
	    from->reserved_count > NET_RESERVED_MAX)
		return -E2BIG;
	ports = calloc(from->port_count + 1, sizeof(*ports));
	reserved = calloc(from->reserved_count + 1, sizeof(*reserved));
	if (ports == NULL || reserved == NULL) {
		free(ports);
		free(reserved);
		return -ENOMEM;
	}
	if (from->port_count > 0)
		memcpy(ports, from->ports, from->port_count * sizeof(*ports));
	if (from->reserved_count > 0)
		memcpy(reserved, from->reserved,
		    from->reserved_count * sizeof(*reserved));
	ret->ports = ports;
	ret->port_count = from->port_count;
	ret->reserved = reserved;
	ret->reserved_count = from->reserved_count;
	return 0;
}

static bool
has_port(const struct net_opening *o, uint16_t port)
{
	for (size_t i = 0; i < o->port_count; i++)
		if (o->ports[i] == port)
			return true;
	return false;
}

static bool
has_reserved(const struct net_opening *o, const struct net_reserved *r)
{
	for (size_t i = 0; i < o->reserved_count; i++)
		if (o->reserved[i].address == r->address &&
		    o->reserved[i].port == r->port)
			return true;
	return false;
}

/* At worst 4096 x 4096 comparisons, 10 ms, when a policy is as large. */
bool
net_opening_contains(const struct net_opening *outer,
    const struct net_opening *inner)
{
	for (size_t i = 0; i < inner->port_count; i++)
		if (!has_port(outer, inner->ports[i]))
			return false;
	for (size_t i = 0; i < inner->reserved_count; i++)
		if (!has_reserved(outer, &inner->reserved[i]))
			return false;
	return true;
}
