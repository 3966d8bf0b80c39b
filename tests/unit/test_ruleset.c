/*
 * The ruleset from the guest's side of a tap: every frame that a guest could
 * think of, and which counter it ends in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "netfilter/sandbox_net.h"
#include "tests/unit/frames.h"

#define ROWS(a) (sizeof(a) / sizeof((a)[0]))

#define SYNTHETIC 0xc6120304 /* 198.18.3.4 */
#define RESERVED 0xc6120005  /* 198.18.0.5 */
#define OUTSIDE 0x08080808
#define GATEWAY 0x64400001
#define POLICY_PORT 8443

static struct net_host host = { -1, 0 };
static struct net_plan plan;
static struct sandbox_net *net;
static int tap = -1;

static const uint16_t ports[] = { POLICY_PORT };
static const struct net_reserved reserved[] = { { RESERVED, 5432 } };

static int
start(void **state)
{
	struct net_request req = {
		.name = "ruleset-test",
		.device = NET_DEVICE_TAP,
		.open = { ports, ROWS(ports), reserved, ROWS(reserved) },
	};
	struct err err = { "" };
	int rc;

	(void)state;
	plan = net_plan_default();
	rc = net_host_init(&host, &err);
	if (rc == 0)
		rc = sandbox_net_prepare(&host, &plan, NET_DEVICE_TAP, &net,
		    &err);
	if (rc == 0)
		rc = sandbox_net_finish(net, &req, &err);
	if (rc == 0)
		rc = sandbox_net_open_tap(net, 0, &tap);
	if (rc != 0)
		(void)fprintf(stderr, "%s\n", err.text);
	return rc;
}

static int
stop(void **state)
{
	int rc;

	(void)state;
	fd_close(&tap);
	rc = sandbox_net_remove(net);
	net_host_done(&host);
	return rc;
}

static void
read_counters(struct net_counters *c)
{
	assert_int_equal(sandbox_net_counters(net, c), 0);
}

static uint64_t
sum_counters(const struct net_counters *c)
{
	uint64_t sum = 0;

	for (unsigned int r = 0; r < REASON_COUNT; r++)
		sum += c->packets[r];
	return sum;
}

/* The answers of the kernel come while the guest's write is under way. */
static void
discard_answers(void)
{
	struct frame f;

	while (frame_receive(tap, 0, &f))
		continue;
}

static void
expect_reason(const char *claim, const struct frame *f, enum reason want)
{
	struct net_counters before, after;
	uint64_t all;

	read_counters(&before);
	assert_true(frame_send(tap, f));
	read_counters(&after);
	all = sum_counters(&after) - sum_counters(&before);
	if (want == REASON_NONE && all != 0)
		fail_msg("%s: refused", claim);
	if (want != REASON_NONE &&
	    (all != 1 || after.packets[want] != before.packets[want] + 1))
		fail_msg("%s: not counted once as %s", claim,
		    reason_code(want));
}

enum kind { ARP, ICMP, TCP, UDP };

struct patch {
	size_t at;
	unsigned int bytes; /* 0 ends */
	uint32_t value;
};

