#include "wire_rows.h"

#include <stdbool.h>
#include <string.h>

#include "wire/address.h"

static const struct {
	const char *text;
	enum address_class want;
} classes[] = {
	/* Global ones, and the edges of what is not. */
	{ "8.8.8.8", ADDRESS_GLOBAL },
	{ "1.0.0.0", ADDRESS_GLOBAL },
	{ "9.255.255.255", ADDRESS_GLOBAL },
	{ "11.0.0.0", ADDRESS_GLOBAL },
	{ "100.63.255.254", ADDRESS_GLOBAL }, /* row 23 */
	{ "100.128.0.1", ADDRESS_GLOBAL },    /* row 23 */
	{ "126.255.255.255", ADDRESS_GLOBAL },
	{ "128.0.0.1", ADDRESS_GLOBAL },
	{ "169.253.255.255", ADDRESS_GLOBAL },
	{ "169.255.0.0", ADDRESS_GLOBAL },
	{ "172.15.255.255", ADDRESS_GLOBAL },
	{ "172.32.0.0", ADDRESS_GLOBAL },
	{ "192.0.1.0", ADDRESS_GLOBAL },
	{ "192.167.255.255", ADDRESS_GLOBAL },
	{ "192.169.0.0", ADDRESS_GLOBAL },
	{ "198.17.255.255", ADDRESS_GLOBAL },
	{ "198.20.0.0", ADDRESS_GLOBAL },
	{ "223.255.255.255", ADDRESS_GLOBAL },
	{ "2606:4700::1111", ADDRESS_GLOBAL },
	{ "2001:200::1", ADDRESS_GLOBAL },
	{ "2001:4860:4860::8888", ADDRESS_GLOBAL },
	{ "2003::1", ADDRESS_GLOBAL },
	{ "3fff:1000::1", ADDRESS_GLOBAL },
	{ "3ffe::1", ADDRESS_GLOBAL },
	/* Row 19: IPv4 inside IPv6. */
	{ "::ffff:169.254.169.254", ADDRESS_METADATA },
	{ "::127.0.0.1", ADDRESS_LOOPBACK },
	{ "::ffff:0:127.0.0.1", ADDRESS_LOOPBACK },
	{ "::ffff:10.0.0.1", ADDRESS_PRIVATE },
	{ "::ffff:8.8.8.8", ADDRESS_MAPPED },
	{ "::ffff:0:8.8.8.8", ADDRESS_MAPPED },
	{ "::8.8.8.8", ADDRESS_MAPPED },
	/* Row 20: translators and tunnels. */
	{ "64:ff9b::a9fe:a9fe", ADDRESS_METADATA },
	{ "64:ff9b::a00:1", ADDRESS_PRIVATE },
	{ "64:ff9b::808:808", ADDRESS_NAT64 },
	{ "64:ff9b:1::808:808", ADDRESS_NAT64 },
	{ "64:ff9b:1:ffff::7f00:1", ADDRESS_LOOPBACK },
	{ "64:ff9b:2::1", ADDRESS_RESERVED },
	{ "2002:7f00:1::1", ADDRESS_LOOPBACK },
	{ "2002:a9fe:a9fe::", ADDRESS_METADATA },
	{ "2002:808:808::1", ADDRESS_TUNNEL },
	{ "2001:0:808:808::f7f7:f7f7", ADDRESS_TUNNEL },
	{ "2001:0:808:808::f5ff:fffe", ADDRESS_PRIVATE }, /* 10.0.0.1 */
	{ "2606:4700::5efe:808:808", ADDRESS_TUNNEL },
	{ "2606:4700::200:5efe:a00:1", ADDRESS_PRIVATE },
	/* Row 21: metadata. */
	{ "169.254.169.254", ADDRESS_METADATA },
	{ "169.254.170.2", ADDRESS_METADATA },
	{ "169.254.170.23", ADDRESS_METADATA },
	{ "169.254.0.23", ADDRESS_METADATA },
	{ "169.254.42.42", ADDRESS_METADATA },
	{ "100.100.100.200", ADDRESS_METADATA },
	{ "168.63.129.16", ADDRESS_METADATA },
	{ "192.0.0.192", ADDRESS_METADATA },
	{ "fd00:ec2::254", ADDRESS_METADATA },
	{ "fd00:ec2::23", ADDRESS_METADATA },
	{ "fd20:ce::254", ADDRESS_METADATA },
	{ "fd00:c1::a9fe:a9fe", ADDRESS_METADATA },
	{ "fd00:42::42", ADDRESS_METADATA },
	{ "fd00:a9fe:a9fe::1", ADDRESS_METADATA },
	{ "fd00:100::100:200", ADDRESS_METADATA },
	{ "fe80::a9fe:a9fe", ADDRESS_METADATA },
	/* Row 22, and the rest of the registries. */
	{ "0.0.0.0", ADDRESS_UNSPECIFIED },
	{ "0.0.0.1", ADDRESS_THIS_NETWORK },
	{ "0.255.255.255", ADDRESS_THIS_NETWORK },
	{ "10.0.0.1", ADDRESS_PRIVATE },
	{ "10.255.255.255", ADDRESS_PRIVATE },
	{ "100.64.0.1", ADDRESS_SHARED },      /* row 23 */
	{ "100.127.255.254", ADDRESS_SHARED }, /* row 23 */
	{ "127.0.0.1", ADDRESS_LOOPBACK },
	{ "127.255.255.255", ADDRESS_LOOPBACK },
	{ "169.254.0.1", ADDRESS_LINK_LOCAL },
	{ "172.16.0.0", ADDRESS_PRIVATE },
	{ "172.31.255.255", ADDRESS_PRIVATE },
	{ "192.0.0.1", ADDRESS_PROTOCOL },
	{ "192.0.2.1", ADDRESS_DOCUMENTATION },
	{ "192.31.196.1", ADDRESS_RELAY },
	{ "192.52.193.1", ADDRESS_RELAY },
	{ "192.88.99.1", ADDRESS_RELAY },
	{ "192.168.255.255", ADDRESS_PRIVATE },
	{ "192.175.48.1", ADDRESS_RELAY },
	{ "198.18.0.0", ADDRESS_BENCHMARK },
	{ "198.19.255.255", ADDRESS_BENCHMARK },
	{ "198.51.100.1", ADDRESS_DOCUMENTATION },
	{ "203.0.113.1", ADDRESS_DOCUMENTATION },
	{ "224.0.0.1", ADDRESS_MULTICAST },
	{ "239.255.255.255", ADDRESS_MULTICAST },
	{ "240.0.0.1", ADDRESS_RESERVED },
	{ "255.255.255.254", ADDRESS_RESERVED },
	{ "255.255.255.255", ADDRESS_BROADCAST },
	{ "::", ADDRESS_UNSPECIFIED },
	{ "::1", ADDRESS_LOOPBACK },
	{ "100::1", ADDRESS_DISCARD },
	{ "100:0:0:1::1", ADDRESS_DISCARD },
	{ "100:0:0:2::1", ADDRESS_RESERVED },
	{ "2001:2::1", ADDRESS_BENCHMARK },
	{ "2001:2:1::1", ADDRESS_PROTOCOL },
	{ "2001:3::1", ADDRESS_RELAY },
	{ "2001:4:112::1", ADDRESS_RELAY },
	{ "2001:10::1", ADDRESS_PROTOCOL },
	{ "2001:20::1", ADDRESS_PROTOCOL },
	{ "2001:1ff::1", ADDRESS_PROTOCOL },
	{ "2001:db8::1", ADDRESS_DOCUMENTATION },
	{ "3fff::1", ADDRESS_DOCUMENTATION },
	{ "2620:4f:8000::1", ADDRESS_RELAY },
	{ "5f00::1", ADDRESS_PROTOCOL },
	{ "4000::1", ADDRESS_RESERVED },
	{ "fc00::1", ADDRESS_UNIQUE_LOCAL },
	{ "fdff::1", ADDRESS_UNIQUE_LOCAL },
	{ "fe80::1", ADDRESS_LINK_LOCAL },
	{ "febf::1", ADDRESS_LINK_LOCAL },
	{ "fec0::1", ADDRESS_SITE_LOCAL },
	{ "ff02::1", ADDRESS_MULTICAST },
	{ "fe00::1", ADDRESS_RESERVED },
};

