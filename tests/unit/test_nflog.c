#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <string.h>

#include "netfilter/nflog.h"

#define PACKET_TYPE ((NFNL_SUBSYS_ULOG << 8) | NFULNL_MSG_PACKET)

/* Builds a datagram as the kernel would: host order, padded to 4. */
struct datagram {
	uint8_t bytes[1024];
	size_t len, message;
};

static void
put(struct datagram *d, const void *ptr, size_t len)
{
	assert_true(d->len + len <= sizeof(d->bytes));
	memcpy(d->bytes + d->len, ptr, len);
	d->len += len;
}

static void
begin(struct datagram *d, uint16_t type)
{
	const struct nlmsghdr h = { .nlmsg_type = type };
	const struct nfgenmsg g = { 0 };

	d->message = d->len;
	put(d, &h, sizeof(h));
	put(d, &g, sizeof(g));
}

static void
end(struct datagram *d)
{
	uint32_t len = (uint32_t)(d->len - d->message);

	memcpy(d->bytes + d->message, &len, sizeof(len));
}

static void
attribute(struct datagram *d, uint16_t type, const void *ptr, size_t len)
{
	const struct nlattr a = { (uint16_t)(4 + len), type };

	put(d, &a, sizeof(a));
	put(d, ptr, len);
	put(d, "\0\0\0", (4 - len % 4) % 4);
}

/* UDP from 100.64.0.2:40000 to 8.8.8.8:443. */
static const uint8_t udp[] = { 0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 100,
	64, 0, 2, 8, 8, 8, 8, 0x9c, 0x40, 0x01, 0xbb, 0, 12, 0, 0, 'q', 'u',
	'i', 'c' };
static const uint8_t ether[] = { 2, 't', 'w', 0, 0, 1, 2, 't', 'w', 0, 0, 2,
	0x08, 0x00 };
static const struct nfulnl_msg_packet_hdr ip4 = { 0x0008, 0, 0 };

static void
whole(struct datagram *d, const char *prefix)
{
	begin(d, PACKET_TYPE);
	attribute(d, NFULA_PACKET_HDR, &ip4, sizeof(ip4));
	attribute(d, NFULA_PREFIX, prefix, strlen(prefix) + 1);
	attribute(d, NFULA_HWHEADER, ether, sizeof(ether));
	attribute(d, NFULA_PAYLOAD, udp, sizeof(udp));
	end(d);
}

static void
reads_reason_and_flow(void **state)
{
	struct datagram d = { .len = 0 };
	struct nflog_packet p;
	struct rd r;

	(void)state;
	whole(&d, "packet-udp");
	whole(&d, "packet-source");
	r = rd_init(d.bytes, d.len);
	assert_int_equal(nflog_next(&r, &p), NFLOG_OK);
	assert_int_equal(p.reason, REASON_PACKET_UDP);
	assert_int_equal(p.ethertype, 0x0800);
	assert_int_equal(p.frame.len, sizeof(ether));
	assert_int_equal(p.payload.len, sizeof(udp));
	assert_true(p.has_ip && p.has_ports);
	assert_int_equal(p.protocol, 17);
	assert_int_equal(p.source, 0x64400002);
	assert_int_equal(p.destination, 0x08080808);
	assert_int_equal(p.source_port, 40000);
	assert_int_equal(p.destination_port, 443);
	assert_int_equal(nflog_next(&r, &p), NFLOG_OK);
	assert_int_equal(p.reason, REASON_PACKET_SOURCE);
	assert_int_equal(nflog_next(&r, &p), NFLOG_END);
}

static void
a_prefix_that_is_not_ours_is_other(void **state)
{
	static const char *const prefixes[] = { "", "IN: ", "packet-udpx",
		"a prefix that is longer than any code that there could be" };

	(void)state;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		struct datagram d = { .len = 0 };
		struct nflog_packet p;
		struct rd r;

		whole(&d, prefixes[i]);
		r = rd_init(d.bytes, d.len);
		assert_int_equal(nflog_next(&r, &p), NFLOG_OK);
		if (p.reason != REASON_PACKET_OTHER)
			fail_msg("\"%s\"", prefixes[i]);
	}
}

