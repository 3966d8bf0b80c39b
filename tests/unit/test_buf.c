/*
 * The queue of bytes, and what it leaves behind of a secret.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/buf.h"

static void
bytes_come_out_in_order(void **state)
{
	struct buf b = { .ptr = NULL };
	uint32_t next_in = 0, next_out = 0;

	(void)state;
	srand(2);
	for (int round = 0; round < 5000; round++) {
		size_t in = (size_t)rand() % 300, out;
		uint8_t *room = buf_reserve(&b, in + 1);

		assert_non_null(room);
		for (size_t i = 0; i < in; i++)
			room[i] = (uint8_t)(next_in++ % 251);
		buf_commit(&b, in);
		out = b.len == 0 ? 0 : (size_t)rand() % (b.len + 1);
		for (size_t i = 0; i < out; i++)
			assert_int_equal(buf_span(&b).ptr[i], next_out++ % 251);
		buf_consume(&b, out);
	}
	buf_done(&b);
	assert_null(b.ptr);
	assert_int_equal(buf_span(&b).len, 0);
}

static void
a_writer_that_fails_leaves_it_as_it_was(void **state)
{
	struct buf b = { .ptr = NULL };
	struct wr w;

	(void)state;
	assert_int_equal(buf_append(&b, span_of("ab")), 0);
	w = buf_write(&b, 4);
	wr_text(&w, "too long");
	assert_int_equal(buf_write_end(&b, &w), -EMSGSIZE);
	w = buf_write(&b, 4);
	wr_text(&w, "cd");
	assert_int_equal(buf_write_end(&b, &w), 0);
	assert_true(span_is(buf_span(&b), "abcd"));
	buf_done(&b);
}

#define SECRET "canary-0123456789"

static bool
remains(const struct buf *b)
{
	return memmem(b->ptr, b->size, SECRET, strlen(SECRET)) != NULL;
}

static void
what_leaves_a_secret_one_is_wiped(void **state)
{
	struct buf b = { .is_secret = true };

	(void)state;
	assert_int_equal(buf_append(&b, span_of("head " SECRET " tail")), 0);
	assert_true(remains(&b));
	buf_consume(&b, 5);
	assert_true(remains(&b));
	buf_consume(&b, strlen(SECRET));
	assert_false(remains(&b));
	assert_true(span_is(buf_span(&b), " tail"));
	buf_done(&b);
}

static void
what_moves_in_a_secret_one_leaves_no_copy(void **state)
{
	struct buf b = { .is_secret = true };
	static char filler[4096 - 60];

	(void)state;
	memset(filler, 'f', sizeof(filler));
	assert_int_equal(buf_append(&b,
			     (struct span){ (uint8_t *)filler,
				 sizeof(filler) }),
	    0);
	assert_int_equal(buf_append(&b, span_of(SECRET)), 0);
	buf_consume(&b, sizeof(filler));
	/* No room behind it: it moves to the front. */
	assert_non_null(buf_reserve(&b, 3000));
	assert_true(span_is(buf_span(&b), SECRET));
	buf_consume(&b, strlen(SECRET));
	assert_false(remains(&b));
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_out_in_order),
		cmocka_unit_test(a_writer_that_fails_leaves_it_as_it_was),
		cmocka_unit_test(what_leaves_a_secret_one_is_wiped),
		cmocka_unit_test(what_moves_in_a_secret_one_leaves_no_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