static const struct {
	const char *claim;
	enum kind kind;
	uint32_t target;
	uint16_t port;
	struct patch patch[2];
	enum reason want;
} rows[] = {
	{ "443 of a synthetic address", TCP, SYNTHETIC, 443, { { 0 } },
	    REASON_NONE },
	{ "80 of a synthetic address", TCP, SYNTHETIC, 80, { { 0 } },
	    REASON_NONE },
	{ "a policy's port", TCP, SYNTHETIC, POLICY_PORT, { { 0 } },
	    REASON_NONE },
	{ "a reserved address and port", TCP, RESERVED, 5432, { { 0 } },
	    REASON_NONE },
	{ "the explicit proxy", TCP, GATEWAY, 3128, { { 0 } }, REASON_NONE },
	{ "TCP DNS to anywhere", TCP, OUTSIDE, 53, { { 0 } }, REASON_NONE },
	{ "DNS to the gateway", UDP, GATEWAY, 53, { { 0 } }, REASON_NONE },
	{ "DNS to anywhere", UDP, OUTSIDE, 53, { { 0 } }, REASON_NONE },
	{ "SNTP to the gateway", UDP, GATEWAY, 123, { { 0 } }, REASON_NONE },
	{ "who has the gateway", ARP, 0, 0, { { 0 } }, REASON_NONE },
	{ "an ARP answer to the gateway", ARP, 0, 0, { { AT_ARP_OP, 2, 2 } },
	    REASON_NONE },

	{ "443 outside the range", TCP, OUTSIDE, 443, { { 0 } },
	    REASON_PACKET_TCP },
	{ "443 one past the range", TCP, 0xc6140000, 443, { { 0 } },
	    REASON_PACKET_TCP },
	{ "443 one before the range", TCP, 0xc611ffff, 443, { { 0 } },
	    REASON_PACKET_TCP },
	{ "cloud metadata", TCP, 0xa9fea9fe, 80, { { 0 } }, REASON_PACKET_TCP },
	{ "another port", TCP, SYNTHETIC, 22, { { 0 } }, REASON_PACKET_TCP },
	{ "the reserved port elsewhere", TCP, SYNTHETIC, 5432, { { 0 } },
	    REASON_PACKET_TCP },
	{ "another port of the reserved", TCP, RESERVED, 5433, { { 0 } },
	    REASON_PACKET_TCP },
	{ "443 of the gateway", TCP, GATEWAY, 443, { { 0 } },
	    REASON_PACKET_TCP },
	{ "the transparent listener itself", TCP, GATEWAY, 3129, { { 0 } },
	    REASON_PACKET_TCP },
	{ "3128 elsewhere", TCP, OUTSIDE, 3128, { { 0 } }, REASON_PACKET_TCP },
	{ "DNS over TLS", TCP, OUTSIDE, 853, { { 0 } }, REASON_PACKET_TCP },

	{ "QUIC", UDP, SYNTHETIC, 443, { { 0 } }, REASON_PACKET_UDP },
	{ "SNTP elsewhere", UDP, OUTSIDE, 123, { { 0 } }, REASON_PACKET_UDP },
	{ "DHCP to the gateway", UDP, GATEWAY, 67, { { 0 } },
	    REASON_PACKET_UDP },
	{ "UDP to the proxy port", UDP, GATEWAY, 3128, { { 0 } },
	    REASON_PACKET_UDP },
	{ "echo to the gateway", ICMP, GATEWAY, 0, { { 0 } },
	    REASON_PACKET_ICMP },
	{ "echo to anywhere", ICMP, OUTSIDE, 0, { { 0 } }, REASON_PACKET_ICMP },
	{ "an ICMP redirect", ICMP, GATEWAY, 0, { { AT_L4, 1, 5 } },
	    REASON_PACKET_ICMP },

	{ "another source MAC", UDP, GATEWAY, 53,
	    { { AT_ETHER_SOURCE + 2, 4, 0x00000003 } }, REASON_PACKET_SOURCE },
	{ "the gateway's MAC as source", UDP, GATEWAY, 53,
	    { { AT_ETHER_SOURCE + 2, 4, 0x77000001 } }, REASON_PACKET_SOURCE },
	{ "a multicast source MAC", UDP, GATEWAY, 53,
	    { { AT_ETHER_SOURCE, 1, 3 } }, REASON_PACKET_SOURCE },
	{ "a source MAC of zeros", UDP, GATEWAY, 53,
	    { { AT_ETHER_SOURCE, 4, 0 }, { AT_ETHER_SOURCE + 2, 4, 0 } },
	    REASON_PACKET_SOURCE },
	{ "another frame's MAC as target", UDP, GATEWAY, 53,
	    { { AT_ETHER_TARGET, 4, 0x02747700 } }, REASON_NONE },
	{ "for another station", UDP, GATEWAY, 53,
	    { { AT_ETHER_TARGET + 2, 4, 0x77000009 } }, REASON_PACKET_OTHER },
	{ "for everybody", UDP, GATEWAY, 53,
	    { { AT_ETHER_TARGET, 4, 0xffffffff },
		{ AT_ETHER_TARGET + 2, 4, 0xffffffff } },
	    REASON_PACKET_OTHER },
	{ "source of the gateway", UDP, GATEWAY, 53,
	    { { AT_IP_SOURCE, 4, GATEWAY } }, REASON_PACKET_SOURCE },
	{ "source of loopback", UDP, GATEWAY, 53,
	    { { AT_IP_SOURCE, 4, 0x7f000001 } }, REASON_PACKET_SOURCE },
	{ "source of nobody (DHCP)", UDP, 0xffffffff, 67,
	    { { AT_IP_SOURCE, 4, 0 } }, REASON_PACKET_SOURCE },
	{ "source of multicast", UDP, GATEWAY, 53,
	    { { AT_IP_SOURCE, 4, 0xe0000001 } }, REASON_PACKET_SOURCE },
	{ "source of the network", TCP, SYNTHETIC, 443,
	    { { AT_IP_SOURCE, 4, 0x64400000 } }, REASON_PACKET_SOURCE },
	{ "source of a synthetic address", TCP, SYNTHETIC, 443,
	    { { AT_IP_SOURCE, 4, SYNTHETIC } }, REASON_PACKET_SOURCE },

	{ "DNS to loopback", UDP, 0x7f000001, 53, { { 0 } },
	    REASON_PACKET_OTHER },
	{ "DNS to this network", UDP, 0x00000001, 53, { { 0 } },
	    REASON_PACKET_OTHER },
	{ "DNS to multicast", UDP, 0xe00000fb, 53, { { 0 } },
	    REASON_PACKET_OTHER },
	{ "DNS to broadcast", UDP, 0xffffffff, 53, { { 0 } },
	    REASON_PACKET_OTHER },
	{ "DNS to the link's broadcast", UDP, 0x64400003, 53, { { 0 } },
	    REASON_PACKET_OTHER },
	{ "DNS to itself", UDP, 0x64400002, 53, { { 0 } },
	    REASON_PACKET_OTHER },

	{ "first fragment", UDP, GATEWAY, 53, { { AT_IP_FRAGMENT, 2, 0x2000 } },
	    REASON_PACKET_FRAGMENT },
	{ "last fragment", UDP, GATEWAY, 53, { { AT_IP_FRAGMENT, 2, 0x0001 } },
	    REASON_PACKET_FRAGMENT },
	{ "fragment at the end", TCP, SYNTHETIC, 443,
	    { { AT_IP_FRAGMENT, 2, 0x1fff } }, REASON_PACKET_FRAGMENT },
	{ "the reserved bit", TCP, SYNTHETIC, 443,
	    { { AT_IP_FRAGMENT, 2, 0x8000 } }, REASON_PACKET_FRAGMENT },
	{ "don't fragment", TCP, SYNTHETIC, 443,
	    { { AT_IP_FRAGMENT, 2, 0x4000 } }, REASON_NONE },
	{ "header of six words", UDP, GATEWAY, 53, { { AT_IP, 1, 0x46 } },
	    REASON_PACKET_OPTIONS },
	{ "header of fifteen words", UDP, GATEWAY, 53, { { AT_IP, 1, 0x4f } },
	    REASON_PACKET_OPTIONS },
	{ "header of four words", UDP, GATEWAY, 53, { { AT_IP, 1, 0x44 } },
	    REASON_PACKET_OPTIONS },
	{ "version 6 under IPv4's EtherType", UDP, GATEWAY, 53,
	    { { AT_IP, 1, 0x65 } }, REASON_PACKET_OPTIONS },
	{ "IPv6", UDP, GATEWAY, 53, { { AT_ETHER_TYPE, 2, 0x86dd } },
	    REASON_PACKET_ETHERTYPE },
	{ "an LLC length", UDP, GATEWAY, 53, { { AT_ETHER_TYPE, 2, 40 } },
	    REASON_PACKET_ETHERTYPE },

	{ "ARP that claims the gateway", ARP, 0, 0,
	    { { AT_ARP_SENDER_IP, 4, GATEWAY }, { AT_ARP_OP, 2, 2 } },
	    REASON_PACKET_ARP },
	{ "ARP that claims a stranger", ARP, 0, 0,
	    { { AT_ARP_SENDER_IP, 4, OUTSIDE } }, REASON_PACKET_ARP },
	{ "gratuitous ARP", ARP, 0, 0, { { AT_ARP_TARGET_IP, 4, 0x64400002 } },
	    REASON_PACKET_ARP },
	{ "an ARP probe", ARP, 0, 0, { { AT_ARP_SENDER_IP, 4, 0 } },
	    REASON_PACKET_ARP },
	{ "ARP for somebody else (proxy)", ARP, 0, 0,
	    { { AT_ARP_TARGET_IP, 4, SYNTHETIC } }, REASON_PACKET_ARP },
	{ "ARP with another sender MAC", ARP, 0, 0,
	    { { AT_ARP_SENDER_MAC + 2, 4, 9 } }, REASON_PACKET_ARP },
	{ "RARP in ARP", ARP, 0, 0, { { AT_ARP_OP, 2, 3 } },
	    REASON_PACKET_ARP },
	{ "ARP operation 0", ARP, 0, 0, { { AT_ARP_OP, 2, 0 } },
	    REASON_PACKET_ARP },
	{ "ARP for another hardware", ARP, 0, 0, { { AT_IP, 2, 6 } },
	    REASON_PACKET_ARP },
	{ "ARP with a wrong length", ARP, 0, 0, { { AT_IP + 4, 1, 8 } },
	    REASON_PACKET_ARP },
	{ "ARP from another MAC", ARP, 0, 0, { { AT_ETHER_SOURCE + 2, 4, 9 } },
	    REASON_PACKET_SOURCE },
	{ "RARP", ARP, 0, 0, { { AT_ETHER_TYPE, 2, 0x8035 } },
	    REASON_PACKET_ETHERTYPE },
};

