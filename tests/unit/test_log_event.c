/*
 * Events: records of the journal with their fields, and lines without one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log_event.h"

static char path[108];
static int journal = -1;
static char shown[512];

static void
watch(const char *line, size_t len)
{
	len = len < sizeof(shown) ? len : sizeof(shown) - 1;
	memcpy(shown, line, len);
	shown[len] = '\0';
}

static int
set_up(void **state)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = -1;

	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/tapward-journal-%d",
	    (int)getpid());
	memcpy(sun.sun_path, path, sizeof(sun.sun_path));
	journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (journal == -1 ||
	    bind(journal, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    log_event_connect(path, &fd) != 0)
		return -1;
	log_init("tapwardd", LOG_LEVEL_INFO);
	log_watch(watch);
	log_event_use(fd);
	shown[0] = '\0';
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	log_event_use(-1);
	log_watch(NULL);
	fd_close(&journal);
	return unlink(path);
}

static const char *
record(void)
{
	static char buf[8192];
	ssize_t n = recv(journal, buf, sizeof(buf) - 1, 0);

	buf[n < 0 ? 0 : n] = '\0';
	return buf;
}

static void
a_record_has_its_id_and_what_it_is_about(void **state)
{
	const struct log_about about = { .sandbox = "ci-7",
		.reason = "gate-restart",
		.role = "gate" };
	const char *r;

	(void)state;
	log_event(LOG_EVENT_GATE_GONE, &about, "gate", "sandbox=%s pid=%d gone",
	    "ci-7", 5);
	r = record();
	assert_non_null(strstr(r, "MESSAGE=gate sandbox=ci-7 pid=5 gone\n"));
	assert_non_null(strstr(r, "\nPRIORITY=4\n"));
	assert_non_null(strstr(r, "\nSYSLOG_IDENTIFIER=tapwardd\n"));
	assert_non_null(strstr(r, "\nTAPWARD_EVENT=gate-gone\n"));
	assert_non_null(strstr(r, "\nTAPWARD_SANDBOX=ci-7\n"));
	assert_non_null(strstr(r, "\nTAPWARD_REASON=gate-restart\n"));
	assert_non_null(strstr(r, "\nTAPWARD_ROLE=gate\n"));
	assert_non_null(strstr(r, log_event_row(LOG_EVENT_GATE_GONE)->id));
	/* Warnings are shown to who watches, as they would be as a line. */
	assert_string_equal(shown, "warn gate sandbox=ci-7 pid=5 gone");
	log_event(LOG_EVENT_STARTED, NULL, "start", "serving");
	r = record();
	assert_non_null(strstr(r, "MESSAGE=start serving\n"));
	assert_null(strstr(r, "TAPWARD_SANDBOX"));
	assert_string_equal(shown, "warn gate sandbox=ci-7 pid=5 gone");
}

static void
no_text_makes_a_field_of_its_own(void **state)
{
	const struct log_about about = { .sandbox = "a\nMESSAGE_ID=0" };
	const char *r;
	size_t lines = 0;

	(void)state;
	log_event(LOG_EVENT_SANDBOX_CREATED, &about, "sandbox", "%s",
	    "x\nPRIORITY=0\n\xff");
	r = record();
	assert_non_null(strstr(r, "MESSAGE=sandbox x?PRIORITY=0??\n"));
	for (const char *c = r; *c != '\0'; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 6);
}

static void
a_long_text_is_cut_and_still_a_record(void **state)
{
	char text[8000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_event(LOG_EVENT_RELOAD_REFUSED, NULL, "reload", "%s", text);
	assert_non_null(strstr(record(), "TAPWARD_EVENT=reload-refused\n"));
}

static void
what_the_journal_does_not_take_is_a_line(void **state)
{
	AUTO_CLOSE int log = memfd_create("log", MFD_CLOEXEC);
	AUTO_CLOSE int before = dup(STDERR_FILENO);
	char line[256];
	ssize_t n;

	(void)state;
	/* Nobody reads: it is full at some time, and nothing waits. */
	assert_true(dup2(log, STDERR_FILENO) != -1);
	for (int i = 0; i < 2000; i++)
		log_event(LOG_EVENT_AUDIT_HEAD, NULL, "anchor", "seq=%d", i);
	assert_true(dup2(before, STDERR_FILENO) != -1);
	n = pread(log, line, sizeof(line) - 1, 0);
	assert_true(n > 0);
	line[n] = '\0';
	assert_non_null(strstr(line, "tapwardd: info anchor seq="));
	assert_non_null(strstr(record(), "seq=0\n"));
}

static void
knows_the_journal_by_its_stream(void **state)
{
	char said[64];
	struct stat st;

	(void)state;
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	(void)unsetenv("JOURNAL_STREAM");
	assert_false(log_event_is_journal());
	(void)snprintf(said, sizeof(said), "%llu:%llu",
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	(void)setenv("JOURNAL_STREAM", said, 1);
	assert_true(log_event_is_journal());
	/* It was another's: standard error is a file now. */
	(void)setenv("JOURNAL_STREAM", "1:1", 1);
	assert_false(log_event_is_journal());
}

static void
every_event_has_a_name_and_an_id_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < LOG_EVENT_COUNT; i++) {
		const struct log_event_row *a =
		    log_event_row((enum log_event)i);

		assert_non_null(a->name);
		assert_int_equal(strlen(a->id), 32);
		assert_int_equal(strspn(a->id, "0123456789abcdef"), 32);
		for (int k = 0; k < i; k++) {
			const struct log_event_row *b =
			    log_event_row((enum log_event)k);

			assert_string_not_equal(a->id, b->id);
			assert_string_not_equal(a->name, b->name);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_record_has_its_id_and_what_it_is_about),
		TEST(no_text_makes_a_field_of_its_own),
		TEST(a_long_text_is_cut_and_still_a_record),
		TEST(what_the_journal_does_not_take_is_a_line),
		cmocka_unit_test(knows_the_journal_by_its_stream),
		cmocka_unit_test(every_event_has_a_name_and_an_id_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
