/*
 * Control groups of virtual machines: version 2 where the host gives us its
 * controllers, else version 1 where it has those, else none; `show` says
 * which. Ours are made below the group that tapwardd itself is in.
 *
 * I/O is limited by each monitor; that of a group of version 2 holds for a
 * monitor that a guest has taken over. Version 1 counts no write that goes
 * through the cache of pages, so it is not asked.
 *
 * Sources: cgroup-v2.rst and cgroup-v1/{memory,pids}.rst of the kernel.
 */
#ifndef TAPWARD_DAEMON_CGROUP_H
#define TAPWARD_DAEMON_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define CGROUP_PARTS_MAX 3 /* memory, cpu, pids; with version 2 one */
#define CGROUP_PATH_SIZE 512

/* What the host lets us use; zeroed: nothing. */
struct cgroup_host {
	uid_t uid_first, uid_last; /* of the guests */
	unsigned int version;      /* 0: none, 1 or 2 */
	bool has_io; /* version 2 with the controller of that name */
	unsigned int part_count;
	/* The folders in which ours are made. */
	char parts[CGROUP_PARTS_MAX][CGROUP_PATH_SIZE];
};

struct cgroup_limits {
	uint64_t memory_bytes;
	uint32_t cpus; /* as many as it may keep busy */
	uint32_t pids;
	/* of the device that holds this folder, a second, each way */
	const char *io_folder;
	uint64_t io_bytes;
	uint32_t io_operations;
};

struct cgroup {
	char name[32]; /* "" : there is none */
	unsigned int fd_count;
	int fds[CGROUP_PARTS_MAX]; /* cgroup.procs, for who joins */
};

#define CGROUP_NONE                                                            \
	(struct cgroup)                                                        \
	{                                                                      \
		.fds = { -1, -1, -1 }                                          \
	}

/*
 * Looks at the host and, with version 2, moves this process into a group of
 * its own, since a group with processes gives its children no controllers.
 * Never fails: what cannot be had is none, and logged.
 */
void cgroup_host_init(struct cgroup_host *h, uid_t first, uid_t last);
/*
 * Takes away what no process is in any more, of guests with uids of ours:
 * another tapwardd's may be about to get its first.
 */
void cgroup_host_sweep(const struct cgroup_host *h);

/*
 * Makes the group of this name with its limits; with a host of none it is an
 * empty one. On failure nothing is left. 0 or -errno.
 */
int cgroup_make(const struct cgroup_host *h, const char *name,
    const struct cgroup_limits *limits, struct cgroup *ret, struct err *err);
/* The one that was made under this name, for cgroup_remove(). */
void cgroup_find(const struct cgroup_host *h, const char *name,
    struct cgroup *ret);
/* Closes the descriptors; the group stays. */
void cgroup_close(struct cgroup *g);
/* Takes it away, when its last process has ended. */
void cgroup_remove(const struct cgroup_host *h, struct cgroup *g);

#endif
