/*
 * What the journal is told of resolvers, and how often.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "base/log_event.h"
#include "daemon/resolver_watch.h"

#define PAUSE_MS 40
#define ONE "192.0.2.53:53"
#define TWO "192.0.2.54:853#dns.example"

static struct event_base *base;
static struct resolver_watch *watch;
static unsigned int downs; /* warnings: what a line of resolver-down is */
static char last[512];

static void
on_line(const char *line, size_t len)
{
	len = len < sizeof(last) ? len : sizeof(last) - 1;
	memcpy(last, line, len);
	last[len] = '\0';
	downs++;
}

static int
set_up(void **state)
{
	(void)state;
	log_init("tapwardd", LOG_LEVEL_WARN);
	log_watch(on_line);
	base = event_base_new();
	downs = 0;
	last[0] = '\0';
	return resolver_watch_new(base, PAUSE_MS, &watch);
}

static int
tear_down(void **state)
{
	(void)state;
	log_watch(NULL);
	resolver_watch_free(watch);
	event_base_free(base);
	return 0;
}

static void
hear(enum resolver_role role, const char *name, uint8_t state)
{
	struct message_dialler_status m = { .resolver_count = 1 };

	(void)snprintf(m.names[0], sizeof(m.names[0]), "%s", name);
	(void)snprintf(m.resolvers[0].text, sizeof(m.resolvers[0].text), "%s",
	    "resolver-timeout: no answer");
	m.resolvers[0].state = state;
	resolver_watch_heard(watch, role, &m);
}

static uint8_t
known(enum resolver_role role, const char *name)
{
	return resolver_watch_find(watch, role, name)->state;
}

/* True once its timer has nothing more to do. */
static void
run_dry(void)
{
	assert_int_equal(event_base_dispatch(base), 1);
}

static void
one_that_is_down_is_told_once(void **state)
{
	(void)state;
	/* That it is there at the beginning is no news. */
	hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_UP);
	assert_int_equal(downs, 0);
	hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_DOWN);
	assert_int_equal(downs, 1);
	assert_string_equal(last,
	    "warn resolver at=" ONE
	    " role=dialler down: resolver-timeout: no answer");
	hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_DOWN);
	/* A configuration that names it again makes it no news either. */
	hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_UNKNOWN);
	hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_DOWN);
	resolver_watch_forget(watch, RESOLVER_OF_DIALLER);
	hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_DOWN);
	assert_int_equal(downs, 1);
	run_dry();
	assert_int_equal(downs, 1);
}

static void
roles_and_names_are_told_apart(void **state)
{
	(void)state;
	hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_DOWN);
	hear(RESOLVER_OF_BROKER, ONE, RESOLVER_DOWN);
	assert_int_equal(downs, 2);
	assert_non_null(strstr(last, "role=broker"));
	hear(RESOLVER_OF_BROKER, TWO, RESOLVER_DOWN);
	assert_int_equal(downs, 3);
	assert_non_null(strstr(last, "at=" TWO));
	assert_int_equal(known(RESOLVER_OF_DIALLER, ONE), RESOLVER_DOWN);
	assert_int_equal(known(RESOLVER_OF_BROKER, TWO), RESOLVER_DOWN);
	/* It is not among the broker's any more. */
	assert_int_equal(known(RESOLVER_OF_BROKER, ONE), RESOLVER_UNKNOWN);
	resolver_watch_forget(watch, RESOLVER_OF_BROKER);
	assert_int_equal(known(RESOLVER_OF_BROKER, TWO), RESOLVER_UNKNOWN);
	assert_int_equal(known(RESOLVER_OF_DIALLER, ONE), RESOLVER_DOWN);
}

static void
what_goes_back_and_forth_is_told_at_times(void **state)
{
	(void)state;
	hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_DOWN);
	for (int i = 0; i < 1000; i++) {
		hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_UP);
		hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_DOWN);
	}
	assert_true(downs < 20);
}

static void
how_it_is_in_the_end_is_always_told(void **state)
{
	(void)state;
	hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_DOWN);
	hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_UP);
	hear(RESOLVER_OF_DIALLER, ONE, RESOLVER_DOWN);
	assert_int_equal(downs, 1);
	run_dry();
	assert_int_equal(downs, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_that_is_down_is_told_once),
		TEST(roles_and_names_are_told_apart),
		TEST(what_goes_back_and_forth_is_told_at_times),
		TEST(how_it_is_in_the_end_is_always_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
