/*
 * The audit log: numbers and chains lines, writes them in batches, one write
 * for each turn of the loop, and holds them when the sink cannot write.
 */
#ifndef TAPWARD_DAEMON_RECORDER_LOG_H
#define TAPWARD_DAEMON_RECORDER_LOG_H

#include "daemon/recorder_line.h"

struct event;
struct event_base;

/* Lines held back while the sink cannot write; what comes then is lost. */
#define RECORDER_BUFFER_BYTES (1u << 20)
#define RECORDER_RETRY_MS 1000

struct recorder_log;

struct recorder_log_callbacks {
	/* The sink began or ceased to take lines. */
	void (*on_state)(bool can_write, void *arg);
	/* Lines have reached the file. */
	void (*on_written)(void *arg);
	void *arg;
};

/* cb is copied. NULL when memory is short. */
struct recorder_log *recorder_log_new(struct event_base *base,
    const struct recorder_log_callbacks *cb);
void recorder_log_free(struct recorder_log *l);

/*
 * Takes fd, an audit log open for reading and appending. The first one is
 * read from its end to go on with its chain, and a line that was cut there
 * gets a gap record; a later one (rotation) goes on from the lines before.
 * before (borrowed, or -1) is what was moved aside before it: a first one that
 * is empty goes on from its end. 0 or -errno; nothing changes on failure.
 */
int recorder_log_open(struct recorder_log *l, int fd, int before);

/* Appends one record. Without a file, or above the buffer, it is lost. */
void recorder_log_add(struct recorder_log *l,
    const struct message_recorder_sandbox *about,
    const struct audit_record *record);
/* Writes what is there at once; the loop does so after each turn. */
void recorder_log_flush(struct recorder_log *l);

bool recorder_log_can_write(const struct recorder_log *l);
/* Fills in all but senders and readers. */
void recorder_log_status(const struct recorder_log *l,
    struct message_recorder_status *ret);
/* Borrows the file; -1 before the first. serial goes up with each file. */
int recorder_log_fd(const struct recorder_log *l);
uint32_t recorder_log_serial(const struct recorder_log *l);

#endif
