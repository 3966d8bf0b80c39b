/*
 * Sending a ruleset and reading it back. See ruleset_rows.c for what it says.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "netfilter/netlink.h"
#include "netfilter/ruleset.h"
#include "netfilter/ruleset_rows.h"
#include "netfilter/ruleset_text.h"

/* A torn dump is asked for again; somebody who changes that fast is hostile. */
#define VERIFY_TRIES 5
#define NFT(type) ((uint16_t)((NFNL_SUBSYS_NFTABLES << 8) | (type)))

static struct nlmsghdr *
next_request(struct netlink_batch *b, uint16_t type, uint32_t family,
    uint16_t flags, uint16_t res_id)
{
	struct nlmsghdr *nlh = netlink_batch_next(b, type, flags);
	struct nfgenmsg *nfg;

	if (nlh == NULL)
		return NULL;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = (uint8_t)family;
	nfg->version = NFNETLINK_V0;
	nfg->res_id = htons(res_id);
	return nlh;
}

/* Objects between these two take effect together or not at all. */
static void
put_batch_mark(struct netlink_batch *b, uint16_t type)
{
	netlink_batch_push(b,
	    next_request(b, type, AF_UNSPEC, 0, NFNL_SUBSYS_NFTABLES));
}

static int
send_table(struct nftnl_table *t, void *arg)
{
	struct netlink_batch *b = arg;
	struct nlmsghdr *nlh = next_request(b, NFT(NFT_MSG_NEWTABLE),
	    nftnl_table_get_u32(t, NFTNL_TABLE_FAMILY), NLM_F_CREATE, 0);

	if (nlh != NULL)
		nftnl_table_nlmsg_build_payload(nlh, t);
	netlink_batch_push(b, nlh);
	return b->rc;
}

static int
send_counter(struct nftnl_obj *o, void *arg)
{
	struct netlink_batch *b = arg;
	struct nlmsghdr *nlh = next_request(b, NFT(NFT_MSG_NEWOBJ),
	    nftnl_obj_get_u32(o, NFTNL_OBJ_FAMILY), NLM_F_CREATE | NLM_F_EXCL,
	    0);

	if (nlh != NULL)
		nftnl_obj_nlmsg_build_payload(nlh, o);
	netlink_batch_push(b, nlh);
	return b->rc;
}

static int
send_chain(struct nftnl_chain *c, void *arg)
{
	struct netlink_batch *b = arg;
	struct nlmsghdr *nlh = next_request(b, NFT(NFT_MSG_NEWCHAIN),
	    nftnl_chain_get_u32(c, NFTNL_CHAIN_FAMILY),
	    NLM_F_CREATE | NLM_F_EXCL, 0);

	if (nlh != NULL)
		nftnl_chain_nlmsg_build_payload(nlh, c);
	netlink_batch_push(b, nlh);
	return b->rc;
}

static int
send_rule(struct nftnl_rule *r, void *arg)
{
	struct netlink_batch *b = arg;
	struct nlmsghdr *nlh = next_request(b, NFT(NFT_MSG_NEWRULE),
	    nftnl_rule_get_u32(r, NFTNL_RULE_FAMILY),
	    NLM_F_CREATE | NLM_F_APPEND, 0);

	if (nlh != NULL)
		nftnl_rule_nlmsg_build_payload(nlh, r);
	netlink_batch_push(b, nlh);
	return b->rc;
}

/* As many messages as the elements need: one attribute holds 64 KiB. */
static int
send_elements(struct nftnl_set *s, struct netlink_batch *b)
{
	struct nftnl_set_elems_iter *it = nftnl_set_elems_iter_create(s);
	int more = 1;

	if (it == NULL)
		return -ENOMEM;
	while (more > 0 && nftnl_set_elems_iter_cur(it) != NULL) {
		struct nlmsghdr *nlh = next_request(b, NFT(NFT_MSG_NEWSETELEM),
		    NFPROTO_INET, NLM_F_CREATE | NLM_F_ACK, 0);

		if (nlh == NULL)
			break;
		more = nftnl_set_elems_nlmsg_build_payload_iter(nlh, it);
		netlink_batch_push(b, nlh);
	}
	nftnl_set_elems_iter_destroy(it);
	return b->rc;
}

