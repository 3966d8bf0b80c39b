/*
 * Which addresses may be dialled for which name. Numbers in the rows are
 * those of the catalogue of known escapes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "proxy/dialler_address.h"

static struct message_dialler_config config;
static struct message_dialler_addresses own;
static const struct dialler_host host = { &config, &own };

static struct message_range
range(const char *text)
{
	struct message_range r;
	struct prefix p;

	assert_true(prefix_parse(span_of(text), &p));
	r.address.family = (uint8_t)p.address.family;
	memcpy(r.address.bytes, p.address.bytes, sizeof(r.address.bytes));
	r.bits = p.length;
	return r;
}

static void
add_exception(const char *pattern, const char *text)
{
	struct message_exception *e =
	    &config.exceptions[config.exception_count++];

	e->host_count = 1;
	(void)snprintf(e->hosts[0], sizeof(e->hosts[0]), "%s", pattern);
	e->range_count = 1;
	e->ranges[0] = range(text);
}

static int
set_up(void **state)
{
	(void)state;
	config.resolver_count = 2;
	config.resolvers[0].address = range("10.20.0.53").address;
	config.resolvers[1].address = range("8.8.4.4").address;
	config.own_range_count = 2;
	config.own_ranges[0] = range("100.64.0.0/30");
	config.own_ranges[1] = range("198.18.0.0/15");
	own.count = 3;
	own.addresses[0] = range("127.0.0.1").address;
	own.addresses[1] = range("10.20.0.9").address;
	own.addresses[2] = range("151.101.1.1").address;
	add_exception("**.corp.example", "10.20.0.0/16");
	add_exception("*.one.example", "10.20.0.0/16");
	add_exception("exact.example", "10.20.0.0/16");
	add_exception("wide.example", "0.0.0.0/0");
	add_exception("wide.example", "::/0");
	add_exception("wide.example", "169.254.169.254/32");
	add_exception("wide.example", "10.20.0.53/32");
	add_exception("wide.example", "100.64.0.2/32");
	add_exception("single.example", "127.0.0.1/32");
	add_exception("single.example", "10.20.0.9/32");
	add_exception("single.example", "151.101.1.1/32");
	add_exception("single.example", "::1/128");
	add_exception("v6.example", "fd12:3456::/32");
	return 0;
}

/* want NULL: dialled; "": refused, however it is called. */
static const struct {
	const char *claim, *name, *address, *want;
} rows[] = {
	{ "a global address", "any.example", "151.101.0.223", NULL },
	{ "a global IPv6 address", "any.example", "2606:4700::1111", NULL },
	{ "23: below carrier NAT", "any.example", "100.63.255.254", NULL },
	{ "23: above carrier NAT", "any.example", "100.128.0.1", NULL },
	{ "23: its first", "any.example", "100.64.0.5", "" },
	{ "23: its last", "any.example", "100.127.255.254", "" },
	{ "22: private", "any.example", "10.0.0.1", "private" },
	{ "22: loopback", "any.example", "127.0.0.1", "own" },
	{ "22: all of it", "any.example", "127.255.255.254", "loopback" },
	{ "22: nought", "any.example", "0.0.0.0", "" },
	{ "22: link-local", "any.example", "169.254.1.1", "" },
	{ "22: multicast", "any.example", "224.0.0.1", "" },
	{ "22: broadcast", "any.example", "255.255.255.255", "" },
	{ "22: IPv6 loopback", "any.example", "::1", "loopback" },
	{ "22: IPv6 link-local", "any.example", "fe80::1", "" },
	{ "22: unique local", "any.example", "fc00::1", "" },
	{ "24: the host's own global one", "any.example", "151.101.1.1",
	    "own" },
	{ "25: a resolver, though global", "any.example", "8.8.4.4",
	    "resolver" },

	{ "a section's range for its names", "a.corp.example", "10.20.1.1",
	    NULL },
	{ "any depth below", "a.b.corp.example", "10.20.1.1", NULL },
	{ "not the name itself", "corp.example", "10.20.1.1", "private" },
	{ "not a name that ends alike", "acorp.example", "10.20.1.1",
	    "private" },
	{ "one label below", "a.one.example", "10.20.1.1", NULL },
	{ "not two", "a.b.one.example", "10.20.1.1", "private" },
	{ "an exact name", "exact.example", "10.20.1.1", NULL },
	{ "and nothing below it", "a.exact.example", "10.20.1.1", "private" },
	{ "another range", "a.corp.example", "10.21.0.1", "private" },
	{ "a unique local range", "v6.example", "fd12:3456::1", NULL },

	{ "the host's own in a range", "a.corp.example", "10.20.0.9", "own" },
	{ "the resolver in a range", "a.corp.example", "10.20.0.53",
	    "resolver" },
	{ "the host's own as a single one", "single.example", "10.20.0.9",
	    NULL },
	{ "its global one as a single one", "single.example", "151.101.1.1",
	    NULL },
	{ "loopback as a single one", "single.example", "127.0.0.1", NULL },
	{ "IPv6 loopback as a single one", "single.example", "::1", NULL },
	{ "another loopback", "single.example", "127.0.0.2", "loopback" },

	{ "everything, but loopback", "wide.example", "127.0.0.2", "loopback" },
	{ "everything, but the own", "wide.example", "10.20.0.9", "own" },
	{ "everything, but 21: metadata", "wide.example", "169.254.169.254",
	    "metadata" },
	{ "21: Alibaba's", "wide.example", "100.100.100.200", "metadata" },
	{ "21: Azure's, which is global", "wide.example", "168.63.129.16",
	    "metadata" },
	{ "21: Oracle's", "wide.example", "192.0.0.192", "metadata" },
	{ "21: AWS's by IPv6", "wide.example", "fd00:ec2::254", "metadata" },
	{ "21: Google's by IPv6", "wide.example", "fd20:ce::254", "metadata" },
	{ "everything, but the resolver", "wide.example", "10.20.0.53",
	    "resolver" },
	{ "everything, but the guests'", "wide.example", "100.64.0.2",
	    "guest-range" },
	{ "everything, but synthetic", "wide.example", "198.19.255.255",
	    "guest-range" },
	{ "everything, but nought", "wide.example", "0.0.0.0", "" },
	{ "everything, but 0/8", "wide.example", "0.1.2.3", "" },
	{ "everything, but multicast", "wide.example", "239.1.1.1", "" },
	{ "everything, but broadcast", "wide.example", "255.255.255.255", "" },
	{ "everything, but reserved", "wide.example", "240.0.0.1", "" },
	{ "everything, private too", "wide.example", "192.168.1.1", NULL },
	{ "19: mapped", "wide.example", "::ffff:192.168.1.1", "" },
	{ "19: mapped, of a global one", "wide.example", "::ffff:151.101.0.223",
	    "" },
	{ "19: mapped, of metadata", "wide.example", "::ffff:169.254.169.254",
	    "metadata" },
	{ "19: compatible", "wide.example", "::192.168.1.1", "" },
	{ "19: translated", "wide.example", "::ffff:0:192.168.1.1", "" },
	{ "20: NAT64", "wide.example", "64:ff9b::c0a8:101", "" },
	{ "20: NAT64 of metadata", "wide.example", "64:ff9b::a9fe:a9fe", "" },
	{ "20: local NAT64", "wide.example", "64:ff9b:1::a00:1", "" },
	{ "20: 6to4", "wide.example", "2002:c0a8:101::1", "" },
	{ "20: Teredo", "wide.example", "2001:0:1::1", "" },
};

