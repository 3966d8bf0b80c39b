/*
 * The root of the guest: the image, read-only, under something to write to
 * that ends with the guest; then the way from the initramfs to it.
 */
#include "vmm/agent/boot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "vmm/agent/wait.h"

#define DISKS "/sys/block"
#define NEW_ROOT "/root"

struct search {
	const char *name;                 /* serial number, or /dev/NAME */
	char path[AGENT_NAME_SIZE + 256]; /* of the device, when found */
};

static bool
has_serial(const char *disk, const char *want)
{
	char path[512];

	(void)snprintf(path, sizeof(path), DISKS "/%s/serial", disk);
	return wait_file_is(path, want);
}

/* The letters of disks follow from the order in which they were found. */
static bool
find_disk(void *arg)
{
	struct search *s = arg;
	const struct dirent *d;
	bool found = false;
	DIR *dir;

	if (strncmp(s->name, "/dev/", 5) == 0) {
		(void)snprintf(s->path, sizeof(s->path), "%s", s->name);
		return access(s->path, F_OK) == 0;
	}
	dir = opendir(DISKS);
	while (!found && dir != NULL && (d = readdir(dir)) != NULL) {
		if (d->d_name[0] == '.' || !has_serial(d->d_name, s->name))
			continue;
		(void)snprintf(s->path, sizeof(s->path), "/dev/%s", d->d_name);
		found = access(s->path, F_OK) == 0;
	}
	if (dir != NULL)
		(void)closedir(dir);
	return found;
}

static int
mount_disk(const char *name, const char *target, const char *type,
    unsigned long flags, struct err *err)
{
	struct search s = { .name = name };
	const struct boot_mount m = { s.path, target, type, flags, NULL };

	if (!wait_for(find_disk, &s)) {
		(void)err_at(err, NULL, 0, "no disk \"%s\"", name);
		return -ENODEV;
	}
	return boot_mount(&m, err);
}

int
boot_root(struct boot *b, struct err *err)
{
	static const struct boot_mount memory = { "upper", "/upper", "tmpfs",
		MS_NODEV, "mode=0755" };
	static const struct boot_mount overlay = { "overlay", NEW_ROOT,
		"overlay", 0,
		"lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work" };
	int rc =
	    mount_disk(b->config.root, "/lower", "squashfs", MS_RDONLY, err);

	if (rc == 0 && b->config.disk[0] != '\0')
		rc = mount_disk(b->config.disk, "/upper", "ext4", MS_NOATIME,
		    err);
	else if (rc == 0)
		rc = boot_mount(&memory, err);
	if (rc != 0)
		return rc;
	if ((mkdir("/upper/data", 0755) == -1 && errno != EEXIST) ||
	    (mkdir("/upper/work", 0755) == -1 && errno != EEXIST))
		return err_os(err, -errno, "/upper");
	return boot_mount(&overlay, err);
}

/* The initramfs is memory that nobody reads again. */
static void
remove_files(const char *dir_path)
{
	DIR *dir = opendir(dir_path);
	const struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.')
			(void)unlinkat(dirfd(dir), d->d_name, 0);
	if (dir != NULL)
		(void)closedir(dir);
}

int
boot_switch(struct boot *b, struct err *err)
{
	static const char *const moved[] = { "/proc", "/sys", "/dev" };
	char target[64];

	(void)b;
	for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
		(void)snprintf(target, sizeof(target), NEW_ROOT "%s", moved[i]);
		if (mkdir(target, 0755) == -1 && errno != EEXIST)
			return err_os(err, -errno, "%s", target);
		if (mount(moved[i], target, NULL, MS_MOVE, NULL) == -1)
			return err_os(err, -errno, "%s", target);
	}
	remove_files(AGENT_MODULES_DIR);
	remove_files("/tapward");
	(void)unlink("/init");
	if (chdir(NEW_ROOT) == -1 ||
	    mount(".", "/", NULL, MS_MOVE, NULL) == -1 || chroot(".") == -1 ||
	    chdir("/") == -1)
		return err_os(err, -errno, "%s", NEW_ROOT);
	return 0;
}
