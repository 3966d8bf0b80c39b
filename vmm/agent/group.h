/*
 * The control groups (v2) of what the agent runs: one for each stream, all in
 * one that leaves the agent enough memory and processes to go on whatever they
 * do. Where there are none, process groups must do.
 */
#ifndef TAPWARD_VMM_AGENT_GROUP_H
#define TAPWARD_VMM_AGENT_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define GROUP_ROOT "/sys/fs/cgroup"

/*
 * Groups that commands have left processes in, at most: those above it stay as
 * directories until the guest ends.
 */
#define GROUP_LEFT_MAX 256

/* Zeroed: there are no groups. */
struct groups {
	bool is_on;
	uint64_t processes_each; /* of one stream, at most */
	uint32_t left[GROUP_LEFT_MAX];
	unsigned int left_count;
};

/* Makes the group of all; without such groups in the kernel g stays zeroed. */
void group_init(struct groups *g);

/* The open cgroup.procs of the new group of stream id; -1 without groups. */
int group_make(const struct groups *g, uint32_t id);
/*
 * Kills all in it, and the process group pid: its process has not been reaped,
 * or pid is 0.
 */
void group_kill(const struct groups *g, uint32_t id, pid_t pid);
/* The kernel has killed one of it for want of memory. */
bool group_is_short(const struct groups *g, uint32_t id);
/*
 * The stream is over: removes its group, now or in a later group_sweep(), since
 * what a command left behind keeps it.
 */
void group_leave(struct groups *g, uint32_t id);
void group_sweep(struct groups *g);

#endif
