/*
 * A policy decides what a guest may reach, so where it is read from matters:
 * a link could lead to a file that the guest, or another user, can write
 * (facts: CVE-2026-1386 and its kind).
 */
#include "cli/policy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define POLICY_FILE_NAME "tapward.ini"
/* More parents than any path of PATH_MAX bytes has. */
#define POLICY_PARENTS_MAX 2048

/* The caller's uid, also behind sudo: the folders are then the user's. */
static uid_t
policy_caller(void)
{
	const char *sudo = getuid() == 0 ? getenv("SUDO_UID") : NULL;
	char *end;
	unsigned long uid;

	if (sudo == NULL)
		return getuid();
	errno = 0;
	uid = strtoul(sudo, &end, 10);
	return errno == 0 && *end == '\0' && uid < UINT32_MAX ? (uid_t)uid
							      : getuid();
}

bool
policy_folder_is_ours(const struct stat *st)
{
	return st->st_uid == policy_caller() || st->st_uid == 0 ||
	    st->st_uid == getuid();
}

/* FOLDER/NAME into buf. */
static int
policy_join(char *buf, size_t size, const char *folder, const char *name)
{
	int n = snprintf(buf, size, "%s/%s",
	    strcmp(folder, "/") == 0 ? "" : folder, name);

	return n >= 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/* Is there a policy in folder, and may it be taken? 0, 1 for no, -EINVAL. */
static int
policy_probe(const char *folder, char *buf, size_t size, struct err *err)
{
	struct stat st;

	if (policy_join(buf, size, folder, POLICY_FILE_NAME) != 0 ||
	    lstat(buf, &st) == -1)
		return 1;
	if (stat(folder, &st) == 0 && policy_folder_is_ours(&st))
		return 0;
	return err_at(err, buf, 0,
	    "lies in a folder of another user (uid %u): name it with --policy"
	    " if you trust it",
	    st.st_uid);
}

static int
policy_find(char *buf, size_t size, struct err *err)
{
	char folder[PATH_MAX];
	struct stat st;

	if (getcwd(folder, sizeof(folder)) == NULL)
		return err_os(err, -errno, "the working directory");
	for (int i = 0; i < POLICY_PARENTS_MAX; i++) {
		char *slash;
		int rc = policy_probe(folder, buf, size, err);

		if (rc != 1)
			return rc;
		slash = strrchr(folder, '/');
		if ((policy_join(buf, size, folder, ".git") == 0 &&
			lstat(buf, &st) == 0) ||
		    slash == NULL || slash[1] == '\0')
			break;
		slash[slash == folder ? 1 : 0] = '\0';
	}
	(void)err_at(err, NULL, 0,
	    "there is no " POLICY_FILE_NAME " here or above, up to the root of"
	    " the repository: name a policy with --policy FILE");
	return -ENOENT;
}

static int
policy_open(const char *path, size_t max_bytes, int *ret_fd, struct err *err)
{
	/* O_NONBLOCK: a fifo must not hang us. */
	AUTO_CLOSE int fd = open(path,
	    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd == -1 && errno == ELOOP)
		return err_at(err, path, 0,
		    "is a symbolic link: name the file itself");
	if (fd == -1 || fstat(fd, &st) == -1)
		return err_os(err, -errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_at(err, path, 0, "is not a regular file");
	if ((uint64_t)st.st_size > max_bytes)
		return err_at(err, path, 0,
		    "has %lld bytes; at most %zu are read",
		    (long long)st.st_size, max_bytes);
	*ret_fd = steal_fd(&fd);
	return 0;
}

int
policy_file_read(const char *path, size_t max_bytes, struct policy_file *ret,
    struct err *err)
{
	AUTO_CLOSE int fd = -1;
	int rc = 0;

	*ret = (struct policy_file){ "", NULL, 0 };
	if (path == NULL)
		rc = policy_find(ret->path, sizeof(ret->path), err);
	else if (strlen(path) >= sizeof(ret->path))
		rc = err_os(err, -ENAMETOOLONG, "--policy");
	else
		memcpy(ret->path, path, strlen(path) + 1);
	if (rc == 0)
		rc = policy_open(ret->path, max_bytes, &fd, err);
	if (rc != 0)
		return rc;
	rc = fd_read_all(fd, max_bytes, &ret->text, &ret->len);
	return rc == 0 ? 0 : err_os(err, rc, "%s", ret->path);
}

void
policy_file_done(struct policy_file *f)
{
	free(f->text);
	f->text = NULL;
}

const char *
policy_file_name(const struct policy_file *f)
{
	const char *slash = strrchr(f->path, '/');

	return slash == NULL ? f->path : slash + 1;
}