static void
apply(struct frame *f, const struct patch *p)
{
	if (p->bytes == 1)
		f->bytes[p->at] = (uint8_t)p->value;
	else if (p->bytes == 2)
		frame_put16(f, p->at, (uint16_t)p->value);
	else if (p->bytes == 4)
		frame_put32(f, p->at, p->value);
}

static void
build_row(size_t i, struct frame *f)
{
	switch (rows[i].kind) {
	case ARP:
		frame_arp(f, &plan);
		break;
	case ICMP:
		frame_icmp_echo(f, &plan, rows[i].target);
		break;
	case TCP:
		frame_tcp(f, &plan, rows[i].target, (uint16_t)(20000 + i),
		    rows[i].port, TCP_FLAG_SYN);
		break;
	case UDP:
		frame_udp(f, &plan, rows[i].target, 30000, rows[i].port,
		    "a question");
		break;
	}
	apply(f, &rows[i].patch[0]);
	apply(f, &rows[i].patch[1]);
	if (rows[i].kind != ARP)
		frame_sum_ip(f);
}

static void
each_frame_meets_its_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct frame f;

		build_row(i, &f);
		expect_reason(rows[i].claim, &f, rows[i].want);
	}
	discard_answers();
	print_message("%zu frames, each counted exactly once\n", ROWS(rows));
}

