/*
 * See group.h.
 */
#include "vmm/agent/group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define ALL GROUP_ROOT "/tapward"
#define PATH_SIZE 128
/*
 * What the agent keeps for itself and the kernel: it has 1 MiB, each copy that
 * runs 300 KiB, and the kernel's own tables grow with the guest.
 */
#define RESERVE_MIN_BYTES (UINT64_C(16) << 20)
#define RESERVE_SHARE 32
#define RESERVE_PROCESSES UINT64_C(64)

static int
put(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1)
		return -errno;
	return fd_write_all(fd, text, strlen(text));
}

static int
put_number(const char *path, uint64_t n)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, n);
	return put(path, text);
}

/* The number in a file that holds one; 0 without. */
static uint64_t
get_number(const char *path)
{
	AUTO_FREE char *text = NULL;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len;

	if (fd == -1 || fd_read_all(fd, 4096, &text, &len) != 0)
		return 0;
	return strtoull(text, NULL, 10);
}

static uint64_t
memory_limit(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES),
		   page = sysconf(_SC_PAGESIZE);
	const uint64_t total = (uint64_t)pages * (uint64_t)page;
	uint64_t reserve = total / RESERVE_SHARE;

	if (reserve < RESERVE_MIN_BYTES)
		reserve = RESERVE_MIN_BYTES;
	return total > 2 * reserve ? total - reserve : total / 2;
}

static uint64_t
process_limit(void)
{
	const uint64_t threads = get_number("/proc/sys/kernel/threads-max");
	const uint64_t pids = get_number("/proc/sys/kernel/pid_max");
	const uint64_t all = threads < pids ? threads : pids;

	return all > 2 * RESERVE_PROCESSES ? all - RESERVE_PROCESSES : all / 2;
}

void
group_init(struct groups *g)
{
	if (put(GROUP_ROOT "/cgroup.subtree_control", "+memory +pids") != 0)
		return;
	if (mkdir(ALL, 0755) == -1 && errno != EEXIST)
		return;
	if (put_number(ALL "/memory.max", memory_limit()) != 0 ||
	    put_number(ALL "/pids.max", process_limit()) != 0 ||
	    put(ALL "/cgroup.subtree_control", "+memory +pids") != 0)
		return;
	g->is_on = true;
}

static void
path_of(char path[PATH_SIZE], uint32_t id, const char *file)
{
	(void)snprintf(path, PATH_SIZE, ALL "/%" PRIu32 "%s", id, file);
}

int
group_make(const struct groups *g, uint32_t id)
{
	char path[PATH_SIZE];

	if (!g->is_on)
		return -1;
	path_of(path, id, "");
	if (mkdir(path, 0755) == -1)
		return -1;
	path_of(path, id, "/cgroup.procs");
	return open(path, O_WRONLY | O_CLOEXEC);
}

void
group_kill(const struct groups *g, uint32_t id, pid_t pid)
{
	char path[PATH_SIZE];

	path_of(path, id, "/cgroup.kill");
	if (g->is_on && put(path, "1") == 0)
		return;
	if (pid > 0)
		(void)kill(-pid, SIGKILL);
}

bool
group_is_short(const struct groups *g, uint32_t id)
{
	AUTO_FREE char *text = NULL;
	AUTO_CLOSE int fd = -1;
	char path[PATH_SIZE];
	const char *at;
	size_t len;

	if (!g->is_on)
		return false;
	path_of(path, id, "/memory.events");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1 || fd_read_all(fd, 4096, &text, &len) != 0)
		return false;
	at = strstr(text, "\noom_kill ");
	return at != NULL && strtoull(at + strlen("\noom_kill "), NULL, 10) > 0;
}

/* True when it is gone. */
static bool
remove_group(uint32_t id)
{
	char path[PATH_SIZE];

	path_of(path, id, "");
	return rmdir(path) == 0 || errno != EBUSY;
}

void
group_leave(struct groups *g, uint32_t id)
{
	if (g->is_on && !remove_group(id) && g->left_count < GROUP_LEFT_MAX)
		g->left[g->left_count++] = id;
}

void
group_sweep(struct groups *g)
{
	unsigned int i = 0;

	while (i < g->left_count) {
		if (remove_group(g->left[i]))
			g->left[i] = g->left[--g->left_count];
		else
			i++;
	}
}
