/*
 * See boot.h. The steps are rows of boot_steps[].
 */
#include "vmm/agent/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "vmm/agent/lines.h"

/* Files of the initramfs that are read whole. */
#define TEXT_MAX_BYTES (1u << 20)

int
boot_mount(const struct boot_mount *m, struct err *err)
{
	if (mkdir(m->target, 0755) == -1 && errno != EEXIST)
		return err_os(err, -errno, "%s", m->target);
	if (mount(m->source, m->target, m->type, m->flags, m->options) == -1)
		return err_os(err, -errno, "%s on %s", m->type, m->target);
	return 0;
}

static int
mount_rows(const struct boot_mount *rows, size_t count, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = boot_mount(&rows[i], err);
	return rc;
}

#define MOUNT_ROWS(rows, err)                                                  \
	mount_rows(rows, sizeof(rows) / sizeof((rows)[0]), err)

/* In the initramfs: what the kernel tells of itself and its devices. */
static int
step_early(struct boot *b, struct err *err)
{
	static const struct boot_mount rows[] = {
		{ "proc", "/proc", "proc", MS_NOSUID | MS_NOEXEC | MS_NODEV,
		    NULL },
		{ "sys", "/sys", "sysfs", MS_NOSUID | MS_NOEXEC | MS_NODEV,
		    NULL },
		{ "dev", "/dev", "devtmpfs", MS_NOSUID | MS_NOEXEC,
		    "mode=0755" },
	};
	int fd, rc;

	(void)b;
	rc = MOUNT_ROWS(rows, err);
	if (rc != 0)
		return rc;
	/* the kernel's own console is not there without /dev/console */
	fd = open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd != -1) {
		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
	}
	if (fd > STDERR_FILENO)
		(void)close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd > STDIN_FILENO) {
		(void)dup2(fd, STDIN_FILENO);
		(void)close(fd);
	}
	return 0;
}

/* The text of path into *ret; a file that is not there has none. */
static int
read_text(const char *path, char **ret, size_t *ret_len, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd == -1 && errno == ENOENT)
		return 0;
	rc = fd == -1 ? -errno : fd_read_all(fd, TEXT_MAX_BYTES, ret, ret_len);
	return rc == 0 ? 0 : err_os(err, rc, "%s", path);
}

static int
step_config(struct boot *b, struct err *err)
{
	AUTO_FREE char *config = NULL;
	AUTO_FREE char *env = NULL;
	size_t config_len = 0, env_len = 0;
	int rc = read_text(AGENT_CONFIG_FILE, &config, &config_len, err);

	if (rc == 0)
		rc = agent_config_parse((struct span){ (uint8_t *)config,
					    config_len },
		    &b->config, err);
	if (rc == 0)
		rc = read_text(AGENT_ENV_FILE, &env, &env_len, err);
	if (rc == 0)
		rc = env_put_lines(&b->env,
		    (struct span){ (uint8_t *)env, env_len });
	if (rc == 0)
		rc = read_text(AGENT_CA_FILE, &b->ca, &b->ca_len, err);
	return rc;
}

static int
load_module(struct span line, struct err *err)
{
	char name[128], path[256];
	AUTO_CLOSE int fd = -1;

	if (!lines_copy(line, name, sizeof(name)))
		return err_at(err, AGENT_MODULES_FILE, 0, "a name too long");
	(void)snprintf(path, sizeof(path), AGENT_MODULES_DIR "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return err_os(err, -errno, "%s", path);
	if (syscall(SYS_finit_module, fd, "", 0) == -1 && errno != EEXIST)
		return err_os(err, -errno, "%s", path);
	return 0;
}

/* A kernel that has all built in comes without a list. */
int
boot_modules(struct boot *b, struct err *err)
{
	AUTO_FREE char *order = NULL;
	size_t len = 0;
	struct span text, name;
	int rc = read_text(AGENT_MODULES_FILE, &order, &len, err);

	(void)b;
	text = (struct span){ (uint8_t *)order, len };
	while (rc == 0 && lines_take(&text, '\n', &name))
		if (name.len > 0)
			rc = load_module(name, err);
	return rc;
}

static int
make_tmp(struct err *err)
{
	if ((mkdir("/tmp", 01777) == -1 && errno != EEXIST) ||
	    chmod("/tmp", 01777) == -1)
		return err_os(err, -errno, "/tmp");
	return 0;
}

/* What every program may expect to be there, whatever is in the image. */
static int
step_late(struct boot *b, struct err *err)
{
	static const struct boot_mount rows[] = {
		{ "devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		    "gid=5,mode=620,ptmxmode=666" },
		{ "shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV,
		    "mode=1777" },
		{ "run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755" },
		{ "cgroup2", "/sys/fs/cgroup", "cgroup2",
		    MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL },
	};
	static const struct boot_mount tmp = { "tmp", "/tmp", "tmpfs",
		MS_NOSUID | MS_NODEV, "mode=1777" };
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" },
		{ "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" },
		{ "/proc/self/fd/2", "/dev/stderr" },
	};
	int rc = MOUNT_ROWS(rows, err);

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]) && rc == 0; i++)
		if (symlink(links[i][0], links[i][1]) == -1 && errno != EEXIST)
			rc = err_os(err, -errno, "%s", links[i][1]);
	/* with a disk, what is large goes there and not into memory */
	if (rc == 0 && b->config.disk[0] == '\0')
		rc = boot_mount(&tmp, err);
	if (rc == 0 && b->config.disk[0] != '\0')
		rc = make_tmp(err);
	return rc;
}

/* Forward only: the host's time is that of the start, the clock ran on. */
static int
step_self(struct boot *b, struct err *err)
{
	const struct timespec ts = { .tv_sec = (time_t)b->config.time_s };
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	(void)err;
	if (fd != -1) {
		(void)fd_write_all(fd, "-1000", 5);
		(void)close(fd);
	}
	if (time(NULL) < ts.tv_sec)
		(void)clock_settime(CLOCK_REALTIME, &ts);
	return 0;
}

static const struct {
	const char *what;
	int (*run)(struct boot *b, struct err *err);
} boot_steps[] = {
	{ "kernel file systems", step_early },
	{ "configuration", step_config },
	{ "kernel modules", boot_modules },
	{ "root", boot_root },
	{ "switch to the root", boot_switch },
	{ "file systems", step_late },
	{ "network", boot_network },
	{ "files", boot_files },
	{ "itself", step_self },
};

int
boot_run(struct boot *b, struct err *err)
{
	*b = (struct boot){ .ca = NULL };
	for (size_t i = 0; i < sizeof(boot_steps) / sizeof(boot_steps[0]);
	     i++) {
		const int rc = boot_steps[i].run(b, err);

		if (rc != 0)
			return err_wrap(err, rc, "%s", boot_steps[i].what);
	}
	return 0;
}
