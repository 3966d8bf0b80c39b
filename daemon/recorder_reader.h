/*
 * Readers of the log (`tapward log`): matching lines go to a descriptor, at
 * the pace of whoever reads there.
 */
#ifndef TAPWARD_DAEMON_RECORDER_READER_H
#define TAPWARD_DAEMON_RECORDER_READER_H

#include "base/message_recorder.h"
#include "daemon/recorder_log.h"

struct recorder_readers;

#define RECORDER_READERS_MAX 64

/*
 * A reader wants more of the files that the log was: recorder_readers_more()
 * brings them. False: there is nobody to ask.
 */
typedef bool recorder_readers_ask(const struct message_recorder_older *m,
    void *arg);

/* log is borrowed. NULL when memory is short. */
struct recorder_readers *recorder_readers_new(struct event_base *base,
    const struct recorder_log *log, recorder_readers_ask *ask, void *arg);
void recorder_readers_free(struct recorder_readers *all);
/*
 * Takes sink, a pipe or a stream socket, and older, files that the log was
 * before, the oldest first, which are read before it: what is taken of these
 * is set to -1. 0 or -errno.
 */
int recorder_readers_add(struct recorder_readers *all,
    const struct message_recorder_read *wanted, int sink, int *older,
    unsigned int older_count);
/* The same of older, for the reader m->reader; one that is gone wants none. */
void recorder_readers_more(struct recorder_readers *all,
    const struct message_recorder_older *m, int *older,
    unsigned int older_count);
/* Nobody answers what was asked: whoever waits for it ends. */
void recorder_readers_lost(struct recorder_readers *all);
/* Lines have reached the file. */
void recorder_readers_wake(struct recorder_readers *all);
uint32_t recorder_readers_count(const struct recorder_readers *all);

#endif
