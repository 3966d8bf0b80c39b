/*
 * The sink: a chain over restarts, cut lines, full disks and rotation.
 */
#include "tests/unit/recorder_support.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "daemon/recorder_log.h"

struct fixture {
	struct event_base *base;
	struct recorder_log *log;
	unsigned int states, written;
	bool can_write;
};

static void
on_state(bool can_write, void *arg)
{
	struct fixture *f = arg;

	f->states++;
	f->can_write = can_write;
}

static void
on_written(void *arg)
{
	struct fixture *f = arg;

	f->written++;
}

static void
setup(struct fixture *f)
{
	const struct recorder_log_callbacks cb = { on_state, on_written, f };

	*f = (struct fixture){ .base = event_base_new() };
	f->log = recorder_log_new(f->base, &cb);
	assert_non_null(f->log);
}

static void
teardown(struct fixture *f)
{
	recorder_log_free(f->log);
	event_base_free(f->base);
}

static int
new_file(void)
{
	char path[] = "/tmp/tapward-log.XXXXXX";
	int fd = mkostemp(path, O_APPEND | O_CLOEXEC);

	assert_true(fd != -1);
	assert_int_equal(unlink(path), 0);
	return fd;
}

static void
add(struct fixture *f, unsigned int count)
{
	const struct message_recorder_sandbox about = sandbox_named("one");
	const struct audit_record record = denial_of("example.org");

	for (unsigned int i = 0; i < count; i++)
		recorder_log_add(f->log, &about, &record);
}

static int
open_copy(struct fixture *f, int fd)
{
	return recorder_log_open(f->log, fcntl(fd, F_DUPFD_CLOEXEC, 0), -1);
}

static void
writes_once_for_a_turn(void **state)
{
	AUTO_CLOSE int fd = new_file();
	struct fixture f;
	unsigned int before;

	(void)state;
	setup(&f);
	assert_int_equal(open_copy(&f, fd), 0);
	assert_true(f.can_write);
	before = f.written;
	add(&f, 100);
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	(void)event_base_loop(f.base, EVLOOP_ONCE);
	assert_int_equal(f.written, before + 1);
	assert_whole_chain(fd, 100);
	teardown(&f);
}

static void
goes_on_with_the_chain_after_a_start(void **state)
{
	AUTO_CLOSE int fd = new_file();
	struct fixture f;

	(void)state;
	for (int i = 0; i < 3; i++) {
		setup(&f);
		assert_int_equal(open_copy(&f, fd), 0);
		add(&f, 10);
		recorder_log_flush(f.log);
		teardown(&f);
	}
	assert_whole_chain(fd, 30);
}

static void
owns_up_to_a_line_that_was_cut(void **state)
{
	AUTO_CLOSE int fd = new_file();
	AUTO_FREE char *text = NULL;
	struct fixture f;
	off_t size;

	(void)state;
	/* Wherever a crash cuts the last of three lines. */
	for (off_t cut = 1; cut < 120; cut += 7) {
		assert_int_equal(ftruncate(fd, 0), 0);
		setup(&f);
		assert_int_equal(open_copy(&f, fd), 0);
		add(&f, 3);
		recorder_log_flush(f.log);
		teardown(&f);
		size = lseek(fd, 0, SEEK_END);
		assert_int_equal(ftruncate(fd, size - cut), 0);
		setup(&f);
		assert_int_equal(open_copy(&f, fd), 0);
		add(&f, 2);
		recorder_log_flush(f.log);
		teardown(&f);
		/* Only the newline was cut: nothing was lost. */
		assert_whole_chain(fd, cut == 1 ? 5 : 6);
	}
	text = text_of(fd);
	assert_non_null(strstr(text, AUDIT_DETAIL_TORN));
}

/* Files may grow to this size; SIGXFSZ is ignored, so write() fails. */
static void
limit_files(rlim_t size)
{
	struct rlimit r;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &r), 0);
	r.rlim_cur = size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static void
a_full_disk_is_told_and_loses_nothing(void **state)
{
	AUTO_CLOSE int fd = new_file();
	struct fixture f;

	(void)state;
	setup(&f);
	assert_int_equal(open_copy(&f, fd), 0);
	limit_files(1000);
	add(&f, 10);
	recorder_log_flush(f.log);
	assert_false(f.can_write);
	assert_int_equal(lseek(fd, 0, SEEK_END), 1000);
	/* Held back, not written. */
	add(&f, 10);
	limit_files(RLIM_INFINITY);
	recorder_log_flush(f.log);
	assert_true(f.can_write);
	assert_int_equal(f.states, 3);
	/* And one that says so. */
	assert_whole_chain(fd, 21);
	teardown(&f);
}

