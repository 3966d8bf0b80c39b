/*
 * Certificates in the host's configuration: private CAs, and those of clients.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "conf/hostconf.h"

#define NO_CEILING "[ceiling]\npolicy = none\n"
#define PAIR                                                                   \
	NO_CEILING "[credential c]\nkind = client-certificate\n"               \
		   "host = a.example.org\ngrant = a\n"
#define BOTH "certificate = file:/c\nkey = credential:k\n"

static const struct {
	const char *claim, *text, *want; /* NULL: it is taken */
} rows[] = {
	{ "a client certificate", PAIR BOTH "websocket = yes\n", NULL },
	{ "without a key", PAIR "certificate = file:/c\n",
	    "h.ini:3: [credential c] needs `key = file:/PATH" },
	{ "without a certificate", PAIR "key = file:/k\n",
	    "h.ini:3: [credential c] needs `certificate = file:/PATH" },
	{ "with a placeholder", PAIR BOTH "placeholder = something\n",
	    "h.ini:3: [credential c]: placeholder: of kind" },
	{ "with a value", PAIR BOTH "value = file:/v\n",
	    "h.ini:3: [credential c] has a `value`" },
	{ "with a key of another kind", PAIR BOTH "token-url = https://x/\n",
	    "h.ini:9: token-url is no key of kind client-certificate" },
	{ "a client certificate that is applied",
	    NO_CEILING "[credential a]\nkind = client-certificate\n"
		       "apply = bearer\nhost = a.example.org\n"
		       "grant = *\n",
	    "h.ini:3: [credential a]: a client certificate is shown" },
	{ "a [ca] without a file", NO_CEILING "[ca a]\nhost = x.corp.example\n",
	    "h.ini:3: [ca a] needs" },
	{ "a [ca] without a host", NO_CEILING "[ca a]\nfile = /a\n",
	    "h.ini:3: [ca a] needs" },
	{ "a [ca] whose file is no absolute path",
	    NO_CEILING "[ca a]\nhost = x.corp.example\nfile = a.pem\n",
	    "h.ini:5: file = a.pem: write an absolute path" },
	{ "a [ca] for a top-level domain",
	    NO_CEILING "[ca a]\nhost = **.com\nfile = /a\n",
	    "h.ini:4: host = **.com: a wildcard on a whole" },
	{ "a [ca] that is neither only nor not",
	    NO_CEILING "[ca a]\nonly = maybe\n",
	    "h.ini:4: only = maybe: `yes`" },
	{ "a host in two [ca]",
	    NO_CEILING "[ca a]\nhost = *.corp.example\nfile = /a\n"
		       "[ca b]\nhost = x.y.example, *.Corp.example\n",
	    "h.ini:7: host = *.Corp.example: it is named by a [ca]" },
	{ "two [ca] of one name",
	    NO_CEILING "[ca a]\nhost = x.corp.example\n"
		       "file = /a\n[ca a]\n",
	    "h.ini:6: a second [ca a] (first on line 3)" },
};

static void
each_row_is_taken_or_refused_with_its_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hostconf *c = NULL;
		struct err err = { "" };
		int rc =
		    hostconf_parse("h.ini", span_of(rows[i].text), &c, &err);

		if (rc != (rows[i].want == NULL ? 0 : -EINVAL) ||
		    (rows[i].want != NULL &&
			strncmp(err.text, rows[i].want, strlen(rows[i].want)) !=
			    0))
			fail_msg("%s: %s", rows[i].claim, err.text);
		hostconf_free(c);
	}
}

static void
a_client_certificate_is_applied_in_tls_and_has_no_placeholder(void **state)
{
	struct hostconf *c = NULL;
	struct err err = { "" };

	(void)state;
	assert_int_equal(hostconf_parse("h.ini", span_of(PAIR BOTH), &c, &err),
	    0);
	assert_int_equal(c->credentials[0].def->apply, LEASE_APPLY_CERTIFICATE);
	assert_string_equal(c->credentials[0].def->placeholder, "");
	hostconf_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_taken_or_refused_with_its_line),
		cmocka_unit_test(
		    a_client_certificate_is_applied_in_tls_and_has_no_placeholder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
