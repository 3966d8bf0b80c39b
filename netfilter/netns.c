/*
 * Making, entering and naming network namespaces. The one thing to know: a
 * namespace is entered by the whole (single-threaded) process, so every path
 * out of an entered stretch goes through netns_leave(), which ends the
 * process rather than let it go on in the wrong place.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "netfilter/netns.h"

#define NETNS_PATH_SIZE (sizeof(NETNS_DIR) + NETNS_NAME_SIZE + 1)

int
netns_current(int *ret_fd)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int
netns_create(int home_fd, int *ret_fd)
{
	int fd = -1;
	int rc;

	if (unshare(CLONE_NEWNET) == -1)
		return -errno;
	rc = netns_current(&fd);
	netns_leave(home_fd);
	if (rc == 0)
		*ret_fd = fd;
	return rc;
}

int
netns_enter(int ns_fd)
{
	return setns(ns_fd, CLONE_NEWNET) == -1 ? -errno : 0;
}

void
netns_leave(int home_fd)
{
	int saved = errno;

	if (setns(home_fd, CLONE_NEWNET) == -1)
		die("netns", "cannot return to the namespace we came from: %s",
		    strerror(errno));
	errno = saved;
}

int
netns_inode(int fd, uint64_t *ret_inode)
{
	struct stat st;
	int type = ioctl(fd, NS_GET_NSTYPE);

	if (type != CLONE_NEWNET)
		return -EINVAL;
	if (fstat(fd, &st) == -1)
		return -errno;
	*ret_inode = st.st_ino;
	return 0;
}

/* A name goes into a path: nothing in it may leave the directory. */
static int
name_path(const char *name, char buf[NETNS_PATH_SIZE])
{
	size_t len = strnlen(name, NETNS_NAME_SIZE);

	if (len == 0 || len == NETNS_NAME_SIZE || name[0] == '.' ||
	    strchr(name, '/') != NULL)
		return -EINVAL;
	(void)snprintf(buf, NETNS_PATH_SIZE, "%s/%s", NETNS_DIR, name);
	return 0;
}

/*
 * The directory as iproute2 makes it: a shared mount of its own, so that a
 * name that goes, goes in every mount namespace, and does not keep a dead
 * sandbox's namespace alive elsewhere.
 */
static int
ensure_directory(void)
{
	if (mkdir(NETNS_DIR, 0755) == -1 && errno != EEXIST)
		return -errno;
	if (mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	if (mount(NETNS_DIR, NETNS_DIR, "none", MS_BIND | MS_REC, NULL) == -1)
		return -errno;
	if (mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL) == -1)
		return -errno;
	return 0;
}

int
netns_name_add(int ns_fd, const char *name)
{
	char path[NETNS_PATH_SIZE], source[32];
	AUTO_CLOSE int fd = -1;
	int rc = name_path(name, path);

	if (rc != 0 || (rc = ensure_directory()) != 0)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0);
	if (fd == -1)
		return -errno;
	(void)snprintf(source, sizeof(source), "/proc/self/fd/%d", ns_fd);
	if (mount(source, path, "none", MS_BIND, NULL) == -1) {
		rc = -errno;
		(void)unlink(path);
		return rc;
	}
	return 0;
}

int
netns_name_remove(const char *name)
{
	char path[NETNS_PATH_SIZE];
	int rc = name_path(name, path);

	if (rc != 0)
		return rc;
	/* EINVAL: the file is there, but nothing is mounted on it. */
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == -1 &&
	    errno != EINVAL && errno != ENOENT)
		return -errno;
	if (unlink(path) == -1 && errno != ENOENT)
		return -errno;
	return 0;
}

int
netns_name_open(const char *name, int *ret_fd)
{
	char path[NETNS_PATH_SIZE];
	AUTO_CLOSE int fd = -1;
	uint64_t inode;
	int rc = name_path(name, path);

	if (rc != 0)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd == -1)
		return -errno;
	rc = netns_inode(fd, &inode);
	if (rc == 0)
		*ret_fd = steal_fd(&fd);
	return rc;
}

int
netns_name_each(netns_name_fn *fn, void *arg)
{
	DIR *dir = opendir(NETNS_DIR);
	struct dirent *e;
	int rc;

	if (dir == NULL)
		return errno == ENOENT ? 0 : -errno;
	for (errno = 0; (e = readdir(dir)) != NULL; errno = 0)
		if (strncmp(e->d_name, NETNS_PREFIX, strlen(NETNS_PREFIX)) == 0)
			fn(e->d_name, arg);
	rc = -errno;
	(void)closedir(dir);
	return rc;
}
