/*
 * Which boot of the machine this is: what was written in another one counts
 * no longer.
 */
#ifndef TAPWARD_DAEMON_BOOT_H
#define TAPWARD_DAEMON_BOOT_H

#include "daemon/state.h"

/* /proc/sys/kernel/random/boot_id; "" if it cannot be read. */
void boot_id(char ret[BOOT_ID_SIZE]);

#endif
