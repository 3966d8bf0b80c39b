/*
 * tapward-dialler itself, sealed: each way that a dial can take is gone once
 * under its system call filter.
 */
#include "tests/unit/dialler_support.h"
#include "tests/unit/dialler_zone.h"
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dials_under_its_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
