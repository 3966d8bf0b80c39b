#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "conf/hostconf.h"
#include "conf/resolver_text.h"

#include <fcntl.h>

#define NO_CEILING "[ceiling]\npolicy = none\n"
#define CREDENTIAL                                                             \
	"[credential c]\nvalue = file:/etc/x\nhost = npm.acme.example\n"       \
	"apply = bearer\ngrant = ci-*\n"

static struct hostconf *
parse(const char *text)
{
	struct hostconf *c = NULL;
	struct err err;

	if (hostconf_parse("h.ini", span_of(text), &c, &err) != 0)
		fail_msg("%s", err.text);
	return c;
}

static void
everything_has_a_default_but_the_ceiling(void **state)
{
	struct hostconf *c = parse(NO_CEILING);

	(void)state;
	assert_string_equal(c->run_dir, "/run/tapward");
	assert_string_equal(c->state_dir, "/var/lib/tapward");
	assert_string_equal(c->log_dir, "/var/log/tapward");
	assert_string_equal(c->group, "tapward");
	assert_int_equal(c->uid_first, 2130000000);
	assert_int_equal(c->uid_last, 2130065535);
	assert_false(c->has_metrics);
	assert_int_equal(c->pool, 8);
	assert_int_equal(c->guest_ip, 0x64400002);
	assert_int_equal(c->gateway_ip, 0x64400001);
	assert_int_equal(c->prefix_len, 30);
	assert_int_equal(c->resolver_count, 0);
	assert_false(c->passthrough_ech);
	assert_false(c->has_ceiling);
	assert_int_equal(c->learn_count, 0);
	for (int i = 0; i < LIMIT_COUNT; i++)
		assert_int_equal(c->limits[i], limit_rows[i].standard);
	hostconf_free(c);
	hostconf_free(NULL);
}

static void
a_proxy_may_be_an_address(void **state)
{
	struct hostconf *c =
	    parse(NO_CEILING "[upstream]\nproxy = http://10.0.0.1:8080\n");

	(void)state;
	assert_string_equal(c->proxy.host, "10.0.0.1");
	assert_int_equal(c->proxy.port, 8080);
	assert_string_equal(c->proxy.user, "");
	hostconf_free(c);
	c = parse(NO_CEILING "[upstream]\nproxy = http://[FD00::1]:3128\n");
	assert_string_equal(c->proxy.host, "fd00::1");
	hostconf_free(c);
}

/* Each limit: a name, a reason, and a default within its bounds. */
/* Each as it is written out for people: with its port. */
static void
resolvers_are_asked_by_tls_where_they_have_a_name(void **state)
{
	static const struct {
		const char *text, *want, *name;
	} rows[] = {
		{ "9.9.9.9#dns.quad9.net", "9.9.9.9:853#dns.quad9.net",
		    "dns.quad9.net" },
		{ "10.0.0.53:8853#DNS.Corp.Example",
		    "10.0.0.53:8853#dns.corp.example", "dns.corp.example" },
		{ "2620:fe::fe#dns.quad9.net",
		    "[2620:fe::fe]:853#dns.quad9.net", "dns.quad9.net" },
		{ "[2620:fe::fe]:53#dns.quad9.net",
		    "[2620:fe::fe]:53#dns.quad9.net", "dns.quad9.net" },
		{ "10.0.0.53", "10.0.0.53:53", "" },
		{ "[fd00::53]:5353", "[fd00::53]:5353", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256], name[RESOLVER_NAME_SIZE];
		struct hostconf *c;
		struct err err;

		(void)snprintf(text, sizeof(text),
		    NO_CEILING "[upstream]\nresolver = %s\n", rows[i].text);
		assert_int_equal(hostconf_parse("h.ini", span_of(text), &c,
				     &err),
		    0);
		assert_string_equal(resolver_text(&c->resolvers[0], name),
		    rows[i].want);
		assert_string_equal(c->resolvers[0].tls_name, rows[i].name);
		hostconf_free(c);
	}
}

