/*
 * Jobs: whole, or undone from where they failed, backwards.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <event2/event.h>

#include "daemon/steps.h"

#define STEPS 4

struct job {
	struct event_base *base;
	struct steps steps;
	int fail_at; /* -1: none */
	int wait_at; /* -1: none */
	bool resume_inside;
	char trace[64]; /* "abc" for what ran, "C" for what was undone */
	int done;
	int rc;
	char text[ERR_TEXT_MAX];
};

static void
note(struct job *j, char c)
{
	size_t len = strlen(j->trace);

	assert_true(len < sizeof(j->trace) - 1);
	j->trace[len] = c;
}

static int
go(struct job *j, int i, struct err *err)
{
	note(j, (char)('a' + i));
	if (j->fail_at == i && j->wait_at != i)
		return err_at(err, NULL, 0, "step %d broke", i);
	if (j->wait_at != i)
		return 0;
	if (j->resume_inside)
		steps_resume(&j->steps, 0, NULL);
	return STEP_WAIT;
}

#define STEP(i)                                                                \
	static int go_##i(void *arg, struct err *err)                          \
	{                                                                      \
		return go(arg, i, err);                                        \
	}                                                                      \
	static void undo_##i(void *arg)                                        \
	{                                                                      \
		note(arg, (char)('A' + (i)));                                  \
	}
STEP(0)
STEP(1)
STEP(2)
STEP(3)

static const struct step table[STEPS] = {
	{ "zero", go_0, undo_0 },
	{ "one", go_1, undo_1 },
	{ "two", go_2, undo_2 },
	{ "three", go_3, undo_3 },
};

static const struct steps_plan plan = { table, STEPS, 50 };

static void
on_done(void *arg, int rc, const struct err *err)
{
	struct job *j = arg;

	j->done++;
	j->rc = rc;
	memcpy(j->text, err->text, sizeof(j->text));
}

static void
start(struct job *j, int fail_at, int wait_at)
{
	*j = (struct job){
		.base = event_base_new(),
		.fail_at = fail_at,
		.wait_at = wait_at,
	};
	assert_int_equal(steps_start(&j->steps, &plan, j->base, on_done, j), 0);
}

static void
turn(struct job *j)
{
	(void)event_base_loop(j->base, EVLOOP_NONBLOCK);
}

static void
runs_through(void **state)
{
	struct job j;

	(void)state;
	start(&j, -1, -1);
	assert_int_equal(j.done, 1);
	assert_int_equal(j.rc, 0);
	assert_string_equal(j.trace, "abcd");
	event_base_free(j.base);
}

static void
undoes_all_wherever_it_fails(void **state)
{
	static const char *const want[STEPS] = { "aA", "abBA", "abcCBA",
		"abcdDCBA" };

	(void)state;
	for (int i = 0; i < STEPS; i++) {
		struct job j;

		start(&j, i, -1);
		assert_int_equal(j.done, 1);
		assert_int_equal(j.rc, -EINVAL);
		assert_string_equal(j.trace, want[i]);
		assert_non_null(strstr(j.text, table[i].name));
		assert_non_null(strstr(j.text, "broke"));
		event_base_free(j.base);
	}
}

static void
goes_on_when_the_answer_comes(void **state)
{
	struct job j;

	(void)state;
	start(&j, -1, 1);
	assert_string_equal(j.trace, "ab");
	assert_true(steps_waits_at(&j.steps, "one"));
	assert_false(steps_waits_at(&j.steps, "two"));
	steps_resume(&j.steps, 0, NULL);
	/* Not from inside the call: its caller may hold what is freed. */
	assert_string_equal(j.trace, "ab");
	turn(&j);
	assert_string_equal(j.trace, "abcd");
	assert_int_equal(j.done, 1);
	event_base_free(j.base);
}

static void
an_answer_from_inside_counts(void **state)
{
	struct job j = { .base = event_base_new(),
		.fail_at = -1,
		.wait_at = 2,
		.resume_inside = true };

	(void)state;
	assert_int_equal(steps_start(&j.steps, &plan, j.base, on_done, &j), 0);
	turn(&j);
	assert_int_equal(j.done, 1);
	assert_string_equal(j.trace, "abcd");
	event_base_free(j.base);
}

static void
a_bad_answer_undoes_all(void **state)
{
	struct job j;

	(void)state;
	start(&j, -1, 2);
	steps_resume(&j.steps, -EPIPE, "the gate ended");
	turn(&j);
	assert_int_equal(j.rc, -EPIPE);
	assert_string_equal(j.text, "two: the gate ended");
	assert_string_equal(j.trace, "abcCBA");
	event_base_free(j.base);
}

static void
a_failure_beats_an_answer_of_the_same_turn(void **state)
{
	struct job j;

	(void)state;
	start(&j, -1, 2);
	steps_resume(&j.steps, 0, NULL);
	steps_resume(&j.steps, -ECANCELED, "removed");
	steps_resume(&j.steps, 0, NULL);
	turn(&j);
	assert_int_equal(j.rc, -ECANCELED);
	assert_int_equal(j.done, 1);
	event_base_free(j.base);
}

static void
no_answer_is_a_failure_in_the_end(void **state)
{
	struct job j;

	(void)state;
	start(&j, -1, 3);
	(void)event_base_loop(j.base, EVLOOP_ONCE);
	(void)event_base_loop(j.base, EVLOOP_NONBLOCK);
	assert_int_equal(j.rc, -ETIMEDOUT);
	assert_string_equal(j.trace, "abcdDCBA");
	/* Later answers find nobody. */
	steps_resume(&j.steps, 0, NULL);
	turn(&j);
	assert_int_equal(j.done, 1);
	event_base_free(j.base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_through),
		cmocka_unit_test(undoes_all_wherever_it_fails),
		cmocka_unit_test(goes_on_when_the_answer_comes),
		cmocka_unit_test(an_answer_from_inside_counts),
		cmocka_unit_test(a_bad_answer_undoes_all),
		cmocka_unit_test(a_failure_beats_an_answer_of_the_same_turn),
		cmocka_unit_test(no_answer_is_a_failure_in_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
