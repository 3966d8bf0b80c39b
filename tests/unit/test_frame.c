/*
 * The bytes of frames: what is written is read back, and what no honest end
 * writes is refused.
 */
#include "wire_rows.h"

#include <string.h>

#include "vmm/frame.h"

static uint8_t buf[FRAME_BYTES_MAX];

/* Head and body of the one frame in w; fails unless it is that alone. */
static struct span
body_of(const struct wr *w, uint8_t type, uint32_t stream)
{
	struct frame f;
	size_t used;

	assert_true(wr_ok(w));
	assert_int_equal(frame_decode((struct span){ w->buf, w->len }, &f,
			     &used),
	    FRAME_OK);
	assert_int_equal(used, w->len);
	assert_int_equal(f.head.type, type);
	assert_int_equal(f.head.stream, stream);
	return f.body;
}

static void
reads_back_what_is_said_once(void **state)
{
	const struct frame_hello hello = { FRAME_VERSION, 0x80000001 };
	const struct frame_state st = { FRAME_VM_ENDED, FRAME_LIMIT_DURATION,
		1234, span_of("max-duration of 30m is over") };
	struct frame_hello got_hello;
	struct frame_state got;
	struct wr w = wr_init(buf, sizeof(buf));
	uint64_t us;

	(void)state;
	frame_hello_encode(&w, &hello);
	assert_int_equal(frame_hello_decode(body_of(&w, FRAME_HELLO, 0),
			     &got_hello),
	    FRAME_OK);
	assert_int_equal(got_hello.features, 0x80000001);
	w = wr_init(buf, sizeof(buf));
	frame_state_encode(&w, &st);
	assert_int_equal(frame_state_decode(body_of(&w, FRAME_STATE, 0), &got),
	    FRAME_OK);
	assert_int_equal(got.state, FRAME_VM_ENDED);
	assert_int_equal(got.limit, FRAME_LIMIT_DURATION);
	assert_int_equal(got.elapsed_ms, 1234);
	assert_true(span_is(got.text, "max-duration of 30m is over"));
	w = wr_init(buf, sizeof(buf));
	frame_clock_encode(&w, 1769817600500000);
	assert_int_equal(frame_clock_decode(body_of(&w, FRAME_CLOCK, 0), &us),
	    FRAME_OK);
	assert_int_equal(us, 1769817600500000);
	w = wr_init(buf, sizeof(buf));
	frame_bare_encode(&w, FRAME_POWEROFF, 0, 0);
	assert_int_equal(body_of(&w, FRAME_POWEROFF, 0).len, 0);
}

static void
reads_back_what_opens_a_stream(void **state)
{
	const struct frame_exec exec = { .flags = FRAME_EXEC_TTY,
		.rows = 50,
		.cols = 132,
		.argc = 2,
		.envc = 1,
		.args_bytes = 17,
		.timeout_ms = 5000,
		.output_max = UINT64_C(1) << 40,
		.cwd = span_of("/workspace"),
		.user = span_of("node:node") };
	const struct frame_copy copy = { FRAME_COPY_MERGE,
		span_of("/workspace/a b"), span_of("1000:1000") };
	struct frame_exec e;
	struct frame_copy c;
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	frame_exec_encode(&w, 7, &exec);
	assert_int_equal(frame_exec_decode(body_of(&w, FRAME_EXEC, 7), &e),
	    FRAME_OK);
	assert_int_equal(e.flags, FRAME_EXEC_TTY);
	assert_int_equal(e.rows, 50);
	assert_int_equal(e.cols, 132);
	assert_int_equal(e.argc, 2);
	assert_int_equal(e.envc, 1);
	assert_int_equal(e.args_bytes, 17);
	assert_int_equal(e.timeout_ms, 5000);
	assert_int_equal(e.output_max, UINT64_C(1) << 40);
	assert_true(span_is(e.cwd, "/workspace"));
	assert_true(span_is(e.user, "node:node"));
	w = wr_init(buf, sizeof(buf));
	frame_copy_encode(&w, FRAME_PUT, 9, &copy);
	assert_int_equal(frame_copy_decode(body_of(&w, FRAME_PUT, 9), &c),
	    FRAME_OK);
	assert_int_equal(c.flags, FRAME_COPY_MERGE);
	assert_true(span_is(c.path, "/workspace/a b"));
	assert_true(span_is(c.user, "1000:1000"));
}

