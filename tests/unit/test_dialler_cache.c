/*
 * The cache of names: bounded in number and in time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/clock.h"
#include "proxy/dialler_cache.h"

static const struct address some[] = {
	{ ADDRESS_IPV4, { 192, 0, 2, 1 } },
	{ ADDRESS_IPV6, { 0x20, 0x01, 0x0d, 0xb8 } },
};

static bool
knows(struct dialler_cache *c, const char *host)
{
	struct dialler_cached found;

	return dialler_cache_find(c, host, &found);
}

static void
knows_a_name_until_its_time_runs_out(void **state)
{
	struct dialler_cache *c = dialler_cache_new(8);
	struct dialler_cached found;

	(void)state;
	clock_test_set(5000, 7000, 9000);
	dialler_cache_put(c, "a.example", some, 2, 30);
	dialler_cache_put(c, "none.example", NULL, 0, 5);
	assert_true(dialler_cache_find(c, "a.example", &found));
	assert_int_equal(found.count, 2);
	assert_true(address_equals(&found.addresses[1], &some[1]));
	assert_true(dialler_cache_find(c, "none.example", &found));
	assert_int_equal(found.count, 0);
	assert_false(knows(c, "b.example"));
	clock_test_advance(5000);
	assert_false(knows(c, "none.example"));
	clock_test_advance(24999);
	assert_true(knows(c, "a.example"));
	clock_test_advance(1);
	assert_false(knows(c, "a.example"));
	assert_int_equal(dialler_cache_count(c), 0);
	dialler_cache_free(c);
	clock_test_release();
}

static void
replaces_what_it_knew(void **state)
{
	struct dialler_cache *c = dialler_cache_new(8);
	struct dialler_cached found;

	(void)state;
	dialler_cache_put(c, "a.example", some, 2, 30);
	dialler_cache_put(c, "a.example", some, 1, 30);
	assert_true(dialler_cache_find(c, "a.example", &found));
	assert_int_equal(found.count, 1);
	assert_int_equal(dialler_cache_count(c), 1);
	dialler_cache_flush(c);
	assert_false(knows(c, "a.example"));
	dialler_cache_free(c);
}

static void
makes_room_for_a_new_name_at_the_cost_of_the_idlest(void **state)
{
	struct dialler_cache *c = dialler_cache_new(3);

	(void)state;
	dialler_cache_put(c, "a.example", some, 1, 30);
	dialler_cache_put(c, "b.example", some, 1, 30);
	dialler_cache_put(c, "c.example", some, 1, 30);
	assert_true(knows(c, "a.example"));
	dialler_cache_put(c, "d.example", some, 1, 30);
	assert_false(knows(c, "b.example"));
	assert_true(knows(c, "a.example"));
	for (int i = 0; i < 5000; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "n%d.example", i);
		dialler_cache_put(c, name, some, 2, 30);
		assert_true(dialler_cache_count(c) <= 3);
		assert_true(knows(c, name));
	}
	dialler_cache_resize(c, 1);
	assert_int_equal(dialler_cache_count(c), 1);
	assert_true(knows(c, "n4999.example"));
	dialler_cache_put(c, "last.example", some, 1, 30);
	assert_int_equal(dialler_cache_count(c), 1);
	dialler_cache_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_a_name_until_its_time_runs_out),
		cmocka_unit_test(replaces_what_it_knew),
		cmocka_unit_test(
		    makes_room_for_a_new_name_at_the_cost_of_the_idlest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
