/*
 * The queue of bytes in blocks: order, room, and what a secret leaves.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/blocks.h"

static void
bytes_come_out_in_order(void **state)
{
	struct blocks b = { .first = NULL };
	uint32_t next_in = 0, next_out = 0;
	static uint8_t bytes[40000];

	(void)state;
	srand(3);
	for (int round = 0; round < 2000; round++) {
		size_t in = (size_t)rand() % sizeof(bytes);
		size_t out = (size_t)rand() % sizeof(bytes);

		for (size_t i = 0; i < in; i++)
			bytes[i] = (uint8_t)(next_in++ % 251);
		assert_int_equal(blocks_append(&b, (struct span){ bytes, in }),
		    0);
		while (out > 0 && b.len > 0) {
			struct span s = blocks_front(&b);
			size_t n = s.len < out ? s.len : out;

			assert_true(s.len > 0 && s.len <= b.len);
			for (size_t i = 0; i < n; i++)
				assert_int_equal(s.ptr[i], next_out++ % 251);
			blocks_consume(&b, n);
			out -= n;
		}
		assert_int_equal(b.len, next_in - next_out);
	}
	blocks_done(&b);
	assert_null(b.first);
	assert_null(b.last);
	assert_int_equal(b.len, 0);
	assert_int_equal(blocks_front(&b).len, 0);
}

/* What it was made for: a stalled window costs a window. */
static void
it_takes_hardly_more_than_it_holds(void **state)
{
	struct blocks b = { .first = NULL };
	static uint8_t bytes[1000];
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, after;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(blocks_append(&b,
				     (struct span){ bytes, sizeof(bytes) }),
		    0);
		/* It waits, and goes on from the front. */
		if (i >= 500)
			blocks_consume(&b,
			    blocks_front(&b).len < 1000 ? blocks_front(&b).len
							: 1000);
	}
	after = mallinfo2().uordblks + mallinfo2().hblkhd;
	assert_true(after - before < b.len + 3 * 16384);
	blocks_done(&b);
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd <= before + 64);
}

#define SECRET "canary-0123456789"

static void
what_leaves_a_secret_one_is_wiped(void **state)
{
	struct blocks b = { .is_secret = true };
	const uint8_t *at;

	(void)state;
	assert_int_equal(blocks_append(&b, span_of(SECRET " tail")), 0);
	at = blocks_front(&b).ptr;
	blocks_consume(&b, strlen(SECRET));
	for (size_t i = 0; i < strlen(SECRET); i++)
		assert_int_equal(at[i], 0);
	assert_true(span_is(blocks_front(&b), " tail"));
	blocks_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_out_in_order),
		cmocka_unit_test(it_takes_hardly_more_than_it_holds),
		cmocka_unit_test(what_leaves_a_secret_one_is_wiped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