static void
tries_again_by_itself(void **state)
{
	AUTO_CLOSE int fd = new_file();
	struct fixture f;

	(void)state;
	setup(&f);
	assert_int_equal(open_copy(&f, fd), 0);
	limit_files(0);
	add(&f, 1);
	recorder_log_flush(f.log);
	assert_false(f.can_write);
	limit_files(RLIM_INFINITY);
	(void)event_base_loop(f.base, EVLOOP_ONCE);
	assert_true(f.can_write);
	assert_whole_chain(fd, 2);
	teardown(&f);
}

static void
counts_what_finds_no_room(void **state)
{
	AUTO_CLOSE int fd = new_file();
	AUTO_FREE char *text = NULL;
	struct message_recorder_status status = { 0 };
	struct fixture f;

	(void)state;
	setup(&f);
	assert_int_equal(open_copy(&f, fd), 0);
	limit_files(0);
	add(&f, 10000);
	recorder_log_flush(f.log);
	recorder_log_status(f.log, &status);
	assert_true(status.lost > 0);
	assert_int_equal(status.seq + status.lost, 10000);
	limit_files(RLIM_INFINITY);
	recorder_log_flush(f.log);
	assert_whole_chain(fd, status.seq + 1);
	text = text_of(fd);
	assert_non_null(strstr(text, "records lost"));
	teardown(&f);
}

static void
a_device_that_is_full_is_a_failure_too(void **state)
{
	struct fixture f;
	int fd = open("/dev/full", O_RDWR | O_APPEND | O_CLOEXEC);

	(void)state;
	assert_true(fd != -1);
	setup(&f);
	/* It reads as zeros without an end: no log of ours. */
	(void)recorder_log_open(f.log, fd, -1);
	add(&f, 1);
	recorder_log_flush(f.log);
	assert_false(f.can_write);
	teardown(&f);
}

static void
without_a_file_all_is_lost_and_counted(void **state)
{
	struct message_recorder_status status = { 0 };
	struct fixture f;

	(void)state;
	setup(&f);
	add(&f, 3);
	recorder_log_status(f.log, &status);
	assert_int_equal(status.lost, 3);
	assert_false(recorder_log_can_write(f.log));
	teardown(&f);
}

static void
a_rotated_log_goes_on_from_the_one_before(void **state)
{
	AUTO_CLOSE int first = new_file();
	AUTO_CLOSE int second = new_file();
	AUTO_FREE char *a = NULL, *b = NULL;
	enum audit_verify_result result;
	char *both;
	struct fixture f;

	(void)state;
	setup(&f);
	assert_int_equal(open_copy(&f, first), 0);
	add(&f, 5);
	assert_int_equal(open_copy(&f, second), 0);
	assert_int_equal(recorder_log_serial(f.log), 2);
	add(&f, 5);
	recorder_log_flush(f.log);
	a = text_of(first);
	b = text_of(second);
	both = calloc(1, strlen(a) + strlen(b) + 1);
	assert_non_null(both);
	memcpy(both, a, strlen(a));
	memcpy(both + strlen(a), b, strlen(b));
	assert_int_equal(verify_text(both, &result), 10);
	assert_int_equal(result, AUDIT_VERIFY_OK);
	free(both);
	teardown(&f);
}

/* The recorder dies between the move and the first line after it. */
static void
an_empty_log_goes_on_from_what_was_moved_aside(void **state)
{
	AUTO_CLOSE int first = new_file();
	AUTO_CLOSE int second = new_file();
	struct message_recorder_status status;
	struct fixture f;

	(void)state;
	setup(&f);
	assert_int_equal(open_copy(&f, first), 0);
	add(&f, 5);
	recorder_log_flush(f.log);
	teardown(&f);
	setup(&f);
	assert_int_equal(recorder_log_open(f.log,
			     fcntl(second, F_DUPFD_CLOEXEC, 0), first),
	    0);
	add(&f, 2);
	recorder_log_flush(f.log);
	recorder_log_status(f.log, &status);
	assert_int_equal(status.seq, 7);
	teardown(&f);
	/* One that has lines goes on from its own. */
	setup(&f);
	assert_int_equal(recorder_log_open(f.log,
			     fcntl(second, F_DUPFD_CLOEXEC, 0), first),
	    0);
	recorder_log_status(f.log, &status);
	assert_int_equal(status.seq, 7);
	teardown(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_once_for_a_turn),
		cmocka_unit_test(goes_on_with_the_chain_after_a_start),
		cmocka_unit_test(owns_up_to_a_line_that_was_cut),
		cmocka_unit_test(a_full_disk_is_told_and_loses_nothing),
		cmocka_unit_test(tries_again_by_itself),
		cmocka_unit_test(counts_what_finds_no_room),
		cmocka_unit_test(a_device_that_is_full_is_a_failure_too),
		cmocka_unit_test(without_a_file_all_is_lost_and_counted),
		cmocka_unit_test(a_rotated_log_goes_on_from_the_one_before),
		cmocka_unit_test(
		    an_empty_log_goes_on_from_what_was_moved_aside),
	};

	(void)signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
