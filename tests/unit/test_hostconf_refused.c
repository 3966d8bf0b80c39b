/*
 * What a host configuration cannot hold is refused with its line, and with
 * what to write instead.
 */
#include "hostconf_support.h"

#include <errno.h>
#include <string.h>

static void
what_cannot_hold_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *claim, *text, *want;
	} rows[] = {
		{ "an empty file", "", "h.ini: no [ceiling] policy" },
		{ "a [ceiling] without a policy", "[ceiling]\n",
		    "h.ini: no [ceiling] policy" },
		{ "learning without a ceiling",
		    "[ceiling]\nlearn = *\npolicy = none\n",
		    "h.ini:1: [ceiling] learn needs a ceiling" },
		{ "learning that is granted to nobody in particular",
		    "[ceiling]\npolicy = /c.ini\nlearn = yes please\n",
		    "h.ini:3: learn = yes please: a grant is NAME, NAME "
		    "user:X" },
		{ "learning as a switch",
		    "[ceiling]\npolicy = /c.ini\nlearn = yes\n",
		    "h.ini:3: learn = yes: name whose sandboxes may" },
		{ "a ceiling by a relative path", "[ceiling]\npolicy = c.ini\n",
		    "h.ini:2: policy = c.ini: write an absolute path, or" },
		{ "a section by a slip", NO_CEILING "[daemn]\n",
		    "h.ini:3: unknown section [daemn]: did you mean "
		    "[daemon]?" },
		{ "a policy's section", NO_CEILING "[allow x]\n",
		    "h.ini:3: unknown section [allow]: see" },
		{ "a log that is moved aside at every turn",
		    NO_CEILING "[audit]\nrotate-size = 1KB\n",
		    "h.ini:4: rotate-size" },
		{ "a log that is moved aside each minute",
		    NO_CEILING "[audit]\nrotate-age = 1m\n",
		    "h.ini:4: rotate-age" },
		{ "a log of which nothing is kept",
		    NO_CEILING "[audit]\nkeep = 0\n", "h.ini:4: keep" },
		{ "an age that is a number",
		    NO_CEILING "[audit]\nkeep-age = 30\n",
		    "h.ini:4: keep-age" },
		{ "an anchor by a relative path",
		    NO_CEILING "[audit]\nanchor = heads\n", "h.ini:4: anchor" },
		{ "a section twice", "[network]\n" NO_CEILING "[network]\n",
		    "h.ini:4: a second [network] (first on line 1)" },
		{ "a name too much", NO_CEILING "[limits x]\n",
		    "h.ini:3: [limits] takes no name" },
		{ "a name too little", NO_CEILING "[credential]\n",
		    "h.ini:3: [credential NAME] needs a name" },
		{ "a key by a slip", NO_CEILING "[daemon]\nrundir = /x\n",
		    "h.ini:4: unknown key rundir: did you mean run-dir?" },
		{ "a key of another section", NO_CEILING "[daemon]\npool = 1\n",
		    "h.ini:4: pool does not belong into [daemon], but into "
		    "[network]" },
		{ "a key twice", NO_CEILING "[daemon]\ngroup = a\ngroup = b\n",
		    "h.ini:5: group is given twice" },
		{ "a key that is not enforced",
		    NO_CEILING "[network]\nsynthetic = 10.0.0.0/8\n",
		    "h.ini:4: synthetic is not supported" },
		{ "neither allow nor deny",
		    NO_CEILING "[upstream]\npassthrough-ech = yes\n",
		    "h.ini:4: passthrough-ech = yes: write allow or deny" },
		{ "a relative path", NO_CEILING "[daemon]\nrun-dir = run\n",
		    "h.ini:4: run-dir = run: write an absolute path" },
		{ "a path with ..", NO_CEILING "[daemon]\nrun-dir = /a/../b\n",
		    "h.ini:4: run-dir = /a/../b: a path without" },
		{ "a run-dir too long for a socket",
		    NO_CEILING "[daemon]\nrun-dir = /aaaaaaaaaaaaaaaaaaaaaaaaa"
			       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
		    "h.ini:4: run-dir = " },
		{ "uids of people",
		    NO_CEILING "[daemon]\nuid-range = 0-65535\n",
		    "h.ini:4: uid-range = 0-65535: at least 256 uids" },
		{ "too few uids",
		    NO_CEILING "[daemon]\nuid-range = 70000-70010\n",
		    "h.ini:4: uid-range" },
		{ "metrics without a port",
		    NO_CEILING "[daemon]\nmetrics-listen = 127.0.0.1\n",
		    "h.ini:4: metrics-listen" },
		{ "a resolver by TLS beside one in the clear",
		    NO_CEILING "[upstream]\nresolver = 10.0.0.53\n"
			       "resolver = 9.9.9.9#dns.quad9.net\n",
		    "h.ini:5: resolver = 9.9.9.9#dns.quad9.net: some are asked "
		    "by TLS and some are not" },
		{ "and the other way round",
		    NO_CEILING "[upstream]\n"
			       "resolver = 9.9.9.9#dns.quad9.net, 10.0.0.53\n",
		    "h.ini:4: resolver = 10.0.0.53: some are asked by TLS" },
		{ "a certificate's name that is an address",
		    NO_CEILING "[upstream]\nresolver = 9.9.9.9#9.9.9.9\n",
		    "h.ini:4: resolver = 9.9.9.9#9.9.9.9: behind the '#' is" },
		{ "or of one label",
		    NO_CEILING "[upstream]\nresolver = 9.9.9.9#dns\n",
		    "h.ini:4: resolver = 9.9.9.9#dns: behind the '#' is" },
		{ "or empty", NO_CEILING "[upstream]\nresolver = 9.9.9.9#\n",
		    "h.ini:4: resolver = 9.9.9.9#: behind the '#' is" },
		{ "a resolver by name",
		    NO_CEILING "[upstream]\nresolver = dns.example\n",
		    "h.ini:4: resolver = dns.example: write ADDRESS" },
		{ "IPv6 and a port without brackets",
		    NO_CEILING "[upstream]\nresolver = fd00::1:5353x\n",
		    "h.ini:4: resolver" },
		{ "a proxy without a port",
		    NO_CEILING "[upstream]\nproxy = http://p.example.org\n",
		    "h.ini:4: proxy = http://p.example.org: write "
		    "http://HOST:PORT" },
		{ "a proxy without a scheme",
		    NO_CEILING "[upstream]\nproxy = p.example.org:3128\n",
		    "h.ini:4: proxy = p.example.org:3128: write http:" },
		{ "a proxy by TLS",
		    NO_CEILING "[upstream]\nproxy = https://p.x.org:3128\n",
		    "h.ini:4: proxy = https://p.x.org:3128: a proxy that is "
		    "itself" },
		{ "a password in a URL",
		    NO_CEILING "[upstream]\nproxy = http://u:p@p.x.org:3128\n",
		    "h.ini:4: proxy = http://u:p@p.x.org:3128: name who" },
		{ "a proxy of one label",
		    NO_CEILING "[upstream]\nproxy = http://proxy:3128\n",
		    "h.ini:4: proxy = http://proxy:3128: its host is" },
		{ "a path behind it",
		    NO_CEILING "[upstream]\nproxy = http://p.x.org:3128/\n",
		    "h.ini:4: proxy = http://p.x.org:3128/: write" },
		{ "IPv6 without brackets",
		    NO_CEILING "[upstream]\nproxy = http://fd00::1:3128\n",
		    "h.ini:4: proxy = http://fd00::1:3128: brackets go" },
		{ "two proxies",
		    NO_CEILING "[upstream]\nproxy = http://p.x.org:1\n"
			       "proxy = http://q.x.org:1\n",
		    "h.ini:5: proxy is given twice" },
		{ "a user of no proxy",
		    NO_CEILING "[upstream]\nproxy-user = u\n",
		    "h.ini:4: there is no proxy that this is about" },
		{ "a user without a password",
		    NO_CEILING "[upstream]\nproxy = http://p.x.org:3128\n"
			       "proxy-user = u\n",
		    "h.ini:5: proxy-user and proxy-password go together" },
		{ "a password without a user",
		    NO_CEILING "[upstream]\nproxy = http://p.x.org:3128\n"
			       "proxy-password = file:/x\n",
		    "h.ini:5: proxy-user and proxy-password go together" },
		{ "the password itself",
		    NO_CEILING "[upstream]\nproxy-password = hunter2\n",
		    "h.ini:4: proxy-password = hunter2: say where the secret "
		    "lies" },
		{ "a user with a colon",
		    NO_CEILING "[upstream]\nproxy-user = a:b\n",
		    "h.ini:4: proxy-user = a:b: a user's name has no ':'" },
		{ "an address that goes round the proxy",
		    NO_CEILING "[upstream]\nproxy = http://p.x.org:3128\n"
			       "no-proxy = 10.0.0.1\n",
		    "h.ini:5: no-proxy = 10.0.0.1: " },
		{ "guest and gateway apart",
		    NO_CEILING "[network]\nguest = 10.0.0.2/30\n"
			       "gateway = 10.1.0.1\n",
		    "h.ini:5: guest and gateway must be two hosts" },
		{ "a guest that is the network's address",
		    NO_CEILING "[network]\nguest = 10.0.0.0/30\n"
			       "gateway = 10.0.0.1\n",
		    "h.ini:5: guest and gateway must be" },
		{ "an [address] without a range",
		    NO_CEILING "[address a]\nhost = x.corp.example\n",
		    "h.ini:3: [address a] needs" },
		{ "loopback as a range",
		    NO_CEILING "[address a]\nhost = x.corp.example\n"
			       "range = 127.0.0.0/8\n",
		    "h.ini:5: range = 127.0.0.0/8: loopback addresses are" },
		{ "the metadata service",
		    NO_CEILING "[address a]\nhost = x.corp.example\n"
			       "range = 169.254.169.254\n",
		    "h.ini:5: range = 169.254.169.254: the metadata" },
		{ "everything",
		    NO_CEILING "[address a]\n"
			       "host = x.corp.example\n"
			       "range = 128.0.0.0/1\n",
		    "h.ini:5: range = 128.0.0.0/1: a range wider" },
		{ "a bit past the length",
		    NO_CEILING "[address a]\nhost = x.corp.example\n"
			       "range = 10.20.0.1/16\n",
		    "h.ini:5: range = 10.20.0.1/16: write" },
		{ "guests' own addresses",
		    NO_CEILING "[address a]\nhost = x.corp.example\n"
			       "range = 100.64.0.0/10\n",
		    "h.ini:3: [address a] has a range that guests'" },
		{ "synthetic addresses",
		    NO_CEILING "[address a]\nhost = x.corp.example\n"
			       "range = 198.18.5.0/24\n",
		    "h.ini:3: [address a] has a range that guests'" },
		{ "the resolver",
		    NO_CEILING "[upstream]\nresolver = 10.0.0.53\n[address a]\n"
			       "host = x.corp.example\nrange = 10.0.0.53\n",
		    "h.ini:5: [address a] names the resolver" },
		{ "a star on a top-level domain",
		    NO_CEILING
		    "[address a]\nhost = *.com\nrange = 10.0.0.0/8\n",
		    "h.ini:4: host = *.com: a wildcard on a whole" },
		{ "two [address] of one name",
		    NO_CEILING "[address a]\nhost = x.corp.example\n"
			       "range = 10.0.0.0/8\n[address a]\n",
		    "h.ini:6: a second [address a] (first on line 3)" },
		{ "a limit by a slip", NO_CEILING "[limits]\nconections = 5\n",
		    "h.ini:4: unknown limit conections: did you mean "
		    "connections?" },
		{ "a limit of nothing",
		    NO_CEILING "[limits]\nconnections = 0\n",
		    "h.ini:4: connections = 0: from 1 to 65536 (the default "
		    "is 256: " },
		{ "a limit twice",
		    NO_CEILING "[limits]\nlease = 5s\nlease = 6s\n",
		    "h.ini:5: lease is given twice" },
		{ "a time without a unit", NO_CEILING "[limits]\nlease = 5\n",
		    "h.ini:4: lease = 5: write a time in whole seconds" },
		{ "part of a second", NO_CEILING "[limits]\nlease = 1500ms\n",
		    "h.ini:4: lease = 1500ms: write a time in whole" },
		{ "a number that overflows",
		    NO_CEILING "[limits]\ngate-memory = 99999999999999999GiB\n",
		    "h.ini:4: gate-memory = 99999999999999999GiB: write" },
		{ "187: a long line",
		    NO_CEILING
		    "; cccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
		    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
		    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
		    "ccccccccccccccccccccccccccpolicy = none\n",
		    "h.ini:3: a line of more than 198 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hostconf *c = NULL;
		struct err err = { "" };
		int rc =
		    hostconf_parse("h.ini", span_of(rows[i].text), &c, &err);

		if (rc != -EINVAL || c != NULL ||
		    strncmp(err.text, rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("%s: rc %d \"%s\"", rows[i].claim, rc,
			    err.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_hold_is_refused_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