static int
send_set(struct nftnl_set *s, void *arg)
{
	struct netlink_batch *b = arg;
	struct nlmsghdr *nlh = next_request(b, NFT(NFT_MSG_NEWSET),
	    NFPROTO_INET, NLM_F_CREATE | NLM_F_EXCL, 0);

	if (nlh != NULL) {
		/* Two sets of one transaction need two numbers. */
		nftnl_set_set_u32(s, NFTNL_SET_ID, nlh->nlmsg_seq);
		nftnl_set_nlmsg_build_payload(nlh, s);
	}
	netlink_batch_push(b, nlh);
	return b->rc != 0 ? b->rc : send_elements(s, b);
}

/* Empties a set that is there, then fills it, within the transaction. */
static int
send_set_again(struct nftnl_set *s, void *arg)
{
	struct netlink_batch *b = arg;
	struct nlmsghdr *nlh = next_request(b, NFT(NFT_MSG_DELSETELEM),
	    NFPROTO_INET, NLM_F_ACK, 0);

	if (nlh != NULL) {
		mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_TABLE,
		    nftnl_set_get_str(s, NFTNL_SET_TABLE));
		mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_SET,
		    nftnl_set_get_str(s, NFTNL_SET_NAME));
	}
	netlink_batch_push(b, nlh);
	return b->rc != 0 ? b->rc : send_elements(s, b);
}

/*
 * Elements that are there already are passed over. To delete any makes the
 * kernel wait for RCU, some 10 ms, when the socket is closed.
 */
static int
send_more(struct nftnl_set *s, void *arg)
{
	return send_elements(s, arg);
}

static int
send_batch(struct netlink_batch *b, int rc, const char *what, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	uint32_t seq = 0;

	put_batch_mark(b, NFNL_MSG_BATCH_END);
	if (rc == 0)
		rc = netlink_open(NETLINK_NETFILTER, &fd);
	if (rc == 0)
		rc = netlink_batch_send(fd, b, &seq);
	netlink_batch_done(b);
	if (rc != 0)
		return err_os(err, rc,
		    "nftables (module nf_tables): %s, message %u", what, seq);
	return 0;
}

int
ruleset_install(const struct net_plan *plan, const char *device,
    const struct net_opening *open, struct err *err)
{
	struct netlink_batch b;
	const struct ruleset_sink sink = { send_table, send_counter, send_set,
		send_chain, send_rule, &b };
	int rc;

	netlink_batch_init(&b);
	put_batch_mark(&b, NFNL_MSG_BATCH_BEGIN);
	/*
	 * Every table of the namespace; none is no error. Failures come by
	 * themselves; one acknowledgement shows that answers come at all.
	 */
	netlink_batch_push(&b,
	    next_request(&b, NFT(NFT_MSG_DELTABLE), AF_UNSPEC, NLM_F_ACK, 0));
	rc = ruleset_build(plan, device, open, &sink);
	return send_batch(&b, rc, "installing the ruleset", err);
}

int
ruleset_update(const struct net_opening *before,
    const struct net_opening *after, struct err *err)
{
	const bool is_wider = net_opening_contains(after, before);
	struct netlink_batch b;
	const struct ruleset_sink sink = {
		.on_set = is_wider ? send_more : send_set_again,
		.arg = &b,
	};
	int rc;

	netlink_batch_init(&b);
	put_batch_mark(&b, NFNL_MSG_BATCH_BEGIN);
	rc = ruleset_build_sets(after, &sink);
	return send_batch(&b, rc, "updating the sets", err);
}

/* The callbacks of a dump: parse a message, add its lines. */
struct dump {
	struct text_lines *lines;
	struct net_counters *counters; /* or NULL */
	int fd;
	int rc;
};

static int
dump_result(struct dump *d, int rc)
{
	d->rc = rc;
	errno = -rc;
	return rc == 0 ? MNL_CB_OK : MNL_CB_ERROR;
}

static int
on_table(const struct nlmsghdr *nlh, void *arg)
{
	struct dump *d = arg;
	struct nftnl_table *t = nftnl_table_alloc();
	int rc = -ENOMEM;

	if (t != NULL)
		rc = nftnl_table_nlmsg_parse(nlh, t) < 0
		    ? -EBADMSG
		    : text_add_table(d->lines, t);
	nftnl_table_free(t);
	return dump_result(d, rc);
}