static void
reads_back_what_is_said_on_a_stream(void **state)
{
	const struct frame_exit out = { FRAME_END_FAILED, 0, FRAME_LIMIT_MEMORY,
		span_of("no such user") };
	struct frame_exit in;
	struct wr w = wr_init(buf, sizeof(buf));
	uint16_t rows, cols;
	uint32_t n;
	uint8_t number;

	(void)state;
	frame_signal_encode(&w, 3, 15);
	assert_int_equal(frame_signal_decode(body_of(&w, FRAME_SIGNAL, 3),
			     &number),
	    FRAME_OK);
	assert_int_equal(number, 15);
	w = wr_init(buf, sizeof(buf));
	frame_resize_encode(&w, 3, 24, 80);
	assert_int_equal(frame_resize_decode(body_of(&w, FRAME_RESIZE, 3),
			     &rows, &cols),
	    FRAME_OK);
	assert_int_equal(rows * 1000 + cols, 24080);
	w = wr_init(buf, sizeof(buf));
	frame_started_encode(&w, 3, 4711);
	assert_int_equal(frame_started_decode(body_of(&w, FRAME_STARTED, 3),
			     &n),
	    FRAME_OK);
	assert_int_equal(n, 4711);
	w = wr_init(buf, sizeof(buf));
	frame_exit_encode(&w, 3, &out);
	assert_int_equal(frame_exit_decode(body_of(&w, FRAME_EXIT, 3), &in),
	    FRAME_OK);
	assert_int_equal(in.end, FRAME_END_FAILED);
	assert_int_equal(in.limit, FRAME_LIMIT_MEMORY);
	assert_true(span_is(in.text, "no such user"));
	w = wr_init(buf, sizeof(buf));
	frame_data_encode(&w, 3, FRAME_ERROR, span_of("\x01\x02"));
	assert_true(span_is(body_of(&w, FRAME_DATA, 3), "\x01\x02"));
	w = wr_init(buf, sizeof(buf));
	frame_window_encode(&w, 3, FRAME_OUTPUT, 4096);
	assert_int_equal(frame_window_decode(body_of(&w, FRAME_WINDOW_ADD, 3),
			     &n),
	    FRAME_OK);
	assert_int_equal(n, 4096);
}

#define HEAD(len, type, channel, zero, stream)                                 \
	{                                                                      \
		0, (len) >> 16, ((len) >> 8) & 255, (len)&255, (type),         \
		    (channel), 0, (zero), 0, 0, 0, (stream)                    \
	}

static const struct {
	const char *claim;
	uint8_t head[FRAME_HEAD_BYTES];
	enum frame_fault want;
} heads[] = {
	{ "the longest DATA", HEAD(65536, FRAME_DATA, 3, 0, 1), FRAME_OK },
	{ "a byte more", HEAD(65537, FRAME_DATA, 1, 0, 1), FRAME_BAD_LENGTH },
	{ "DATA of nothing", HEAD(0, FRAME_DATA, 1, 0, 1), FRAME_BAD_LENGTH },
	{ "a length of 4 GiB",
	    { 255, 255, 255, 255, FRAME_DATA, 1, 0, 0, 0, 0, 0, 1 },
	    FRAME_BAD_LENGTH },
	{ "type 0", HEAD(0, 0, 0, 0, 1), FRAME_BAD_TYPE },
	{ "a type that there is not", HEAD(0, 99, 0, 0, 1), FRAME_BAD_TYPE },
	{ "zero that is not", HEAD(1, FRAME_DATA, 1, 1, 1), FRAME_BAD_TYPE },
	{ "a fifth channel", HEAD(1, FRAME_DATA, 4, 0, 1), FRAME_BAD_CHANNEL },
	{ "channel 255", HEAD(1, FRAME_DATA, 255, 0, 1), FRAME_BAD_CHANNEL },
	{ "EOF of the arguments", HEAD(0, FRAME_EOF, 3, 0, 1),
	    FRAME_BAD_CHANNEL },
	{ "EXIT on a channel", HEAD(8, FRAME_EXIT, 1, 0, 1),
	    FRAME_BAD_CHANNEL },
	{ "HELLO on a stream", HEAD(8, FRAME_HELLO, 0, 0, 1),
	    FRAME_BAD_STREAM },
	{ "DATA on none", HEAD(1, FRAME_DATA, 1, 0, 0), FRAME_BAD_STREAM },
	{ "RESET with a body", HEAD(1, FRAME_RESET, 0, 0, 1),
	    FRAME_BAD_LENGTH },
	{ "EXIT with a text of 512", HEAD(520, FRAME_EXIT, 0, 0, 1), FRAME_OK },
	{ "and of 513", HEAD(521, FRAME_EXIT, 0, 0, 1), FRAME_BAD_LENGTH },
	{ "PUT without a path", HEAD(8, FRAME_PUT, 0, 0, 1), FRAME_BAD_LENGTH },
};

