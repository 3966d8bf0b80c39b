/*
 * From a loaded configuration to a daemon that serves.
 */
#ifndef TAPWARD_DAEMON_STARTUP_H
#define TAPWARD_DAEMON_STARTUP_H

struct supervisor;

/* A ceiling of a million names takes a while. */
#define STARTUP_MS 120000

/*
 * Begins; the loop does the rest. A failure is logged, sets sv->exit_status
 * and ends the loop. 0 or -errno.
 */
int startup_begin(struct supervisor *sv);

#endif
