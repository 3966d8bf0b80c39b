/*
 * Ending what a supervisor that was killed left half made.
 */
#ifndef TAPWARD_DAEMON_SWEEP_H
#define TAPWARD_DAEMON_SWEEP_H

struct supervisor;

/* The folder run-dir/sandboxes/NAME has no whole state: all of it goes. */
void sweep_sandbox(struct supervisor *sv, const char *name);
/* Gates at run-dir/peer/ that are no adopted sandbox's are ended. */
void sweep_peers(struct supervisor *sv);

/* Control groups of guests that are no more, now and for a while. */
void sweep_cgroups(struct supervisor *sv);
void sweep_cgroups_end(struct supervisor *sv);
/* Disks of virtual machines that were being made (base/jail.h). */
void sweep_disks(struct supervisor *sv);

#endif