static void
dials_what_is_global_or_excepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct address a;
		const char *why;

		assert_true(address_parse(span_of(rows[i].address), &a));
		why = dialler_address_refusal(&host, rows[i].name, &a);
		if ((why == NULL) != (rows[i].want == NULL))
			fail_msg("%s (%s): %s", rows[i].claim, rows[i].address,
			    why == NULL ? "dialled" : why);
		if (why != NULL && rows[i].want[0] != '\0')
			assert_string_equal(why, rows[i].want);
	}
}

/* A new class of address is refused until somebody decides otherwise. */
static void
refuses_every_class_but_global_without_a_section(void **state)
{
	static const struct message_dialler_config no_sections;
	static const struct message_dialler_addresses nothing;
	const struct dialler_host bare = { &no_sections, &nothing };

	(void)state;
	for (uint32_t top = 0; top < 65536; top++) {
		const struct address a = address_from_ipv4(top << 16 | 0x101);

		if ((dialler_address_refusal(&bare, "a.example", &a) == NULL) !=
		    (address_classify(&a) == ADDRESS_GLOBAL))
			fail_msg("%u.%u.1.1", top >> 8, top & 255);
	}
	assert_non_null(dialler_address_refusal(&bare, "a.example",
	    &(struct address){ .family = ADDRESS_NONE }));
}

static void
tells_whether_ipv6_reaches_beyond_the_host(void **state)
{
	static struct message_dialler_addresses m;

	(void)state;
	m.count = 2;
	m.addresses[0] = range("::1").address;
	m.addresses[1] = range("fe80::1").address;
	assert_false(dialler_host_has_ipv6(&m));
	m.addresses[0] = range("2606:4700::1").address;
	assert_true(dialler_host_has_ipv6(&m));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dials_what_is_global_or_excepted),
		cmocka_unit_test(
		    refuses_every_class_but_global_without_a_section),
		cmocka_unit_test(tells_whether_ipv6_reaches_beyond_the_host),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
