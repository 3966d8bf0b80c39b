/* See cgroup.h. */
#include "daemon/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

#define NAME_PREFIX "tapward-vm."
#define OWN_LEAF "tapwardd"
#define TEXT_MAX 65536
#define CPU_PERIOD_US 100000

static const char *const controllers[CGROUP_PARTS_MAX] = { "memory", "cpu",
	"pids" };

static int
read_text(const char *path, char **ret)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len;

	return fd == -1 ? -errno : fd_read_all(fd, TEXT_MAX, ret, &len);
}

static int
write_text(const char *dir, const char *file, const char *text)
{
	AUTO_CLOSE int fd = -1;
	char path[CGROUP_PATH_SIZE + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd == -1 ? -errno : fd_write_all(fd, text, strlen(text));
}

/* Is word among the words of list, which `sep` parts? */
static bool
has_word(const char *list, const char *word, char sep)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += len)
		if ((at == list || at[-1] == sep) &&
		    (at[len] == sep || at[len] == '\0' || at[len] == '\n'))
			return true;
	return false;
}

/*
 * Where this process is: of version 1 the group of a controller, of version 2
 * ("" as controller) the only one. cgroups(7), /proc/PID/cgroup.
 */
static bool
find_own(const char *controller, char ret[CGROUP_PATH_SIZE])
{
	AUTO_FREE char *text = NULL;
	char *save, *line;

	if (read_text("/proc/self/cgroup", &text) != 0)
		return false;
	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char *names = strchr(line, ':');
		char *path = names == NULL ? NULL : strchr(names + 1, ':');

		if (path == NULL)
			continue;
		names++;
		*path++ = '\0';
		if (*controller == '\0' ? *names == '\0'
					: has_word(names, controller, ','))
			return snprintf(ret, CGROUP_PATH_SIZE, "%s", path) <
			    CGROUP_PATH_SIZE;
	}
	return false;
}

/*
 * Where the hierarchy is mounted: proc(5), /proc/PID/mountinfo. What follows
 * " - " is type, source and options; field 5 is the place. The root of the
 * mount, field 4, is taken off the path of the group.
 */
static bool
find_mount(const char *type, const char *controller, char ret[CGROUP_PATH_SIZE])
{
	AUTO_FREE char *text = NULL;
	char *save, *line;

	if (read_text("/proc/self/mountinfo", &text) != 0)
		return false;
	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char place[256], kind[32], options[256];
		const char *rest = strstr(line, " - ");

		if (rest == NULL ||
		    sscanf(line, "%*s %*s %*s %*s %255s", place) != 1 ||
		    sscanf(rest, " - %31s %*s %255s", kind, options) != 2 ||
		    strcmp(kind, type) != 0)
			continue;
		if (*controller != '\0' && !has_word(options, controller, ','))
			continue;
		(void)snprintf(ret, CGROUP_PATH_SIZE, "%s", place);
		return true;
	}
	return false;
}

/* The folder of the group that we are in. */
static bool
find_folder(const char *type, const char *controller,
    char ret[CGROUP_PATH_SIZE])
{
	char place[CGROUP_PATH_SIZE], own[CGROUP_PATH_SIZE];
	size_t len;

	if (!find_mount(type, controller, place) || !find_own(controller, own))
		return false;
	len = strlen(place);
	if (len + strlen(own) >= CGROUP_PATH_SIZE)
		return false;
	memcpy(ret, place, len + 1);
	if (strcmp(own, "/") != 0)
		memcpy(ret + len, own, strlen(own) + 1);
	return access(ret, W_OK) == 0;
}

static bool
has_controllers(const char *folder)
{
	AUTO_FREE char *text = NULL;
	char path[CGROUP_PATH_SIZE + 32];

	(void)snprintf(path, sizeof(path), "%s/cgroup.controllers", folder);
	if (read_text(path, &text) != 0 || text == NULL)
		return false;
	for (size_t i = 0; i < CGROUP_PARTS_MAX; i++)
		if (!has_word(text, controllers[i], ' '))
			return false;
	return true;
}

/* cgroup-v2.rst, "No Internal Process Constraint". */
static int
move_aside(const char *folder)
{
	char leaf[CGROUP_PATH_SIZE + 32];
	int rc;

	(void)snprintf(leaf, sizeof(leaf), "%s/" OWN_LEAF, folder);
	if (mkdir(leaf, 0755) == -1 && errno != EEXIST)
		return -errno;
	rc = write_text(leaf, "cgroup.procs", "0");
	return rc != 0 ? rc
		       : write_text(folder, "cgroup.subtree_control",
			     "+memory +cpu +pids");
}