static void
every_limit_has_a_reason_and_a_sound_default(void **state)
{
	(void)state;
	for (int i = 0; i < LIMIT_COUNT; i++) {
		const struct limit_row *r = &limit_rows[i];

		assert_non_null(r->name);
		assert_true(strlen(r->reason) > 20);
		assert_true(r->min > 0 && r->min <= r->standard &&
		    r->standard <= r->max);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(r->name, limit_rows[k].name);
	}
}

static void
all_sections_are_read(void **state)
{
	struct hostconf *c = parse(
	    "[daemon]\nrun-dir = /tmp/t/run\n"
	    "group = wheel\nuid-range = 3000000-3000999\n"
	    "metrics-listen = [::1]:9464\n"
	    "[network]\npool = 0\nguest = 10.9.0.6/29\ngateway = 10.9.0.1\n"
	    "[upstream]\nresolver = 127.0.0.53, 127.0.0.1:5353\n"
	    "resolver = [::1]:53\nca-file = /tmp/ca.pem\n"
	    "passthrough-ech = allow\n"
	    "proxy = http://Proxy.corp.example:3128\nproxy-user = svc\n"
	    "proxy-password = file:/etc/p\nno-proxy = **.X.example, y.org\n"
	    "[address corp]\nhost = **.Corp.example, x.y.example\n"
	    "range = 10.20.0.0/16, 127.0.0.9\n"
	    "[ca corp]\nhost = **.Corp.example, x.y.example\n"
	    "file = /etc/corp.pem\n"
	    "[ca lab]\nhost = *.lab.example\nonly = no\n"
	    "file = /etc/lab.pem\n"
	    "[ceiling]\npolicy = /etc/c.ini\nlearn = dev-* group:dev\n"
	    "learn = mine\n"
	    "[credential npm]\nkind = static\nvalue = env:NPM_TOKEN\n"
	    "host = npm.acme.example\nport = 8443\napply = basic:bot\n"
	    "strip = X-Api-Key\nstrip-response = X-Session, Link\n"
	    "set-cookie = strip\nmethod = GET, HEAD\npath = /**\n"
	    "deny-path = /-/user/**\nplaceholder = tapward-npm\n"
	    "websocket = yes\n"
	    "grant = ci-* user:ci-runner, x group:dev\ngrant = root-box\n"
	    "[credential key]\nvalue = credential:key\nhost = a.example.org\n"
	    "apply = header:X-Api-Key\ngrant = *\nset-cookie = keep\n"
	    "[audit]\nrotate-size = 64MiB\nrotate-age = 1d\nkeep = 12\n"
	    "keep-age = 30d\nanchor = /mnt/other/heads\n"
	    "[limits]\nconnections = 8\nhead-bytes = 32KiB\nlease = 1m\n"
	    "idle-timeout = 1500ms\n");
	const struct message_broker_credential *d;
	const struct message_exception *x;

	(void)state;
	assert_string_equal(c->run_dir, "/tmp/t/run");
	assert_string_equal(c->group, "wheel");
	assert_int_equal(c->uid_first, 3000000);
	assert_true(c->has_metrics);
	assert_int_equal(c->metrics_address.family, 6);
	assert_int_equal(c->metrics_port, 9464);
	assert_int_equal(c->pool, 0);
	assert_int_equal(c->rotate_bytes, 64 << 20);
	assert_int_equal(c->rotate_age_ms, 86400000);
	assert_int_equal(c->keep_files, 12);
	assert_true(c->keep_age_ms == UINT64_C(2592000000));
	assert_string_equal(c->anchor, "/mnt/other/heads");
	assert_int_equal(c->guest_ip, 0x0a090006);
	assert_int_equal(c->prefix_len, 29);
	assert_int_equal(c->resolver_count, 3);
	assert_int_equal(c->resolvers[0].port, 53);
	assert_int_equal(c->resolvers[1].port, 5353);
	assert_int_equal(c->resolvers[1].address.bytes[3], 1);
	assert_int_equal(c->resolvers[2].address.family, 6);
	assert_string_equal(c->ca_file, "/tmp/ca.pem");
	assert_true(c->passthrough_ech);
	assert_string_equal(c->proxy.host, "proxy.corp.example");
	assert_int_equal(c->proxy.port, 3128);
	assert_string_equal(c->proxy.user, "svc");
	assert_string_equal(c->proxy_password, "file:/etc/p");
	assert_int_equal(c->proxy.direct_count, 2);
	assert_string_equal(c->proxy.direct[0], "**.x.example");
	assert_string_equal(c->proxy.direct[1], "y.org");
	assert_int_equal(c->ca_count, 2);
	assert_string_equal(c->cas[0].set.name, "corp");
	assert_string_equal(c->cas[0].set.hosts[0], "**.corp.example");
	assert_string_equal(c->cas[0].set.hosts[1], "x.y.example");
	assert_string_equal(c->cas[0].set.file, "/etc/corp.pem");
	assert_true(c->cas[0].set.is_only);
	assert_int_equal(c->cas[1].set.host_count, 1);
	assert_false(c->cas[1].set.is_only);
	assert_int_equal(c->address_count, 1);
	x = &c->addresses[0].exception;
	assert_string_equal(x->hosts[0], "**.corp.example");
	assert_string_equal(x->hosts[1], "x.y.example");
	assert_int_equal(x->ranges[0].bits, 16);
	assert_int_equal(x->ranges[1].bits, 32);
	assert_true(c->has_ceiling);
	assert_string_equal(c->ceiling_file, "/etc/c.ini");
	assert_int_equal(c->learn_count, 2);
	assert_string_equal(c->learn[0].name, "dev-*");
	assert_int_equal(c->learn[0].owner, BROKER_OWNER_GROUP);
	assert_string_equal(c->learn[0].principal, "dev");
	assert_int_equal(c->learn[1].owner, BROKER_OWNER_ROOT);
	assert_int_equal(c->credential_count, 2);
	d = c->credentials[0].def;
	assert_string_equal(d->name, "npm");
	assert_string_equal(d->source, "env:NPM_TOKEN");
	assert_int_equal(c->credentials[0].source, HOSTCONF_SOURCE_ENV);
	assert_string_equal(c->credentials[0].place, "NPM_TOKEN");
	assert_int_equal(d->apply, LEASE_APPLY_BASIC);
	assert_string_equal(d->user, "bot");
	assert_int_equal(d->port, 8443);
	assert_int_equal(d->method_count, 2);
	assert_string_equal(d->deny_paths[0], "/-/user/**");
	assert_true(d->serves_websocket);
	assert_int_equal(d->grant_count, 3);
	assert_string_equal(d->grants[0].name, "ci-*");
	assert_int_equal(d->grants[0].owner, BROKER_OWNER_USER);
	assert_string_equal(d->grants[0].principal, "ci-runner");
	assert_int_equal(d->grants[1].owner, BROKER_OWNER_GROUP);
	assert_int_equal(d->grants[2].owner, BROKER_OWNER_ROOT);
	/* what apply sets is stripped, said or not */
	assert_int_equal(d->strip_count, 2);
	assert_string_equal(d->strip[0], "x-api-key");
	assert_string_equal(d->strip[1], "authorization");
	assert_int_equal(d->strip_response_count, 2);
	assert_string_equal(d->strip_response[0], "x-session");
	assert_false(d->keeps_set_cookie);
	d = c->credentials[1].def;
	assert_int_equal(d->apply, LEASE_APPLY_HEADER);
	assert_string_equal(d->field, "x-api-key");
	assert_true(d->keeps_set_cookie);
	assert_int_equal(d->port, 443);
	assert_int_equal(d->strip_count, 1);
	assert_string_equal(d->strip[0], "x-api-key");
	assert_false(d->serves_websocket);
	assert_int_equal(c->limits[LIMIT_CONNECTIONS], 8);
	assert_int_equal(c->limits[LIMIT_HEAD_BYTES], 32768);
	assert_int_equal(hostconf_gate_limits(c).idle_timeout_ms, 1500);
	assert_int_equal(hostconf_gate_limits(c).connections, 8);
	assert_int_equal(hostconf_lease_max_s(c), 60);
	assert_int_equal(hostconf_gate_process(c).nofile, 2048);
	assert_int_equal(hostconf_service_process(c).nofile, 65536);
	assert_int_equal(hostconf_dialler_limits(c).in_flight, 64);
	hostconf_free(c);
}

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