static void
refuses_heads_that_cannot_be(void **state)
{
	struct frame_head h;

	(void)state;
	for (size_t i = 0; i < ROWS(heads); i++)
		row_equal(heads[i].claim, frame_head_decode(heads[i].head, &h),
		    heads[i].want);
}

static void
waits_for_a_whole_frame(void **state)
{
	struct wr w = wr_init(buf, sizeof(buf));
	struct frame f;
	size_t used;

	(void)state;
	frame_data_encode(&w, 1, FRAME_OUTPUT, span_of("hello"));
	for (size_t len = 0; len < w.len; len++) {
		assert_int_equal(frame_decode((struct span){ buf, len }, &f,
				     &used),
		    FRAME_OK);
		assert_int_equal(used, 0);
	}
	assert_true(span_is(body_of(&w, FRAME_DATA, 1), "hello"));
}

/* A body with its head cut off: a row says what is in it. */
static enum frame_fault
exec_fault(const struct frame_exec *m)
{
	struct wr w = wr_init(buf, sizeof(buf));
	struct frame_exec ret;

	frame_exec_encode(&w, 1, m);
	return frame_exec_decode((struct span){ buf + FRAME_HEAD_BYTES,
				     w.len - FRAME_HEAD_BYTES },
	    &ret);
}

#define EXEC(c, e, bytes, ...)                                                 \
	{                                                                      \
		.argc = (c), .envc = (e), .args_bytes = (bytes), __VA_ARGS__   \
	}
#define MAX_BYTES FRAME_ARGS_MAX_BYTES

