/* See jail.h. */
#include "base/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
/* Folders and links; nothing is ever written to it. */
#define ROOT_OPTIONS "size=64k,nr_inodes=64,mode=755"

static const char *const folders[] = { "usr", "dev", "run" };

/* Where the system has them as links into /usr (Debian since 12: always). */
static const char *const links[] = { "bin", "sbin", "lib", "lib32", "lib64",
	"libx32" };

/* Nodes of the host. One made here would be dead in a container. */
static const char *const devices[] = { "null", "urandom" };

static int
check(int result)
{
	return result == -1 ? -errno : 0;
}

/* Read-only from here on; a bind mount takes its flags only when remounted. */
static int
seal(const char *path, unsigned long flags)
{
	return check(mount(NULL, path, NULL,
	    MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | flags, NULL));
}

static int
make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd == -1)
		return -errno;
	return check(close(fd));
}

/*
 * By its name, which is taken away at once: a file without one cannot be bound.
 * A uid is one jail's at a time.
 */
static int
place_disk(const struct jail *j)
{
	char path[256];
	int fd, rc;

	if (j->disk_bytes == 0)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/%u", j->disk_folder, j->uid);
	(void)unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd == -1)
		return -errno;
	rc = check(ftruncate(fd, (off_t)j->disk_bytes));
	if (rc == 0)
		rc = check(fchown(fd, j->uid, j->uid));
	(void)close(fd);
	if (rc == 0)
		rc = make_file("disk");
	if (rc == 0)
		rc = check(mount(path, "disk", NULL, MS_BIND, NULL));
	(void)unlink(path);
	return rc;
}

static int
make_root(const char *folder)
{
	/* What is mounted here must not show in the host, nor the reverse. */
	int rc = check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));

	if (rc == 0)
		rc = check(mount("tapward", folder, "tmpfs",
		    MS_NOSUID | MS_NODEV | MS_NOEXEC, ROOT_OPTIONS));
	if (rc == 0)
		rc = check(chdir(folder));
	for (size_t i = 0; rc == 0 && i < COUNT(folders); i++)
		rc = check(mkdir(folders[i], 0755));
	return rc;
}

static int
make_usr(void)
{
	char path[16], target[64];
	int rc = check(mount("/usr", "usr", NULL, MS_BIND, NULL));

	if (rc == 0)
		rc = seal("usr", MS_NODEV);
	for (size_t i = 0; rc == 0 && i < COUNT(links); i++) {
		ssize_t n;

		(void)snprintf(path, sizeof(path), "/%s", links[i]);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue; /* not on this machine */
		target[n] = '\0';
		rc = check(symlink(target, links[i]));
	}
	return rc;
}

static int
place_device(const char *name)
{
	char from[32], to[32];
	int rc;

	(void)snprintf(from, sizeof(from), "/dev/%s", name);
	(void)snprintf(to, sizeof(to), "dev/%s", name);
	rc = make_file(to);
	return rc == 0 ? check(mount(from, to, NULL, MS_BIND, NULL)) : rc;
}

/*
 * /dev/kvm is for the group kvm, and a jailed program is in no group: it gets
 * nodes of its own. Where none can be made, or the host has none, it goes
 * without, and says so.
 */
static int
place_node(const char *name, uid_t uid)
{
	char from[32], to[32];
	struct stat st;

	(void)snprintf(from, sizeof(from), "/dev/%s", name);
	(void)snprintf(to, sizeof(to), "dev/%s", name);
	if (stat(from, &st) == -1 || !S_ISCHR(st.st_mode) ||
	    mknod(to, S_IFCHR | 0600, st.st_rdev) == -1)
		return 0;
	return check(chown(to, uid, uid));
}

static int
place_tun(const struct jail *j)
{
	int rc;

	if (!j->has_tun)
		return 0;
	rc = check(mkdir("dev/net", 0755));
	return rc == 0 ? place_node("net/tun", j->uid) : rc;
}

static int
make_dev(const struct jail *j)
{
	int rc = check(mount("tapward", "dev", "tmpfs", MS_NOSUID | MS_NOEXEC,
	    ROOT_OPTIONS));

	for (size_t i = 0; rc == 0 && i < COUNT(devices); i++)
		rc = place_device(devices[i]);
	if (rc == 0)
		rc = place_node("kvm", j->uid);
	if (rc == 0)
		rc = place_tun(j);
	return rc == 0 ? seal("dev", MS_NOEXEC) : rc;
}

/* Made in the PID namespace of the program, so it shows no other. */
static int
make_proc(const struct jail *j)
{
	int rc;

	if (!j->has_proc)
		return 0;
	rc = check(mkdir("proc", 0755));
	return rc == 0 ? check(mount("proc", "proc", "proc",
			     MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		       : rc;
}

static int
make_run(const struct jail *j)
{
	char options[96];

	(void)snprintf(options, sizeof(options),
	    "size=%llu,nr_inodes=256,mode=700,uid=%u,gid=%u",
	    (unsigned long long)j->run_bytes, j->uid, j->uid);
	return check(mount("tapward", "run", "tmpfs",
	    MS_NOSUID | MS_NODEV | MS_NOEXEC, options));
}

/* pivot_root(2): the old root over the new one, then taken away. */
static int
change_root(void)
{
	int rc = seal(".", MS_NODEV | MS_NOEXEC);

	if (rc == 0)
		rc = check((int)syscall(SYS_pivot_root, ".", "."));
	if (rc == 0)
		rc = check(umount2(".", MNT_DETACH));
	return rc == 0 ? check(chdir("/")) : rc;
}

int
jail_enter(const struct jail *j)
{
	int rc = make_root(j->folder);

	if (rc == 0)
		rc = make_usr();
	if (rc == 0)
		rc = make_dev(j);
	if (rc == 0)
		rc = make_run(j);
	if (rc == 0)
		rc = place_disk(j);
	if (rc == 0)
		rc = make_proc(j);
	return rc == 0 ? change_root() : rc;
}
