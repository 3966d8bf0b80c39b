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
/*
 * cpu: a group has a share like one process, so that a thousand of them do not
 * leave the agent, or the next command, a thousandth.
 */
#define CONTROLLERS "+cpu +memory +pids"
#define PATH_SIZE 128
/* /proc/meminfo has 1500 bytes. */
#define TEXT_MAX_BYTES 16384
/*
 * What the agent keeps for itself and the kernel: it has 1 MiB, each copy that
 * runs 300 KiB, and the kernel's own tables grow with the guest. Measured: a
 * process costs the kernel 12 KiB that no group is charged with, and a guest
 * whose last free page is gone reads its programs from disk again and again
 * and comes to nothing.
 */
#define RESERVE_MIN_BYTES (UINT64_C(16) << 20)
#define RESERVE_SHARE 16
#define PROCESS_BYTES (UINT64_C(16) << 10)
/* The smallest program has 128 KiB of its own: processes end before memory. */
#define BYTES_FOR_A_PROCESS (UINT64_C(256) << 10)
#define PROCESSES_MIN UINT64_C(128)
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

/*
 * The number after `key` in a file of such lines; with an empty key, the first
 * number. 0 without one.
 */
static uint64_t
get_number(const char *path, const char *key)
{
	AUTO_FREE char *text = NULL;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *at;
	size_t len;

	if (fd == -1 || fd_read_all(fd, TEXT_MAX_BYTES, &text, &len) != 0)
		return 0;
	at = strstr(text, key);
	return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

/* What the kernel has, less a reserve; and as many as memory can bear. */
static uint64_t
process_limit(uint64_t free_bytes)
{
	const uint64_t threads = get_number("/proc/sys/kernel/threads-max", "");
	const uint64_t pids = get_number("/proc/sys/kernel/pid_max", "");
	uint64_t all = threads < pids ? threads : pids;
	uint64_t bearable = free_bytes / BYTES_FOR_A_PROCESS;

	if (bearable < PROCESSES_MIN)
		bearable = PROCESSES_MIN;
	all = all > 2 * RESERVE_PROCESSES ? all - RESERVE_PROCESSES : all / 2;
	return all < bearable ? all : bearable;
}

static uint64_t
memory_limit(uint64_t free_bytes, uint64_t processes)
{
	uint64_t reserve = free_bytes / RESERVE_SHARE;

	if (reserve < RESERVE_MIN_BYTES)
		reserve = RESERVE_MIN_BYTES;
	reserve += processes * PROCESS_BYTES;
	return free_bytes > 2 * reserve ? free_bytes - reserve : free_bytes / 2;
}

void
group_init(struct groups *g)
{
	/* free now, when nothing runs yet: the kernel's own is gone from it */
	const uint64_t free_bytes =
	    get_number("/proc/meminfo", "MemAvailable:") * 1024;
	const uint64_t processes = process_limit(free_bytes);

	if (put(GROUP_ROOT "/cgroup.subtree_control", CONTROLLERS) != 0)
		return;
	if (mkdir(ALL, 0755) == -1 && errno != EEXIST)
		return;
	if (put_number(ALL "/memory.max",
		memory_limit(free_bytes, processes)) != 0 ||
	    put_number(ALL "/pids.max", processes) != 0 ||
	    put(ALL "/cgroup.subtree_control", CONTROLLERS) != 0)
		return;
	/* what one command cannot take from the next */
	g->processes_each = processes - processes / 4;
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
	path_of(path, id, "/pids.max");
	(void)put_number(path, g->processes_each);
	path_of(path, id, "/cgroup.procs");
	return open(path, O_WRONLY | O_CLOEXEC);
}

void
group_kill(const struct groups *g, uint32_t id, pid_t pid)
{
	char path[PATH_SIZE];

	path_of(path, id, "/cgroup.kill");
	if (g->is_on)
		(void)put(path, "1");
	if (pid <= 0)
		return;
	/* one that was just forked is in no group of its own yet */
	(void)kill(-pid, SIGKILL);
	(void)kill(pid, SIGKILL);
}

bool
group_is_short(const struct groups *g, uint32_t id)
{
	char path[PATH_SIZE];

	path_of(path, id, "/memory.events");
	return g->is_on && get_number(path, "\noom_kill ") > 0;
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
