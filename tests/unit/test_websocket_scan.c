/*
 * The search in frames: what goes on is what came, up to where the credential
 * begins, however it came in parts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/websocket_scan.h"

#define SECRET "ghp_0123456789abcdef"
#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static struct scan_forms forms;

static int
setup(void **state)
{
	const struct scan_secret secret = { .value = span_of(SECRET) };

	(void)state;
	return scan_forms_set(&forms, &secret, 1);
}

static int
teardown(void **state)
{
	(void)state;
	scan_forms_done(&forms);
	return 0;
}

/* "\x81" and a NUL need their length said. */
#define ROW(claim, bytes, want, gone)                                          \
	{                                                                      \
		claim, bytes, sizeof(bytes) - 1, want, gone                    \
	}
#define TEXT20 "\x81\x14" SECRET

static const struct {
	const char *claim, *bytes;
	size_t len;
	enum websocket_scan_result want;
	size_t gone; /* bytes at its front that went, one by one */
} rows[] = {
	ROW("a message", "\x81\x05hello", WEBSOCKET_SCAN_OK, 7),
	ROW("it in one frame", "\x81\x05hello" TEXT20, WEBSOCKET_SCAN_LEAK, 9),
	ROW("it in a binary frame", "\x82\x14" SECRET, WEBSOCKET_SCAN_LEAK, 2),
	ROW("row 121: it over two frames",
	    "\x01\x0cxxghp_012345\x80\x0c"
	    "6789abcdefyy",
	    WEBSOCKET_SCAN_LEAK, 4),
	ROW("row 121: it over three, one of them empty",
	    "\x01\x0aghp_012345\0\0\x80\x0a"
	    "6789abcdef",
	    WEBSOCKET_SCAN_LEAK, 2),
	ROW("row 121: it over frames with a ping between",
	    "\x01\x0aghp_012345\x89\x02hi\x80\x0a"
	    "6789abcdef",
	    WEBSOCKET_SCAN_LEAK, 2),
	ROW("row 121: it over two messages",
	    "\x81\x0aghp_012345\x81\x0a"
	    "6789abcdef",
	    WEBSOCKET_SCAN_LEAK, 2),
	ROW("it in a ping", "\x81\x01x\x89\x14" SECRET, WEBSOCKET_SCAN_LEAK, 3),
	ROW("it as the reason of a close", "\x88\x16\x03\xe8" SECRET,
	    WEBSOCKET_SCAN_LEAK, 0),
	ROW("it in base64",
	    "\x81\x1cZ2hwXzAxMjM0NTY3ODlhYmNkZWY=", WEBSOCKET_SCAN_LEAK, 2),
	ROW("what may begin it waits", "\x81\x05ghp_0", WEBSOCKET_SCAN_OK, 2),
	ROW("... and what is behind it", "\x81\x05ghp_0\x88\0",
	    WEBSOCKET_SCAN_OK, 2),
	ROW("... until it is something else", "\x81\x05ghp_0\x81\x01x",
	    WEBSOCKET_SCAN_OK, 10),
	ROW("a message ends in little of it", "\x81\x05xxghp",
	    WEBSOCKET_SCAN_OK, 7),
	ROW("... which is still searched",
	    "\x81\x05xxghp\x81\x11"
	    "_0123456789abcdef",
	    WEBSOCKET_SCAN_LEAK, 9),
	ROW("... and waits for no more than that",
	    "\x81\x04ghp_\x81\x01"
	    "0",
	    WEBSOCKET_SCAN_OK, 8),
	ROW("a part ends in little of it", "\x01\x05xxghp", WEBSOCKET_SCAN_OK,
	    4),
	ROW("half a control frame waits", "\x81\x01x\x89\x05hel",
	    WEBSOCKET_SCAN_OK, 3),
	ROW("a whole one does not", "\x81\x01x\x89\x05hello", WEBSOCKET_SCAN_OK,
	    10),
	ROW("no frames", "\x81\x01xHTTP/1.1", WEBSOCKET_SCAN_BROKEN, 3),
	ROW("it before what is no frame", TEXT20 "\x83\x01x",
	    WEBSOCKET_SCAN_LEAK, 2),
	ROW("compressed messages", "\xc1\x05hello", WEBSOCKET_SCAN_BROKEN, 0),
};