static void
a_credential_is_bound_and_granted(void **state)
{
	static const struct {
		const char *claim, *text, *want;
	} rows[] = {
		{ "no value", "host = a.example.org\n",
		    "h.ini:3: [credential c] needs `value" },
		{ "no host", "value = env:X\n",
		    "h.ini:3: [credential c] needs `host" },
		{ "no apply", "value = env:X\nhost = a.example.org\n",
		    "h.ini:3: [credential c] needs `apply" },
		{ "no grant",
		    "value = env:X\nhost = a.example.org\napply = raw\n",
		    "h.ini:3: [credential c] needs `grant" },
		{ "another kind", "kind = carrier-pigeon\n",
		    "h.ini:4: kind = carrier-pigeon: no kind of this version" },
		{ "the secret itself", "value = npm_s3cr3t\n",
		    "h.ini:4: value = npm_s3cr3t: say where" },
		{ "a helper", "value = exec:/bin/true\n",
		    "h.ini:4: value = exec:/bin/true: a helper program has" },
		{ "a relative file", "value = file:npm\n",
		    "h.ini:4: value = file:npm: file: is followed by" },
		{ "a variable that is none", "value = env:A B\n",
		    "h.ini:4: value = env:A B: env: is followed by" },
		{ "a systemd credential by path", "value = credential:a/b\n",
		    "h.ini:4: value = credential:a/b: credential: is" },
		{ "110: a wildcard host", "host = *.example.org\n",
		    "h.ini:4: host = *.example.org: a credential is for" },
		{ "103: port 80", "port = 80\n",
		    "h.ini:4: port = 80: port 80 is not encrypted" },
		{ "basic without a user", "apply = basic:\n",
		    "h.ini:4: apply = basic:: basic: is followed" },
		{ "a user with ':'", "apply = basic:a:b\n",
		    "h.ini:4: apply = basic:a:b: basic: is followed" },
		{ "a framing field", "apply = header:Content-Length\n",
		    "h.ini:4: apply = header:Content-Length: this field" },
		{ "the host field", "apply = header:Host\n",
		    "h.ini:4: apply = header:Host: this field" },
		{ "a field that is none", "apply = header:X Y\n",
		    "h.ini:4: apply = header:X Y: a header name is" },
		{ "a parameter without a name", "apply = query:\n",
		    "h.ini:4: apply = query:: query: is followed by" },
		{ "a parameter that is two", "apply = query:a&b\n",
		    "h.ini:4: apply = query:a&b: a parameter's name is" },
		{ "sigv4 of another kind than aws",
		    "value = env:X\nhost = a.example.org\napply = sigv4\n"
		    "grant = a\n",
		    "h.ini:3: [credential c]: `apply = sigv4` is for kind "
		    "aws" },
		{ "aws that is no key to sign with",
		    "kind = aws\nvalue = env:X\nhost = a.example.org\n"
		    "apply = bearer\ngrant = a\n",
		    "h.ini:3: [credential c]: `apply = sigv4` is for kind "
		    "aws" },
		{ "aws without a region",
		    "kind = aws\nvalue = env:X\nhost = a.example.org\n"
		    "service = s3\ngrant = a\n",
		    "h.ini:3: [credential c] needs `region" },
		{ "aws without a service",
		    "kind = aws\nvalue = env:X\nhost = a.example.org\n"
		    "region = eu-west-1\ngrant = a\n",
		    "h.ini:3: [credential c] needs `service" },
		{ "aws without a key",
		    "kind = aws\nhost = a.example.org\nregion = a\n"
		    "service = s3\ngrant = a\n",
		    "h.ini:3: [credential c] needs `value" },
		{ "aws by a file and by a program",
		    "kind = aws\nvalue = env:X\ncommand = /bin/key\n"
		    "host = a.example.org\nregion = a\nservice = s3\n"
		    "grant = a\n",
		    "h.ini:3: [credential c] has both `value` and `command`" },
		{ "aws by a program that would assume a role",
		    "kind = aws\ncommand = /bin/key\nhost = a.example.org\n"
		    "region = a\nservice = s3\ngrant = a\n"
		    "role = arn:aws:iam::123456789012:role/a\n",
		    "h.ini:3: [credential c] has both `command` and `role`" },
		{ "aws by a kind for other programs", "protocol = aws\n",
		    "h.ini:4: protocol = aws: what says a key of AWS is" },
		{ "a region that is none", "region = eu/west\n",
		    "h.ini:4: region = eu/west: a name of letters" },
		{ "a role that is none", "role = agent\n",
		    "h.ini:4: role = agent: the ARN of a role" },
		{ "a key id that is none",
		    "kind = aws\nvalue = env:X\nhost = a.example.org\n"
		    "region = a\nservice = s3\ngrant = a\n"
		    "placeholder = placeholder-of-aws\n",
		    "h.ini:3: [credential c]: placeholder: of kind aws it is" },
		{ "a region of another kind",
		    "value = env:X\nhost = a.example.org\napply = raw\n"
		    "grant = a\nregion = a\n",
		    "h.ini:8: region is no key of kind static" },
		{ "103: TRACE", "method = GET, TRACE\n",
		    "h.ini:4: method = TRACE: a credential never goes out" },
		{ "103: OPTIONS", "method = OPTIONS\n",
		    "h.ini:4: method = OPTIONS: a credential never goes out" },
		{ "a word", "apply = token\n",
		    "h.ini:4: apply = token: apply is" },
		{ "a framing field of answers",
		    "strip-response = Transfer-Encoding\n",
		    "h.ini:4: strip-response = Transfer-Encoding: this field" },
		{ "a field that says how to read a body",
		    "strip-response = content-encoding\n",
		    "h.ini:4: strip-response = content-encoding: without" },
		{ "a field of answers twice",
		    "strip-response = X-A\nstrip-response = x-a\n",
		    "h.ini:5: strip-response = x-a: this field is named" },
		{ "cookies half kept", "set-cookie = some\n",
		    "h.ini:4: set-cookie = some: set-cookie is" },
		{ "cookies kept and stripped",
		    "value = env:X\nhost = a.example.org\napply = raw\n"
		    "grant = a\nset-cookie = keep\n"
		    "strip-response = Set-Cookie\n",
		    "h.ini:3: [credential c] keeps set-cookie and strips" },
		{ "a short placeholder", "placeholder = abc\n",
		    "h.ini:4: placeholder = abc: a placeholder of less" },
		{ "a method in lower case", "method = get\n",
		    "h.ini:4: method = get" },
		{ "a path that is none", "path = a\n", "h.ini:4: path = a" },
		{ "a path in two readings", "deny-path = /a/../b\n",
		    "h.ini:4: deny-path = /a/../b" },
		{ "a grant to nobody known", "grant = a root\n",
		    "h.ini:4: grant = a root: a grant is" },
		{ "a grant to an empty user", "grant = a user:\n",
		    "h.ini:4: grant = a user:: not a name" },
		{ "a grant to a name that is none", "grant = A_B\n",
		    "h.ini:4: grant = A_B: the name of a sandbox" },
		{ "neither yes nor no", "websocket = on\n",
		    "h.ini:4: websocket = on: websocket is `yes` or" },
		{ "a WebSocket by POST",
		    "value = env:X\nhost = a.example.org\napply = raw\n"
		    "grant = a\nmethod = POST\nwebsocket = yes\n",
		    "h.ini:3: [credential c] says websocket = yes, but" },
		{ "a field of the handshake",
		    "apply = header:Sec-WebSocket-Key\n",
		    "h.ini:4: apply = header:Sec-WebSocket-Key: this field" },
		{ "one name twice",
		    "value = env:X\nhost = a.example.org\napply = raw\n"
		    "grant = a\n[credential c]\n",
		    "h.ini:8: a second [credential c] (first on line 3)" },
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hostconf *c = NULL;
		struct err err = { "" };
		int rc;

		(void)snprintf(text, sizeof(text),
		    NO_CEILING "[credential c]\n%s", rows[i].text);
		rc = hostconf_parse("h.ini", span_of(text), &c, &err);
		if (rc != -EINVAL ||
		    strncmp(err.text, rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("%s: rc %d \"%s\"", rows[i].claim, rc,
			    err.text);
	}
	hostconf_free(parse(NO_CEILING CREDENTIAL));
}

static const struct {
	const char *claim, *host, *prefix;
	size_t len; /* 0: any */
} shapes[] = {
	{ "of GitHub", "api.github.com", "ghp_", 40 },
	{ "of Anthropic", "api.anthropic.com", "sk-ant-api03-", 108 },
	{ "of OpenAI", "api.openai.com", "sk-proj-", 56 },
	{ "of GitLab", "gitlab.com", "glpat-", 26 },
	{ "of a host that only ends alike", "notgithub.com", "tapward-c-", 0 },
	{ "of nobody known", "api.acme.example", "tapward-c-", 34 },
};

static void
a_placeholder_has_the_shape_that_clients_look_for(void **state)
{
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct hostconf *c, *again;
		const char *p;

		(void)snprintf(text, sizeof(text),
		    NO_CEILING "[credential c]\nvalue = env:X\nhost = %s\n"
			       "apply = bearer\ngrant = a\n",
		    shapes[i].host);
		c = parse(text);
		again = parse(text);
		p = c->credentials[0].def->placeholder;
		if (strncmp(p, shapes[i].prefix, strlen(shapes[i].prefix)) !=
			0 ||
		    (shapes[i].len > 0 && strlen(p) != shapes[i].len))
			fail_msg("%s: %s", shapes[i].claim, p);
		assert_string_equal(p, again->credentials[0].def->placeholder);
		hostconf_free(c);
		hostconf_free(again);
	}
}

/* A key id of AWS, to sign with; another name has another. */
static void
a_key_of_aws_has_one_to_sign_with(void **state)
{
	static const char aws[] = NO_CEILING
	    "[credential c]\nkind = aws\nvalue = env:X\n"
	    "host = s3.example.org\nregion = eu-west-1, us-east-1\n"
	    "service = s3\ngrant = a\n"
	    "[credential d]\nkind = aws\nvalue = env:X\n"
	    "host = s3.example.org\nregion = eu-west-1\nservice = s3\n"
	    "apply = sigv4\ngrant = a\n";
	struct hostconf *c = parse(aws);
	const struct message_broker_credential *d = c->credentials[0].def;
	const char *p = d->placeholder;

	(void)state;
	assert_int_equal(d->apply, LEASE_APPLY_SIGV4);
	assert_int_equal(d->setting_count, 3);
	assert_int_equal(strncmp(p, "AKIA", 4), 0);
	assert_int_equal(strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), 20);
	assert_int_equal(strlen(p), 20);
	assert_string_not_equal(p, c->credentials[1].def->placeholder);
	hostconf_free(c);
}

