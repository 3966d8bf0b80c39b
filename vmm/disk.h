/* The disk of a guest: made empty for each, gone with it. */
#ifndef TAPWARD_VMM_DISK_H
#define TAPWARD_VMM_DISK_H

#include "base/err.h"

#define DISK_PATH "/disk" /* base/jail.h */

/*
 * Puts an ext4 file system on it. It takes
 * no longer for a large one: tables are written when they are used. 0 or
 * -errno with a text.
 */
int disk_format(struct err *err);

#endif
