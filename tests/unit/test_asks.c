/*
 * Questions that wait: answered once, or cancelled, or failed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/asks.h"

struct heard {
	unsigned int count;
	int rc;
};

static void
on_answer(void *arg, int rc, const struct answer *a)
{
	struct heard *h = arg;

	assert_non_null(a);
	h->count++;
	h->rc = rc;
}

static void
each_hears_its_own_answer_once(void **state)
{
	const struct answer a = { .text = "" };
	struct heard one = { 0 }, two = { 0 };
	struct asks asks;

	(void)state;
	asks_init(&asks);
	assert_int_equal(asks_add(&asks, 1, on_answer, &one), 0);
	assert_int_equal(asks_add(&asks, 2, on_answer, &two), 0);
	assert_true(asks_answer(&asks, 2, -EPERM, &a));
	assert_false(asks_answer(&asks, 2, 0, &a));
	assert_false(asks_answer(&asks, 3, 0, &a));
	assert_int_equal(one.count, 0);
	assert_int_equal(two.count, 1);
	assert_int_equal(two.rc, -EPERM);
	asks_fail(&asks, -EAGAIN, "gone");
	assert_int_equal(one.rc, -EAGAIN);
	assert_int_equal(two.count, 1);
}

static void
whoever_cancelled_hears_nothing(void **state)
{
	const struct answer a = { .text = "" };
	struct heard one = { 0 }, two = { 0 };
	struct asks asks;

	(void)state;
	asks_init(&asks);
	assert_int_equal(asks_add(&asks, 1, on_answer, &one), 0);
	assert_int_equal(asks_add(&asks, 2, on_answer, &two), 0);
	assert_int_equal(asks_add(&asks, 3, on_answer, &one), 0);
	asks_cancel(&asks, &one);
	/* What was asked is answered; what was not is made up. */
	assert_true(asks_answer(&asks, 3, 0, &a));
	assert_false(asks_answer(&asks, 3, 0, &a));
	asks_fail(&asks, -EAGAIN, "gone");
	assert_int_equal(one.count, 0);
	assert_int_equal(two.count, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_hears_its_own_answer_once),
		cmocka_unit_test(whoever_cancelled_hears_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
