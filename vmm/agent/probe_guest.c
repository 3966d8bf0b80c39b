/* See probe_guest.h. */
#include "vmm/agent/probe_guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "vmm/agent/lines.h"

#define PATH_TEXT_SIZE 320
/* More than any guest of ours may have (pid_max of a small machine). */
#define FORKS_MAX 32768
#define FILL_PATH "/tapward-probe"
#define MIB (1 << 20)
#define SECTOR_BYTES 4096

static int
say(const char *word)
{
	(void)puts(word);
	return 0;
}

/* MiB or seconds; none of what is no number. */
static uint32_t
number(const char *text)
{
	uint32_t value = 0;

	(void)lines_number(span_of(text), INT32_MAX, &value);
	return value;
}

int
probe_devices(char **argv)
{
	DIR *dir = opendir("/sys/class/net");
	const struct dirent *e;
	unsigned int count = 0;

	(void)argv;
	if (dir == NULL)
		return 1;
	while ((e = readdir(dir)) != NULL)
		if (e->d_name[0] != '.' && strcmp(e->d_name, "lo") != 0)
			(void)printf("%s%s", count++ == 0 ? "" : " ",
			    e->d_name);
	(void)closedir(dir);
	return say(count == 0 ? "none" : "");
}

int
probe_path(char **argv)
{
	struct stat st;

	if (lstat(argv[1], &st) == 0)
		return say("there");
	return say(errno == ENOENT || errno == ENOTDIR ? "absent" : "hidden");
}

/*
 * A disk that is the guest's own is not written to. One that the guest's kernel
 * takes for read-only is, with what is there already, and after the kernel was
 * told otherwise: the monitor must refuse it.
 */
static bool
can_write(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t sector[SECTOR_BYTES];
	int is_read_only = 0, off = 0, on = 1;
	bool was_written;

	if (fd == -1 || ioctl(fd, BLKROGET, &is_read_only) == -1)
		return false;
	if (is_read_only == 0)
		return true;
	if (ioctl(fd, BLKROSET, &off) == -1)
		return false;
	was_written = pread(fd, sector, sizeof(sector), 0) == SECTOR_BYTES &&
	    pwrite(fd, sector, sizeof(sector), 0) == SECTOR_BYTES &&
	    fsync(fd) == 0;
	(void)ioctl(fd, BLKROSET, &on);
	return was_written;
}

int
probe_blocks(char **argv)
{
	DIR *dir = opendir("/sys/block");
	const struct dirent *e;
	unsigned int all = 0, writable = 0;

	(void)argv;
	if (dir == NULL)
		return 1;
	while ((e = readdir(dir)) != NULL) {
		char path[PATH_TEXT_SIZE];

		/* Disks of the machine: others are the guest kernel's own. */
		if (strncmp(e->d_name, "vd", 2) != 0)
			continue;
		all++;
		(void)snprintf(path, sizeof(path), "/dev/%s", e->d_name);
		writable += can_write(path) ? 1 : 0;
	}
	(void)closedir(dir);
	(void)printf("%u of %u can be written\n", writable, all);
	return 0;
}

int
probe_spin(char **argv)
{
	for (uint32_t mib = number(argv[1]); mib > 0; mib--) {
		char *p = malloc(MIB);

		if (p == NULL)
			return say("refused");
		memset(p, (int)(mib & 0xff), MIB);
	}
	return say("taken");
}

int
probe_fill(char **argv)
{
	AUTO_CLOSE int fd =
	    open(FILL_PATH, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	const uint32_t most = number(argv[1]);
	uint32_t mib = 0;
	int error = 0;

	if (fd == -1)
		return 1;
	for (; mib < most && error == 0; mib++)
		error = posix_fallocate(fd, (off_t)mib * MIB, MIB);
	(void)unlink(FILL_PATH);
	if (error == 0)
		return say("taken");
	(void)printf("%s after %u MiB\n",
	    error == ENOSPC ? "full" : strerror(error), mib);
	return 0;
}

int
probe_fork(char **argv)
{
	static pid_t pids[FORKS_MAX];
	int n = 0;

	(void)argv;
	for (; n < FORKS_MAX; n++) {
		pids[n] = fork();
		if (pids[n] == -1)
			break;
		if (pids[n] == 0) {
			(void)pause();
			_exit(0);
		}
	}
	for (int i = 0; i < n; i++)
		(void)kill(pids[i], SIGKILL);
	for (int i = 0; i < n; i++)
		(void)waitpid(pids[i], NULL, 0);
	if (n == FORKS_MAX)
		return say("not stopped");
	(void)printf("stopped at %d\n", n);
	return 0;
}

int
probe_sleep(char **argv)
{
	(void)sleep(number(argv[1]));
	return 0;
}