static const struct {
	const char *claim;
	uint8_t first, fragment, protocol;
	size_t len;
	bool has_ip, has_ports;
} packets[] = {
	{ "whole", 0x45, 0, 17, 32, true, true },
	{ "header and ports only", 0x45, 0, 6, 24, true, true },
	{ "ports cut", 0x45, 0, 17, 23, true, false },
	{ "header cut", 0x45, 0, 17, 19, false, false },
	{ "a later fragment", 0x45, 1, 17, 32, true, false },
	{ "options before the ports", 0x46, 0, 17, 32, true, true },
	{ "options cut", 0x4f, 0, 17, 32, true, false },
	{ "a header of four words", 0x44, 0, 17, 32, false, false },
	{ "version 6", 0x65, 0, 17, 32, false, false },
	{ "a protocol without ports", 0x45, 0, 47, 32, true, false },
	{ "nothing", 0x45, 0, 17, 0, false, false },
};

static void
a_packet_that_is_cut_tells_what_is_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		struct datagram d = { .len = 0 };
		struct nflog_packet p;
		uint8_t bytes[sizeof(udp)];
		struct rd r;

		memcpy(bytes, udp, sizeof(udp));
		bytes[0] = packets[i].first;
		bytes[7] = packets[i].fragment;
		bytes[9] = packets[i].protocol;
		begin(&d, PACKET_TYPE);
		attribute(&d, NFULA_PACKET_HDR, &ip4, sizeof(ip4));
		attribute(&d, NFULA_PAYLOAD, bytes, packets[i].len);
		end(&d);
		r = rd_init(d.bytes, d.len);
		assert_int_equal(nflog_next(&r, &p), NFLOG_OK);
		if (p.has_ip != packets[i].has_ip ||
		    p.has_ports != packets[i].has_ports)
			fail_msg("%s", packets[i].claim);
	}
}

static void
a_tag_is_told_from_what_it_hides(void **state)
{
	static const uint8_t tagged[] = { 2, 't', 'w', 0, 0, 1, 2, 't', 'w', 0,
		0, 2, 0x81, 0x00, 0, 0, 0x08, 0x00 };
	struct datagram d = { .len = 0 };
	struct nflog_packet p;
	struct rd r;

	(void)state;
	begin(&d, PACKET_TYPE);
	attribute(&d, NFULA_PACKET_HDR, &ip4, sizeof(ip4));
	attribute(&d, NFULA_HWHEADER, tagged, sizeof(tagged));
	attribute(&d, NFULA_PAYLOAD, udp, sizeof(udp));
	end(&d);
	r = rd_init(d.bytes, d.len);
	assert_int_equal(nflog_next(&r, &p), NFLOG_OK);
	assert_int_equal(p.ethertype, 0x8100);
	assert_true(p.has_ip);
}

static void
other_messages_are_skipped(void **state)
{
	struct datagram d = { .len = 0 };
	struct nflog_packet p;
	struct rd r;

	(void)state;
	begin(&d, NLMSG_ERROR);
	end(&d);
	whole(&d, "packet-arp");
	r = rd_init(d.bytes, d.len);
	assert_int_equal(nflog_next(&r, &p), NFLOG_SKIPPED);
	assert_int_equal(nflog_next(&r, &p), NFLOG_OK);
	assert_int_equal(p.reason, REASON_PACKET_ARP);
}

/* Every cut and every length that lies: refused or skipped, never read over. */
static void
a_length_that_lies_is_refused(void **state)
{
	struct datagram d = { .len = 0 };
	struct nflog_packet p;

	(void)state;
	whole(&d, "packet-udp");
	for (size_t len = 1; len < d.len; len++) {
		struct rd r = rd_init(d.bytes, len);

		if (nflog_next(&r, &p) != NFLOG_MALFORMED)
			fail_msg("cut at %zu", len);
	}
	for (uint16_t len = 0; len < 4; len++) {
		struct rd r;

		memcpy(d.bytes + NLMSG_HDRLEN + 4, &len, sizeof(len));
		r = rd_init(d.bytes, d.len);
		assert_int_equal(nflog_next(&r, &p), NFLOG_MALFORMED);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_reason_and_flow),
		cmocka_unit_test(a_prefix_that_is_not_ours_is_other),
		cmocka_unit_test(a_packet_that_is_cut_tells_what_is_there),
		cmocka_unit_test(a_tag_is_told_from_what_it_hides),
		cmocka_unit_test(other_messages_are_skipped),
		cmocka_unit_test(a_length_that_lies_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
