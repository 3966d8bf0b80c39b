/*
 * Moves the audit log aside when it is larger or older than the host's
 * configuration wants (`[audit] rotate-size`, `rotate-age`), and finds what was
 * moved. The recorder goes on with the chain in the next file. Of what was
 * moved the oldest is removed if `keep` or `keep-age` say so; else nothing is.
 */
#ifndef TAPWARD_DAEMON_ROTATE_H
#define TAPWARD_DAEMON_ROTATE_H

#include "base/message_recorder.h"

struct supervisor;

#define ROTATE_CHECK_S 5

/* Looks from now on. 0 or -ENOMEM. */
int rotate_start(struct supervisor *sv);
void rotate_stop(struct supervisor *sv);
/* Looks now. */
void rotate_check(struct supervisor *sv);
/*
 * Opens the files that were moved aside behind the one named `after` ("": all),
 * at most max, the oldest first, for the caller to close. A compressed one has
 * the place of what it was made of. Returns how many; ret_last is the name of
 * the last one, or after.
 */
unsigned int rotate_open_older(const struct supervisor *sv, const char *after,
    int *ret_fds, unsigned int max, char ret_last[RECORDER_FILE_SIZE],
    bool *ret_has_more);
/* The newest one; -1: there is none. */
int rotate_open_newest(const struct supervisor *sv);

#endif
