/*
 * The order matters to the kernel only in that a chain or a set stands before
 * the rule that names it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "netfilter/ruleset_build.h"
#include "netfilter/ruleset_expr.h"
#include "netfilter/ruleset_rows.h"

/* nft's names for what the sets hold, so that `nft list` can show them. */
#define KEY_TYPE_SERVICE 13
#define KEY_TYPE_ADDRESS_SERVICE ((7 << 6) | KEY_TYPE_SERVICE)
#define RESERVED_KEY_BYTES 8
/* 80 and 443, which are open whatever the policy says. */
#define PORTS_ALWAYS 2

/* Reasons that packets can have. */
#define PACKET_REASON_FIRST REASON_PACKET_ETHERTYPE

static const uint32_t table_family[TABLE_COUNT] = {
	[TABLE_NETDEV] = NFPROTO_NETDEV,
	[TABLE_INET] = NFPROTO_INET,
};

static const struct {
	const char *name;
	uint32_t hook;
	int32_t priority;
	bool is_base;
} chains[CHAIN_COUNT] = {
	/* Before whatever else there may be. */
	[CHAIN_INGRESS] = { "ingress", NF_NETDEV_INGRESS, -500, true },
	/* Where TPROXY wants to be: before the routing decision. */
	[CHAIN_PREROUTING] = { "prerouting", NF_INET_PRE_ROUTING, -150, true },
	[CHAIN_GUEST] = { "guest", 0, 0, false },
	[CHAIN_INPUT] = { "input", NF_INET_LOCAL_IN, 0, true },
	/* No row: nothing is forwarded. */
	[CHAIN_FORWARD] = { "forward", NF_INET_FORWARD, 0, true },
	[CHAIN_OUTPUT] = { "output", NF_INET_LOCAL_OUT, 0, true },
};

struct build {
	const struct net_plan *plan;
	const char *device;
	const struct net_opening *open;
	const struct ruleset_sink *sink;
};

static int
build_table(const struct build *b, enum row_table table)
{
	struct nftnl_table *t = nftnl_table_alloc();
	int rc;

	if (t == NULL)
		return -ENOMEM;
	nftnl_table_set_u32(t, NFTNL_TABLE_FAMILY, table_family[table]);
	nftnl_table_set_u32(t, NFTNL_TABLE_FLAGS, 0);
	rc = nftnl_table_set_str(t, NFTNL_TABLE_NAME, RULESET_TABLE) < 0
	    ? -ENOMEM
	    : b->sink->on_table(t, b->sink->arg);
	nftnl_table_free(t);
	return rc;
}

static int
build_counter(const struct build *b, enum row_table table, enum reason r)
{
	struct nftnl_obj *o = nftnl_obj_alloc();
	int rc;

	if (o == NULL)
		return -ENOMEM;
	nftnl_obj_set_u32(o, NFTNL_OBJ_FAMILY, table_family[table]);
	nftnl_obj_set_u32(o, NFTNL_OBJ_TYPE, NFT_OBJECT_COUNTER);
	nftnl_obj_set_str(o, NFTNL_OBJ_TABLE, RULESET_TABLE);
	nftnl_obj_set_str(o, NFTNL_OBJ_NAME, reason_code(r));
	rc = b->sink->on_counter(o, b->sink->arg);
	nftnl_obj_free(o);
	return rc;
}

static int
build_chain(const struct build *b, enum row_table table, const char *name,
    enum row_chain base)
{
	struct nftnl_chain *c = nftnl_chain_alloc();
	int rc = 0;

	if (c == NULL)
		return -ENOMEM;
	nftnl_chain_set_u32(c, NFTNL_CHAIN_FAMILY, table_family[table]);
	if (nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, RULESET_TABLE) < 0 ||
	    nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, name) < 0)
		rc = -ENOMEM;
	if (rc == 0 && base != CHAIN_COUNT) {
		nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, chains[base].hook);
		nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, chains[base].priority);
		nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, NF_DROP);
		if (nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, "filter") < 0)
			rc = -ENOMEM;
	}
	if (rc == 0 && base == CHAIN_INGRESS &&
	    nftnl_chain_set_str(c, NFTNL_CHAIN_DEV, b->device) < 0)
		rc = -ENOMEM;
	if (rc == 0)
		rc = b->sink->on_chain(c, b->sink->arg);
	nftnl_chain_free(c);
	return rc;
}

