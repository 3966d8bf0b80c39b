/*
 * Units of the service manager: by their control group, and their user.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "daemon/unit.h"

#define UNIT "tapward-broker.service"

static const struct row {
	const char *what, *cgroups;
	bool is_named;
} rows[] = {
	{ "version 2", "0::/system.slice/" UNIT "\n", true },
	{ "version 1: systemd's own hierarchy",
	    "5:memory:/\n1:name=systemd:/system.slice/" UNIT "\n0::/\n", true },
	{ "another slice", "0::/hosts.slice/" UNIT "\n", true },
	{ "another unit", "0::/system.slice/tapward.service\n", false },
	{ "a unit whose name ends the same way", "0::/system.slice/x-" UNIT,
	    false },
	{ "a group below one of that name", "0::/" UNIT "/x\n", false },
	{ "a hierarchy that is not systemd's", "4:cpu:/" UNIT "\n", false },
	{ "another named hierarchy", "4:name=other:/" UNIT "\n", false },
	{ "no group", "0::/\n", false },
	{ "no path", "0::\n", false },
	{ "nothing", "", false },
};

static void
a_process_is_told_by_its_group(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];

		(void)snprintf(text, sizeof(text), "%s", rows[i].cgroups);
		if (unit_is_named(text, UNIT) != rows[i].is_named)
			fail_msg("%s", rows[i].what);
	}
}

static void
a_user_is_that_of_its_name_or_another(void **state)
{
	(void)state;
	/* The one account that every machine has. */
	assert_int_equal(unit_user("root.service", 7), 0);
	assert_int_equal(unit_user("no-such-user-here.service", 7), 7);
	assert_int_equal(unit_user("root", 7), 7);
	assert_int_equal(unit_user(".service", 7), 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_told_by_its_group),
		cmocka_unit_test(a_user_is_that_of_its_name_or_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
