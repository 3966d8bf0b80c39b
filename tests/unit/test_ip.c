#include "wire_rows.h"

#include <stdbool.h>
#include <string.h>

#include "wire/ip.h"

#define MACS "\x02\0\0\0\0\x01\x02\0\0\0\0\x02"
#define ADDRESSES "\x64\x40\0\x02\x08\x08\x08\x08"
/* 40 bytes long, don't fragment. */
#define IPV4(protocol) "\x45\0\0\x28\0\0\x40\0\x40" protocol "\0\0" ADDRESSES
#define TCP_SYN "\x04\xd2\x01\xbb\0\0\0\0\0\0\0\0\x50\x02\0\0\0\0\0\0"
#define UDP "\x04\xd2\0\x35\0\x08\0\0"
#define SIX                                                                    \
	"\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x02"                               \
	"\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"

static const struct {
	const char *claim;
	struct span frame;
	struct ip_summary want;
	const char *source, *destination;
} rows[] = {
	{ "TCP", BYTES(MACS "\x08\0" IPV4("\x06") TCP_SYN),
	    { .ethertype = 0x0800,
		.has_protocol = true,
		.protocol = 6,
		.has_ports = true,
		.source_port = 1234,
		.destination_port = 443,
		.has_tcp_flags = true,
		.tcp_flags = 2 },
	    "100.64.0.2", "8.8.8.8" },
	{ "UDP", BYTES(MACS "\x08\0" IPV4("\x11") UDP),
	    { .ethertype = 0x0800,
		.has_protocol = true,
		.protocol = 17,
		.has_ports = true,
		.source_port = 1234,
		.destination_port = 53 },
	    "100.64.0.2", "8.8.8.8" },
	{ "ICMP", BYTES(MACS "\x08\0" IPV4("\x01") "\x08\0\0\0"),
	    { .ethertype = 0x0800,
		.has_protocol = true,
		.protocol = 1,
		.has_icmp = true,
		.icmp_type = 8 },
	    "100.64.0.2", "8.8.8.8" },
	{ "row 152: another protocol", BYTES(MACS "\x08\0" IPV4("\x2f")),
	    { .ethertype = 0x0800, .has_protocol = true, .protocol = 47 },
	    "100.64.0.2", "8.8.8.8" },
	{ "row 153: a first fragment has ports",
	    BYTES(
		MACS "\x08\0\x45\0\0\x28\0\0\x20\0\x40\x11\0\0" ADDRESSES UDP),
	    { .ethertype = 0x0800,
		.has_protocol = true,
		.protocol = 17,
		.is_fragment = true,
		.has_ports = true,
		.source_port = 1234,
		.destination_port = 53 },
	    "100.64.0.2", "8.8.8.8" },
	{ "row 153: a later one has none",
	    BYTES(
		MACS "\x08\0\x45\0\0\x28\0\0\0\x01\x40\x11\0\0" ADDRESSES UDP),
	    { .ethertype = 0x0800,
		.has_protocol = true,
		.protocol = 17,
		.is_fragment = true },
	    "100.64.0.2", "8.8.8.8" },
	{ "row 154: options are passed over",
	    BYTES(MACS "\x08\0\x46\0\0\x28\0\0\0\0\x40\x11\0\0" ADDRESSES
		       "\x01\x01\x01\0" UDP),
	    { .ethertype = 0x0800,
		.has_protocol = true,
		.protocol = 17,
		.has_options = true,
		.has_ports = true,
		.source_port = 1234,
		.destination_port = 53 },
	    "100.64.0.2", "8.8.8.8" },
	{ "row 154: a header of 4 words is none",
	    BYTES(MACS "\x08\0\x44\0\0\x28"), { .ethertype = 0x0800 }, "-",
	    "-" },
	{ "IPv6 under IPv4's type", BYTES(MACS "\x08\0\x60\0\0\0"),
	    { .ethertype = 0x0800 }, "-", "-" },
	{ "ports cut off", BYTES(MACS "\x08\0" IPV4("\x06") "\x04\xd2\x01"),
	    { .ethertype = 0x0800,
		.has_protocol = true,
		.protocol = 6,
		.is_truncated = true },
	    "100.64.0.2", "8.8.8.8" },
	{ "addresses cut off",
	    BYTES(MACS "\x08\0\x45\0\0\x28\0\0\0\0\x40\x06\0\0\x64\x40"),
	    { .ethertype = 0x0800,
		.has_protocol = true,
		.protocol = 6,
		.is_truncated = true },
	    "-", "-" },
	{ "row 139: VLAN tags are passed over",
	    BYTES(MACS "\x88\xa8\0\0\x81\0\0\x05\x08\0" IPV4("\x11") UDP),
	    { .ethertype = 0x0800,
		.vlan_tags = 2,
		.has_protocol = true,
		.protocol = 17,
		.has_ports = true,
		.source_port = 1234,
		.destination_port = 53 },
	    "100.64.0.2", "8.8.8.8" },
	{ "row 140: LLC", BYTES(MACS "\0\x26\xaa\xaa\x03\0\0\0\x08\0"),
	    { .ethertype = 0 }, "-", "-" },
	{ "row 138: LLDP", BYTES(MACS "\x88\xcc\x02\x07"),
	    { .ethertype = 0x88cc }, "-", "-" },
	{ "row 143: ARP",
	    BYTES(MACS "\x08\x06\0\x01\x08\0\x06\x04\0\x01\x02\0\0\0\0\x02"
		       "\x64\x40\0\x02\0\0\0\0\0\0\x64\x40\0\x01"),
	    { .ethertype = 0x0806, .arp_operation = 1 }, "100.64.0.2",
	    "100.64.0.1" },
	{ "ARP for something else",
	    BYTES(MACS "\x08\x06\0\x06\x08\0\x06\x04\0\x01"),
	    { .ethertype = 0x0806 }, "-", "-" },
	{ "row 147: a router advertisement",
	    BYTES(MACS "\x86\xdd\x60\0\0\0\0\x08\x3a\xff" SIX "\x86\0\0\0"),
	    { .ethertype = 0x86dd,
		.has_protocol = true,
		.protocol = 58,
		.has_icmp = true,
		.icmp_type = 134 },
	    "fe80::2", "ff02::1" },
	{ "the same behind extension headers",
	    BYTES(MACS "\x86\xdd\x60\0\0\0\0\x18\0\xff" SIX
		       "\x2c\0\0\0\0\0\0\0\x3a\0\0\x01\0\0\0\0\x86\0"),
	    { .ethertype = 0x86dd,
		.has_protocol = true,
		.protocol = 58,
		.is_fragment = true,
		.has_options = true,
		.has_icmp = true,
		.icmp_type = 134 },
	    "fe80::2", "ff02::1" },
	{ "a later fragment of IPv6",
	    BYTES(MACS "\x86\xdd\x60\0\0\0\0\x18\x2c\xff" SIX
		       "\x3a\0\0\x08\0\0\0\0\x86\0"),
	    { .ethertype = 0x86dd,
		.has_protocol = true,
		.protocol = 58,
		.is_fragment = true,
		.has_options = true },
	    "fe80::2", "ff02::1" },
};