static void
refuses_commands_that_cannot_be(void **state)
{
	const struct {
		const char *claim;
		struct frame_exec m;
		enum frame_fault want;
	} rows[] = {
		{ "one argument", EXEC(1, 0, 5, .flags = 0), FRAME_OK },
		{ "none", EXEC(0, 0, 5, .flags = 0), FRAME_BAD_BODY },
		{ "a flag that there is not", EXEC(1, 0, 5, .flags = 2),
		    FRAME_BAD_BODY },
		{ "as many strings as bytes", EXEC(1, 4, 5, .flags = 0),
		    FRAME_OK },
		{ "more", EXEC(1, 5, 5, .flags = 0), FRAME_BAD_BODY },
		{ "the most bytes", EXEC(1, 0, MAX_BYTES, .flags = 0),
		    FRAME_OK },
		{ "one more", EXEC(1, 0, MAX_BYTES + 1, .flags = 0),
		    FRAME_BAD_BODY },
		{ "too many strings",
		    EXEC(1, FRAME_ARGS_MAX_COUNT, 200000, .flags = 0),
		    FRAME_BAD_BODY },
		{ "a folder that is relative",
		    EXEC(1, 0, 5, .cwd = span_of("a")), FRAME_BAD_BODY },
		{ "one with a NUL", EXEC(1, 0, 5, .cwd = BYTES("/a\0b")),
		    FRAME_BAD_BODY },
		{ "a user with a blank", EXEC(1, 0, 5, .user = span_of("a b")),
		    FRAME_BAD_BODY },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		row_equal(rows[i].claim, exec_fault(&rows[i].m), rows[i].want);
}

static void
refuses_ends_that_cannot_be(void **state)
{
	static const struct {
		const char *claim;
		struct span body;
		enum frame_fault want;
	} rows[] = {
		{ "code 7", BYTES("\1\0\0\0\7\0\0\0"), FRAME_OK },
		{ "code 256", BYTES("\1\0\0\1\0\0\0\0"), FRAME_BAD_BODY },
		{ "code 0 with a text", BYTES("\1\0\0\0\0\0\0\1x"),
		    FRAME_BAD_BODY },
		{ "signal 9", BYTES("\2\0\0\0\x09\0\0\0"), FRAME_OK },
		{ "signal 0", BYTES("\2\0\0\0\0\0\0\0"), FRAME_BAD_BODY },
		{ "signal 65", BYTES("\2\0\0\0\x41\0\0\0"), FRAME_BAD_BODY },
		{ "failed, and why", BYTES("\5\0\0\0\0\0\0\2no"), FRAME_OK },
		{ "with a number too", BYTES("\5\0\0\0\1\0\0\0"),
		    FRAME_BAD_BODY },
		{ "a text that moves the cursor", BYTES("\5\0\0\0\0\0\0\1\x1b"),
		    FRAME_BAD_BODY },
		{ "a text with a line end", BYTES("\5\0\0\0\0\0\0\1\n"),
		    FRAME_BAD_BODY },
		{ "a text of no ASCII", BYTES("\5\0\0\0\0\0\0\2\xc3\xa4"),
		    FRAME_BAD_BODY },
		{ "no end", BYTES("\0\0\0\0\0\0\0\0"), FRAME_BAD_BODY },
		{ "an end that there is not", BYTES("\6\0\0\0\0\0\0\0"),
		    FRAME_BAD_BODY },
		{ "a limit that there is not", BYTES("\1\0\0\0\0\5\0\0"),
		    FRAME_BAD_BODY },
		{ "bytes after it", BYTES("\1\0\0\0\0\0\0\0x"),
		    FRAME_BAD_LENGTH },
		{ "a text that is cut", BYTES("\5\0\0\0\0\0\0\2n"),
		    FRAME_BAD_LENGTH },
	};
	struct frame_exit m;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		row_equal(rows[i].claim, frame_exit_decode(rows[i].body, &m),
		    rows[i].want);
}

static void
refuses_other_values_that_cannot_be(void **state)
{
	struct frame_hello hello;
	struct frame_state st;
	struct frame_copy copy;
	struct span s;
	uint64_t us;
	uint32_t n;
	uint8_t number;

	(void)state;
	s = (struct span)BYTES("\0\0\0\2\0\0\0\0");
	row_equal("another version", frame_hello_decode(s, &hello),
	    FRAME_BAD_BODY);
	s = (struct span)BYTES("\5\0\0\0\0\0\0\0");
	row_equal("a state that there is not", frame_state_decode(s, &st),
	    FRAME_BAD_BODY);
	s = (struct span)BYTES("\1\0\0\0\0\0\0\1\x80");
	row_equal("a state with other bytes", frame_state_decode(s, &st),
	    FRAME_BAD_BODY);
	s = (struct span)BYTES("\x80\0\0\0\0\0\0\0");
	row_equal("a time below 0", frame_clock_decode(s, &us), FRAME_BAD_BODY);
	s = (struct span)BYTES("\0");
	row_equal("signal 0", frame_signal_decode(s, &number), FRAME_BAD_BODY);
	s = (struct span)BYTES("\x41");
	row_equal("signal 65", frame_signal_decode(s, &number), FRAME_BAD_BODY);
	s = (struct span)BYTES("\0\0\0\0");
	row_equal("process 0", frame_started_decode(s, &n), FRAME_BAD_BODY);
	row_equal("0 bytes back", frame_window_decode(s, &n), FRAME_BAD_WINDOW);
	s = (struct span)BYTES("\0\4\0\1");
	row_equal("more than a window back", frame_window_decode(s, &n),
	    FRAME_BAD_WINDOW);
	s = (struct span)BYTES("\0\0\0\0\0\1a\0\0");
	row_equal("a path that is relative", frame_copy_decode(s, &copy),
	    FRAME_BAD_BODY);
	s = (struct span)BYTES("\0\0\0\0\0\2/\0\0\0");
	row_equal("a path with a NUL", frame_copy_decode(s, &copy),
	    FRAME_BAD_BODY);
	s = (struct span)BYTES("\0\0\0\2\0\2/a\0\0");
	row_equal("a flag that there is not", frame_copy_decode(s, &copy),
	    FRAME_BAD_BODY);
}

static void
has_words_for_people(void **state)
{
	(void)state;
	assert_string_equal(frame_type_text(FRAME_WINDOW_ADD), "WINDOW_ADD");
	assert_string_equal(frame_type_text(0), "?");
	for (unsigned int i = FRAME_OK; i <= FRAME_BAD_WINDOW; i++)
		assert_true(strlen(frame_fault_text(i)) > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_what_is_said_once),
		cmocka_unit_test(reads_back_what_opens_a_stream),
		cmocka_unit_test(reads_back_what_is_said_on_a_stream),
		cmocka_unit_test(refuses_heads_that_cannot_be),
		cmocka_unit_test(waits_for_a_whole_frame),
		cmocka_unit_test(refuses_commands_that_cannot_be),
		cmocka_unit_test(refuses_ends_that_cannot_be),
		cmocka_unit_test(refuses_other_values_that_cannot_be),
		cmocka_unit_test(has_words_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
