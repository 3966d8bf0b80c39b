/*
 * The kernel settings of a sandbox's namespace, written before it has a
 * device (a device copies some of them when it is made) and read back.
 */
#ifndef TAPWARD_NETFILTER_SYSCTL_H
#define TAPWARD_NETFILTER_SYSCTL_H

#include "base/err.h"

/* In the namespace the caller is in. 0 or -errno; err names the setting. */
int sysctl_apply(struct err *err);
/* Reads all of them: -EBADMSG if one differs, 0 or -errno. */
int sysctl_verify(struct err *err);

#endif
