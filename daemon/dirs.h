/*
 * The folders of one daemon, and that there is one.
 */
#ifndef TAPWARD_DAEMON_DIRS_H
#define TAPWARD_DAEMON_DIRS_H

#include "base/err.h"
#include "daemon/config.h"

/*
 * Makes run-dir, state-dir, log-dir and what belongs in them. 0, or -errno
 * with a text.
 */
int dirs_make(const struct config *c, struct err *err);
/* -EBUSY with a text: another tapwardd has this run-dir. */
int dirs_lock(const struct config *c, int *ret_fd, struct err *err);
/*
 * The root directory of our children: nothing but /dev/urandom, which is the
 * host's. A descriptor of it. 0, or -errno with a text.
 */
int dirs_make_root(const struct config *c, int *ret_fd, struct err *err);
/* Takes the bind mount away. */
void dirs_remove_root(const struct config *c);

#endif
