/*
 * The counts of a link by themselves: on a session whose library has no limit
 * of its own (libnghttp2 1.52 as Debian 12 mends it has two of them).
 */
#include "h2_raw.h"

#include <nghttp2/nghttp2.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "proxy/h2_link.h"

struct one {
	struct fix *f;
	struct stream stream;
	struct h2_link link;
	bool is_over;
};

static void
on_ready(struct stream *s, void *arg)
{
	struct one *one = arg;

	(void)s;
	(void)h2_link_read(&one->link);
	(void)h2_link_write(&one->link);
	one->is_over = h2_link_is_over(&one->link);
	if (one->is_over)
		stream_set_reading(&one->stream, false);
}

static int
on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct one *one = arg;

	(void)session;
	(void)h2_link_on_sent(&one->link, frame);
	return 0;
}

static void
open_link(struct one *one)
{
	nghttp2_session_callbacks *c;
	nghttp2_option *o = h2_link_options();
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(fd_set_nonblock(fds[0], true), 0);
	peer_init(&one->f->guest, fds[1], NULL);
	stream_init(&one->stream, one->f->gate.base, fds[0], NULL, on_ready,
	    one);
	h2_link_init(&one->link, &one->f->gate, &one->stream, true, NULL);
	nghttp2_option_set_max_continuations(o, SIZE_MAX);
	nghttp2_option_set_stream_reset_rate_limit(o, UINT64_MAX, UINT64_MAX);
	nghttp2_option_set_max_outbound_ack(o, SIZE_MAX);
	assert_int_equal(nghttp2_session_callbacks_new(&c), 0);
	nghttp2_session_callbacks_set_on_frame_send_callback(c, on_sent);
	assert_int_equal(nghttp2_session_server_new2(&one->link.session, c, one,
			     o),
	    0);
	nghttp2_option_del(o);
	nghttp2_session_callbacks_del(c);
	assert_int_equal(h2_link_begin(&one->link, NULL, 0), 0);
	raw_preface(&one->f->guest);
}

static void
close_link(struct one *one)
{
	h2_link_stop(&one->link);
	h2_link_done(&one->link);
	stream_done(&one->stream);
	fd_close(&one->stream.fd);
	peer_done(&one->f->guest);
}

enum what {
	CONTINUATIONS,
	LONG_HEAD,
	RESETS,
	OUR_RESETS,
	PINGS,
	PINGS_FOR_DATA,
	SETTINGS,
	PRIORITIES,
	EMPTY_DATA,
};

static void
say(struct peer *g, enum what what, uint32_t i)
{
	static const uint8_t zeros[16384], first[] = { 0, 0, 0, 0, 16 };
	uint32_t id = 2 * i + 1;

	switch (what) {
	case CONTINUATIONS:
	case LONG_HEAD:
		raw_frame(g, i == 0 ? RAW_HEADERS : RAW_CONTINUATION, 0, 1,
		    /* Updates of the table's size, which are 1 byte each. */
		    memset((uint8_t[4000]){ 0 }, 0x20, 4000),
		    what == LONG_HEAD ? 4000 : 0);
		break;
	case RESETS:
		raw_headers(g, RAW_END_STREAM, id, RAW_GET);
		raw_frame(g, RAW_RST_STREAM, 0, id, zeros, 4);
		break;
	case OUR_RESETS:
		raw_headers(g, 0, id, RAW_POST "content-length: 0\n");
		raw_frame(g, RAW_DATA, 0, id, "x", 1);
		break;
	case PINGS:
	case PINGS_FOR_DATA:
		raw_frame(g, RAW_PING, 0, 0, zeros, 8);
		break;
	case SETTINGS:
		raw_frame(g, RAW_SETTINGS, 0, 0, NULL, 0);
		break;
	case PRIORITIES:
		raw_frame(g, RAW_PRIORITY, 0, id, first, sizeof(first));
		break;
	case EMPTY_DATA:
		if (i == 0)
			raw_headers(g, 0, 1, RAW_POST);
		raw_frame(g, RAW_DATA, 0, 1, NULL, 0);
		break;
	}
}