/*
 * A group of version 2 that a unit of its own keeps for the machines: below
 * the one that we are in, systemd could not start the next of us while one
 * of them lives, since a group with controllers for others holds no process.
 */
static bool
use_given(struct cgroup_host *h)
{
	const char *given = getenv("TAPWARD_MACHINES");
	char *folder = h->parts[0];
	size_t len;

	if (given == NULL || !find_mount("cgroup2", "", folder))
		return false;
	len = strlen(folder);
	if (strlen(given) >= CGROUP_PATH_SIZE - len)
		return false;
	memcpy(folder + len, given, strlen(given) + 1);
	if (!has_controllers(folder) ||
	    write_text(folder, "cgroup.subtree_control",
		"+memory +cpu +pids") != 0)
		return false;
	h->version = 2;
	h->part_count = 1;
	h->has_io = write_text(folder, "cgroup.subtree_control", "+io") == 0;
	return true;
}

static bool
use_version_2(struct cgroup_host *h)
{
	char *folder = h->parts[0];
	size_t len;
	int rc;

	if (!find_folder("cgroup2", "", folder))
		return false;
	/* A tapwardd that execs itself anew is in its leaf already. */
	len = strlen(folder);
	if (len > sizeof(OWN_LEAF) &&
	    strcmp(folder + len - strlen(OWN_LEAF) - 1, "/" OWN_LEAF) == 0)
		folder[len - strlen(OWN_LEAF) - 1] = '\0';
	if (!has_controllers(folder))
		return false;
	rc = move_aside(folder);
	if (rc != 0) {
		log_warn("cgroup", "%s: %s; virtual machines have no cgroup",
		    folder, strerror(-rc));
		return false;
	}
	h->version = 2;
	h->part_count = 1;
	h->has_io = write_text(folder, "cgroup.subtree_control", "+io") == 0;
	return true;
}

static bool
use_version_1(struct cgroup_host *h)
{
	for (size_t i = 0; i < CGROUP_PARTS_MAX; i++)
		if (!find_folder("cgroup", controllers[i], h->parts[i]))
			return false;
	h->version = 1;
	h->part_count = CGROUP_PARTS_MAX;
	return true;
}

void
cgroup_host_init(struct cgroup_host *h, uid_t first, uid_t last)
{
	*h = (struct cgroup_host){ .uid_first = first, .uid_last = last };
	if (!use_given(h) && !use_version_2(h) && !use_version_1(h)) {
		h->part_count = 0;
		log_warn("cgroup",
		    "none with memory, cpu and pids: limits of virtual "
		    "machines are those of their monitor alone");
	}
}

/* NAME_PREFIX and a uid of our range. */
static bool
is_ours(const struct cgroup_host *h, const char *name)
{
	const size_t len = strlen(NAME_PREFIX);
	unsigned long uid;
	char *end;

	if (strncmp(name, NAME_PREFIX, len) != 0)
		return false;
	uid = strtoul(name + len, &end, 10);
	return *end == '\0' && uid >= h->uid_first && uid <= h->uid_last;
}

void
cgroup_host_sweep(const struct cgroup_host *h)
{
	for (unsigned int i = 0; i < h->part_count; i++) {
		DIR *dir = opendir(h->parts[i]);
		const struct dirent *e;

		while (dir != NULL && (e = readdir(dir)) != NULL)
			if (is_ours(h, e->d_name))
				/* EBUSY: one that lives. */
				(void)unlinkat(dirfd(dir), e->d_name,
				    AT_REMOVEDIR);
		if (dir != NULL)
			(void)closedir(dir);
	}
}

/*
 * The disk that holds a folder, as io.max names it: not the partition. False
 * where it is on none that the kernel could limit, such as a tmpfs.
 */
