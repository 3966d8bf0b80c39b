/*
 * Synthetic addresses: a name's own for as long as it is asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/synth.h"

#define BASE 0xc6120000u  /* 198.18.0.0/15 */
#define UPPER 0xc6130000u /* 198.19.0.0 */

static void
gives_each_name_an_address_of_its_own(void **state)
{
	struct synth *s = synth_new(BASE, 15, 1000);
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "n%u.example.org", i);
		assert_int_equal(synth_take(s, name), UPPER + i);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "n%u.example.org", i);
		assert_int_equal(synth_take(s, name), UPPER + i);
		assert_string_equal(synth_find(s, UPPER + i), name);
	}
	synth_free(s);
}

static void
takes_the_address_that_was_not_asked_for_longest(void **state)
{
	struct synth *s = synth_new(BASE, 15, 3);
	uint32_t a = synth_take(s, "a.example"), b = synth_take(s, "b.example");

	(void)state;
	(void)synth_take(s, "c.example");
	assert_int_equal(synth_take(s, "a.example"), a);
	/* b is the oldest now. */
	assert_int_equal(synth_take(s, "d.example"), b);
	assert_string_equal(synth_find(s, b), "d.example");
	assert_int_equal(synth_take(s, "a.example"), a);
	assert_true(synth_take(s, "b.example") != b);
	synth_free(s);
}

static void
knows_only_addresses_that_it_gave(void **state)
{
	struct synth *s = synth_new(BASE, 15, 10);

	(void)state;
	(void)synth_take(s, "a.example");
	assert_null(synth_find(s, UPPER + 1));
	assert_null(synth_find(s, UPPER - 1));
	assert_null(synth_find(s, 0));
	assert_null(synth_find(s, UINT32_MAX));
	synth_free(s);
}

static void
stays_within_a_small_range(void **state)
{
	struct synth *s = synth_new(0x0a000000, 30, 1000);

	(void)state;
	assert_int_equal(synth_take(s, "a.example"), 0x0a000002);
	assert_int_equal(synth_take(s, "b.example"), 0x0a000003);
	assert_int_equal(synth_take(s, "c.example"), 0x0a000002);
	synth_free(s);
}

static void
moves_reserved_addresses_into_the_range(void **state)
{
	static const struct {
		const char *claim;
		uint32_t base;
		uint8_t prefix;
		uint32_t policy, here;
	} rows[] = {
		{ "the usual range is as compiled", BASE, 15, 0xc6120005,
		    0xc6120005 },
		{ "another range has the same offsets", 0x0a000000, 15,
		    0xc6120005, 0x0a000005 },
		{ "an address past the half has no place", 0x0a000000, 24,
		    0xc6120080, 0 },
		{ "nor has one that is none of the compiled", BASE, 15,
		    0xc6110005, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct synth *s = synth_new(rows[i].base, rows[i].prefix, 10);

		if (synth_from_policy(s, rows[i].policy) != rows[i].here)
			fail_msg("%s", rows[i].claim);
		if (rows[i].here != 0)
			assert_int_equal(synth_to_policy(s, rows[i].here),
			    rows[i].policy);
		synth_free(s);
	}
}

static void
does_not_take_a_dynamic_address_for_a_reserved_one(void **state)
{
	struct synth *s = synth_new(BASE, 15, 10);

	(void)state;
	assert_int_equal(synth_to_policy(s, synth_take(s, "a.example")), 0);
	assert_int_equal(synth_to_policy(s, BASE - 1), 0);
	synth_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_each_name_an_address_of_its_own),
		cmocka_unit_test(
		    takes_the_address_that_was_not_asked_for_longest),
		cmocka_unit_test(knows_only_addresses_that_it_gave),
		cmocka_unit_test(stays_within_a_small_range),
		cmocka_unit_test(moves_reserved_addresses_into_the_range),
		cmocka_unit_test(
		    does_not_take_a_dynamic_address_for_a_reserved_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
