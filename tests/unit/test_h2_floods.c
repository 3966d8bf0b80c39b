/*
 * Frames that cost us more than the guest who sends them, and frames on
 * streams that are over: rows 84 and 85 of the known ways past a proxy.
 */
#include "h2_raw.h"

#include <nghttp2/nghttp2.h>

#define GET RAW_GET
#define POST RAW_POST

static void
row_84_endless_continuation_is_calmed(void **state)
{
	struct fix *f = *state;

	for (size_t size = 0; size <= 4000; size += 4000) {
		static uint8_t block[4096];
		uint8_t *fill = block;
		size_t len = 0;

		/* Small fields, or none at all. */
		while (len + 20 < size)
			len += raw_hpack("x-a: bcdefg\n", fill + len, 20);
		raw_begin(f);
		raw_frame(&f->guest, RAW_HEADERS, 0, 1, block, len);
		for (unsigned int i = 0; i < 20000 && size == 0; i++)
			raw_frame(&f->guest, RAW_CONTINUATION, 0, 1, block, 0);
		for (unsigned int i = 0; i < 100 && size > 0; i++)
			raw_frame(&f->guest, RAW_CONTINUATION, 0, 1, block,
			    len);
		fix_until(f, raw_goaway(&f->guest) > 0);
		fix_until(f, f->is_closed);
		assert_int_equal(f->origin_count, 0);
		fix_close(f);
	}
}

/* Whatever frame of it is not whole, and however it trickles. */
static void
row_84_a_head_that_takes_too_long_is_given_up(void **state)
{
	static const char *const parts[] = {
		/* a block without its end; a frame without its end */
		"\0\0\1\1\1\0\0\0\1\x82",
		"\0\0\x30\1\5\0\0\0\1\x82",
	};
	struct fix *f = *state;

	f->gate.limits.head_timeout_ms = 50;
	for (size_t i = 0; i < 2; i++) {
		uint64_t late = fix_deadline();

		raw_begin(f);
		peer_send(&f->guest, parts[i], 10);
		for (unsigned int k = 0; !f->is_closed; k++) {
			if (i == 1 && k < 40)
				peer_send(&f->guest, "\x84", 1);
			fix_turn(f);
			assert_false(fix_is_late(late));
		}
		assert_int_equal(f->origin_count, 0);
		fix_close(f);
	}
}

enum flood {
	FLOOD_RAPID_RESET,
	FLOOD_WINDOW, /* MadeYouReset, by what the library tells of */
	FLOOD_LONG,   /* and by what it does not */
	FLOOD_SHORT,
	FLOOD_MALFORMED,
	FLOOD_PING,
	FLOOD_SETTINGS,
	FLOOD_PRIORITY,
	FLOOD_EMPTY_DATA,
	FLOOD_COUNT
};

static void
say_flood(struct peer *g, enum flood what, uint32_t i)
{
	static const uint8_t zeros[8], self[] = { 0, 0, 0, 1, 0 };
	uint32_t id = 2 * i + 1;

	switch (what) {
	case FLOOD_RAPID_RESET:
		raw_headers(g, RAW_END_STREAM, id, GET);
		raw_frame(g, RAW_RST_STREAM, 0, id, "\0\0\0\x08", 4);
		break;
	case FLOOD_WINDOW:
		raw_headers(g, 0, id, POST);
		raw_frame(g, RAW_WINDOW_UPDATE, 0, id, "\x7f\xff\xff\xff", 4);
		break;
	case FLOOD_LONG:
		raw_headers(g, 0, id, POST "content-length: 0\n");
		raw_frame(g, RAW_DATA, 0, id, "x", 1);
		break;
	case FLOOD_SHORT:
		raw_headers(g, 0, id, POST "content-length: 2\n");
		raw_frame(g, RAW_DATA, RAW_END_STREAM, id, "x", 1);
		break;
	case FLOOD_MALFORMED:
		raw_headers(g, RAW_END_STREAM, id,
		    ":method: GET?\n:scheme: https\n:path: /\n"
		    ":authority: api.example.org\n");
		break;
	case FLOOD_PING:
		raw_frame(g, RAW_PING, 0, 0, zeros, 8);
		break;
	case FLOOD_SETTINGS:
		raw_frame(g, RAW_SETTINGS, 0, 0, NULL, 0);
		break;
	case FLOOD_PRIORITY:
		raw_frame(g, RAW_PRIORITY, 0, 3, self, sizeof(self));
		break;
	case FLOOD_EMPTY_DATA:
		if (i == 0)
			raw_headers(g, 0, 1, POST);
		raw_frame(g, RAW_DATA, 0, 1, NULL, 0);
		break;
	case FLOOD_COUNT:
		break;
	}
}

