/*
 * The host configuration: what it says when it says nothing, and all it can.
 */
#include "hostconf_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "conf/resolver_text.h"

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
		cmocka_unit_test(the_sample_holds_every_limit_at_its_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
