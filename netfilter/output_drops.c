/* Chains that drop what leaves, see output_drops.h. */
#include "netfilter/output_drops.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "netfilter/netlink.h"

struct search {
	output_drops_fn *fn;
	void *arg;
};

/* The families of which this host's own packets can be. */
static const char *
family_name(uint32_t family)
{
	switch (family) {
	case NFPROTO_IPV4:
		return "ip";
	case NFPROTO_IPV6:
		return "ip6";
	case NFPROTO_INET:
		return "inet";
	default:
		return NULL;
	}
}

static void
look_at(const struct nftnl_chain *c, const struct search *s)
{
	const char *family =
	    family_name(nftnl_chain_get_u32(c, NFTNL_CHAIN_FAMILY));
	const char *table = nftnl_chain_get_str(c, NFTNL_CHAIN_TABLE);
	const char *name = nftnl_chain_get_str(c, NFTNL_CHAIN_NAME);

	if (family == NULL || table == NULL || name == NULL ||
	    !nftnl_chain_is_set(c, NFTNL_CHAIN_HOOKNUM) ||
	    nftnl_chain_get_u32(c, NFTNL_CHAIN_POLICY) != NF_DROP)
		return;
	switch (nftnl_chain_get_u32(c, NFTNL_CHAIN_HOOKNUM)) {
	case NF_INET_LOCAL_OUT:
	case NF_INET_POST_ROUTING:
		s->fn(family, table, name, s->arg);
		break;
	default:
		break;
	}
}

static int
on_chain(const struct nlmsghdr *nlh, void *arg)
{
	struct nftnl_chain *c = nftnl_chain_alloc();

	if (c == NULL)
		return MNL_CB_ERROR;
	if (nftnl_chain_nlmsg_parse(nlh, c) == 0)
		look_at(c, arg);
	nftnl_chain_free(c);
	return MNL_CB_OK;
}

int
output_drops_each(output_drops_fn *fn, void *arg)
{
	_Alignas(struct nlmsghdr) char buf[256];
	struct search s = { fn, arg };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nfgenmsg *nfg =
	    mnl_nlmsg_put_extra_header(nlh, sizeof(struct nfgenmsg));
	AUTO_CLOSE int fd = -1;
	int rc = netlink_open(NETLINK_NETFILTER, &fd);

	if (rc != 0)
		return rc;
	nlh->nlmsg_type = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETCHAIN;
	nfg->nfgen_family = AF_UNSPEC;
	nfg->version = NFNETLINK_V0;
	return netlink_ask(fd, nlh, NLM_F_DUMP, on_chain, &s);
}
