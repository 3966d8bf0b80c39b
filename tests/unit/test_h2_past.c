/*
 * What is known of the streams of a connection that are over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proxy/h2_past.h"

enum { LAST = 2 * H2_PAST_SLOTS + 101 };

static const struct {
	const char *claim;
	int32_t opened[4], ended[4], asked;
	enum h2_past_state want;
} rows[] = {
	{ "nothing was used", { 0 }, { 0 }, 1, H2_PAST_UNKNOWN },
	{ "stream 0 is none", { 1 }, { 0 }, 0, H2_PAST_UNKNOWN },
	{ "a number below it neither", { 1 }, { 0 }, -1, H2_PAST_UNKNOWN },
	{ "the first one is open", { 1 }, { 0 }, 1, H2_PAST_OPEN },
	{ "what is behind it is not", { 1 }, { 0 }, 3, H2_PAST_UNKNOWN },
	{ "even numbers are nobody's", { 1, 4 }, { 0 }, 4, H2_PAST_UNKNOWN },
	{ "and pass over none", { 4, 1 }, { 0 }, 1, H2_PAST_OPEN },
	{ "one that is ended", { 1, 3 }, { 1 }, 1, H2_PAST_ENDED },
	{ "its neighbour is not", { 1, 3 }, { 1 }, 3, H2_PAST_OPEN },
	{ "it does not open again", { 1, 1 }, { 1, 1 }, 1, H2_PAST_ENDED },
	{ "one that was passed over", { 5 }, { 0 }, 3, H2_PAST_SKIPPED },
	{ "the first of them", { 5 }, { 0 }, 1, H2_PAST_SKIPPED },
	{ "between two", { 1, 5 }, { 0 }, 3, H2_PAST_SKIPPED },
	{ "it can not be used later", { 5, 3 }, { 0 }, 3, H2_PAST_SKIPPED },
	{ "nor be ended", { 5 }, { 3 }, 3, H2_PAST_SKIPPED },
	{ "far ahead", { 1, LAST }, { 1 }, LAST, H2_PAST_OPEN },
	{ "the one before it", { 1, LAST }, { 1 }, LAST - 2, H2_PAST_SKIPPED },
	{ "the oldest that is known", { 1, LAST }, { 1 },
	    LAST - 2 * (H2_PAST_SLOTS - 1), H2_PAST_SKIPPED },
	{ "the one before that is forgotten", { 1, LAST }, { 1 },
	    LAST - 2 * H2_PAST_SLOTS, H2_PAST_UNKNOWN },
	{ "so is the end of the first", { 1, LAST }, { 1 }, 1,
	    H2_PAST_UNKNOWN },
	{ "an end of one that is forgotten hits no other", { 1, LAST },
	    { LAST - 2 * H2_PAST_SLOTS }, LAST, H2_PAST_OPEN },
	{ "the last number there is", { 1, INT32_MAX }, { 0 }, INT32_MAX,
	    H2_PAST_OPEN },
};

static void
each_stream_is_known_for_what_it_was(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct h2_past p = { .last = 0 };
		enum h2_past_state got;

		for (size_t k = 0; k < 4; k++)
			h2_past_open(&p, rows[i].opened[k]);
		for (size_t k = 0; k < 4; k++)
			h2_past_end(&p, rows[i].ended[k]);
		got = h2_past_find(&p, rows[i].asked);
		if (got != rows[i].want)
			fail_msg("%s: %d", rows[i].claim, (int)got);
	}
}

/* Against a list of all that ever happened. */
static void
chance_finds_no_difference(void **state)
{
	enum { COUNT = 4000 };
	static uint8_t all[COUNT];
	struct h2_past p = { .last = 0 };
	int32_t last = 0;

	(void)state;
	srand(9);
	while (last < 2 * COUNT - 200) {
		int32_t id = last - 300 + rand() % 310;

		if (rand() % 2 == 0 && id > last && id % 2 == 1) {
			for (int32_t k = last + 1; k < id; k++)
				if (k % 2 == 1)
					all[k / 2] = H2_PAST_SKIPPED;
			all[id / 2] = H2_PAST_OPEN;
			last = id;
			h2_past_open(&p, id);
		} else if (id > 0 && id % 2 == 1 && id <= last) {
			if (all[id / 2] == H2_PAST_OPEN)
				all[id / 2] = H2_PAST_ENDED;
			h2_past_end(&p, id);
		}
		if (id > 0 && id % 2 == 1 && id <= last)
			assert_int_equal(h2_past_find(&p, id), all[id / 2]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stream_is_known_for_what_it_was),
		cmocka_unit_test(chance_finds_no_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
