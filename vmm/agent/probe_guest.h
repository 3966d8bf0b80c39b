/*
 * Probes of the guest itself: what is in it, and how much of it there is. See
 * probe.h; argv[0] is the probe's name, the rest are its arguments.
 */
#ifndef TAPWARD_VMM_AGENT_PROBE_GUEST_H
#define TAPWARD_VMM_AGENT_PROBE_GUEST_H

/* devices: the names of all but lo, or "none". */
int probe_devices(char **argv);
/* path PATH: "absent", "there", or "hidden": it cannot be told. */
int probe_path(char **argv);
/* blocks: "0 of 1 can be written", of disks that there are. */
int probe_blocks(char **argv);
/* spin MIB: takes so much memory, unless it is ended; then "taken". */
int probe_spin(char **argv);
/* fill MIB: "full after N MiB" of the root's space, or "taken". */
int probe_fill(char **argv);
/* fork: "stopped at N", or "not stopped". The processes are ended. */
int probe_fork(char **argv);
/* sleep SECONDS: nothing else. */
int probe_sleep(char **argv);

#endif
