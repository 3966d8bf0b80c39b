/*
 * Expressions of nftables, one function each. All add to the rule; the first
 * that finds no memory is kept in the draft, and the later ones do nothing.
 */
#ifndef TAPWARD_NETFILTER_RULESET_EXPR_H
#define TAPWARD_NETFILTER_RULESET_EXPR_H

#include <libnftnl/rule.h>

#include "base/reason.h"
#include "netfilter/ruleset_rows.h"

struct rule_draft {
	struct nftnl_rule *rule;
	int rc;
};

/* Loads the field, masks it if asked, and compares or looks it up. */
void expr_match(struct rule_draft *d, const struct net_plan *plan,
    const char *device, const struct row_match *m);
/* The rule goes on at most this often. */
void expr_limit(struct rule_draft *d, uint32_t per_second);
void expr_count(struct rule_draft *d, const char *counter);
void expr_log(struct rule_draft *d, uint16_t group, const char *prefix);
void expr_set_mark(struct rule_draft *d);
/* To the socket on this port of whatever address. */
void expr_tproxy(struct rule_draft *d, uint16_t port);
void expr_reject(struct rule_draft *d, enum refusal refusal);
/* NF_ACCEPT, NF_DROP. */
void expr_verdict(struct rule_draft *d, uint32_t verdict);
void expr_goto(struct rule_draft *d, const char *chain);

#endif