static void
feed_row(size_t i, size_t step)
{
	struct websocket_scan s = { .clean = 0 };
	struct span in = { (const uint8_t *)rows[i].bytes, rows[i].len };
	enum websocket_scan_result r = WEBSOCKET_SCAN_OK;
	char out[256];
	struct wr w = wr_init(out, sizeof(out));
	size_t least;

	for (size_t at = 0; at < in.len && r == WEBSOCKET_SCAN_OK; at += step) {
		struct span clean, part = { in.ptr + at, in.len - at };

		if (part.len > step)
			part.len = step;
		r = websocket_scan_feed(&s, &forms, part);
		if (r != WEBSOCKET_SCAN_OK)
			break;
		clean = websocket_scan_clean(&s);
		wr_bytes(&w, clean.ptr, clean.len);
		websocket_scan_consume(&s, clean.len);
	}
	if (r != rows[i].want)
		fail_msg("%s, by %zu: %d", rows[i].claim, step, (int)r);
	assert_memory_equal(out, rows[i].bytes, w.len);
	/* What comes with something that is held may wait with it. */
	least = step == 1 || rows[i].gone == rows[i].len ? rows[i].gone : 0;
	if (w.len < least || w.len > rows[i].gone)
		fail_msg("%s, by %zu: %zu went", rows[i].claim, step, w.len);
	assert_int_equal(websocket_scan_is_empty(&s),
	    r == WEBSOCKET_SCAN_OK && w.len == rows[i].len);
	websocket_scan_done(&s);
}

static void
goes_on_up_to_where_the_credential_begins(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		for (size_t step = 1; step <= rows[i].len; step++)
			feed_row(i, step);
}

/* Nobody takes it: what is held is bounded. */
static void
takes_no_more_than_it_has_room_for(void **state)
{
	static const uint8_t frame[4096] = { 0x82, 0x7e, 0x0f, 0xfc };
	struct websocket_scan s = { .clean = 0 };
	size_t fed = 0, room;

	(void)state;
	while ((room = websocket_scan_room(&s, &forms)) > 0) {
		struct span part = { frame, sizeof(frame) };

		if (part.len > room)
			part.len = room;
		assert_int_equal(websocket_scan_feed(&s, &forms, part),
		    WEBSOCKET_SCAN_OK);
		fed += part.len;
	}
	assert_in_range(fed, 65536, 65536 + 12 * scan_forms_longest(&forms));
	assert_false(websocket_scan_is_stuck(&s, &forms));
	websocket_scan_consume(&s, 10);
	assert_int_equal(websocket_scan_room(&s, &forms), 10);
	websocket_scan_done(&s);
}

static void
frames_without_end_behind_what_may_be_it_are_told(void **state)
{
	static const uint8_t begins[] = "\x01\x05ghp_0";
	static const uint8_t empty[4096] = { 0 }; /* parts of no bytes */
	struct websocket_scan s = { .clean = 0 };

	(void)state;
	assert_int_equal(websocket_scan_feed(&s, &forms,
			     (struct span){ begins, sizeof(begins) - 1 }),
	    WEBSOCKET_SCAN_OK);
	while (websocket_scan_room(&s, &forms) > sizeof(empty)) {
		assert_false(websocket_scan_is_stuck(&s, &forms));
		assert_int_equal(websocket_scan_feed(&s, &forms,
				     (struct span){ empty, sizeof(empty) }),
		    WEBSOCKET_SCAN_OK);
		assert_int_equal(websocket_scan_clean(&s).len, 0);
	}
	assert_int_equal(websocket_scan_feed(&s, &forms,
			     (struct span){ empty,
				 websocket_scan_room(&s, &forms) }),
	    WEBSOCKET_SCAN_OK);
	assert_true(websocket_scan_is_stuck(&s, &forms));
	websocket_scan_done(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_on_up_to_where_the_credential_begins),
		cmocka_unit_test(takes_no_more_than_it_has_room_for),
		cmocka_unit_test(
		    frames_without_end_behind_what_may_be_it_are_told),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
