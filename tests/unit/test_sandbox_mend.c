/*
 * What strangers do to a sandbox's network, and what becomes of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>

#include "base/fd.h"
#include "netfilter/netlink.h"
#include "tests/unit/frames.h"
#include "tests/unit/sandbox_support.h"

/* One nftables message of a stranger, in a transaction of its own. */
struct stranger {
	uint16_t type, flags;
	uint8_t family;
	const char *table;
	uint16_t attr; /* of a name below; 0: none */
	const char *name;
	uint16_t attr_u32; /* 0: none */
	uint32_t value;
};

static void
put_stranger(struct nlmsghdr *nlh, const struct stranger *s)
{
	if (s->table != NULL)
		mnl_attr_put_strz(nlh, NFTA_TABLE_NAME, s->table);
	if (s->attr != 0)
		mnl_attr_put_strz(nlh, s->attr, s->name);
	if (s->attr_u32 != 0)
		mnl_attr_put_u32(nlh, s->attr_u32, htonl(s->value));
}

static void
push(struct netlink_batch *b, uint16_t type, uint16_t flags, uint8_t family,
    const struct stranger *s)
{
	struct nlmsghdr *nlh = netlink_batch_next(b, type, flags);
	struct nfgenmsg *nfg;

	assert_non_null(nlh);
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = family;
	nfg->res_id = s == NULL ? htons(NFNL_SUBSYS_NFTABLES) : 0;
	if (s != NULL)
		put_stranger(nlh, s);
	netlink_batch_push(b, nlh);
}

static int
meddle(struct sandbox_net *n, const struct stranger *s)
{
	struct netlink_batch b;
	AUTO_CLOSE int fd = -1;
	int rc;

	assert_int_equal(netns_enter(sandbox_net_fd(n)), 0);
	rc = netlink_open(NETLINK_NETFILTER, &fd);
	netns_leave(host.home_fd);
	assert_int_equal(rc, 0);
	netlink_batch_init(&b);
	push(&b, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NULL);
	push(&b, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | s->type),
	    (uint16_t)(s->flags | NLM_F_ACK), s->family, s);
	push(&b, NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NULL);
	rc = netlink_batch_send(fd, &b, NULL);
	netlink_batch_done(&b);
	return rc;
}

static const struct {
	const char *claim;
	struct stranger s;
} meddling[] = {
	{ "flush ruleset", { .type = NFT_MSG_DELTABLE } },
	{ "one table deleted",
	    { .type = NFT_MSG_DELTABLE,
		.family = NFPROTO_NETDEV,
		.table = "tapward" } },
	{ "a table more",
	    { .type = NFT_MSG_NEWTABLE,
		.flags = NLM_F_CREATE,
		.family = NFPROTO_IPV4,
		.table = "stranger" } },
	{ "a table asleep",
	    { .type = NFT_MSG_NEWTABLE,
		.family = NFPROTO_INET,
		.table = "tapward",
		.attr_u32 = NFTA_TABLE_FLAGS,
		.value = NFT_TABLE_F_DORMANT } },
	{ "a chain more",
	    { .type = NFT_MSG_NEWCHAIN,
		.flags = NLM_F_CREATE,
		.family = NFPROTO_INET,
		.table = "tapward",
		.attr = NFTA_CHAIN_NAME,
		.name = "stranger" } },
	{ "a chain's policy changed",
	    { .type = NFT_MSG_NEWCHAIN,
		.family = NFPROTO_INET,
		.table = "tapward",
		.attr = NFTA_CHAIN_NAME,
		.name = "forward",
		.attr_u32 = NFTA_CHAIN_POLICY,
		.value = NF_ACCEPT } },
	{ "a chain's rules flushed",
	    { .type = NFT_MSG_DELRULE,
		.family = NFPROTO_NETDEV,
		.table = "tapward",
		.attr = NFTA_RULE_CHAIN,
		.name = "ingress" } },
	{ "a rule more",
	    { .type = NFT_MSG_NEWRULE,
		.flags = NLM_F_CREATE,
		.family = NFPROTO_INET,
		.table = "tapward",
		.attr = NFTA_RULE_CHAIN,
		.name = "input" } },
	{ "a set emptied",
	    { .type = NFT_MSG_DELSETELEM,
		.family = NFPROTO_INET,
		.table = "tapward",
		.attr = NFTA_SET_ELEM_LIST_SET,
		.name = "ports" } },
};

/*
 * Read back: found. Watched: seen. Checked: put right, with the counters of
 * before, and the device open again.
 */