static void
classifies_by_the_registries(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(classes); i++) {
		struct address a;
		const char *text = classes[i].text;

		row_equal(text, address_parse(span_of(text), &a), true);
		row_equal(text, address_classify(&a), classes[i].want);
	}
}

static void
has_a_name_for_each_class_and_none_for_nothing(void **state)
{
	struct address none = { .family = ADDRESS_NONE };
	char text[ADDRESS_TEXT_SIZE];

	(void)state;
	for (int c = 0; c < ADDRESS_CLASS_COUNT; c++)
		for (int d = 0; d < c; d++)
			assert_string_not_equal(address_class_name(
						    (enum address_class)c),
			    address_class_name((enum address_class)d));
	assert_int_equal(address_classify(&none), ADDRESS_INVALID);
	assert_string_equal(address_format(&none, text), "-");
}

static const struct {
	const char *claim;
	struct span in;
	const char *text; /* NULL: refused */
} parses[] = {
	{ "a dotted quad", BYTES("192.168.0.1"), "192.168.0.1" },
	{ "the largest", BYTES("255.255.255.255"), "255.255.255.255" },
	{ "IPv6 is written as RFC 5952", BYTES("2001:DB8:0:0:1:0:0:1"),
	    "2001:db8::1:0:0:1" },
	{ "IPv4 at the end of IPv6", BYTES("::ffff:1.2.3.4"),
	    "::ffff:1.2.3.4" },
	{ "row 18: two parts", BYTES("127.1"), NULL },
	{ "row 18: a leading zero", BYTES("0177.0.0.1"), NULL },
	{ "row 18: 00", BYTES("1.2.3.00"), NULL },
	{ "row 18: hexadecimal", BYTES("0x7f.0.0.1"), NULL },
	{ "row 18: one number", BYTES("2130706433"), NULL },
	{ "row 18: a final dot", BYTES("127.0.0.1."), NULL },
	{ "five parts", BYTES("1.2.3.4.5"), NULL },
	{ "256", BYTES("1.2.3.256"), NULL },
	{ "an empty part", BYTES("1..3.4"), NULL },
	{ "a blank", BYTES(" 1.2.3.4"), NULL },
	{ "a sign", BYTES("+1.2.3.4"), NULL },
	{ "a NUL behind", BYTES("1.2.3.4\0"), NULL },
	{ "a NUL behind IPv6", BYTES("::1\0"), NULL },
	{ "row 5: a zone", BYTES("fe80::1%eth0"), NULL },
	{ "brackets", BYTES("[::1]"), NULL },
	{ "two double colons", BYTES("1::2::3"), NULL },
	{ "too long to be one",
	    BYTES("0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"), NULL },
	{ "nothing", BYTES(""), NULL },
};

