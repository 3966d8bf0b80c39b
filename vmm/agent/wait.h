/*
 * Waiting for a device: the kernel makes it when its driver has found it, and
 * nothing in a guest without udev tells of it. What it is, sysfs says.
 */
#ifndef TAPWARD_VMM_AGENT_WAIT_H
#define TAPWARD_VMM_AGENT_WAIT_H

#include <stdbool.h>

/* Devices are there within 100 ms; a busy host without KVM may need seconds. */
#define WAIT_MS 10000
#define WAIT_STEP_MS 2

/* A file of sysfs holds want, and perhaps the end of its line. */
bool wait_file_is(const char *path, const char *want);
/* Calls is_there(arg) until it is true; false when WAIT_MS have gone by. */
bool wait_for(bool (*is_there)(void *arg), void *arg);

#endif
