/*
 * Readers of the log: what they get, how they follow, when they end.
 */
#include "tests/unit/recorder_support.h"

#include <errno.h>
#include <signal.h>

#include <zlib.h>

#include "daemon/recorder_log.h"
#include "daemon/recorder_reader.h"

struct fixture {
	struct event_base *base;
	struct recorder_log *log;
	struct recorder_readers *readers;
	int file;
	int ours;      /* where lines arrive */
	bool is_alone; /* nobody can be asked for more */
	unsigned int asked;
	struct message_recorder_older wanted; /* what was asked for last */
};

static void
on_state(bool can_write, void *arg)
{
	(void)can_write;
	(void)arg;
}

static void
on_written(void *arg)
{
	struct fixture *f = arg;

	if (f->readers != NULL)
		recorder_readers_wake(f->readers);
}

static bool
on_ask(const struct message_recorder_older *m, void *arg)
{
	struct fixture *f = arg;

	f->asked++;
	f->wanted = *m;
	return !f->is_alone;
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
setup(struct fixture *f)
{
	const struct recorder_log_callbacks cb = { on_state, on_written, f };

	*f = (struct fixture){ .base = event_base_new(), .ours = -1 };
	f->log = recorder_log_new(f->base, &cb);
	f->file = new_file();
	assert_int_equal(recorder_log_open(f->log,
			     fcntl(f->file, F_DUPFD_CLOEXEC, 0), -1),
	    0);
	f->readers = recorder_readers_new(f->base, f->log, on_ask, f);
	assert_non_null(f->readers);
}

static void
teardown(struct fixture *f)
{
	recorder_readers_free(f->readers);
	recorder_log_free(f->log);
	event_base_free(f->base);
	fd_close(&f->file);
	fd_close(&f->ours);
}

static void
add(struct fixture *f, const char *sandbox, unsigned int count)
{
	const struct message_recorder_sandbox about = sandbox_named(sandbox);
	const struct audit_record record = denial_of("example.org");

	for (unsigned int i = 0; i < count; i++)
		recorder_log_add(f->log, &about, &record);
	recorder_log_flush(f->log);
}

static void
start(struct fixture *f, const char *sandbox, bool follow)
{
	struct message_recorder_read wanted = { .follow = follow };
	int fds[2];

	(void)strncpy(wanted.sandbox, sandbox, sizeof(wanted.sandbox) - 1);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	f->ours = fds[0];
	assert_int_equal(fd_set_nonblock(f->ours, true), 0);
	assert_int_equal(recorder_readers_add(f->readers, &wanted, fds[1], NULL,
			     0),
	    0);
}

/* Lines that arrive until nothing more does. */
static unsigned int
take_lines(struct fixture *f)
{
	static char buf[65536];
	unsigned int lines = 0;

	for (int quiet = 0; quiet < 20; quiet++) {
		ssize_t n;

		(void)event_base_loop(f->base, EVLOOP_NONBLOCK);
		n = read(f->ours, buf, sizeof(buf));
		for (ssize_t i = 0; i < n; i++)
			lines += buf[i] == '\n' ? 1 : 0;
		if (n > 0)
			quiet = 0;
	}
	return lines;
}

static void
gets_what_it_asked_for_and_ends(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f);
	add(&f, "one", 700);
	add(&f, "two", 300);
	add(&f, "one", 1);
	start(&f, "one", false);
	assert_int_equal(take_lines(&f), 701);
	assert_int_equal(recorder_readers_count(f.readers), 0);
	teardown(&f);
}

static void
follows_over_a_rotation(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f);
	add(&f, "one", 3);
	start(&f, "", true);
	assert_int_equal(take_lines(&f), 3);
	add(&f, "two", 2);
	assert_int_equal(take_lines(&f), 2);
	add(&f, "two", 1);
	assert_int_equal(recorder_log_open(f.log, new_file(), -1), 0);
	add(&f, "two", 4);
	assert_int_equal(take_lines(&f), 5);
	assert_int_equal(recorder_readers_count(f.readers), 1);
	teardown(&f);
}

/* Moved aside before it began, while it reads, and after. */
static void
reads_what_the_log_was_before(void **state)
{
	struct message_recorder_read wanted = { .sandbox = "one" };
	struct fixture f;
	int older[2], fds[2];

	(void)state;
	setup(&f);
	add(&f, "one", 3);
	add(&f, "two", 2);
	older[0] = fcntl(f.file, F_DUPFD_CLOEXEC, 0);
	older[1] = new_file();
	assert_int_equal(recorder_log_open(f.log,
			     fcntl(older[1], F_DUPFD_CLOEXEC, 0), -1),
	    0);
	add(&f, "one", 40);
	assert_int_equal(recorder_log_open(f.log, new_file(), -1), 0);
	add(&f, "one", 500);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	f.ours = fds[0];
	assert_int_equal(fd_set_nonblock(f.ours, true), 0);
	assert_int_equal(recorder_readers_add(f.readers, &wanted, fds[1], older,
			     2),
	    0);
	assert_int_equal(older[0], -1);
	assert_int_equal(recorder_log_open(f.log, new_file(), -1), 0);
	add(&f, "one", 2500);
	assert_int_equal(take_lines(&f), 3043);
	assert_int_equal(recorder_readers_count(f.readers), 0);
	teardown(&f);
}

/* The log goes on in another file; what it was is the caller's. */
static int
move_aside(struct fixture *f)
{
	const int before = f->file;

	f->file = new_file();
	assert_int_equal(recorder_log_open(f->log,
			     fcntl(f->file, F_DUPFD_CLOEXEC, 0), -1),
	    0);
	return before;
}

