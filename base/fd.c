/*
 * Descriptors, see fd.h.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_CHUNK 4096
#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

void
fd_cleanup(int *fd)
{
	fd_close(fd);
}

void
free_cleanup(void *ptr_to_ptr)
{
	free(*(void **)ptr_to_ptr);
}

int
steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

void
fd_reset(int *fd)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (*fd >= 0)
		(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	fd_close(fd);
}

void
fd_close(int *fd)
{
	int saved = errno;

	/* Not repeated on EINTR: Linux has freed the number by then. */
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

int
fd_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags == -1)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) == -1 ? -errno : 0;
}

int
fd_set_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) == -1 ? -errno : 0;
}

int
fd_write_all(int fd, const void *buf, size_t len)
{
	const char *at = buf;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Makes room for one more byte than len, for the NUL or the next read. */
static int
grow(char **buf, size_t *size, size_t len)
{
	char *bigger;

	if (len < *size)
		return 0;
	bigger = realloc(*buf, *size + *size / 2 + READ_CHUNK);
	if (bigger == NULL)
		return -ENOMEM;
	*buf = bigger;
	*size += *size / 2 + READ_CHUNK;
	return 0;
}

int
fd_read_all(int fd, size_t max, char **ret_buf, size_t *ret_len)
{
	AUTO_FREE char *buf = NULL;
	size_t size = 0, len = 0;

	for (;;) {
		int rc = grow(&buf, &size, len);
		ssize_t n;

		if (rc != 0)
			return rc;
		n = read(fd, buf + len, size - len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
	}
	buf[len] = '\0';
	*ret_buf = buf;
	*ret_len = len;
	buf = NULL;
	return 0;
}

int
fd_memfd_sealed(const char *name, const void *buf, size_t len, int *ret_fd)
{
	AUTO_CLOSE int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc;

	if (fd == -1)
		return -errno;
	rc = fd_write_all(fd, buf, len);
	if (rc != 0)
		return rc;
	/* A reader that read()s must start where the bytes start. */
	if (lseek(fd, 0, SEEK_SET) == -1 ||
	    fcntl(fd, F_ADD_SEALS, ALL_SEALS) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

bool
fd_is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals != -1 && (seals & ALL_SEALS) == ALL_SEALS;
}