static void
parses_strictly_and_formats(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(parses); i++) {
		char text[ADDRESS_TEXT_SIZE];
		struct address a;

		row_equal(parses[i].claim, address_parse(parses[i].in, &a),
		    parses[i].text != NULL);
		if (parses[i].text != NULL)
			row_span(parses[i].claim,
			    span_of(address_format(&a, text)), parses[i].text);
	}
}

static const struct {
	const char *claim, *prefix, *address;
	bool is_valid, want;
} prefixes[] = {
	{ "inside", "10.20.0.0/16", "10.20.255.255", true, true },
	{ "outside", "10.20.0.0/16", "10.21.0.0", true, false },
	{ "a length inside a byte", "172.16.0.0/12", "172.31.0.1", true, true },
	{ "just past it", "172.16.0.0/12", "172.32.0.0", true, false },
	{ "a single address", "10.0.0.1", "10.0.0.1", true, true },
	{ "not its neighbour", "10.0.0.1", "10.0.0.2", true, false },
	{ "all of IPv4", "0.0.0.0/0", "255.1.2.3", true, true },
	{ "but not IPv6", "0.0.0.0/0", "::1", true, false },
	{ "and IPv6 not IPv4", "::/0", "1.2.3.4", true, false },
	{ "IPv6 inside a byte", "fc00::/7", "fdff::1", true, true },
	{ "IPv6 just past it", "fc00::/7", "fe00::", true, false },
	{ "IPv6 single", "::1/128", "::1", true, true },
	{ "a bit past the length", "10.20.0.1/16", NULL, false, false },
	{ "a length of 33", "10.0.0.0/33", NULL, false, false },
	{ "a length of 129", "::/129", NULL, false, false },
	{ "a leading zero", "10.0.0.0/08", NULL, false, false },
	{ "an empty length", "10.0.0.0/", NULL, false, false },
	{ "a short address", "10.20/16", NULL, false, false },
	{ "a mask", "10.0.0.0/255.0.0.0", NULL, false, false },
};

static void
contains_what_its_length_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(prefixes); i++) {
		struct prefix p;
		struct address a;

		row_equal(prefixes[i].claim,
		    prefix_parse(span_of(prefixes[i].prefix), &p),
		    prefixes[i].is_valid);
		if (!prefixes[i].is_valid)
			continue;
		assert_true(address_parse(span_of(prefixes[i].address), &a));
		row_equal(prefixes[i].claim, prefix_contains(&p, &a),
		    prefixes[i].want);
	}
}

static void
converts_ipv4_both_ways(void **state)
{
	struct address a = address_from_ipv4(0xc0a80001), six;
	char text[ADDRESS_TEXT_SIZE];

	(void)state;
	assert_string_equal(address_format(&a, text), "192.168.0.1");
	assert_int_equal(address_to_ipv4(&a), 0xc0a80001);
	assert_true(address_parse(span_of("::1"), &six));
	assert_int_equal(address_to_ipv4(&six), 0);
	assert_false(address_equals(&a, &six));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classifies_by_the_registries),
		cmocka_unit_test(
		    has_a_name_for_each_class_and_none_for_nothing),
		cmocka_unit_test(parses_strictly_and_formats),
		cmocka_unit_test(contains_what_its_length_says),
		cmocka_unit_test(converts_ipv4_both_ways),
	};

	return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
