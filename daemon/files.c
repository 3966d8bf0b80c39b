/* Files and folders, see files.h. */
#include "daemon/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define PATH_SIZE 512
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* A name beside path. */
static int
temp_path(const char *path, char buf[PATH_SIZE])
{
	int n = snprintf(buf, PATH_SIZE, "%s.new", path);

	return n < 0 || n >= PATH_SIZE ? -ENAMETOOLONG : 0;
}

static int
open_temp(const char *temp, const struct files_owner *owner, int *ret_fd)
{
	AUTO_CLOSE int fd = -1;

	if (unlink(temp) == -1 && errno != ENOENT)
		return -errno;
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (fd == -1)
		return -errno;
	if (fchown(fd, owner->uid, owner->gid) == -1 ||
	    fchmod(fd, owner->mode) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

int
files_write_atomic(const char *path, const char *text, size_t len)
{
	const struct files_owner root = { 0, 0, 0600 };
	AUTO_CLOSE int fd = -1;
	char temp[PATH_SIZE];
	int rc = temp_path(path, temp);

	if (rc == 0)
		rc = open_temp(temp, &root, &fd);
	if (rc == 0)
		rc = fd_write_all(fd, text, len);
	if (rc == 0 && rename(temp, path) == -1)
		rc = -errno;
	if (rc != 0)
		(void)unlink(temp);
	return rc;
}

/* All of src_fd from its start, by the kernel; at most max bytes. */
static int
copy_all(int to_fd, int src_fd, uint64_t max)
{
	struct stat st;
	off_t offset = 0;

	if (fstat(src_fd, &st) == -1)
		return -errno;
	if (st.st_size < 0 || (uint64_t)st.st_size > max)
		return -EFBIG;
	while (offset < st.st_size) {
		ssize_t n = sendfile(to_fd, src_fd, &offset,
		    (size_t)(st.st_size - offset));

		if (n == -1)
			return -errno;
		if (n == 0)
			return -EIO;
	}
	return 0;
}

int
files_copy_atomic(const char *path, int src_fd, const struct files_owner *owner)
{
	AUTO_CLOSE int fd = -1;
	char temp[PATH_SIZE];
	int rc = temp_path(path, temp);

	if (rc == 0)
		rc = open_temp(temp, owner, &fd);
	if (rc == 0)
		rc = copy_all(fd, src_fd, UINT64_MAX);
	if (rc == 0 && rename(temp, path) == -1)
		rc = -errno;
	if (rc != 0)
		(void)unlink(temp);
	return rc;
}

int
files_read_text(const char *path, char *buf, size_t size)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len;
	int rc;

	if (fd == -1)
		return -errno;
	rc = fd_read_all(fd, size - 1, &text, &len);
	if (rc != 0)
		return rc;
	memcpy(buf, text, len);
	buf[len] = '\0';
	return 0;
}

int
files_to_memfd(const char *name, int src_fd, uint64_t max, int *ret_fd)
{
	AUTO_CLOSE int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc;

	if (fd == -1)
		return -errno;
	rc = copy_all(fd, src_fd, max);
	if (rc != 0)
		return rc;
	if (fcntl(fd, F_ADD_SEALS, SEALS) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int
make_one(const char *path, mode_t mode)
{
	struct stat st;

	if (mkdir(path, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (lstat(path, &st) == -1)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

/* The first len bytes of path. -ENAMETOOLONG if they do not fit. */
static int
cut_path(const char *path, size_t len, char buf[PATH_SIZE])
{
	if (len >= PATH_SIZE)
		return -ENAMETOOLONG;
	memcpy(buf, path, len);
	buf[len] = '\0';
	return 0;
}

/* Those above: readable, as system folders are; ones that exist stay. */
static int
make_above(const char *path)
{
	char above[PATH_SIZE];

	for (const char *p = strchr(path + 1, '/'); p != NULL;
	     p = strchr(p + 1, '/')) {
		int rc = cut_path(path, (size_t)(p - path), above);

		if (rc != 0)
			return rc;
		if (mkdir(above, 0755) == -1 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int
files_make_dir(const char *path, const struct files_owner *owner)
{
	AUTO_CLOSE int fd = -1;
	int rc;

	if (path[0] != '/')
		return -EINVAL;
	rc = make_above(path);
	if (rc == 0)
		rc = make_one(path, 0700);
	if (rc != 0)
		return rc;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 || fchown(fd, owner->uid, owner->gid) == -1 ||
	    fchmod(fd, owner->mode) == -1)
		return -errno;
	return 0;
}

int
files_each(const char *path, files_name_fn *fn, void *arg)
{
	DIR *dir = opendir(path);
	const struct dirent *e;

	if (dir == NULL)
		return -errno;
	while ((e = readdir(dir)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			fn(e->d_name, arg);
	(void)closedir(dir);
	return 0;
}

static void
remove_one(const char *name, void *arg)
{
	const char *folder = arg;
	char path[PATH_SIZE + NAME_MAX + 1];
	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);

	/* What stays makes the rmdir() fail, which is told. */
	if (n > 0 && n < (int)sizeof(path))
		(void)unlink(path);
}

int
files_remove_dir(const char *path)
{
	char folder[PATH_SIZE];
	int n = snprintf(folder, sizeof(folder), "%s", path);
	int rc;

	if (n < 0 || n >= (int)sizeof(folder))
		return -ENAMETOOLONG;
	rc = files_each(path, remove_one, folder);
	if (rc == -ENOENT)
		return 0;
	if (rc == 0 && rmdir(path) == -1)
		return -errno;
	return rc;
}
