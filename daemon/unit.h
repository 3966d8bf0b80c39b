/*
 * A service that is a unit of the service manager's own instead of our child:
 * the broker, where tapward.service says so. The manager starts it and starts
 * it again; we connect to its socket as a later supervisor does to a child's,
 * and speak the same protocol from there on.
 */
#ifndef TAPWARD_DAEMON_UNIT_H
#define TAPWARD_DAEMON_UNIT_H

#include <stdbool.h>
#include <sys/types.h>

/* The user that has the unit's name without ".service"; otherwise without. */
uid_t unit_user(const char *unit, uid_t otherwise);
/* What /proc/PID/cgroup holds (changed by this) names the unit's group. */
bool unit_is_named(char *cgroups, const char *unit);
/* The process is in the unit's control group. */
bool unit_has(const char *unit, pid_t pid);

#endif
