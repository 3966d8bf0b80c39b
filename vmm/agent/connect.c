/* See connect.h. */
#include "vmm/agent/connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

#define BUF_BYTES 8192

static int
dial(uint16_t port)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd != -1 &&
	    connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	(void)fprintf(stderr, "port %u: %s\n", port, strerror(errno));
	if (fd != -1)
		(void)close(fd);
	return -1;
}

/* Once. False: from has nothing more to say, or to does not listen. */
static bool
move(int from, int to)
{
	char buf[BUF_BYTES];
	ssize_t n = read(from, buf, sizeof(buf));

	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return true;
	return n > 0 && fd_write_all(to, buf, (size_t)n) == 0;
}

int
connect_run(uint16_t port)
{
	struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
		{ .events = POLLIN } };
	AUTO_CLOSE int fd = dial(port);

	if (fd == -1)
		return 1;
	p[1].fd = fd;
	/* What the port says last is still heard after our own end. */
	while (poll(p, 2, -1) != -1 || errno == EINTR) {
		if (p[0].revents != 0 && !move(STDIN_FILENO, fd)) {
			(void)shutdown(fd, SHUT_WR);
			p[0].fd = -1;
		}
		if (p[1].revents != 0 && !move(fd, STDOUT_FILENO))
			return 0;
		p[0].revents = p[1].revents = 0;
	}
	return 1;
}
