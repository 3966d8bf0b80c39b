#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/unit/count_fds.h"

static void
a_local_closes_what_it_owns(void **state)
{
	int before = count_fds();
	int kept;

	(void)state;
	{
		AUTO_CLOSE int a = open("/dev/null", O_RDONLY);
		AUTO_CLOSE int b = open("/dev/null", O_RDONLY);
		AUTO_CLOSE int none = -1;

		assert_int_equal(count_fds(), before + 2);
		assert_int_equal(none, -1);
		assert_int_not_equal(a, -1);
		kept = steal_fd(&b);
		assert_int_equal(b, -1);
	}
	assert_int_equal(count_fds(), before + 1);
	errno = EXDEV;
	fd_close(&kept);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(kept, -1);
	fd_close(&kept);
	assert_int_equal(count_fds(), before);
}

static void
flags_go_on_and_off(void **state)
{
	AUTO_CLOSE int fd = open("/dev/null", O_RDONLY);

	(void)state;
	assert_int_equal(fd_set_nonblock(fd, true), 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(fd_set_nonblock(fd, false), 0);
	assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(fd_set_cloexec(fd, true), 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fd_set_cloexec(fd, false), 0);
	assert_false(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fd_set_nonblock(-1, true), -EBADF);
	assert_int_equal(fd_set_cloexec(-1, true), -EBADF);
}

/* A memfd of len bytes that reads from its start. */
static int
filled(size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	char *bytes = calloc(1, len + 1);

	assert_non_null(bytes);
	memset(bytes, 'x', len);
	assert_int_equal(fd_write_all(fd, bytes, len), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	free(bytes);
	return fd;
}

static void
reads_to_the_end_and_no_further(void **state)
{
	static const struct {
		const char *claim;
		size_t len, max;
		int want;
	} rows[] = {
		{ "nothing", 0, 0, 0 },
		{ "one byte more than allowed", 1, 0, -EFBIG },
		{ "as many as allowed", 5000, 5000, 0 },
		{ "one more", 5001, 5000, -EFBIG },
		{ "a block, exactly", 4096, 9000, 0 },
		{ "many blocks", 300000, 300000, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		AUTO_CLOSE int fd = filled(rows[i].len);
		AUTO_FREE char *buf = NULL;
		size_t len = 12345;

		print_message("%s\n", rows[i].claim);
		assert_int_equal(fd_read_all(fd, rows[i].max, &buf, &len),
		    rows[i].want);
		if (rows[i].want != 0) {
			assert_null(buf);
			assert_int_equal(len, 12345);
			continue;
		}
		assert_int_equal(len, rows[i].len);
		assert_int_equal(strlen(buf), rows[i].len);
	}
}

static void
reports_what_read_and_write_report(void **state)
{
	AUTO_CLOSE int fd = open("/dev/null", O_RDONLY);
	char *buf = NULL;
	size_t len;

	(void)state;
	assert_int_equal(fd_write_all(fd, "x", 1), -EBADF);
	assert_int_equal(fd_read_all(-1, 10, &buf, &len), -EBADF);
	assert_null(buf);
}

static void
a_sealed_memfd_holds_its_bytes_for_good(void **state)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *buf = NULL;
	size_t len;

	(void)state;
	assert_int_equal(fd_memfd_sealed("test", "policy", 6, &fd), 0);
	assert_true(fd_is_sealed(fd));
	assert_int_equal(fd_read_all(fd, 100, &buf, &len), 0);
	assert_string_equal(buf, "policy");
	assert_int_equal(fd_write_all(fd, "x", 1), -EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 100), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	assert_ptr_equal(mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     0),
	    MAP_FAILED);
}

static void
other_descriptors_are_not_sealed(void **state)
{
	AUTO_CLOSE int file = open("/dev/null", O_RDONLY);
	AUTO_CLOSE int partly =
	    memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(fcntl(partly, F_ADD_SEALS,
			     F_SEAL_WRITE | F_SEAL_SHRINK),
	    0);
	assert_false(fd_is_sealed(partly));
	assert_false(fd_is_sealed(file));
	assert_false(fd_is_sealed(-1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_local_closes_what_it_owns),
		cmocka_unit_test(flags_go_on_and_off),
		cmocka_unit_test(reads_to_the_end_and_no_further),
		cmocka_unit_test(reports_what_read_and_write_report),
		cmocka_unit_test(a_sealed_memfd_holds_its_bytes_for_good),
		cmocka_unit_test(other_descriptors_are_not_sealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
