/*
 * Uids: whose, and not given again too soon.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/uids.h"

#define FIRST 2130000000u
#define GATES 4u

static uid_t alive; /* has a process; 0: nobody has */

static bool
is_alive(uid_t uid)
{
	return uid == alive;
}

static void
setup(struct uids *u)
{
	alive = 0;
	assert_int_equal(uids_init(u, FIRST, FIRST + UID_ROLES + GATES - 1), 0);
	u->is_alive = is_alive;
}

static void
roles_have_the_first_ones(void **state)
{
	struct uids u;
	uid_t uid;

	(void)state;
	setup(&u);
	assert_int_equal(uids_role(&u, UID_RECORDER), FIRST);
	assert_int_equal(uids_role(&u, UID_COMPILE), FIRST + 4);
	assert_int_equal(uids_take(&u, &uid), 0);
	assert_int_equal(uid, FIRST + UID_ROLES);
	uids_done(&u);
}

static void
one_that_was_given_back_waits_for_its_turn(void **state)
{
	struct uids u;
	uid_t first, next;

	(void)state;
	setup(&u);
	assert_int_equal(uids_take(&u, &first), 0);
	uids_give_back(&u, first);
	for (unsigned int i = 1; i < GATES; i++) {
		assert_int_equal(uids_take(&u, &next), 0);
		assert_int_not_equal(next, first);
	}
	assert_int_equal(uids_take(&u, &next), 0);
	assert_int_equal(next, first);
	uids_done(&u);
}

static void
one_with_a_process_is_passed_over(void **state)
{
	struct uids u;
	uid_t uid;

	(void)state;
	setup(&u);
	alive = FIRST + UID_ROLES;
	for (unsigned int i = 1; i < GATES; i++) {
		assert_int_equal(uids_take(&u, &uid), 0);
		assert_int_not_equal(uid, alive);
	}
	assert_int_equal(uids_take(&u, &uid), -EAGAIN);
	alive = 0;
	assert_int_equal(uids_take(&u, &uid), 0);
	uids_done(&u);
}

static void
takes_those_of_gates_that_live(void **state)
{
	struct uids u;
	uid_t uid;

	(void)state;
	setup(&u);
	assert_int_equal(uids_take_this(&u, FIRST + UID_ROLES + 1), 0);
	assert_int_equal(uids_take_this(&u, FIRST + UID_ROLES + 1), -EBUSY);
	assert_int_equal(uids_take_this(&u, FIRST), -EINVAL);
	assert_int_equal(uids_take_this(&u, 0), -EINVAL);
	assert_int_equal(uids_take_this(&u, FIRST + UID_ROLES + GATES),
	    -EINVAL);
	assert_int_equal(uids_take(&u, &uid), 0);
	assert_int_equal(uids_take(&u, &uid), 0);
	assert_int_equal(uid, FIRST + UID_ROLES + 2);
	uids_done(&u);
}

static void
refuses_ranges_without_room(void **state)
{
	struct uids u;

	(void)state;
	assert_int_equal(uids_init(&u, 0, 65535), -EINVAL);
	assert_int_equal(uids_init(&u, FIRST, FIRST + UID_ROLES - 1), -EINVAL);
	assert_int_equal(uids_init(&u, FIRST, FIRST - 1), -EINVAL);
}

static void
sees_the_processes_of_this_machine(void **state)
{
	struct uids u;

	(void)state;
	assert_int_equal(uids_init(&u, FIRST, FIRST + UID_ROLES), 0);
	assert_true(u.is_alive(getuid()));
	assert_false(u.is_alive(4111222333u));
	uids_done(&u);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_have_the_first_ones),
		cmocka_unit_test(one_that_was_given_back_waits_for_its_turn),
		cmocka_unit_test(one_with_a_process_is_passed_over),
		cmocka_unit_test(takes_those_of_gates_that_live),
		cmocka_unit_test(refuses_ranges_without_room),
		cmocka_unit_test(sees_the_processes_of_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
