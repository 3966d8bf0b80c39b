/* What a service manager gives and is told: daemon/notify.h. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "daemon/notify.h"

static void
set(const char *name, const char *value)
{
	assert_int_equal(value == NULL ? unsetenv(name)
				       : setenv(name, value, 1),
	    0);
}

static void
takes_a_socket_by_its_name(void **state)
{
	/* NULL: our own pid. place: from descriptor 3; -1: none is taken. */
	static const struct {
		const char *claim, *pid, *count, *names;
		int place;
	} rows[] = {
		{ "the only one", NULL, "1", "control", 0 },
		{ "the second of three", NULL, "3", "a:control:b", 1 },
		{ "the last", NULL, "2", "a:control", 1 },
		{ "none of that name", NULL, "2", "a:b", -1 },
		{ "no part of a name", NULL, "2", "controls:xcontrol", -1 },
		{ "one that is named but was not given", NULL, "1", "a:control",
		    -1 },
		{ "what is another process's", "1", "1", "control", -1 },
		{ "a count that is no number", NULL, "1x", "control", -1 },
		{ "a negative count", NULL, "-1", "control", -1 },
		{ "no names at all", NULL, "1", "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char pid[24];
		int fd = -1;
		bool taken;

		(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
		set("LISTEN_PID", rows[i].pid == NULL ? pid : rows[i].pid);
		set("LISTEN_FDS", rows[i].count);
		set("LISTEN_FDNAMES", rows[i].names);
		taken = notify_take_socket("control", &fd);
		if (taken != (rows[i].place >= 0) ||
		    (taken && fd != 3 + rows[i].place))
			fail_msg("%s: %d, fd %d", rows[i].claim, taken, fd);
		if (taken)
			assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	}
	set("LISTEN_FDS", NULL);
}

static void
knows_how_often_it_is_watched(void **state)
{
	static const struct {
		const char *claim, *pid, *us;
		uint64_t want;
	} rows[] = {
		{ "as it is told", NULL, "3000000", 3000000 },
		{ "not at all", NULL, NULL, 0 },
		{ "another process is", "1", "3000000", 0 },
		{ "no number is none", NULL, "soon", 0 },
		{ "nor one that is too large", NULL, "99999999999999999999999",
		    0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		set("WATCHDOG_PID", rows[i].pid);
		set("WATCHDOG_USEC", rows[i].us);
		if (notify_watchdog_us() != rows[i].want)
			fail_msg("%s", rows[i].claim);
	}
	set("WATCHDOG_PID", NULL);
}

static void
says_what_it_is_asked_to(void **state)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char got[64], name[64];
	ssize_t n;

	(void)state;
	/* Of the abstract namespace, where nothing is left behind. */
	(void)snprintf(name, sizeof(name), "@tapward-notify-%d", (int)getpid());
	memcpy(sun.sun_path, name, strlen(name));
	sun.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (const struct sockaddr *)&sun,
			     (socklen_t)(offsetof(struct sockaddr_un,
					     sun_path) +
				 strlen(name))),
	    0);
	set("NOTIFY_SOCKET", name);
	notify_ready();
	n = recv(fd, got, sizeof(got), MSG_DONTWAIT);
	assert_int_equal(n, 7);
	assert_memory_equal(got, "READY=1", 7);
	notify_watchdog();
	n = recv(fd, got, sizeof(got), MSG_DONTWAIT);
	assert_int_equal(n, 10);
	assert_memory_equal(got, "WATCHDOG=1", 10);
	set("NOTIFY_SOCKET", NULL);
	notify_ready();
	assert_int_equal(recv(fd, got, sizeof(got), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* 3, 4 and 5 are sockets, whatever the runner of the tests left open. */
static int
open_sockets(void **state)
{
	(void)state;
	for (int fd = 3; fd < 6; fd++) {
		int s = socket(AF_UNIX, SOCK_STREAM, 0);

		if (s == -1 || (s != fd && dup2(s, fd) == -1))
			return -1;
	}
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_a_socket_by_its_name),
		cmocka_unit_test(knows_how_often_it_is_watched),
		cmocka_unit_test(says_what_it_is_asked_to),
	};

	return cmocka_run_group_tests(tests, open_sockets, NULL);
}
