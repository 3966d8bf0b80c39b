/*
 * tapward-dialler itself, sealed: each way that a dial can take is gone once
 * under its system call filter.
 */
#include "tests/unit/dialler_support.h"
#include "tests/unit/dialler_zone.h"
#include "tests/unit/dot_support.h"
#include "tests/unit/program_support.h"

static void
dials_under_its_filter(void **state)
{
	static const char *const own[] = { "127.0.0.1", "2001:4860::8888",
		NULL };
	int fd;
	struct world *w = world_new_bare(zone, &fd);
	struct program p = program_start(TAPWARD_DIALLER_PROGRAM, fd);

	(void)state;
	world_configure(w);
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	assert_origin_reached(w, dial_and_wait(w, "tc.origin.example"));
	assert_int_equal(nameserver_count_tcp(w->ns), 2);
	send_addresses(w, own);
	assert_origin_reached(w, dial_and_wait(w, "both.origin.example"));
	assert_int_equal(dial_and_wait(w, "v10.origin.example")->m.reason,
	    REASON_PRIVATE_ADDRESS);
	assert_int_equal(dial_and_wait(w, "denied.example")->m.reason,
	    REASON_NO_RULE);
	/* A resolver that refuses, by IPv6 too. */
	w->config->limits.resolve_timeout_ms = 300;
	w->config->resolver_count = 2;
	w->config->resolvers[0].port = 1;
	w->config->resolvers[1].address = range("::1").address;
	w->config->resolvers[1].port = 1;
	send_config(w);
	assert_int_equal(dial_and_wait(w, "good.origin.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	program_end(&p);
	world_free(w);
}

/* TLS in a root that is empty: a good one, and each end of a bad one. */
static void
asks_by_tls_under_its_filter(void **state)
{
	struct dot_peer p[2] = { { .cert = FIX_CERT_EXPIRED },
		{ .way = DOT_CLOSES_EACH } };
	int fd;
	struct world *w = world_new_bare(zone, &fd);
	struct program dialler = program_start(TAPWARD_DIALLER_PROGRAM, fd);

	(void)state;
	dot_put(w, p, 2);
	world_configure(w);
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	p[1].way = DOT_NO_TLS;
	send_config(w);
	assert_int_equal(dial_and_wait(w, "other.origin.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	assert_string_equal(w->records[w->record_count - 1].detail,
	    "resolver-tls");
	program_end(&dialler);
	dot_peer_done(&p[0]);
	dot_peer_done(&p[1]);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dials_under_its_filter),
		cmocka_unit_test(asks_by_tls_under_its_filter),
	};

	return cmocka_run_group_tests(tests, dot_setup, dot_teardown);
}
