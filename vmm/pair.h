/* A stream between us and a monitor. */
#ifndef TAPWARD_VMM_PAIR_H
#define TAPWARD_VMM_PAIR_H

/*
 * Two connected stream sockets: ours does not block, the monitor's does. 0 or
 * -errno, then neither is open.
 */
int pair_make(int *ret_ours, int *ret_theirs);

#endif
