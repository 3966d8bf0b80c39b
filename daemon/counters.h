/*
 * Packets that the rulesets dropped: read now and then, told to the recorder,
 * which knows of how many it has a record.
 */
#ifndef TAPWARD_DAEMON_COUNTERS_H
#define TAPWARD_DAEMON_COUNTERS_H

#include "daemon/sandbox.h"

/* Between two readings of one sandbox; they are spread over this time. */
#define COUNTERS_MS 10000

/* Begins to read those of s, whose network is there. 0 or -ENOMEM. */
int counters_watch(struct sandbox *s);
/* Reads them now, into s->dropped; what was read before stays on failure. */
void counters_read(struct sandbox *s);
/* A new recorder has its packet log: where it counts from. */
void counters_begin(struct sandbox *s);
/* The sandbox ends: all that were dropped. Nothing before counters_watch(). */
void counters_end(struct sandbox *s);

#endif
