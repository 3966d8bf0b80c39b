/* A service manager, see notify.h. */
#include "daemon/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/manager.h"

/* SD_LISTEN_FDS_START */
#define LISTEN_FDS_FIRST 3

/* The end that whoever started us reads. */
static int waiting_fd = -1;

void
notify_stopping(void)
{
	manager_tell("STOPPING=1");
}

void
notify_watchdog(void)
{
	manager_tell("WATCHDOG=1");
}

/* A number that the manager put into our environment; 0 for none. */
static uint64_t
env_number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	unsigned long long v;

	if (text == NULL || !ascii_is_digit((uint8_t)*text))
		return 0;
	errno = 0;
	v = strtoull(text, &end, 10);
	return errno != 0 || *end != '\0' ? 0 : v;
}

/* Variables meant for another process are passed over. */
uint64_t
notify_watchdog_us(void)
{
	uint64_t pid = env_number("WATCHDOG_PID");

	return pid != 0 && pid != (uint64_t)getpid()
	    ? 0
	    : env_number("WATCHDOG_USEC");
}

/* The place of name in the list a:b:c, or -1. */
static int
name_place(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (int place = 0; list != NULL; place++) {
		const char *colon = strchr(list, ':');
		size_t n =
		    colon == NULL ? strlen(list) : (size_t)(colon - list);

		if (n == len && memcmp(list, name, len) == 0)
			return place;
		list = colon == NULL ? NULL : colon + 1;
	}
	return -1;
}

bool
notify_take_socket(const char *name, int *ret_fd)
{
	int place = name_place(getenv("LISTEN_FDNAMES"), name);
	uint64_t count = env_number("LISTEN_FDS");
	int fd = LISTEN_FDS_FIRST + place;

	if (place < 0 || (uint64_t)place >= count ||
	    env_number("LISTEN_PID") != (uint64_t)getpid())
		return false;
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) == -1 ||
	    fd_set_nonblock(fd, true) != 0)
		return false;
	*ret_fd = fd;
	return true;
}

void
notify_ready(void)
{
	manager_tell("READY=1");
	if (waiting_fd != -1 && write(waiting_fd, "", 1) != 1)
		log_warn("notify", "nobody waits");
	fd_close(&waiting_fd);
}

__attribute__((noreturn)) static void
wait_for_child(int fd)
{
	char byte;

	_exit(read(fd, &byte, 1) == 1 ? EXIT_SUCCESS : EXIT_FAILURE);
}

int
notify_detach(void)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return -errno;
	pid = fork();
	if (pid == -1)
		return -errno;
	if (pid != 0) {
		(void)close(fds[1]);
		wait_for_child(fds[0]);
	}
	(void)close(fds[0]);
	waiting_fd = fds[1];
	return setsid() == -1 ? -errno : 0;
}
