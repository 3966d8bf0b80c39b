/*
 * A child as the supervisor meets it: hello, confinement, a supervisor that
 * goes and one that comes back.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <event2/event.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/message.h"

#define UID 2130000009u
#define UID_TEXT "2130000009"
#define TYPE_ECHO 2000

/* --- what runs in the child */

static int
on_echo(struct chan *c, struct chan_msg *msg, void *arg)
{
	uint8_t buf[8];
	struct wr w = wr_init(buf, sizeof(buf));

	/* The child's own argument, not the frame's. */
	wr_u8(&w, *(uint8_t *)arg);
	return chan_send(c, TYPE_ECHO, msg->id, &w, NULL, 0);
}

static void
say_hello(struct message_hello *ret, void *arg)
{
	(void)arg;
	memcpy(ret->role, "tester", sizeof("tester"));
}

static void
on_supervisor(struct child *c, bool adopted, void *arg)
{
	(void)c;
	*(uint8_t *)arg = adopted ? 2 : 1;
}

static void
on_supervisor_gone(struct child *c, void *arg)
{
	(void)c;
	(void)arg;
}

static const struct chan_rule child_rules[] = {
	{ TYPE_ECHO, 8, 0, 0, on_echo },
};
static const struct confine_call calls[] = {
	{ "accept4", "a later supervisor" },
};
static const struct confine_profile profile = { "tester", calls, 1, NULL, 0 };

__attribute__((noreturn)) static void
run_child(bool outlives)
{
	static const struct child_spec lasting = { &profile, child_rules, 1,
		say_hello, on_supervisor, on_supervisor_gone };
	static const struct child_spec ending = { &profile, child_rules, 1,
		say_hello, on_supervisor, NULL };
	char name[] = "tester", id[] = UID_TEXT, gid[] = UID_TEXT;
	char *argv[] = { name, id, gid, NULL };
	struct child c;
	uint8_t mark = 0;

	child_init(&c, 3, argv);
	_exit(child_serve(&c, outlives ? &lasting : &ending, &mark));
}

/* --- the supervisor's side */

struct peer {
	struct event_base *base;
	struct chan *chan;
	unsigned int hellos, closed;
	struct message_hello hello;
	uint8_t echo;
};

static int
on_hello(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct peer *p = arg;

	(void)c;
	p->hellos++;
	return message_hello_decode(&msg->body, &p->hello);
}

static int
on_echoed(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct peer *p = arg;

	(void)c;
	p->echo = rd_u8(&msg->body);
	return 0;
}

static const struct chan_rule peer_rules[] = {
	{ MSG_HELLO, MESSAGE_SMALL_BYTES, 0, 0, on_hello },
	{ TYPE_ECHO, 8, 0, 0, on_echoed },
};

static void
on_closed(struct chan *c, void *arg)
{
	struct peer *p = arg;

	p->closed++;
	chan_free(c);
	p->chan = NULL;
}

static void
peer_open(struct peer *p, int fd)
{
	*p = (struct peer){ .base = event_base_new() };
	p->chan = chan_new(p->base, fd, peer_rules, 2, on_closed, p);
	assert_non_null(p->chan);
}

static void
peer_close(struct peer *p)
{
	chan_free(p->chan);
	event_base_free(p->base);
}

/* One turn of the loop that waits for something to happen. */
static void
wait_once(struct peer *p)
{
	const struct timeval tv = { .tv_sec = 10 };

	(void)event_base_loopexit(p->base, &tv);
	(void)event_base_loop(p->base, EVLOOP_ONCE);
}

static void
ask_echo(struct peer *p)
{
	assert_int_equal(chan_send(p->chan, TYPE_ECHO, 1, NULL, NULL, 0), 0);
	p->echo = 0;
	while (p->echo == 0 && p->closed == 0)
		wait_once(p);
}

/* A socket of this test alone. */
static void
choose_path(char *buf, size_t size)
{
	static unsigned int count;

	(void)snprintf(buf, size, "/tmp/tapward-child.%d.%u", (int)getpid(),
	    count++);
}

static pid_t
start(bool outlives, int chan_fd, int peer_fd)
{
	AUTO_CLOSE int root = open("/tmp", O_RDONLY | O_DIRECTORY);
	AUTO_CLOSE int null_fd = open("/dev/null", O_RDWR);
	pid_t pid = fork();

	assert_true(pid != -1);
	if (pid != 0)
		return pid;
	/* Out of the way of the numbers they are going to have. */
	chan_fd = fcntl(chan_fd, F_DUPFD, 50);
	root = fcntl(root, F_DUPFD, 50);
	peer_fd = fcntl(peer_fd == -1 ? null_fd : peer_fd, F_DUPFD, 50);
	if (dup2(chan_fd, CHILD_FD_SUPERVISOR) == -1 ||
	    dup2(root, CHILD_FD_ROOT) == -1 ||
	    dup2(peer_fd, CHILD_FD_PEER) == -1 ||
	    close_range(CHILD_FD_PEER + 1, ~0U, 0) == -1)
		_exit(99);
	run_child(outlives);
}