static void
row_85_floods_are_calmed(void **state)
{
	struct fix *f = *state;

	for (unsigned int what = 0; what < FLOOD_COUNT; what++) {
		raw_begin(f);
		for (uint32_t i = 0; i < 3000; i++)
			say_flood(&f->guest, (enum flood)what, i);
		fix_until(f, f->is_closed);
		fix_settle(f);
		if (raw_goaway(&f->guest) != NGHTTP2_ENHANCE_YOUR_CALM)
			fail_msg("flood %u: goaway %d", what,
			    (int)raw_goaway(&f->guest));
		/* It was over long before the flood was. */
		assert_true(f->record_count < 400);
		assert_true(f->origin_count < 60);
		fix_close(f);
		fix_forget_origins(f);
	}
}

/* It can not know our SETTINGS yet. */
static void
a_burst_of_streams_is_served_as_far_as_may_be(void **state)
{
	struct fix *f = *state;
	struct peer *g = &f->guest;
	unsigned int answered = 0, refused = 0;

	f->dial_refusal = REASON_TIMEOUT;
	raw_begin(f);
	/* A window of 0: no answer ends. */
	raw_frame(g, RAW_SETTINGS, 0, 0, "\0\4\0\0\0\0", 6);
	for (uint32_t id = 1; id < 2 * 300; id += 2)
		raw_headers(g, RAW_END_STREAM, id, GET);
	fix_settle(f);
	for (uint32_t id = 1; id < 2 * 300; id += 2) {
		answered += raw_answered(g, id);
		refused += raw_reset(g, id) == NGHTTP2_REFUSED_STREAM;
	}
	assert_int_equal(raw_goaway(g), -1);
	assert_int_equal(answered, 100);
	assert_int_equal(refused, 200);
}

static void
row_85_window_faults_end_what_they_concern(void **state)
{
	struct fix *f = *state;
	struct peer *g = &f->guest;

	raw_begin(f);
	raw_headers(g, 0, 1, POST);
	raw_frame(g, RAW_WINDOW_UPDATE, 0, 1, "\x7f\xff\xff\xff", 4);
	fix_until(f, raw_reset(g, 1) == NGHTTP2_FLOW_CONTROL_ERROR);
	raw_frame(g, RAW_WINDOW_UPDATE, 0, 0, "\x7f\xff\xff\xff", 4);
	fix_until(f, raw_goaway(g) == NGHTTP2_FLOW_CONTROL_ERROR);
	fix_until(f, f->is_closed);
}

/* More than the window it was given. */
static void
row_85_data_beyond_the_window_ends_the_connection(void **state)
{
	static uint8_t data[16384];
	struct fix *f = *state;
	struct peer *g = &f->guest;

	raw_begin(f);
	f->dial_refusal = REASON_NONE;
	raw_headers(g, 0, 1, POST);
	fix_until(f, f->origin_count == 1);
	f->origins[0].is_slow = true;
	for (unsigned int i = 0; i < 200; i++)
		raw_frame(g, RAW_DATA, 0, 1, data, sizeof(data));
	fix_until(f,
	    raw_goaway(g) == NGHTTP2_FLOW_CONTROL_ERROR ||
		raw_reset(g, 1) == NGHTTP2_FLOW_CONTROL_ERROR);
}