/* Everything that rules name. */
static int
build_frame(const struct build *b, enum row_table table)
{
	int rc = build_table(b, table);

	for (unsigned int r = PACKET_REASON_FIRST; r < REASON_COUNT; r++) {
		if (!ruleset_has_reason(table, (enum reason)r))
			continue;
		if (rc == 0)
			rc = build_counter(b, table, (enum reason)r);
		if (rc == 0)
			rc = build_chain(b, table, reason_code((enum reason)r),
			    CHAIN_COUNT);
	}
	if (table == TABLE_INET && rc == 0)
		rc = ruleset_build_sets(b->open, b->sink);
	for (unsigned int c = 0; c < CHAIN_COUNT && rc == 0; c++)
		if (ruleset_table_of((enum row_chain)c) == table)
			rc = build_chain(b, table, chains[c].name,
			    chains[c].is_base ? (enum row_chain)c
					      : CHAIN_COUNT);
	return rc;
}

static int
draft_begin(struct rule_draft *d, enum row_table table, const char *chain)
{
	*d = (struct rule_draft){ nftnl_rule_alloc(), 0 };
	if (d->rule == NULL)
		return -ENOMEM;
	nftnl_rule_set_u32(d->rule, NFTNL_RULE_FAMILY, table_family[table]);
	if (nftnl_rule_set_str(d->rule, NFTNL_RULE_TABLE, RULESET_TABLE) < 0 ||
	    nftnl_rule_set_str(d->rule, NFTNL_RULE_CHAIN, chain) < 0)
		d->rc = -ENOMEM;
	return 0;
}

static int
draft_end(struct rule_draft *d, const struct ruleset_sink *sink)
{
	int rc = d->rc;

	if (rc == 0)
		rc = sink->on_rule(d->rule, sink->arg);
	nftnl_rule_free(d->rule);
	return rc;
}

static void
put_end(struct rule_draft *d, const struct net_plan *plan,
    const struct rule_row *row)
{
	switch (row->end) {
	case END_REFUSE:
		expr_goto(d, reason_code(row->reason));
		return;
	case END_GUEST:
		expr_goto(d, chains[CHAIN_GUEST].name);
		return;
	case END_TRANSPARENT:
		expr_tproxy(d, plan->transparent_port);
		break;
	case END_DNS:
		expr_tproxy(d, NET_DNS_PORT);
		break;
	case END_PASS:
		break;
	case END_ACCEPT:
		expr_verdict(d, NF_ACCEPT);
		return;
	}
	expr_set_mark(d);
	expr_verdict(d, NF_ACCEPT);
}

static int
build_row(const struct build *b, const struct rule_row *row)
{
	struct rule_draft d;
	int rc = draft_begin(&d, ruleset_table_of(row->chain),
	    chains[row->chain].name);

	if (rc != 0)
		return rc;
	for (size_t i = 0;
	     i < ROW_MATCHES_MAX && row->match[i].field != FIELD_NONE; i++)
		expr_match(&d, b->plan, b->device, &row->match[i]);
	if (row->per_second != 0)
		expr_limit(&d, row->per_second);
	put_end(&d, b->plan, row);
	return draft_end(&d, b->sink);
}

/*
 * A refusal's chain: count and log, each in a rule of its own, since a limit
 * that is used up ends only its rule.
 */
static int
build_refusal(const struct build *b, enum row_table table, enum reason r)
{
	enum refusal refusal = ruleset_refusal(r);
	const char *name = reason_code(r);
	struct rule_draft d;
	int rc = draft_begin(&d, table, name);

	if (rc == 0) {
		expr_count(&d, name);
		expr_limit(&d, b->plan->log_per_second);
		expr_log(&d, b->plan->log_group, name);
		rc = draft_end(&d, b->sink);
	}
	if (rc == 0 && refusal != REFUSAL_DROP) {
		rc = draft_begin(&d, table, name);
		if (rc != 0)
			return rc;
		if (refusal == REFUSAL_UNREACHABLE)
			expr_limit(&d, b->plan->refuse_per_second);
		expr_reject(&d, refusal);
		rc = draft_end(&d, b->sink);
	}
	if (rc == 0)
		rc = draft_begin(&d, table, name);
	if (rc != 0)
		return rc;
	expr_verdict(&d, NF_DROP);
	return draft_end(&d, b->sink);
}

static int
build_rules(const struct build *b, enum row_table table)
{
	int rc = 0;

	for (unsigned int r = PACKET_REASON_FIRST; r < REASON_COUNT; r++)
		if (rc == 0 && ruleset_has_reason(table, (enum reason)r))
			rc = build_refusal(b, table, (enum reason)r);
	for (size_t i = 0; i < ruleset_row_count && rc == 0; i++)
		if (ruleset_table_of(ruleset_rows[i].chain) == table)
			rc = build_row(b, &ruleset_rows[i]);
	return rc;
}

int
ruleset_build(const struct net_plan *plan, const char *device,
    const struct net_opening *open, const struct ruleset_sink *sink)
{
	const struct build b = { plan, device, open, sink };
	int rc = 0;

	for (unsigned int t = 0; t < TABLE_COUNT && rc == 0; t++) {
		rc = build_frame(&b, (enum row_table)t);
		if (rc == 0)
			rc = build_rules(&b, (enum row_table)t);
	}
	return rc;
}