/* As gzip would make it. Takes fd. */
static int
compressed(int fd)
{
	static uint8_t text[1 << 20], packed[1 << 20];
	const ssize_t len = pread(fd, text, sizeof(text), 0);
	const int made = new_file();
	z_stream z = { .next_in = text,
		.avail_in = (uInt)len,
		.next_out = packed,
		.avail_out = sizeof(packed) };

	assert_true(len > 0 && (size_t)len < sizeof(text));
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8,
			     Z_DEFAULT_STRATEGY),
	    Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(write(made, packed, z.total_out), z.total_out);
	assert_int_equal(deflateEnd(&z), Z_OK);
	(void)close(fd);
	return made;
}

static void
begin_with_more(struct fixture *f, int *older)
{
	const struct message_recorder_read wanted = { .has_more = true,
		.last = "audit-1.jsonl" };
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	f->ours = fds[0];
	assert_int_equal(fd_set_nonblock(f->ours, true), 0);
	assert_int_equal(recorder_readers_add(f->readers, &wanted, fds[1],
			     older, 1),
	    0);
}

static void
asks_for_more_of_what_the_log_was(void **state)
{
	struct message_recorder_older more = { .has_more = true,
		.last = "audit-3.jsonl.gz" };
	struct fixture f;
	int older[4];

	(void)state;
	setup(&f);
	for (int i = 0; i < 4; i++) {
		add(&f, "one", 100);
		older[i] = move_aside(&f);
	}
	older[2] = compressed(older[2]);
	add(&f, "one", 7);
	begin_with_more(&f, older);
	assert_int_equal(take_lines(&f), 100);
	assert_int_equal(f.asked, 1);
	assert_string_equal(f.wanted.last, "audit-1.jsonl");
	/* Nothing is taken for the end meanwhile, and lines wake nobody. */
	add(&f, "one", 1);
	assert_int_equal(take_lines(&f), 0);
	assert_int_equal(recorder_readers_count(f.readers), 1);
	/* What is for another reader is not for this one. */
	more.reader = f.wanted.reader + 1;
	recorder_readers_more(f.readers, &more, &older[1], 2);
	assert_int_not_equal(older[1], -1);
	more.reader = f.wanted.reader;
	recorder_readers_more(f.readers, &more, &older[1], 2);
	assert_int_equal(take_lines(&f), 200);
	assert_int_equal(f.asked, 2);
	assert_string_equal(f.wanted.last, "audit-3.jsonl.gz");
	more.has_more = false;
	recorder_readers_more(f.readers, &more, &older[3], 1);
	assert_int_equal(take_lines(&f), 108);
	assert_int_equal(recorder_readers_count(f.readers), 0);
	teardown(&f);
}

static void
one_that_nobody_answers_ends(void **state)
{
	struct fixture f;
	int older;

	(void)state;
	setup(&f);
	add(&f, "one", 3);
	older = move_aside(&f);
	begin_with_more(&f, &older);
	assert_int_equal(take_lines(&f), 3);
	recorder_readers_lost(f.readers);
	assert_int_equal(recorder_readers_count(f.readers), 0);
	fd_close(&f.ours);
	f.is_alone = true;
	add(&f, "one", 3);
	older = move_aside(&f);
	begin_with_more(&f, &older);
	assert_int_equal(take_lines(&f), 3);
	assert_int_equal(recorder_readers_count(f.readers), 0);
	teardown(&f);
}

/* Moved aside by somebody who has not told us yet. */
static void
reads_no_file_twice(void **state)
{
	struct message_recorder_read wanted = { .follow = false };
	struct fixture f;
	int older, fds[2];

	(void)state;
	setup(&f);
	add(&f, "one", 5);
	older = fcntl(f.file, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	f.ours = fds[0];
	assert_int_equal(fd_set_nonblock(f.ours, true), 0);
	assert_int_equal(recorder_readers_add(f.readers, &wanted, fds[1],
			     &older, 1),
	    0);
	assert_int_equal(take_lines(&f), 5);
	teardown(&f);
}

static void
ends_when_nobody_reads(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f);
	add(&f, "one", 3);
	start(&f, "", true);
	assert_int_equal(take_lines(&f), 3);
	fd_close(&f.ours);
	for (int i = 0; i < 10; i++)
		(void)event_base_loop(f.base, EVLOOP_NONBLOCK);
	assert_int_equal(recorder_readers_count(f.readers), 0);
	teardown(&f);
}

static void
a_slow_reader_does_not_keep_the_loop(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f);
	add(&f, "one", 2000);
	start(&f, "", false);
	/* It never reads: more than a pipe holds stays in the file. */
	for (int i = 0; i < 100; i++)
		(void)event_base_loop(f.base, EVLOOP_NONBLOCK);
	assert_int_equal(recorder_readers_count(f.readers), 1);
	assert_int_equal(take_lines(&f), 2000);
	teardown(&f);
}

static void
refuses_a_file(void **state)
{
	const struct message_recorder_read wanted = { .follow = true };
	struct fixture f;

	(void)state;
	setup(&f);
	assert_int_equal(recorder_readers_add(f.readers, &wanted, new_file(),
			     NULL, 0),
	    -EINVAL);
	assert_int_equal(recorder_readers_count(f.readers), 0);
	teardown(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gets_what_it_asked_for_and_ends),
		cmocka_unit_test(follows_over_a_rotation),
		cmocka_unit_test(reads_what_the_log_was_before),
		cmocka_unit_test(asks_for_more_of_what_the_log_was),
		cmocka_unit_test(one_that_nobody_answers_ends),
		cmocka_unit_test(reads_no_file_twice),
		cmocka_unit_test(ends_when_nobody_reads),
		cmocka_unit_test(a_slow_reader_does_not_keep_the_loop),
		cmocka_unit_test(refuses_a_file),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
