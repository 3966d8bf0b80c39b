/*
 * What is remembered of each sandbox that sends records, for `tapward top`:
 * its last refusals and the hosts it last asked for. Tables of a fixed size:
 * a guest pushes out its own and nobody else's.
 */
#ifndef TAPWARD_DAEMON_RECORDER_TALLY_H
#define TAPWARD_DAEMON_RECORDER_TALLY_H

#include "base/message_recent.h"
#include "base/message_recorder.h"

/* One sandbox: held by each of its senders. */
struct recorder_tally;
struct recorder_tallies;

/* NULL when memory is short. */
struct recorder_tallies *recorder_tallies_new(void);
/* Every tally has been given back by then. NULL is fine. */
void recorder_tallies_free(struct recorder_tallies *all);

/* That of this sandbox, made if it is new. NULL when memory is short. */
struct recorder_tally *recorder_tally_ref(struct recorder_tallies *all,
    const struct message_recorder_sandbox *about);
/* Forgets it with its last holder. NULL is fine. */
void recorder_tally_unref(struct recorder_tally *t);

void recorder_tally_count(struct recorder_tally *t, uint64_t wall_ms,
    const struct audit_record *record);
/* Fills in all but the status. */
void recorder_tallies_tell(const struct recorder_tallies *all,
    const struct message_recent_wanted *wanted, struct message_recent *ret);

#endif