/* What a guest sends on a stream that is over, and what is said of it. */
static const struct {
	const char *claim;
	bool is_ended, is_reset; /* by the guest; else by us */
	uint32_t stream;         /* behind stream 5 */
	unsigned int type;
	int64_t goaway; /* -1: it may still have been on its way */
} late[] = {
	{ "DATA behind its own end", true, false, 5, RAW_DATA,
	    NGHTTP2_STREAM_CLOSED },
	{ "HEADERS behind its own end", true, false, 5, RAW_HEADERS,
	    NGHTTP2_STREAM_CLOSED },
	{ "DATA behind its own reset", false, true, 5, RAW_DATA,
	    NGHTTP2_STREAM_CLOSED },
	{ "HEADERS behind its own reset", false, true, 5, RAW_HEADERS,
	    NGHTTP2_STREAM_CLOSED },
	{ "a reset behind its own end", true, false, 5, RAW_RST_STREAM, -1 },
	{ "DATA behind our reset", false, false, 5, RAW_DATA, -1 },
	{ "trailers behind our reset", false, false, 5, RAW_HEADERS, -1 },
	{ "DATA on one that was passed over", true, false, 3, RAW_DATA,
	    NGHTTP2_PROTOCOL_ERROR },
	{ "HEADERS on one that was passed over", true, false, 3, RAW_HEADERS,
	    NGHTTP2_PROTOCOL_ERROR },
	{ "a reset of one that was passed over", true, false, 3, RAW_RST_STREAM,
	    -1 },
};

static void
say_late(struct peer *g, size_t i)
{
	if (late[i].type == RAW_HEADERS)
		raw_headers(g, RAW_END_STREAM, late[i].stream, "x-late: 1\n");
	else
		raw_frame(g, late[i].type, 0, late[i].stream, "late", 4);
}

static void
row_85_frames_on_streams_that_are_over(void **state)
{
	struct fix *f = *state;
	struct peer *g = &f->guest;

	f->dial_refusal = REASON_TIMEOUT;
	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
		raw_begin(f);
		raw_headers(g, late[i].is_ended ? RAW_END_STREAM : 0, 5, POST);
		if (late[i].is_reset)
			raw_frame(g, RAW_RST_STREAM, 0, 5, "\0\0\0\x08", 4);
		else if (late[i].is_ended)
			fix_until(f, raw_answered(g, 5));
		else
			fix_until(f, raw_reset(g, 5) == NGHTTP2_NO_ERROR);
		say_late(g, i);
		fix_settle(f);
		if (raw_goaway(g) != late[i].goaway)
			fail_msg("%s: goaway %d", late[i].claim,
			    (int)raw_goaway(g));
		fix_close(f);
	}
}

static void
row_85_frames_behind_the_end_of_a_stream(void **state)
{
	struct fix *f = *state;
	struct peer *g = &f->guest;

	raw_begin(f);
	raw_headers(g, RAW_END_STREAM, 1, GET);
	raw_frame(g, RAW_DATA, RAW_END_STREAM, 1, "GET /x", 6);
	fix_until(f,
	    raw_reset(g, 1) == NGHTTP2_STREAM_CLOSED ||
		raw_goaway(g) == NGHTTP2_STREAM_CLOSED);
	fix_settle(f);
	for (size_t i = 0; i < f->origin_count; i++)
		assert_false(peer_has(&f->origins[i], "/x"));
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, raw_setup, raw_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(row_84_endless_continuation_is_calmed),
		TEST(row_84_a_head_that_takes_too_long_is_given_up),
		TEST(row_85_floods_are_calmed),
		TEST(a_burst_of_streams_is_served_as_far_as_may_be),
		TEST(row_85_window_faults_end_what_they_concern),
		TEST(row_85_data_beyond_the_window_ends_the_connection),
		TEST(row_85_frames_on_streams_that_are_over),
		TEST(row_85_frames_behind_the_end_of_a_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
