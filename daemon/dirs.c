/* Folders, see dirs.h. */
#include "daemon/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/files.h"

#define PATH_SIZE 384
/* linux/Documentation/admin-guide/devices.txt: 1 char, 9 = /dev/urandom */
#define URANDOM makedev(1, 9)

enum base_dir {
	BASE_RUN,
	BASE_STATE,
	BASE_LOG,
};

/* Below which base, name, mode, and whether [daemon] group has it. */
static const struct {
	enum base_dir base;
	const char *name;
	mode_t mode;
} folders[] = {
	/* the control socket is reached through it by the group */
	{ BASE_RUN, "", 0755 },
	{ BASE_RUN, "/peer", 0700 },
	{ BASE_RUN, "/service", 0700 },
	/* owners read their sandbox's CA through it */
	{ BASE_RUN, "/sandboxes", 0711 },
	{ BASE_RUN, "/jail", 0755 },
	{ BASE_RUN, "/root", 0755 },
	{ BASE_RUN, "/root/dev", 0755 },
	{ BASE_STATE, "", 0700 },
	{ BASE_STATE, "/ca", 0700 },
	{ BASE_STATE, "/vm", 0700 },
	{ BASE_LOG, "", 0750 },
};

static const char *
base_path(const struct config *c, enum base_dir base)
{
	switch (base) {
	case BASE_RUN:
		return c->host->run_dir;
	case BASE_STATE:
		return c->host->state_dir;
	case BASE_LOG:
		return c->host->log_dir;
	}
	return "/";
}

int
dirs_make(const struct config *c, struct err *err)
{
	char path[PATH_SIZE];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const struct files_owner owner = { 0, 0, folders[i].mode };
		int rc;

		(void)snprintf(path, sizeof(path), "%s%s",
		    base_path(c, folders[i].base), folders[i].name);
		rc = files_make_dir(path, &owner);
		if (rc != 0)
			return err_os(err, rc, "%s", path);
	}
	return 0;
}

int
dirs_lock(const struct config *c, int *ret_fd, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s/lock", c->host->run_dir);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return err_os(err, -errno, "%s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK)
			return err_os(err, -errno, "%s", path);
		(void)err_at(err, path, 0,
		    "another tapwardd runs here; end it, or give this one "
		    "another [daemon] run-dir");
		return -EBUSY;
	}
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int
is_urandom(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISCHR(st.st_mode) &&
	    st.st_rdev == URANDOM;
}

/*
 * A bind mount of the host's, since a node made here would be dead where
 * run-dir is mounted nodev, as /run is.
 */
static int
place_urandom(const char *path)
{
	AUTO_CLOSE int fd = -1;

	if (is_urandom(path))
		return 0;
	fd = open(path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (fd == -1)
		return -errno;
	if (mount("/dev/urandom", path, NULL, MS_BIND, NULL) == -1)
		return -errno;
	return is_urandom(path) ? 0 : -ENODEV;
}

int
dirs_make_root(const struct config *c, int *ret_fd, struct err *err)
{
	char path[PATH_SIZE];
	int rc, fd;

	(void)snprintf(path, sizeof(path), "%s/root/dev/urandom",
	    c->host->run_dir);
	rc = place_urandom(path);
	if (rc != 0)
		return err_os(err, rc, "%s", path);
	(void)snprintf(path, sizeof(path), "%s/root", c->host->run_dir);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return err_os(err, -errno, "%s", path);
	*ret_fd = fd;
	return 0;
}

void
dirs_remove_root(const struct config *c)
{
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s/root/dev/urandom",
	    c->host->run_dir);
	(void)umount2(path, MNT_DETACH);
}