static struct nftnl_set *
new_set(const char *name, uint32_t key_type, uint32_t key_len, uint32_t size)
{
	struct nftnl_set *s = nftnl_set_alloc();

	if (s == NULL)
		return NULL;
	nftnl_set_set_u32(s, NFTNL_SET_FAMILY, NFPROTO_INET);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_TYPE, key_type);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_LEN, key_len);
	nftnl_set_set_u32(s, NFTNL_SET_FLAGS, 0);
	nftnl_set_set_u32(s, NFTNL_SET_DESC_SIZE, size);
	if (nftnl_set_set_str(s, NFTNL_SET_TABLE, RULESET_TABLE) < 0 ||
	    nftnl_set_set_str(s, NFTNL_SET_NAME, name) < 0) {
		nftnl_set_free(s);
		return NULL;
	}
	return s;
}

static int
add_element(struct nftnl_set *s, const void *key, uint32_t len)
{
	struct nftnl_set_elem *e = nftnl_set_elem_alloc();

	if (e == NULL)
		return -ENOMEM;
	if (nftnl_set_elem_set(e, NFTNL_SET_ELEM_KEY, key, len) < 0) {
		nftnl_set_elem_free(e);
		return -ENOMEM;
	}
	nftnl_set_elem_add(s, e);
	return 0;
}

static int
compare_ports(const void *a, const void *b)
{
	const uint16_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int
build_ports(const struct net_opening *open, const struct ruleset_sink *sink)
{
	uint16_t ports[NET_PORTS_MAX + PORTS_ALWAYS] = { 80, 443 };
	size_t count = open->port_count + PORTS_ALWAYS;
	struct nftnl_set *s = new_set(SET_PORTS, KEY_TYPE_SERVICE,
	    sizeof(uint16_t), 2 * (NET_PORTS_MAX + PORTS_ALWAYS));
	int rc = 0;

	if (s == NULL)
		return -ENOMEM;
	if (open->port_count > 0)
		memcpy(ports + PORTS_ALWAYS, open->ports,
		    open->port_count * sizeof(ports[0]));
	qsort(ports, count, sizeof(ports[0]), compare_ports);
	for (size_t i = 0; i < count && rc == 0; i++) {
		uint16_t be = htons(ports[i]);

		if (i == 0 || ports[i] != ports[i - 1])
			rc = add_element(s, &be, sizeof(be));
	}
	if (rc == 0)
		rc = sink->on_set(s, sink->arg);
	nftnl_set_free(s);
	return rc;
}

static int
compare_reserved(const void *a, const void *b)
{
	const struct net_reserved *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

static int
add_reserved(struct nftnl_set *s, const struct net_reserved *r)
{
	/* Each part of a key fills whole registers of four bytes. */
	uint8_t key[RESERVED_KEY_BYTES] = { 0 };
	uint32_t address = htonl(r->address);
	uint16_t port = htons(r->port);

	memcpy(key, &address, sizeof(address));
	memcpy(key + sizeof(address), &port, sizeof(port));
	return add_element(s, key, sizeof(key));
}

static int
build_reserved(const struct net_opening *open, const struct ruleset_sink *sink)
{
	AUTO_FREE struct net_reserved *sorted =
	    calloc(open->reserved_count + 1, sizeof(*sorted));
	struct nftnl_set *s = new_set(SET_RESERVED, KEY_TYPE_ADDRESS_SERVICE,
	    RESERVED_KEY_BYTES, 2 * NET_RESERVED_MAX);
	int rc = 0;

	if (sorted == NULL || s == NULL) {
		nftnl_set_free(s);
		return -ENOMEM;
	}
	if (open->reserved_count > 0)
		memcpy(sorted, open->reserved,
		    open->reserved_count * sizeof(*sorted));
	qsort(sorted, open->reserved_count, sizeof(*sorted), compare_reserved);
	for (size_t i = 0; i < open->reserved_count && rc == 0; i++)
		if (i == 0 || compare_reserved(&sorted[i], &sorted[i - 1]) != 0)
			rc = add_reserved(s, &sorted[i]);
	if (rc == 0)
		rc = sink->on_set(s, sink->arg);
	nftnl_set_free(s);
	return rc;
}

int
ruleset_build_sets(const struct net_opening *open,
    const struct ruleset_sink *sink)
{
	int rc;

	if (open->port_count > NET_PORTS_MAX ||
	    open->reserved_count > NET_RESERVED_MAX)
		return -EINVAL;
	rc = build_ports(open, sink);
	return rc != 0 ? rc : build_reserved(open, sink);
}
