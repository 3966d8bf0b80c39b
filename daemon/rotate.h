/*
 * Moves the audit log aside when it is larger or older than the host's
 * configuration wants (`[audit] rotate-size`, `rotate-age`), and finds what was
 * moved. The recorder goes on with the chain in the next file. Of what was
 * moved the oldest is removed if `keep` or `keep-age` say so; else nothing is.
 */
#ifndef TAPWARD_DAEMON_ROTATE_H
#define TAPWARD_DAEMON_ROTATE_H

struct supervisor;

#define ROTATE_CHECK_S 5

/* Looks from now on. 0 or -ENOMEM. */
int rotate_start(struct supervisor *sv);
void rotate_stop(struct supervisor *sv);
/* Looks now. */
void rotate_check(struct supervisor *sv);
/*
 * Opens the newest files that were moved aside, at most max, the oldest of
 * them first, for the caller to close. Returns how many.
 */
unsigned int rotate_open_older(const struct supervisor *sv, int *ret_fds,
    unsigned int max);

#endif
