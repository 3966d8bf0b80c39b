/* Readiness, see notify.h. */
#include "daemon/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

/* The end that whoever started us reads. */
static int waiting_fd = -1;

static int
send_ready(const char *path)
{
	static const char message[] = "READY=1";
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return -errno;
	if (len >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	memcpy(sun.sun_path, path, len);
	/* A name of the abstract namespace, which starts with a NUL. */
	if (path[0] == '@')
		sun.sun_path[0] = '\0';
	if (sendto(fd, message, sizeof(message) - 1, MSG_NOSIGNAL,
		(const struct sockaddr *)&sun,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) ==
	    -1)
		return -errno;
	return 0;
}

void
notify_ready(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	int rc = path == NULL ? 0 : send_ready(path);

	if (rc != 0)
		log_warn("notify", "%s: %s", path, strerror(-rc));
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
