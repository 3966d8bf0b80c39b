/*
 * tapward-compile as the supervisor starts it: another uid, an empty root,
 * seccomp, one question.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/message_compile.h"
#include "base/process.h"
#include "conf/policy.h"

#define TEST_UID "2130000004"
#define DEADLINE_S 20

struct asked {
	struct event_base *base;
	bool has_answer;
	bool is_closed;
	bool ok;
	char text[COMPILE_TEXT_MAX_BYTES];
	char digest[DIGEST_TEXT_SIZE];
	int image_fd;
};

static int
on_hello(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct message_hello hello;

	(void)c;
	(void)arg;
	assert_int_equal(message_hello_decode(&msg->body, &hello), 0);
	assert_string_equal(hello.role, "compile");
	return 0;
}

static int
on_compiled(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct asked *a = arg;
	struct message_compiled m;

	(void)c;
	assert_int_equal(message_compiled_decode(&msg->body, &m), 0);
	assert_int_equal(msg->id, 7);
	assert_int_equal(msg->fd_count, m.ok ? 1 : 0);
	a->has_answer = true;
	a->ok = m.ok;
	memcpy(a->text, m.text.ptr, m.text.len);
	a->text[m.text.len] = '\0';
	memcpy(a->digest, m.digest, sizeof(a->digest));
	if (m.ok)
		a->image_fd = steal_fd(&msg->fds[0]);
	(void)event_base_loopbreak(a->base);
	return 0;
}

static void
on_closed(struct chan *c, void *arg)
{
	struct asked *a = arg;

	(void)c;
	a->is_closed = true;
	(void)event_base_loopbreak(a->base);
}

static const struct chan_rule rules[] = {
	{ MSG_HELLO, MESSAGE_SMALL_BYTES, 0, 0, on_hello },
	{ MSG_COMPILED, COMPILE_TEXT_MAX_BYTES + MESSAGE_SMALL_BYTES, 0, 1,
	    on_compiled },
};

/* An empty folder as the root; opened, then gone by name. */
static int
empty_root(void)
{
	char path[] = "/tmp/tapward-compile-XXXXXX";
	int fd;

	assert_non_null(mkdtemp(path));
	assert_int_equal(chmod(path, 0755), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(rmdir(path), 0);
	return fd;
}

static int
start(int *ret_pidfd)
{
	AUTO_CLOSE int root = empty_root();
	int pair[2];
	pid_t pid;

	assert_int_equal(chan_pair(pair), 0);
	{
		AUTO_CLOSE int theirs = pair[1];
		const int fds[] = { theirs, root };
		const char *const argv[] = { TEST_COMPILE, TEST_UID, TEST_UID,
			NULL };
		const struct process_spec spec = { .path = TEST_COMPILE,
			.argv = argv,
			.fds = fds,
			.fd_count = 2,
			.netns_fd = -1,
			.stderr_fd = -1 };

		assert_int_equal(process_spawn(&spec, &pid, ret_pidfd), 0);
	}
	return pair[0];
}

static void
ask(struct chan *c, const char *name, bool is_ceiling, int text_fd)
{
	struct message_compile m = { .is_ceiling = is_ceiling };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	memcpy(m.display_name, name, strlen(name) + 1);
	message_compile_encode(&w, &m);
	assert_int_equal(chan_send(c, MSG_COMPILE, 7, &w, &text_fd, 1), 0);
}

/* Asks a new process `times` times, until it answered or closed. */
static void
ask_program(int text_fd, int times, struct asked *a)
{
	const struct timeval deadline = { DEADLINE_S, 0 };
	AUTO_CLOSE int pidfd = -1;
	struct chan *c;

	memset(a, 0, sizeof(*a));
	a->image_fd = -1;
	a->base = event_base_new();
	assert_non_null(a->base);
	c = chan_new(a->base, start(&pidfd), rules,
	    sizeof(rules) / sizeof(rules[0]), on_closed, a);
	assert_non_null(c);
	for (int i = 0; i < times; i++)
		ask(c, "tapward.ini", false, text_fd);
	assert_int_equal(event_base_loopexit(a->base, &deadline), 0);
	(void)event_base_dispatch(a->base);
	if (times > 1 && !a->is_closed)
		(void)event_base_dispatch(a->base);
	chan_free(c);
	event_base_free(a->base);
	/* it ends by itself once its channel is closed */
	assert_int_equal(poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN },
			     1, DEADLINE_S * 1000),
	    1);
	assert_int_equal(process_end(pidfd, DEADLINE_S * 1000), 0);
}

static void
a_good_text_comes_back_as_an_image(void **state)
{
	static const char text[] = "[policy]\nversion = 1\npreset = npm-read\n"
				   "[allow a]\nhost = a.example.org\n";
	static struct asked a;
	struct policy *p;
	struct policy_pair pair = { NULL, NULL };
	AUTO_CLOSE int fd = -1;

	(void)state;
	assert_int_equal(fd_memfd_sealed("text", text, sizeof(text) - 1, &fd),
	    0);
	ask_program(fd, 1, &a);
	assert_true(a.has_answer && a.ok);
	assert_string_equal(a.text, "");
	assert_int_equal(policy_map(a.image_fd, &p), 0);
	assert_string_equal(policy_digest(p), a.digest);
	pair.policy = p;
	assert_int_equal(policy_judge_connect(&pair, "a.example.org", 443)
			     .action,
	    ACTION_ALLOW);
	policy_unref(p);
	fd_close(&a.image_fd);
}

static void
a_bad_text_comes_back_as_findings(void **state)
{
	static const char text[] = "[policy]\nversion = 1\nprset = x\n";
	static struct asked a;
	AUTO_CLOSE int fd = -1;

	(void)state;
	assert_int_equal(fd_memfd_sealed("text", text, sizeof(text) - 1, &fd),
	    0);
	ask_program(fd, 1, &a);
	assert_true(a.has_answer && !a.ok);
	assert_string_equal(a.text,
	    "tapward.ini:3: unknown key prset: did you mean preset?\n");
	fd_close(&fd);
	assert_int_equal(fd_memfd_sealed("text", "", 0, &fd), 0);
	ask_program(fd, 1, &a);
	assert_true(a.has_answer && !a.ok);
	assert_non_null(strstr(a.text, "tapward.ini: the file is empty"));
}

static void
a_text_that_could_change_gets_no_answer(void **state)
{
	static struct asked a;
	AUTO_CLOSE int fd = memfd_create("text", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, "[policy]\nversion = 1\n", 21), 0);
	ask_program(fd, 1, &a);
	assert_true(a.is_closed && !a.has_answer);
}

static void
a_second_question_ends_it(void **state)
{
	static const char text[] = "[policy]\nversion = 1\n";
	static struct asked a;
	AUTO_CLOSE int fd = -1;

	(void)state;
	assert_int_equal(fd_memfd_sealed("text", text, sizeof(text) - 1, &fd),
	    0);
	ask_program(fd, 2, &a);
	assert_true(a.has_answer && a.is_closed);
	fd_close(&a.image_fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_text_comes_back_as_an_image),
		cmocka_unit_test(a_bad_text_comes_back_as_findings),
		cmocka_unit_test(a_text_that_could_change_gets_no_answer),
		cmocka_unit_test(a_second_question_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