static void
only_two_ethertypes_of_all_pass(void **state)
{
	struct net_counters before, after;
	struct frame f;

	(void)state;
	frame_udp(&f, &plan, GATEWAY, 30000, 53, "a question");
	read_counters(&before);
	for (uint32_t type = 0; type <= UINT16_MAX; type++) {
		frame_put16(&f, AT_ETHER_TYPE, (uint16_t)type);
		if (type != 0x0800 && type != 0x0806)
			assert_true(frame_send(tap, &f));
	}
	read_counters(&after);
	assert_int_equal(after.packets[REASON_PACKET_ETHERTYPE] -
		before.packets[REASON_PACKET_ETHERTYPE],
	    65534);
	assert_int_equal(sum_counters(&after) - sum_counters(&before), 65534);
	print_message("EtherTypes: 65534 of 65536 dropped and counted\n");
}

static const struct {
	const char *claim;
	uint16_t outer, inner; /* 0: no second tag */
} tags[] = {
	{ "a priority tag", 0x8100, 0 },
	{ "two priority tags", 0x8100, 0x8100 },
	{ "QinQ", 0x88a8, 0x8100 },
	{ "old QinQ", 0x9100, 0x8100 },
};

static void
no_tag_hides_a_packet(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(tags); i++)
		for (uint16_t vid = 0; vid < 2; vid++) {
			struct frame f;

			frame_udp(&f, &plan, GATEWAY, 30000, 53, "tagged");
			if (tags[i].inner != 0)
				frame_tag(&f, tags[i].inner, vid);
			frame_tag(&f, tags[i].outer, vid);
			expect_reason(tags[i].claim, &f,
			    REASON_PACKET_ETHERTYPE);
		}
}