static int
on_chain(const struct nlmsghdr *nlh, void *arg)
{
	struct dump *d = arg;
	struct nftnl_chain *c = nftnl_chain_alloc();
	int rc = -ENOMEM;

	if (c != NULL)
		rc = nftnl_chain_nlmsg_parse(nlh, c) < 0
		    ? -EBADMSG
		    : text_add_chain(d->lines, c);
	nftnl_chain_free(c);
	return dump_result(d, rc);
}

static int
on_rule(const struct nlmsghdr *nlh, void *arg)
{
	struct dump *d = arg;
	struct nftnl_rule *r = nftnl_rule_alloc();
	int rc = -ENOMEM;

	if (r != NULL)
		rc = nftnl_rule_nlmsg_parse(nlh, r) < 0
		    ? -EBADMSG
		    : text_add_rule(d->lines, r);
	nftnl_rule_free(r);
	return dump_result(d, rc);
}

static int
on_set(const struct nlmsghdr *nlh, void *arg)
{
	struct dump *d = arg;
	struct nftnl_set *s = nftnl_set_alloc();
	int rc = -ENOMEM;

	if (s != NULL)
		rc = nftnl_set_nlmsg_parse(nlh, s) < 0
		    ? -EBADMSG
		    : text_add_set(d->lines, s);
	nftnl_set_free(s);
	return dump_result(d, rc);
}

static int
on_elements(const struct nlmsghdr *nlh, void *arg)
{
	struct dump *d = arg;
	struct nftnl_set *s = nftnl_set_alloc();
	int rc = -ENOMEM;

	if (s != NULL)
		rc = nftnl_set_elems_nlmsg_parse(nlh, s) < 0
		    ? -EBADMSG
		    : text_add_elements(d->lines, s);
	nftnl_set_free(s);
	return dump_result(d, rc);
}

static int
on_object(const struct nlmsghdr *nlh, void *arg)
{
	struct dump *d = arg;
	struct nftnl_obj *o = nftnl_obj_alloc();
	int rc = -ENOMEM;

	if (o != NULL)
		rc = nftnl_obj_nlmsg_parse(nlh, o) < 0
		    ? -EBADMSG
		    : text_add_counter(d->lines, o);
	nftnl_obj_free(o);
	return dump_result(d, rc);
}

static int
on_counter(const struct nlmsghdr *nlh, void *arg)
{
	struct dump *d = arg;
	struct nftnl_obj *o = nftnl_obj_alloc();
	enum reason r;

	if (o == NULL)
		return dump_result(d, -ENOMEM);
	if (nftnl_obj_nlmsg_parse(nlh, o) == 0 &&
	    nftnl_obj_get_u32(o, NFTNL_OBJ_TYPE) == NFT_OBJECT_COUNTER) {
		const char *name = nftnl_obj_get_str(o, NFTNL_OBJ_NAME);

		if (name != NULL && reason_find(name, &r)) {
			d->counters->packets[r] +=
			    nftnl_obj_get_u64(o, NFTNL_OBJ_CTR_PKTS);
			d->counters->bytes[r] +=
			    nftnl_obj_get_u64(o, NFTNL_OBJ_CTR_BYTES);
		}
	}
	nftnl_obj_free(o);
	return dump_result(d, 0);
}

/* A request in buf, which has room for it. */
static struct nlmsghdr *
put_question(char *buf, uint16_t type, uint8_t family)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nfgenmsg *nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));

	nlh->nlmsg_type = NFT(type);
	nlh->nlmsg_seq = type + 1U;
	nfg->nfgen_family = family;
	nfg->version = NFNETLINK_V0;
	return nlh;
}

/* One dump; set names the set whose elements are asked for, or is NULL. */
static int
run_dump(struct dump *d, uint16_t type, const char *set, mnl_cb_t fn)
{
	_Alignas(struct nlmsghdr) char buf[256];
	struct nlmsghdr *nlh =
	    put_question(buf, type, set == NULL ? AF_UNSPEC : NFPROTO_INET);
	int rc;

	if (set != NULL) {
		mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_TABLE, RULESET_TABLE);
		mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_SET, set);
	}
	rc = netlink_ask(d->fd, nlh, NLM_F_DUMP, fn, d);
	/* A table that is gone is a difference, not a failure. */
	if (rc == -ENOENT)
		return text_add_strange(d->lines, "missing set");
	return rc;
}