static void
a_strangers_change_is_found_and_mended(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	AUTO_CLOSE int tap = -1;
	struct net_counters c;
	struct frame f;

	(void)state;
	assert_int_equal(sandbox_net_open_tap(n, 0, &tap), 0);
	frame_icmp_echo(&f, &plan, plan.gateway_ip);
	assert_true(frame_send(tap, &f));
	for (size_t i = 0; i < ROWS(meddling); i++) {
		struct pollfd p = { .fd = sandbox_net_ruleset_fd(n),
			.events = POLLIN };
		struct net_event ev = check_now(n);

		assert_false(ev.reinstalled);
		if (meddle(n, &meddling[i].s) != 0)
			fail_msg("%s: failed", meddling[i].claim);
		if (sandbox_net_verify(n, NULL) != -EBADMSG)
			fail_msg("%s: not found", meddling[i].claim);
		if (poll(&p, 1, 1000) != 1)
			fail_msg("%s: not seen", meddling[i].claim);
		ev = check_now(n);
		if (!ev.reinstalled || ev.state != DEVICE_READY)
			fail_msg("%s: not mended", meddling[i].claim);
		expect_verified(n);
	}
	assert_true(frame_send(tap, &f));
	assert_int_equal(sandbox_net_counters(n, &c), 0);
	/* A flushed table's counts are lost, not the later ones. */
	assert_true(c.packets[REASON_PACKET_ICMP] >= 1);
	assert_int_equal(sandbox_net_remove(n), 0);
}

/* The second wall: without any rule there still is no way out. */
static void
a_flush_opens_nothing(void **state)
{
	static const uint16_t tried[] = { 22, 80, 443, 5432, 8080 };
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	AUTO_CLOSE int tap = -1;
	struct frame f, answer;

	(void)state;
	assert_int_equal(sandbox_net_open_tap(n, 0, &tap), 0);
	assert_int_equal(meddle(n, &meddling[0].s), 0);
	while (frame_receive(tap, 0, &answer))
		continue;
	for (size_t i = 0; i < ROWS(tried); i++) {
		frame_tcp(&f, &plan, 0x08080808, 20000, tried[i], TCP_FLAG_SYN);
		assert_true(frame_send(tap, &f));
		frame_tcp(&f, &plan, 0x7f000001, 20000, tried[i], TCP_FLAG_SYN);
		assert_true(frame_send(tap, &f));
		frame_udp(&f, &plan, 0x08080808, 20000, tried[i], "out");
		assert_true(frame_send(tap, &f));
		/* Nor does a synthetic address lead anywhere unmarked. */
		frame_tcp(&f, &plan, 0xc6120304, 20000, tried[i], TCP_FLAG_SYN);
		assert_true(frame_send(tap, &f));
	}
	while (frame_receive(tap, 0, &answer))
		if (answer.bytes[AT_IP_PROTOCOL] == 6)
			fail_msg("a TCP answer without any rule");
	assert_int_equal(sandbox_net_remove(n), 0);
}

/* What kernel 6.1 leaves when the device goes: no ingress chain. */
static void
the_second_floor_holds_alone(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	AUTO_CLOSE int tap = -1;
	struct net_counters c;
	struct frame f;

	(void)state;
	assert_int_equal(sandbox_net_open_tap(n, 0, &tap), 0);
	assert_int_equal(meddle(n, &meddling[1].s), 0);
	frame_tcp(&f, &plan, 0x08080808, 20000, 443, TCP_FLAG_SYN);
	assert_true(frame_send(tap, &f));
	frame_udp(&f, &plan, 0x08080808, 20000, 443, "out");
	assert_true(frame_send(tap, &f));
	frame_tag(&f, 0x8100, 0);
	assert_true(frame_send(tap, &f));
	frame_icmp_echo(&f, &plan, plan.gateway_ip);
	assert_true(frame_send(tap, &f));
	frame_ip(&f, &plan, 47, plan.gateway_ip, "GRE", 4);
	assert_true(frame_send(tap, &f));
	frame_udp(&f, &plan, plan.gateway_ip, 20000, 53, "spoofed");
	frame_put32(&f, AT_IP_SOURCE, 0x64400003);
	frame_sum_ip(&f);
	assert_true(frame_send(tap, &f));
	assert_int_equal(sandbox_net_counters(n, &c), 0);
	assert_int_equal(c.packets[REASON_PACKET_TCP], 1);
	assert_int_equal(c.packets[REASON_PACKET_UDP], 2);
	assert_int_equal(c.packets[REASON_PACKET_ICMP], 1);
	assert_int_equal(c.packets[REASON_PACKET_PROTOCOL], 1);
	assert_int_equal(c.packets[REASON_PACKET_SOURCE], 1);
	assert_int_equal(sandbox_net_remove(n), 0);
}

