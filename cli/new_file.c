/* See new_file.h, O_TMPFILE in open(2). */
#include "cli/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define MODE 0666

/* What path lies in. */
static int
folder_of(const char *path, char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t len = slash == NULL ? 1 : (size_t)(slash - path) + 1;

	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(ret, slash == NULL ? "." : path, len);
	ret[len] = '\0';
	return 0;
}

int
new_file_check(const char *path, struct err *err)
{
	char folder[PATH_MAX];
	struct stat st;
	int rc = folder_of(path, folder);

	if (rc == 0 && lstat(path, &st) == 0)
		rc = -EEXIST;
	if (rc == 0 && access(folder, W_OK) == -1)
		rc = -errno;
	return rc == 0 ? 0 : err_os(err, rc, "%s", path);
}

int
new_file_open(const char *path, struct new_file *ret, struct err *err)
{
	char folder[PATH_MAX];
	struct new_file f = { .fd = -1, .path = path };
	int rc = folder_of(path, folder);

	if (rc == 0)
		f.fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, MODE);
	if (rc == 0 && f.fd == -1) {
		f.fd =
		    open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
		f.has_name = f.fd != -1;
	}
	if (f.fd == -1)
		return err_os(err, rc == 0 ? -errno : rc, "%s", path);
	*ret = f;
	return 0;
}

int
new_file_replace(const char *path, struct new_file *ret, struct err *err)
{
	struct new_file f = { .fd = -1, .path = path };
	struct stat st;
	mode_t mask;

	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_at(err, NULL, 0,
		    "%s: it is not a regular file, so it is not replaced",
		    path);
	if (asprintf(&f.temp, "%s.XXXXXX", path) == -1)
		return err_os(err, -ENOMEM, "%s", path);
	f.fd = mkostemp(f.temp, O_CLOEXEC);
	if (f.fd == -1) {
		int rc = -errno;

		free(f.temp);
		return err_os(err, rc, "%s", path);
	}
	mask = umask(0);
	(void)umask(mask);
	(void)fchmod(f.fd, MODE & ~mask);
	*ret = f;
	return 0;
}

/* Renamed where it has a name. */
static int
give_name(struct new_file *f)
{
	char self[64];

	/* AT_EMPTY_PATH would want a capability (linkat(2)). */
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	if (f->temp != NULL)
		return rename(f->temp, f->path);
	return f->has_name
	    ? 0
	    : linkat(AT_FDCWD, self, AT_FDCWD, f->path, AT_SYMLINK_FOLLOW);
}

int
new_file_keep(struct new_file *f, struct err *err)
{

	if (give_name(f) == -1)
		return err_os(err, -errno, "%s", f->path);
	f->has_name = false;
	free(f->temp);
	f->temp = NULL;
	/* some file systems say only here that it was not written */
	if (close(steal_fd(&f->fd)) == -1)
		return err_os(err, -errno, "%s", f->path);
	return 0;
}

void
new_file_done(struct new_file *f)
{
	if (f->fd != -1 && f->has_name)
		(void)unlink(f->path);
	if (f->temp != NULL)
		(void)unlink(f->temp);
	free(f->temp);
	f->temp = NULL;
	fd_close(&f->fd);
}