static int
status_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
says_hello_and_answers(void **state)
{
	struct peer p;
	int pair[2];
	pid_t pid;

	(void)state;
	assert_int_equal(chan_pair(pair), 0);
	pid = start(false, pair[1], -1);
	(void)close(pair[1]);
	peer_open(&p, pair[0]);
	ask_echo(&p);
	assert_int_equal(p.hellos, 1);
	assert_string_equal(p.hello.role, "tester");
	assert_int_equal(p.hello.protocol, MESSAGE_PROTOCOL);
	assert_int_equal(p.echo, 1);
	/* It ends with its supervisor. */
	peer_close(&p);
	assert_int_equal(status_of(pid), 0);
}

static void
a_later_supervisor_finds_it(void **state)
{
	char path[64];
	struct peer first, second;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int pair[2], listener, fd;
	pid_t pid;

	(void)state;
	choose_path(path, sizeof(path));
	assert_int_equal(chan_listen(path, &listener), 0);
	assert_int_equal(chan_pair(pair), 0);
	pid = start(true, pair[1], listener);
	(void)close(pair[1]);
	(void)close(listener);
	peer_open(&first, pair[0]);
	ask_echo(&first);
	peer_close(&first);
	assert_int_equal(chan_connect(path, &fd), 0);
	/* Whoever listens there is the child, by the kernel's word. */
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len),
	    0);
	assert_int_equal(cred.pid, pid);
	assert_int_equal(cred.uid, UID);
	peer_open(&second, fd);
	ask_echo(&second);
	assert_int_equal(second.hellos, 1);
	assert_int_equal(second.echo, 2);
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)status_of(pid);
	peer_close(&second);
	(void)unlink(path);
}

/* Connects to path as a user that is not root. */
static void
knock_as_nobody(const char *path)
{
	pid_t pid = fork();
	char byte;
	int fd;

	assert_true(pid != -1);
	if (pid == 0) {
		if (setresuid(UID + 1, UID + 1, UID + 1) == -1)
			_exit(1);
		if (chan_connect(path, &fd) != 0)
			_exit(2);
		(void)fd_set_nonblock(fd, false);
		/* Closed without a word. */
		_exit(recv(fd, &byte, 1, 0) == 0 ? 0 : 3);
	}
	assert_int_equal(status_of(pid), 0);
}

static void
only_root_may_take_over(void **state)
{
	char path[64];
	struct peer p;
	int pair[2], listener;
	pid_t pid;

	(void)state;
	choose_path(path, sizeof(path));
	assert_int_equal(chan_listen(path, &listener), 0);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(chan_pair(pair), 0);
	pid = start(true, pair[1], listener);
	(void)close(pair[1]);
	(void)close(listener);
	peer_open(&p, pair[0]);
	ask_echo(&p);
	knock_as_nobody(path);
	/* The one it has is still the one. */
	ask_echo(&p);
	assert_int_equal(p.echo, 1);
	assert_int_equal(p.closed, 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)status_of(pid);
	peer_close(&p);
	(void)unlink(path);
}

static void
a_message_without_a_rule_ends_the_channel_not_the_child(void **state)
{
	char path[64];
	struct peer p;
	int pair[2], listener, fd;
	pid_t pid;

	(void)state;
	choose_path(path, sizeof(path));
	assert_int_equal(chan_listen(path, &listener), 0);
	assert_int_equal(chan_pair(pair), 0);
	pid = start(true, pair[1], listener);
	(void)close(pair[1]);
	(void)close(listener);
	peer_open(&p, pair[0]);
	assert_int_equal(chan_send(p.chan, 2001, 1, NULL, NULL, 0), 0);
	while (p.closed == 0)
		wait_once(&p);
	event_base_free(p.base);
	assert_int_equal(chan_connect(path, &fd), 0);
	peer_open(&p, fd);
	ask_echo(&p);
	assert_int_equal(p.echo, 2);
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)status_of(pid);
	peer_close(&p);
	(void)unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_hello_and_answers),
		cmocka_unit_test(a_later_supervisor_finds_it),
		cmocka_unit_test(only_root_may_take_over),
		cmocka_unit_test(
		    a_message_without_a_rule_ends_the_channel_not_the_child),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
