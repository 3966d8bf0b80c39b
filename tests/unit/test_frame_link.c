/*
 * Frames through a socket that takes and gives them in any pieces.
 */
#include "wire_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vmm/frame_link.h"

static struct frame_link hop;
static int peer;
static uint8_t data[FRAME_PAYLOAD_MAX];

static int
setup(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			     fds),
	    0);
	assert_int_equal(frame_link_init(&hop, fds[0]), 0);
	peer = fds[1];
	assert_int_equal(fcntl(peer, F_SETFL, O_NONBLOCK), 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	frame_link_done(&hop);
	(void)close(peer);
	return 0;
}

static void
gives_frames_when_they_are_whole(void **state)
{
	uint8_t buf[64];
	struct wr w = wr_init(buf, sizeof(buf));
	struct frame f;
	bool has;

	(void)state;
	frame_data_encode(&w, 1, FRAME_OUTPUT, span_of("hello"));
	frame_bare_encode(&w, FRAME_RESET, 2, 0);
	for (size_t i = 0; i < w.len; i++) {
		assert_int_equal(frame_link_read(&hop), -EAGAIN);
		assert_int_equal(write(peer, buf + i, 1), 1);
		assert_int_equal(frame_link_read(&hop), 0);
		assert_int_equal(frame_link_peek(&hop, &f, &has), FRAME_OK);
		assert_int_equal(has, i == 16 || i == w.len - 1);
		if (has) {
			assert_int_equal(frame_link_next(&hop, &f, &has),
			    FRAME_OK);
			assert_true(has && f.head.stream == (i == 16 ? 1 : 2));
		}
	}
	(void)close(peer);
	peer = -1;
	assert_int_equal(frame_link_read(&hop), -EPIPE);
}

static void
never_reads_more_than_it_holds(void **state)
{
	struct frame f;
	size_t sent = 0;
	ssize_t n = 1;
	bool has;
	int rc = 0;

	(void)state;
	data[0] = 0;
	data[1] = 0;
	data[2] = 255;
	data[3] = 255;
	data[4] = FRAME_DATA;
	data[5] = FRAME_OUTPUT;
	data[11] = 1;
	for (int i = 0; i < 100 && rc == 0; i++) {
		n = write(peer, data, sizeof(data));
		sent += n > 0 ? (size_t)n : 0;
		rc = frame_link_read(&hop);
	}
	assert_int_equal(rc, -ENOBUFS);
	assert_true(sent >= FRAME_LINK_BYTES);
	assert_int_equal(frame_link_next(&hop, &f, &has), FRAME_OK);
	assert_true(has && f.head.len == 65535);
	assert_int_equal(frame_link_read(&hop), 0);
	assert_int_equal(frame_link_read(&hop), -ENOBUFS);
}

static void
says_what_cannot_be_a_frame(void **state)
{
	struct frame f;
	bool has;

	(void)state;
	assert_int_equal(write(peer, "GET / HTTP/1.1\r\n", 16), 16);
	assert_int_equal(frame_link_read(&hop), 0);
	assert_int_equal(frame_link_next(&hop, &f, &has), FRAME_BAD_TYPE);
	assert_false(has);
}

static void
keeps_what_cannot_be_written_yet(void **state)
{
	const struct span big = { data, FRAME_PAYLOAD_MAX };
	size_t put = 0, got = 0;
	struct wr w;
	ssize_t n;

	(void)state;
	while (frame_link_room(&hop) >= FRAME_BYTES_MAX) {
		w = frame_link_writer(&hop);
		frame_data_encode(&w, 1, FRAME_INPUT, big);
		frame_link_put(&hop, &w);
		put += FRAME_BYTES_MAX;
		if (put < 4000000)
			(void)frame_link_write(&hop);
	}
	w = frame_link_writer(&hop);
	frame_data_encode(&w, 1, FRAME_INPUT, big);
	assert_false(wr_ok(&w));
	frame_link_put(&hop, &w);
	assert_true(frame_link_waiting(&hop) > 0);
	do {
		(void)frame_link_write(&hop);
		n = read(peer, data, sizeof(data));
		got += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	assert_int_equal(got, put);
	assert_int_equal(frame_link_waiting(&hop), 0);
	assert_int_equal(frame_link_write(&hop), 0);
}

int
main(void)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CLAIM(gives_frames_when_they_are_whole),
		CLAIM(never_reads_more_than_it_holds),
		CLAIM(says_what_cannot_be_a_frame),
		CLAIM(keeps_what_cannot_be_written_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
