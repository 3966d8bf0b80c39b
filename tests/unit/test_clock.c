#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <time.h>

#include "base/clock.h"

static void
real_clocks_run(void **state)
{
	uint64_t us = clock_mono_us();
	uint64_t boot = clock_boot_ms();

	(void)state;
	assert_true(clock_mono_us() >= us);
	assert_true(clock_mono_ms() >= us / 1000);
	assert_true(clock_boot_ms() >= boot);
	/* 2020-01-01: wall time is since 1970, not since boot. */
	assert_true(clock_wall_ms() > 1577836800000);
}

static void
a_test_stops_and_moves_them(void **state)
{
	(void)state;
	clock_test_set(10, 20, 30);
	assert_true(clock_mono_ms() == 10);
	assert_true(clock_mono_us() == 10000);
	assert_true(clock_boot_ms() == 20);
	assert_true(clock_wall_ms() == 30);
	clock_test_advance(5);
	assert_true(clock_mono_ms() == 15);
	assert_true(clock_boot_ms() == 25);
	assert_true(clock_wall_ms() == 35);
	clock_test_release();
	assert_true(clock_wall_ms() > 1577836800000);
}

static void
texts_are_rfc_3339(void **state)
{
	static const struct {
		uint64_t ms;
		const char *want;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ 86399999, "1970-01-01T23:59:59.999Z" },
		{ 951782400000, "2000-02-29T00:00:00.000Z" },
		{ 951868800000, "2000-03-01T00:00:00.000Z" },
		{ 1769903999123, "2026-01-31T23:59:59.123Z" },
		{ 4107542400000, "2100-03-01T00:00:00.000Z" },
		{ 253402300799999, "9999-12-31T23:59:59.999Z" },
		{ 253402300800000, "9999-12-31T23:59:59.999Z" },
		{ UINT64_MAX, "9999-12-31T23:59:59.999Z" },
	};
	char buf[CLOCK_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(clock_text(rows[i].ms, buf), rows[i].want);
}

/* Every day of 500 years against the C library's calendar. */
static void
the_calendar_is_the_librarys(void **state)
{
	char buf[CLOCK_TEXT_SIZE], want[CLOCK_TEXT_SIZE];

	(void)state;
	for (int64_t day = 0; day < 365 * 500; day++) {
		time_t t = day * 86400 + day % 86400;
		struct tm tm;

		assert_non_null(gmtime_r(&t, &tm));
		assert_int_equal(strftime(want, sizeof(want),
				     "%Y-%m-%dT%H:%M:%S.000Z", &tm),
		    CLOCK_TEXT_SIZE - 1);
		assert_string_equal(clock_text((uint64_t)t * 1000, buf), want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_clocks_run),
		cmocka_unit_test(a_test_stops_and_moves_them),
		cmocka_unit_test(texts_are_rfc_3339),
		cmocka_unit_test(the_calendar_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
