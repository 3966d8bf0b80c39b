/*
 * `tapwardd --probe`: whether this host can have sandboxes, for
 * `tapward doctor`. Changes nothing, needs no configuration, and runs beside
 * a tapwardd that serves.
 */
#ifndef TAPWARD_DAEMON_PROBE_H
#define TAPWARD_DAEMON_PROBE_H

/*
 * Writes lines to standard output: "sandbox ok" or "sandbox TEXT", what is
 * missing, and "drops FAMILY TABLE CHAIN" for each chain of the host's
 * firewall that may stop what the dialler sends. Returns the exit status.
 */
int probe(void);

#endif
