/*
 * How channels come to be, see channel.h: pairs, and sockets in run-dir/peer/.
 */
#include "base/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

int
chan_pair(int ret_fds[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fds) ==
		-1
	    ? -errno
	    : 0;
}

/* An unbound socket and the address for path. 0 or -errno. */
static int
new_socket(const char *path, struct sockaddr_un *ret_sun, int *ret_fd)
{
	int fd;

	if (strlen(path) >= sizeof(ret_sun->sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return -errno;
	memset(ret_sun, 0, sizeof(*ret_sun));
	ret_sun->sun_family = AF_UNIX;
	memcpy(ret_sun->sun_path, path, strlen(path));
	*ret_fd = fd;
	return 0;
}

/* Removes a socket that a dead process left at path, and nothing else. */
static int
remove_socket(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == -1)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	return unlink(path) == -1 ? -errno : 0;
}

int
chan_listen(const char *path, int *ret_fd)
{
	AUTO_CLOSE int fd = -1;
	struct sockaddr_un sun;
	int rc = new_socket(path, &sun, &fd);

	if (rc == 0)
		rc = remove_socket(path);
	if (rc != 0)
		return rc;
	/* bind() gives the file the mode of the descriptor: never wider. */
	if (fchmod(fd, 0600) == -1 ||
	    bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    listen(fd, SOMAXCONN) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

int
chan_connect(const char *path, int *ret_fd)
{
	AUTO_CLOSE int fd = -1;
	struct sockaddr_un sun;
	int rc = new_socket(path, &sun, &fd);

	if (rc != 0)
		return rc;
	if (connect(fd, (const struct sockaddr *)&sun, sizeof(sun)) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}
