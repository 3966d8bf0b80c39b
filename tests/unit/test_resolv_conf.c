/*
 * Nameservers of a resolv.conf.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/resolv_conf.h"
#include "wire/address.h"

static const struct {
	const char *claim, *text, *want; /* addresses, each with a blank */
} rows[] = {
	{ "one", "nameserver 192.0.2.1\n", "192.0.2.1 " },
	{ "in their order", "nameserver 192.0.2.1\nnameserver 192.0.2.2\n",
	    "192.0.2.1 192.0.2.2 " },
	{ "IPv6", "nameserver 2001:db8::1\n", "2001:db8::1 " },
	{ "blanks and tabs", "  nameserver\t 192.0.2.1 \n", "192.0.2.1 " },
	{ "without a newline at the end", "nameserver 192.0.2.1",
	    "192.0.2.1 " },
	{ "among other lines",
	    "# a comment\nsearch example.org\nnameserver 192.0.2.1\n"
	    "options edns0\n",
	    "192.0.2.1 " },
	{ "no comment", "#nameserver 192.0.2.1\n;nameserver 192.0.2.2\n", "" },
	{ "no other word", "nameservers 192.0.2.1\n", "" },
	{ "no name", "nameserver ns.example.org\n", "" },
	{ "no zone", "nameserver fe80::1%eth0\n", "" },
	{ "no address at all", "nameserver\nnameserver \n", "" },
	{ "an empty file", "", "" },
	{ "no more than asked for",
	    "nameserver 192.0.2.1\nnameserver 192.0.2.2\n"
	    "nameserver 192.0.2.3\nnameserver 192.0.2.4\n",
	    "192.0.2.1 192.0.2.2 192.0.2.3 " },
};

static void
finds_the_nameservers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct message_resolver found[3];
		char text[3 * ADDRESS_TEXT_SIZE], one[ADDRESS_TEXT_SIZE];
		struct wr w = wr_init(text, sizeof(text) - 1);
		unsigned int n =
		    resolv_conf_parse(span_of(rows[i].text), found, 3);

		for (unsigned int k = 0; k < n; k++) {
			struct address a = {
				.family = (enum address_family)found[k]
					      .address.family,
			};

			memcpy(a.bytes, found[k].address.bytes,
			    sizeof(a.bytes));
			wr_fmt(&w, "%s ", address_format(&a, one));
			assert_int_equal(found[k].port, 53);
		}
		text[w.len] = '\0';
		if (strcmp(text, rows[i].want) != 0)
			fail_msg("%s: %s", rows[i].claim, text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_nameservers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
