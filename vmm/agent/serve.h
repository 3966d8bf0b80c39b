/*
 * The agent at work: frames of the host in, processes and their output out.
 */
#ifndef TAPWARD_VMM_AGENT_SERVE_H
#define TAPWARD_VMM_AGENT_SERVE_H

#include <stdbool.h>

#include "vmm/agent/group.h"
#include "vmm/agent/run.h"

enum serve_end {
	SERVE_LOST,     /* the host is gone, or what it sent was no frame */
	SERVE_POWEROFF, /* it wants the guest to end */
};

struct serve {
	struct run_defaults defaults;
	struct groups groups;
	bool is_init; /* the clock and the machine are ours */
};

/*
 * Blocks the signals that serve_run() waits for, so that none is lost before.
 * *ret_fd is where they come. 0 or -errno.
 */
int serve_signals(int *ret_fd);
/*
 * Takes fd, the host's end. signal_fd is of serve_signals(). Whatever ran is
 * killed and reaped when it returns.
 */
enum serve_end serve_run(struct serve *s, int fd, int signal_fd);

#endif