/* The sample says every default as it is: it changes nothing but the rest. */
static void
the_sample_holds_every_limit_at_its_default(void **state)
{
	AUTO_CLOSE int fd = open(TEST_SAMPLES "/tapward.ini", O_RDONLY);
	AUTO_FREE char *text = NULL;
	struct hostconf *c;
	char line[64];
	size_t len;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fd_read_all(fd, HOSTCONF_TEXT_MAX_BYTES, &text, &len),
	    0);
	c = parse(text);
	for (int i = 0; i < LIMIT_COUNT; i++) {
		assert_int_equal(c->limits[i], limit_rows[i].standard);
		(void)snprintf(line, sizeof(line),
		    "\n%s = ", limit_rows[i].name);
		if (strstr(text, line) == NULL)
			fail_msg("the sample does not name %s",
			    limit_rows[i].name);
	}
	assert_string_equal(c->credentials[0].def->name, "npm-acme");
	hostconf_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_has_a_default_but_the_ceiling),
		cmocka_unit_test(a_proxy_may_be_an_address),
		cmocka_unit_test(
		    resolvers_are_asked_by_tls_where_they_have_a_name),
		cmocka_unit_test(every_limit_has_a_reason_and_a_sound_default),
		cmocka_unit_test(all_sections_are_read),
		cmocka_unit_test(what_cannot_hold_is_refused_with_its_line),
		cmocka_unit_test(
		    a_placeholder_has_the_shape_that_clients_look_for),
		cmocka_unit_test(a_key_of_aws_has_one_to_sign_with),
		cmocka_unit_test(a_credential_is_bound_and_granted),
		cmocka_unit_test(the_sample_holds_every_limit_at_its_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
