/*
 * From rows to the objects of libnftnl, handed one by one to a sink: the one
 * that sends them and the one that writes down what to expect see the same.
 */
#ifndef TAPWARD_NETFILTER_RULESET_BUILD_H
#define TAPWARD_NETFILTER_RULESET_BUILD_H

#include <libnftnl/chain.h>
#include <libnftnl/object.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>

#include "netfilter/ruleset.h"

/* Objects are borrowed for the call. Each returns 0 or -errno, which ends. */
struct ruleset_sink {
	int (*on_table)(struct nftnl_table *t, void *arg);
	int (*on_counter)(struct nftnl_obj *o, void *arg);
	int (*on_set)(struct nftnl_set *s, void *arg); /* with elements */
	int (*on_chain)(struct nftnl_chain *c, void *arg);
	int (*on_rule)(struct nftnl_rule *r, void *arg);
	void *arg;
};

/*
 * Calls the sink for every object, in an order in which each may be made.
 * -EINVAL for more openings than there may be; 0 or -errno.
 */
int ruleset_build(const struct net_plan *plan, const char *device,
    const struct net_opening *open, const struct ruleset_sink *sink);
/* Only the two sets of a policy. */
int ruleset_build_sets(const struct net_opening *open,
    const struct ruleset_sink *sink);

#endif