/* All but the addresses and MACs. */
static void
check(const char *claim, const struct ip_summary *s,
    const struct ip_summary *want)
{
	row_equal(claim, s->ethertype, want->ethertype);
	row_equal(claim, s->vlan_tags, want->vlan_tags);
	row_equal(claim, s->arp_operation, want->arp_operation);
	row_equal(claim, s->has_protocol, want->has_protocol);
	row_equal(claim, s->protocol, want->protocol);
	row_equal(claim, s->is_fragment, want->is_fragment);
	row_equal(claim, s->has_options, want->has_options);
	row_equal(claim, s->has_ports, want->has_ports);
	if (want->has_ports) {
		row_equal(claim, s->source_port, want->source_port);
		row_equal(claim, s->destination_port, want->destination_port);
	}
	row_equal(claim, s->has_tcp_flags, want->has_tcp_flags);
	row_equal(claim, s->tcp_flags, want->tcp_flags);
	row_equal(claim, s->has_icmp, want->has_icmp);
	row_equal(claim, s->icmp_type, want->icmp_type);
	row_equal(claim, s->icmp_code, want->icmp_code);
	row_equal(claim, s->is_truncated, want->is_truncated);
}

static void
reads_what_a_frame_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct ip_summary s = ip_read_frame(rows[i].frame);
		char text[ADDRESS_TEXT_SIZE];

		check(rows[i].claim, &s, &rows[i].want);
		row_equal(rows[i].claim, s.has_ethernet, true);
		assert_memory_equal(s.source_mac, "\x02\0\0\0\0\x02", 6);
		assert_memory_equal(s.destination_mac, "\x02\0\0\0\0\x01", 6);
		row_span(rows[i].claim,
		    span_of(address_format(&s.source, text)), rows[i].source);
		row_span(rows[i].claim,
		    span_of(address_format(&s.destination, text)),
		    rows[i].destination);
	}
}

static void
reads_a_packet_without_its_frame(void **state)
{
	static const struct span packet = BYTES(IPV4("\x11") UDP);
	struct ip_summary s = ip_read_packet(IP_ETHERTYPE_IPV4, packet);

	(void)state;
	assert_false(s.has_ethernet);
	assert_true(s.has_ports);
	assert_int_equal(s.destination_port, 53);
	assert_string_equal(ip_protocol_name(s.protocol), "udp");
	assert_null(ip_protocol_name(47));
}

static void
is_total_over_frames_cut_anywhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		for (size_t len = 0; len < 14; len++) {
			struct ip_summary s = ip_read_frame(
			    (struct span){ rows[i].frame.ptr, len });

			assert_false(s.has_ethernet);
			assert_true(s.is_truncated);
			assert_false(s.has_ports);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_a_frame_says),
		cmocka_unit_test(reads_a_packet_without_its_frame),
		cmocka_unit_test(is_total_over_frames_cut_anywhere),
	};

	return cmocka_run_group_tests_name("ip", tests, NULL, NULL);
}