static bool
find_disk(const char *folder, char *ret, size_t size)
{
	AUTO_FREE char *text = NULL;
	char path[96];
	struct stat st;
	int len;

	if (stat(folder, &st) == -1)
		return false;
	(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition",
	    major(st.st_dev), minor(st.st_dev));
	/* What the link leads to lies below its disk, if it is a partition. */
	len = snprintf(path, sizeof(path), "/sys/dev/block/%u:%u%s/dev",
	    major(st.st_dev), minor(st.st_dev),
	    access(path, F_OK) == 0 ? "/.." : "");
	if (len < 0 || (size_t)len >= sizeof(path) ||
	    read_text(path, &text) != 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	(void)snprintf(ret, size, "%s", text);
	return true;
}

/* cgroup-v2.rst, io.max. The monitor keeps the same: it may go without. */
static void
set_io(const char *dir, const struct cgroup_limits *l)
{
	char disk[32], text[160];
	int rc;

	if (!find_disk(l->io_folder, disk, sizeof(disk)))
		return;
	(void)snprintf(text, sizeof(text),
	    "%s rbps=%" PRIu64 " wbps=%" PRIu64 " riops=%u wiops=%u", disk,
	    l->io_bytes, l->io_bytes, l->io_operations, l->io_operations);
	rc = write_text(dir, "io.max", text);
	if (rc != 0)
		log_warn("cgroup", "%s/io.max: %s: %s", dir, text,
		    strerror(-rc));
}

/* What is written where, for each version. */
static int
set_limits(const struct cgroup_host *h, unsigned int part, const char *dir,
    const struct cgroup_limits *l)
{
	const uint64_t quota = (uint64_t)l->cpus * CPU_PERIOD_US;
	char memory[24], cpu[32], pids[16];

	(void)snprintf(memory, sizeof(memory), "%" PRIu64, l->memory_bytes);
	(void)snprintf(pids, sizeof(pids), "%u", l->pids);
	if (h->version == 2) {
		int rc;

		(void)snprintf(cpu, sizeof(cpu), "%" PRIu64 " %d", quota,
		    CPU_PERIOD_US);
		rc = write_text(dir, "memory.max", memory);
		/* Not there without swap accounting. */
		(void)write_text(dir, "memory.swap.max", "0");
		if (rc == 0)
			rc = write_text(dir, "cpu.max", cpu);
		if (h->has_io)
			set_io(dir, l);
		return rc == 0 ? write_text(dir, "pids.max", pids) : rc;
	}
	(void)snprintf(cpu, sizeof(cpu), "%" PRIu64, quota);
	switch (part) {
	case 0:
		return write_text(dir, "memory.limit_in_bytes", memory);
	case 1:
		return write_text(dir, "cpu.cfs_quota_us", cpu);
	default:
		return write_text(dir, "pids.max", pids);
	}
}

static int
make_part(const struct cgroup_host *h, unsigned int part,
    const struct cgroup_limits *limits, struct cgroup *g)
{
	char dir[CGROUP_PATH_SIZE + 64], procs[CGROUP_PATH_SIZE + 96];
	int rc;

	(void)snprintf(dir, sizeof(dir), "%s/%s", h->parts[part], g->name);
	if (mkdir(dir, 0755) == -1 && errno != EEXIST)
		return -errno;
	g->fd_count = part + 1;
	rc = set_limits(h, part, dir, limits);
	if (rc != 0)
		return rc;
	(void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
	g->fds[part] = open(procs, O_WRONLY | O_CLOEXEC);
	return g->fds[part] == -1 ? -errno : 0;
}

int
cgroup_make(const struct cgroup_host *h, const char *name,
    const struct cgroup_limits *limits, struct cgroup *ret, struct err *err)
{
	struct cgroup g = CGROUP_NONE;

	if (h->part_count > 0)
		(void)snprintf(g.name, sizeof(g.name), NAME_PREFIX "%s", name);
	for (unsigned int i = 0; i < h->part_count; i++) {
		int rc = make_part(h, i, limits, &g);

		if (rc != 0) {
			(void)err_os(err, rc, "control group %s/%s",
			    h->parts[i], g.name);
			cgroup_remove(h, &g);
			return rc;
		}
	}
	*ret = g;
	return 0;
}

void
cgroup_find(const struct cgroup_host *h, const char *name, struct cgroup *ret)
{
	*ret = CGROUP_NONE;
	if (h->part_count > 0)
		(void)snprintf(ret->name, sizeof(ret->name), NAME_PREFIX "%s",
		    name);
}

void
cgroup_close(struct cgroup *g)
{
	for (size_t i = 0; i < CGROUP_PARTS_MAX; i++)
		fd_close(&g->fds[i]);
	g->fd_count = 0;
}

void
cgroup_remove(const struct cgroup_host *h, struct cgroup *g)
{
	char dir[CGROUP_PATH_SIZE + 64];

	cgroup_close(g);
	if (g->name[0] == '\0')
		return;
	for (unsigned int i = 0; i < h->part_count; i++) {
		(void)snprintf(dir, sizeof(dir), "%s/%s", h->parts[i], g->name);
		if (rmdir(dir) == -1 && errno != ENOENT)
			log_warn("cgroup", "%s: %s", dir, strerror(errno));
	}
	g->name[0] = '\0';
}