static void
a_device_that_comes_back_is_enclosed_first(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	AUTO_CLOSE int tap = -1;
	struct net_counters c;
	struct net_event ev;
	struct frame f;

	(void)state;
	assert_int_equal(netns_enter(sandbox_net_fd(n)), 0);
	assert_int_equal(device_delete(plan.tap_name), 0);
	netns_leave(host.home_fd);
	ev = check_now(n);
	assert_true(ev.state_changed);
	assert_int_equal(ev.state, DEVICE_GONE);

	assert_int_equal(netns_enter(sandbox_net_fd(n)), 0);
	assert_int_equal(device_tap_create(&plan), 0);
	netns_leave(host.home_fd);
	ev = check_now(n);
	assert_true(ev.state_changed && ev.reinstalled);
	assert_int_equal(ev.state, DEVICE_WAITING);
	expect_verified(n);
	assert_int_equal(sandbox_net_open_tap(n, 0, &tap), 0);
	ev = check_now(n);
	assert_int_equal(ev.state, DEVICE_READY);
	assert_false(ev.reinstalled);
	frame_icmp_echo(&f, &plan, plan.gateway_ip);
	assert_true(frame_send(tap, &f));
	assert_int_equal(sandbox_net_counters(n, &c), 0);
	assert_int_equal(c.packets[REASON_PACKET_ICMP], 1);
	assert_int_equal(sandbox_net_remove(n), 0);
}

/* And the gateway still knows its guest without asking. */
static void
a_device_that_was_closed_is_opened(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	AUTO_CLOSE int tap = -1;
	struct frame f, answer;
	struct net_event ev;

	(void)state;
	assert_int_equal(sandbox_net_open_tap(n, 0, &tap), 0);
	for (unsigned int again = 0; again < 2; again++) {
		(void)check_now(n);
		assert_int_equal(netns_enter(sandbox_net_fd(n)), 0);
		assert_int_equal(device_set_up(plan.tap_name, false), 0);
		assert_int_equal(device_set_up(plan.tap_name, again == 1), 0);
		netns_leave(host.home_fd);
		ev = check_now(n);
		assert_int_equal(ev.state, DEVICE_READY);
		assert_false(ev.reinstalled);
		frame_tcp(&f, &plan, 0xc6120304, 20000, 443, TCP_FLAG_SYN);
		assert_true(frame_send(tap, &f));
		assert_true(frame_receive(tap, 1000, &answer));
		assert_int_equal(frame_get16(&answer, AT_ETHER_TYPE), 0x0800);
	}
	assert_int_equal(sandbox_net_remove(n), 0);
}

/* Another way out cannot be mended, so the device stays closed. */
static void
a_second_device_closes_the_sandbox(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	struct net_plan other = plan;
	struct err err = { "" };
	struct net_event ev;
	enum device_state s;

	(void)state;
	(void)strcpy(other.tap_name, plan.veth_name);
	assert_int_equal(netns_enter(sandbox_net_fd(n)), 0);
	assert_int_equal(device_tap_create(&other), 0);
	assert_int_equal(device_set_up(plan.tap_name, true), 0);
	netns_leave(host.home_fd);
	assert_int_equal(sandbox_net_check(n, &ev, &err), -EBADMSG);
	assert_true(err.text[0] != '\0');
	assert_int_equal(netns_enter(sandbox_net_fd(n)), 0);
	assert_int_equal(device_state(plan.tap_name, &s), 0);
	netns_leave(host.home_fd);
	assert_int_equal(s, DEVICE_DOWN);
	assert_int_equal(sandbox_net_remove(n), 0);
}

static void
a_setting_that_was_changed_is_found(void **state)
{
	struct net_request req = tap_request();
	struct sandbox_net *n = create(&req);
	struct err err = { "" };
	int fd;

	(void)state;
	assert_int_equal(netns_enter(sandbox_net_fd(n)), 0);
	fd = open("/proc/sys/net/ipv4/ip_forward", O_WRONLY | O_CLOEXEC);
	assert_int_equal(fd_write_all(fd, "1", 1), 0);
	fd_close(&fd);
	netns_leave(host.home_fd);
	assert_int_equal(sandbox_net_verify(n, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "ip_forward"));
	assert_int_equal(sandbox_net_remove(n), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_strangers_change_is_found_and_mended),
		cmocka_unit_test(a_flush_opens_nothing),
		cmocka_unit_test(the_second_floor_holds_alone),
		cmocka_unit_test(a_device_that_comes_back_is_enclosed_first),
		cmocka_unit_test(a_device_that_was_closed_is_opened),
		cmocka_unit_test(a_second_device_closes_the_sandbox),
		cmocka_unit_test(a_setting_that_was_changed_is_found),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