static const struct {
	const char *claim;
	enum what what;
	uint32_t count;
	int64_t goaway;
} rows[] = {
	{ "a head in 100 pieces", CONTINUATIONS, 100, -1 },
	{ "a head in 1000", CONTINUATIONS, 1000, NGHTTP2_ENHANCE_YOUR_CALM },
	{ "a head of 20000 bytes", LONG_HEAD, 5, -1 },
	{ "a head of 400000 bytes", LONG_HEAD, 100, NGHTTP2_ENHANCE_YOUR_CALM },
	{ "100 resets", RESETS, 100, -1 },
	{ "300 resets", RESETS, 300, NGHTTP2_ENHANCE_YOUR_CALM },
	{ "100 resets that we are made to send", OUR_RESETS, 100, -1 },
	{ "300 of them", OUR_RESETS, 300, NGHTTP2_ENHANCE_YOUR_CALM },
	{ "100 PINGs", PINGS, 100, -1 },
	{ "300 PINGs", PINGS, 300, NGHTTP2_ENHANCE_YOUR_CALM },
	{ "3000 PINGs, each for DATA that was sent", PINGS_FOR_DATA, 3000, -1 },
	{ "100 SETTINGS", SETTINGS, 100, -1 },
	{ "300 SETTINGS", SETTINGS, 300, NGHTTP2_ENHANCE_YOUR_CALM },
	{ "100 PRIORITYs", PRIORITIES, 100, -1 },
	{ "300 PRIORITYs", PRIORITIES, 300, NGHTTP2_ENHANCE_YOUR_CALM },
	{ "100 frames of empty DATA", EMPTY_DATA, 100, -1 },
	{ "300 of them", EMPTY_DATA, 300, NGHTTP2_ENHANCE_YOUR_CALM },
};

static void
each_kind_is_counted_without_the_library(void **state)
{
	const nghttp2_frame sent = { .hd.type = NGHTTP2_DATA };
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct one one = { .f = f };

		open_link(&one);
		for (uint32_t k = 0; k < rows[i].count; k++) {
			say(&f->guest, rows[i].what, k);
			if (rows[i].what != PINGS_FOR_DATA)
				continue;
			(void)h2_link_on_sent(&one.link, &sent);
			fix_settle(f);
		}
		fix_settle(f);
		if (raw_goaway(&f->guest) != rows[i].goaway ||
		    one.is_over != (rows[i].goaway != -1))
			fail_msg("%s: goaway %d, over %d", rows[i].claim,
			    (int)raw_goaway(&f->guest), one.is_over);
		close_link(&one);
	}
}

/* The time that a head may take begins with its first frame. */
static void
a_head_is_known_to_be_under_way(void **state)
{
	struct fix *f = *state;
	struct one one = { .f = f };
	struct peer *g = &f->guest;

	open_link(&one);
	fix_settle(f);
	assert_false(h2_link_is_in_head(&one.link));
	raw_frame(g, RAW_HEADERS, RAW_END_STREAM, 1, "\x82\x84\x87", 3);
	fix_settle(f);
	assert_true(h2_link_is_in_head(&one.link));
	raw_frame(g, RAW_CONTINUATION, 0, 1, "", 0);
	fix_settle(f);
	assert_true(h2_link_is_in_head(&one.link));
	/* Its last frame, but not the whole of it. */
	peer_send(g, "\0\0\3\x09\4\0\0\0\1\x41\1", 11);
	fix_settle(f);
	assert_true(h2_link_is_in_head(&one.link));
	peer_send(g, "a", 1);
	fix_settle(f);
	assert_false(h2_link_is_in_head(&one.link));
	close_link(&one);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, raw_setup, raw_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_kind_is_counted_without_the_library),
		TEST(a_head_is_known_to_be_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
