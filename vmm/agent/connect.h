/*
 * A port of the guest, as a command: standard input goes to it, what it says
 * goes to standard output. For `tapward forward`, which runs the agent's own
 * program so that no image needs one.
 */
#ifndef TAPWARD_VMM_AGENT_CONNECT_H
#define TAPWARD_VMM_AGENT_CONNECT_H

#include <stdint.h>

/* To the guest's loopback address. Exit status: 0, or 1 with a line on stderr.
 */
int connect_run(uint16_t port);

#endif