static int
read_all(struct dump *d)
{
	static const struct {
		uint16_t type;
		const char *set;
		mnl_cb_t fn;
	} steps[] = {
		{ NFT_MSG_GETTABLE, NULL, on_table },
		{ NFT_MSG_GETOBJ, NULL, on_object },
		{ NFT_MSG_GETSET, NULL, on_set },
		{ NFT_MSG_GETSETELEM, SET_PORTS, on_elements },
		{ NFT_MSG_GETSETELEM, SET_RESERVED, on_elements },
		{ NFT_MSG_GETCHAIN, NULL, on_chain },
		{ NFT_MSG_GETRULE, NULL, on_rule },
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && rc == 0; i++)
		rc = run_dump(d, steps[i].type, steps[i].set, steps[i].fn);
	return rc;
}

static int
read_lines(struct text_lines *have)
{
	int rc = -EINTR;

	for (unsigned int i = 0; i < VERIFY_TRIES && rc == -EINTR; i++) {
		struct dump d = { .lines = have, .fd = -1 };

		text_done(have);
		rc = netlink_open(NETLINK_NETFILTER, &d.fd);
		if (rc == 0)
			rc = read_all(&d);
		fd_close(&d.fd);
	}
	return rc;
}

/* The sink that writes down what read_lines() should find. */
static int
want_table(struct nftnl_table *t, void *arg)
{
	return text_add_table(arg, t);
}

static int
want_counter(struct nftnl_obj *o, void *arg)
{
	return text_add_counter(arg, o);
}

static int
want_set(struct nftnl_set *s, void *arg)
{
	int rc = text_add_set(arg, s);

	return rc != 0 ? rc : text_add_elements(arg, s);
}

static int
want_chain(struct nftnl_chain *c, void *arg)
{
	return text_add_chain(arg, c);
}

static int
want_rule(struct nftnl_rule *r, void *arg)
{
	return text_add_rule(arg, r);
}

int
ruleset_verify(const struct net_plan *plan, const char *device,
    const struct net_opening *open, struct err *err)
{
	struct text_lines want = { 0 }, have = { 0 };
	const struct ruleset_sink sink = { want_table, want_counter, want_set,
		want_chain, want_rule, &want };
	int rc = ruleset_build(plan, device, open, &sink);

	if (rc == 0)
		rc = read_lines(&have);
	if (rc == 0)
		rc = text_compare(&want, &have, err);
	else
		(void)err_os(err, rc, "nftables: reading the ruleset back");
	text_done(&want);
	text_done(&have);
	return rc;
}

int
ruleset_counters(struct net_counters *ret)
{
	AUTO_CLOSE int fd = -1;
	struct net_counters counters = { 0 };
	struct dump d = { .counters = &counters };
	int rc = netlink_open(NETLINK_NETFILTER, &fd);

	if (rc != 0)
		return rc;
	d.fd = fd;
	rc = run_dump(&d, NFT_MSG_GETOBJ, NULL, on_counter);
	if (rc == 0)
		*ret = counters;
	return rc;
}

int
ruleset_watch_open(int *ret_fd)
{
	return netlink_watch(NETLINK_NETFILTER, NFNLGRP_NFTABLES, ret_fd);
}

static int
on_ignored(const struct nlmsghdr *nlh, void *arg)
{
	(void)nlh;
	(void)arg;
	return MNL_CB_OK;
}

int
ruleset_watch_drain(int fd)
{
	bool is_lost;

	return netlink_drain(fd, on_ignored, NULL, &is_lost);
}

static int
on_generation(const struct nlmsghdr *nlh, void *arg)
{
	uint32_t *generation = arg;

	*generation =
	    ntohl(netlink_attr_u32(nlh, sizeof(struct nfgenmsg), NFTA_GEN_ID));
	return MNL_CB_OK;
}

int
ruleset_generation(uint32_t *ret_generation)
{
	_Alignas(struct nlmsghdr) char buf[64];
	AUTO_CLOSE int fd = -1;
	uint32_t generation = 0;
	int rc = netlink_open(NETLINK_NETFILTER, &fd);

	if (rc == 0)
		rc = netlink_ask(fd,
		    put_question(buf, NFT_MSG_GETGEN, AF_UNSPEC), NLM_F_ACK,
		    on_generation, &generation);
	if (rc == 0 && generation == 0)
		rc = -EPROTO;
	if (rc == 0)
		*ret_generation = generation;
	return rc;
}
