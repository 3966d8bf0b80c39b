#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/channel_support.h"

static void
tells_who_is_at_the_other_end(void **state)
{
	struct event_base *base = event_base_new();
	struct seen a;
	uint32_t uid = 12345;
	int32_t pid = -1;
	int ends[2];

	(void)state;
	assert_int_equal(chan_pair(ends), 0);
	open_chan(&a, base, ends[0]);
	assert_int_equal(chan_peer(a.chan, &uid, &pid), 0);
	assert_int_equal(uid, getuid());
	assert_int_equal(pid, getpid());
	fd_close(&ends[1]);
	run_until_closed(&a);
	event_base_free(base);
}

static void
processes_find_each_other_by_path(void **state)
{
	char dir[] = "/tmp/tapward-channel-XXXXXX", path[64];
	AUTO_CLOSE int first = -1, second = -1, from = -1, to = -1;
	struct stat st;
	char byte;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/peer", dir);
	assert_int_equal(chan_connect(path, &from), -ENOENT);
	(void)umask(0);
	assert_int_equal(chan_listen(path, &first), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* Its successor takes the name over. */
	assert_int_equal(chan_listen(path, &second), 0);
	assert_int_equal(chan_connect(path, &from), 0);
	assert_int_equal(accept(first, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	to = accept(second, NULL, NULL);
	assert_int_not_equal(to, -1);
	assert_int_equal(send(from, "x", 1, 0), 1);
	assert_int_equal(recv(to, &byte, 1, 0), 1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void
a_path_that_is_taken_or_too_long_is_refused(void **state)
{
	char path[] = "/tmp/tapward-channel-XXXXXX";
	AUTO_CLOSE int file = mkstemp(path);
	char longest[200];
	int fd = -1;

	(void)state;
	assert_int_not_equal(file, -1);
	assert_int_equal(chan_listen(path, &fd), -EEXIST);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(unlink(path), 0);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(chan_listen(longest, &fd), -ENAMETOOLONG);
	assert_int_equal(chan_connect(longest, &fd), -ENAMETOOLONG);
	assert_int_equal(chan_listen("/nonexistent/peer", &fd), -ENOENT);
	assert_int_equal(fd, -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_who_is_at_the_other_end),
		cmocka_unit_test(processes_find_each_other_by_path),
		cmocka_unit_test(a_path_that_is_taken_or_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
