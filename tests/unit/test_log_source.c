/*
 * Files of the log, compressed and not: what is read of them, and that none
 * takes more than it is given.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zlib.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/log_source.h"

#define TEXT_MAX 65536

static uint8_t packed[TEXT_MAX];

/* text as a member of a gzip file at `at` of packed; returns where it ends. */
static size_t
pack(const char *text, size_t len, size_t at)
{
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)text,
		.avail_in = (uInt)len,
		.next_out = packed + at,
		.avail_out = (uInt)(sizeof(packed) - at) };

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8,
			     Z_DEFAULT_STRATEGY),
	    Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	at += z.total_out;
	assert_int_equal(deflateEnd(&z), Z_OK);
	return at;
}

static int
file_of(const void *bytes, size_t len)
{
	const int fd = memfd_create("log", MFD_CLOEXEC);

	assert_true(fd != -1);
	assert_int_equal(write(fd, bytes, len), len);
	return fd;
}

/* All of it into buf by pieces of so many bytes; or what went wrong. */
static ssize_t
read_all(int fd, size_t piece, char *buf)
{
	struct log_source s;
	ssize_t n, len = 0;

	assert_int_equal(log_source_init(&s, fd), 0);
	while ((n = log_source_read(&s, buf + len, piece)) > 0) {
		assert_true((size_t)n <= piece);
		len += n;
		assert_true(len < TEXT_MAX - (ssize_t)piece);
	}
	log_source_done(&s);
	return n < 0 ? n : len;
}

static void
reads_both_kinds_to_the_byte(void **state)
{
	static const char text[] = "{\"seq\":1}\n{\"seq\":2}\n";
	const size_t len = sizeof(text) - 1;
	static char buf[TEXT_MAX];
	size_t end;

	(void)state;
	for (size_t piece = 1; piece < 64; piece += 7) {
		assert_int_equal(read_all(file_of(text, len), piece, buf), len);
		assert_memory_equal(buf, text, len);
		end = pack(text, len, 0);
		assert_int_equal(read_all(file_of(packed, end), piece, buf),
		    len);
		assert_memory_equal(buf, text, len);
		/* Members one after the other are one text. */
		end = pack(text, len, end);
		assert_int_equal(read_all(file_of(packed, end), piece, buf),
		    2 * len);
		assert_memory_equal(buf + len, text, len);
	}
	assert_int_equal(read_all(file_of("", 0), 8, buf), 0);
	end = pack("", 0, 0);
	assert_int_equal(read_all(file_of(packed, end), 8, buf), 0);
}

static void
refuses_what_is_damaged_or_cut(void **state)
{
	static const char text[] = "a line of the log, and another one\n";
	static char buf[TEXT_MAX];
	const size_t end = pack(text, sizeof(text) - 1, 0);

	(void)state;
	for (size_t cut = 2; cut < end; cut++)
		assert_int_equal(read_all(file_of(packed, cut), 512, buf),
		    -EBADMSG);
	for (size_t i = 2; i < end; i++) {
		const ssize_t want = (ssize_t)sizeof(text) - 1;
		ssize_t n;

		/* The time and the system that made it are no part of it. */
		if (i >= 4 && i < 10)
			continue;
		packed[i] ^= 0x20;
		n = read_all(file_of(packed, end), 512, buf);
		packed[i] ^= 0x20;
		assert_true(n == -EBADMSG ||
		    (n == want && memcmp(buf, text, (size_t)n) == 0));
	}
	/* What follows a member is one, or nothing. */
	memcpy(packed + end, "tail", 4);
	assert_int_equal(read_all(file_of(packed, end + 4), 512, buf),
	    -EBADMSG);
}

static void
gives_no_more_than_is_asked_for(void **state)
{
	static char zeros[4 * 1024 * 1024], buf[64];
	struct log_source s;
	const size_t end = pack(zeros, sizeof(zeros), 0);

	(void)state;
	/* A thousandth of what it becomes. */
	assert_true(end < sizeof(zeros) / 500);
	assert_int_equal(log_source_init(&s, file_of(packed, end)), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(log_source_read(&s, buf, sizeof(buf)),
		    sizeof(buf));
	log_source_done(&s);
	assert_int_equal(s.fd, -1);
}

static void
moves_no_offset_and_sees_what_is_added(void **state)
{
	AUTO_CLOSE int fd = file_of("one\n", 4);
	struct log_source s;
	char buf[16];

	(void)state;
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(log_source_init(&s, dup(fd)), 0);
	assert_int_equal(log_source_read(&s, buf, sizeof(buf)), 4);
	assert_int_equal(log_source_read(&s, buf, sizeof(buf)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	assert_int_equal(pwrite(fd, "two\n", 4, 4), 4);
	assert_int_equal(log_source_read(&s, buf, sizeof(buf)), 4);
	assert_memory_equal(buf, "two\n", 4);
	log_source_done(&s);
}

static void
takes_a_pipe_as_it_is(void **state)
{
	static char buf[TEXT_MAX];
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "\x1f\x8b\n", 3), 3);
	(void)close(fds[1]);
	assert_int_equal(read_all(fds[0], 16, buf), 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_both_kinds_to_the_byte),
		cmocka_unit_test(refuses_what_is_damaged_or_cut),
		cmocka_unit_test(gives_no_more_than_is_asked_for),
		cmocka_unit_test(moves_no_offset_and_sees_what_is_added),
		cmocka_unit_test(takes_a_pipe_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