static void
no_snap_header_hides_a_packet(void **state)
{
	static const uint8_t snap[] = { 0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00 };
	struct frame f;

	(void)state;
	frame_udp(&f, &plan, GATEWAY, 30000, 53, "snap");
	memmove(f.bytes + 14 + sizeof(snap), f.bytes + 14, f.len - 14);
	memcpy(f.bytes + 14, snap, sizeof(snap));
	frame_put16(&f, AT_ETHER_TYPE, (uint16_t)(f.len - 14 + sizeof(snap)));
	f.len += sizeof(snap);
	expect_reason("SNAP", &f, REASON_PACKET_ETHERTYPE);
}

static void
only_two_protocols_of_all_pass(void **state)
{
	const uint8_t payload[32] = { 0 };
	unsigned int dropped = 0;

	(void)state;
	for (unsigned int p = 0; p < 256; p++) {
		struct frame f;

		if (p == 6 || p == 17)
			continue;
		frame_ip(&f, &plan, (uint8_t)p, SYNTHETIC, payload,
		    sizeof(payload));
		expect_reason("a protocol", &f,
		    p == 1 ? REASON_PACKET_ICMP : REASON_PACKET_PROTOCOL);
		dropped++;
	}
	print_message("IP protocols: %u of 256 dropped and counted\n", dropped);
}

/* Cut anywhere: dropped by the ruleset or by the kernel, never passed on. */
static void
a_frame_cut_short_reaches_nobody(void **state)
{
	int dns = sandbox_net_sockets(net)->fd[NET_SOCKET_DNS_UDP];
	struct frame whole;
	char buf[64];

	(void)state;
	while (read(dns, buf, sizeof(buf)) > 0)
		continue;
	frame_udp(&whole, &plan, OUTSIDE, 30000, 53, "cut");
	for (size_t len = 14; len < whole.len; len++) {
		struct frame f = whole;

		f.len = len;
		assert_true(frame_send(tap, &f));
		if (read(dns, buf, sizeof(buf)) > 0)
			fail_msg("%zu bytes reached the gate", len);
	}
	assert_true(frame_send(tap, &whole));
	assert_int_equal(read(dns, buf, sizeof(buf)), 3);
}

static void
refused_tcp_is_reset(void **state)
{
	struct frame f, answer;

	(void)state;
	discard_answers();
	frame_tcp(&f, &plan, OUTSIDE, 21000, 443, TCP_FLAG_SYN);
	assert_true(frame_send(tap, &f));
	assert_true(frame_receive(tap, 1000, &answer));
	assert_int_equal(answer.bytes[AT_IP_PROTOCOL], 6);
	assert_int_equal(frame_get32(&answer, AT_IP_SOURCE), OUTSIDE);
	assert_int_equal(frame_get16(&answer, AT_L4 + 2), 21000);
	assert_true((answer.bytes[AT_L4 + 13] & TCP_FLAG_RST) != 0);
}

static void
refused_udp_is_told_so(void **state)
{
	struct frame f, answer;

	(void)state;
	discard_answers();
	/* More than the kernel's own limit of six would let through. */
	for (unsigned int i = 0; i < 20; i++) {
		frame_udp(&f, &plan, SYNTHETIC, 21000, 443, "QUIC");
		assert_true(frame_send(tap, &f));
		assert_true(frame_receive(tap, 1000, &answer));
		assert_int_equal(answer.bytes[AT_IP_PROTOCOL], 1);
		assert_int_equal(frame_get32(&answer, AT_IP_SOURCE),
		    plan.gateway_ip);
		/* Unreachable, administratively prohibited (RFC 1812). */
		assert_int_equal(frame_get16(&answer, AT_L4), 0x030d);
	}
}

