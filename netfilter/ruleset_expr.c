/*
 * The kernel reads a rule as loads into registers and tests of them; this is
 * how `nft --debug=netlink` shows it, and how ruleset_text.c compares it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <string.h>

#include <libnftnl/expr.h>

#include "netfilter/nflog.h"
#include "netfilter/ruleset_expr.h"

static struct nftnl_expr *
add_expr(struct rule_draft *d, const char *kind)
{
	struct nftnl_expr *e;

	if (d->rc != 0)
		return NULL;
	e = nftnl_expr_alloc(kind);
	if (e == NULL) {
		d->rc = -ENOMEM;
		return NULL;
	}
	nftnl_rule_add_expr(d->rule, e);
	return e;
}

static void
set_data(struct rule_draft *d, struct nftnl_expr *e, uint16_t attr,
    const void *data, size_t len)
{
	if (nftnl_expr_set(e, attr, data, (uint32_t)len) < 0)
		d->rc = -ENOMEM;
}

static void
set_str(struct rule_draft *d, struct nftnl_expr *e, uint16_t attr,
    const char *s)
{
	if (nftnl_expr_set_str(e, attr, s) < 0)
		d->rc = -ENOMEM;
}

static void
load_place(struct rule_draft *d, const struct field_place *f, uint32_t reg)
{
	struct nftnl_expr *e = add_expr(d, f->is_meta ? "meta" : "payload");

	if (e == NULL)
		return;
	if (f->is_meta) {
		nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, f->base);
		nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, reg);
		return;
	}
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, f->base);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, f->offset);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, f->len);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, reg);
}

static void
mask_register(struct rule_draft *d, const uint8_t *mask, uint32_t len)
{
	static const uint8_t zero[VALUE_MAX_BYTES];
	struct nftnl_expr *e = add_expr(d, "bitwise");

	if (e == NULL)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, len);
	set_data(d, e, NFTNL_EXPR_BITWISE_MASK, mask, len);
	set_data(d, e, NFTNL_EXPR_BITWISE_XOR, zero, len);
}

static void
compare(struct rule_draft *d, enum row_test test, const uint8_t *value,
    size_t len)
{
	static const uint32_t ops[] = {
		[TEST_IS] = NFT_CMP_EQ,
		[TEST_IS_NOT] = NFT_CMP_NEQ,
		[TEST_AT_LEAST] = NFT_CMP_GTE,
		[TEST_AT_MOST] = NFT_CMP_LTE,
	};
	struct nftnl_expr *e = add_expr(d, "cmp");

	if (e == NULL)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, ops[test]);
	set_data(d, e, NFTNL_EXPR_CMP_DATA, value, len);
}

static void
look_up(struct rule_draft *d, const char *set)
{
	struct nftnl_expr *e = add_expr(d, "lookup");

	if (e == NULL)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_FLAGS, 0);
	set_str(d, e, NFTNL_EXPR_LOOKUP_SET, set);
}

void
expr_match(struct rule_draft *d, const struct net_plan *plan,
    const char *device, const struct row_match *m)
{
	const struct field_place *f = &ruleset_fields[m->field];
	uint8_t value[VALUE_MAX_BYTES], mask[VALUE_MAX_BYTES];

	load_place(d, f, NFT_REG_1);
	/* The four bytes after register 1's first four. */
	if (m->field == FIELD_TARGET_AND_PORT)
		load_place(d, &ruleset_fields[FIELD_TARGET_PORT], NFT_REG32_01);
	if (ruleset_mask(plan, m, mask))
		mask_register(d, mask, f->len);
	if (m->test == TEST_IN_SET) {
		look_up(d,
		    m->value == VALUE_PORT_SET ? SET_PORTS : SET_RESERVED);
		return;
	}
	compare(d, m->test, value,
	    ruleset_value(plan, device, m->value, value));
}

void
expr_limit(struct rule_draft *d, uint32_t per_second)
{
	struct nftnl_expr *e = add_expr(d, "limit");

	if (e == NULL)
		return;
	nftnl_expr_set_u64(e, NFTNL_EXPR_LIMIT_RATE, per_second);
	nftnl_expr_set_u64(e, NFTNL_EXPR_LIMIT_UNIT, 1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_BURST, per_second);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_TYPE, NFT_LIMIT_PKTS);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_FLAGS, 0);
}

void
expr_count(struct rule_draft *d, const char *counter)
{
	struct nftnl_expr *e = add_expr(d, "objref");

	if (e == NULL)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER);
	set_str(d, e, NFTNL_EXPR_OBJREF_IMM_NAME, counter);
}

void
expr_log(struct rule_draft *d, uint16_t group, const char *prefix)
{
	struct nftnl_expr *e = add_expr(d, "log");

	if (e == NULL)
		return;
	nftnl_expr_set_u16(e, NFTNL_EXPR_LOG_GROUP, group);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOG_SNAPLEN, NFLOG_COPY_BYTES);
	nftnl_expr_set_u16(e, NFTNL_EXPR_LOG_QTHRESHOLD, 1);
	set_str(d, e, NFTNL_EXPR_LOG_PREFIX, prefix);
}

/* A constant into register 1, or a verdict. */
static void
put_immediate(struct rule_draft *d, const void *data, size_t len)
{
	struct nftnl_expr *e = add_expr(d, "immediate");

	if (e == NULL)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_1);
	set_data(d, e, NFTNL_EXPR_IMM_DATA, data, len);
}

void
expr_set_mark(struct rule_draft *d)
{
	const uint32_t mark = NET_MARK;
	struct nftnl_expr *e;

	put_immediate(d, &mark, sizeof(mark));
	e = add_expr(d, "meta");
	if (e == NULL)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, NFT_META_MARK);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_SREG, NFT_REG_1);
}

void
expr_tproxy(struct rule_draft *d, uint16_t port)
{
	const uint16_t be = htons(port);
	struct nftnl_expr *e;

	put_immediate(d, &be, sizeof(be));
	e = add_expr(d, "tproxy");
	if (e == NULL)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_TPROXY_FAMILY, NFPROTO_IPV4);
	nftnl_expr_set_u32(e, NFTNL_EXPR_TPROXY_REG_PORT, NFT_REG_1);
}

void
expr_reject(struct rule_draft *d, enum refusal refusal)
{
	struct nftnl_expr *e = add_expr(d, "reject");

	if (e == NULL)
		return;
	if (refusal == REFUSAL_RESET) {
		nftnl_expr_set_u32(e, NFTNL_EXPR_REJECT_TYPE,
		    NFT_REJECT_TCP_RST);
		nftnl_expr_set_u8(e, NFTNL_EXPR_REJECT_CODE, 0);
		return;
	}
	nftnl_expr_set_u32(e, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
	nftnl_expr_set_u8(e, NFTNL_EXPR_REJECT_CODE,
	    NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
}

void
expr_verdict(struct rule_draft *d, uint32_t verdict)
{
	struct nftnl_expr *e = add_expr(d, "immediate");

	if (e == NULL)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, verdict);
}

void
expr_goto(struct rule_draft *d, const char *chain)
{
	struct nftnl_expr *e = add_expr(d, "immediate");

	if (e == NULL)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, (uint32_t)NFT_GOTO);
	set_str(d, e, NFTNL_EXPR_IMM_CHAIN, chain);
}