static void
dropped_packets_get_no_answer(void **state)
{
	struct frame f, answer;

	(void)state;
	discard_answers();
	frame_icmp_echo(&f, &plan, GATEWAY);
	assert_true(frame_send(tap, &f));
	frame_arp(&f, &plan);
	frame_put32(&f, AT_ARP_TARGET_IP, SYNTHETIC);
	assert_true(frame_send(tap, &f));
	assert_false(frame_receive(tap, 0, &answer));
}

static void
the_gateway_answers_arp_and_asks_none(void **state)
{
	struct frame f, answer;

	(void)state;
	discard_answers();
	frame_arp(&f, &plan);
	assert_true(frame_send(tap, &f));
	assert_true(frame_receive(tap, 1000, &answer));
	assert_int_equal(frame_get16(&answer, AT_ETHER_TYPE), 0x0806);
	assert_int_equal(frame_get16(&answer, AT_ARP_OP), 2);
	assert_memory_equal(answer.bytes + AT_ARP_SENDER_MAC, plan.gateway_mac,
	    NET_MAC_BYTES);
	/* It answers without ever having asked who the guest is. */
	frame_tcp(&f, &plan, SYNTHETIC, 22000, 443, TCP_FLAG_SYN);
	assert_true(frame_send(tap, &f));
	assert_true(frame_receive(tap, 1000, &answer));
	assert_int_equal(frame_get16(&answer, AT_ETHER_TYPE), 0x0800);
	assert_int_equal(frame_get32(&answer, AT_IP_SOURCE), SYNTHETIC);
	assert_true((answer.bytes[AT_L4 + 13] & TCP_FLAG_SYN) != 0);
}

static const struct {
	const char *claim;
	uint32_t target;
	uint16_t port;
	bool is_open; /* once it is granted; before and after it is not */
} metadata_rows[] = {
	{ "its port 80", NET_METADATA_IP, 80, true },
	{ "its port 443", NET_METADATA_IP, 443, false },
	{ "another port of it", NET_METADATA_IP, 8080, false },
	{ "an address beside it", NET_METADATA_IP + 1, 80, false },
	{ "what else is in the set", OUTSIDE, 80, false },
};

static void
expect_metadata(bool is_granted, uint16_t from)
{
	for (size_t i = 0; i < ROWS(metadata_rows); i++) {
		struct frame f;

		frame_tcp(&f, &plan, metadata_rows[i].target,
		    (uint16_t)(from + i), metadata_rows[i].port, TCP_FLAG_SYN);
		expect_reason(metadata_rows[i].claim, &f,
		    is_granted && metadata_rows[i].is_open ? REASON_NONE
							   : REASON_PACKET_TCP);
	}
}

static void
the_metadata_address_is_open_while_it_is_granted(void **state)
{
	static const struct net_reserved more[] = { { RESERVED, 5432 },
		{ OUTSIDE, 80 }, { NET_METADATA_IP, NET_METADATA_PORT } };
	const struct net_opening before = { ports, ROWS(ports), reserved,
		ROWS(reserved) };
	const struct net_opening open = { ports, ROWS(ports), more,
		ROWS(more) };
	struct err err;

	(void)state;
	expect_metadata(false, 23000);
	assert_int_equal(sandbox_net_update(net, &open, &err), 0);
	expect_metadata(true, 23100);
	assert_int_equal(sandbox_net_verify(net, &err), 0);
	assert_int_equal(sandbox_net_update(net, &before, &err), 0);
	expect_metadata(false, 23200);
	discard_answers();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_frame_meets_its_reason),
		cmocka_unit_test(
		    the_metadata_address_is_open_while_it_is_granted),
		cmocka_unit_test(only_two_ethertypes_of_all_pass),
		cmocka_unit_test(no_tag_hides_a_packet),
		cmocka_unit_test(no_snap_header_hides_a_packet),
		cmocka_unit_test(only_two_protocols_of_all_pass),
		cmocka_unit_test(a_frame_cut_short_reaches_nobody),
		cmocka_unit_test(refused_tcp_is_reset),
		cmocka_unit_test(refused_udp_is_told_so),
		cmocka_unit_test(dropped_packets_get_no_answer),
		cmocka_unit_test(the_gateway_answers_arp_and_asks_none),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
