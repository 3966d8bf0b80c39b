/*
 * Supervisor and recorder. The recorder opens nothing: the log, each sender's
 * channel, each NFLOG socket and each reader's sink come from the supervisor.
 * It knows a sender only by what the supervisor said of its channel.
 */
#ifndef TAPWARD_BASE_MESSAGE_RECORDER_H
#define TAPWARD_BASE_MESSAGE_RECORDER_H

#include "base/bytes.h"
#include "base/message_audit.h"
#include "base/names.h"
#include "base/reason.h"

/*
 * MSG_RECORDER_LOG has no body; its descriptor is O_RDWR | O_APPEND. The
 * chain goes on from the last line; without one it starts with 64 zeros. A
 * second one (rotation) goes on from the last line of the first. With one that
 * is empty comes, if there is one, the file that was moved aside before it:
 * a recorder that has just started then goes on from there.
 */
/*
 * Files moved aside, the oldest first, that come with MSG_RECORDER_READ behind
 * the sink, and with each MSG_RECORDER_OLDER_HERE.
 */
#define RECORDER_OLDER_MAX 12
/* A file's name in the folder of the log, NUL included. */
#define RECORDER_FILE_SIZE 256

/*
 * Whose records come by the descriptor: MSG_RECORDER_ATTACH (a channel for
 * MSG_AUDIT), MSG_RECORDER_NFLOG (a socket). MSG_RECORDER_POLICY gives all of
 * a sandbox's senders a new digest; MSG_RECORDER_DETACH closes its NFLOG
 * socket and lets its channels end when their senders close them.
 * MSG_RECORDER_NFLOG_BACK asks for a duplicate of that socket, for a
 * supervisor that has none: a second one cannot be bound to its group.
 */
struct message_recorder_sandbox {
	char sandbox[SANDBOX_NAME_SIZE];
	uint64_t generation;
	char policy[DIGEST_TEXT_SIZE];
};

/* MSG_RECORDER_EVENT: a record by the supervisor itself. */
struct message_recorder_event {
	struct message_recorder_sandbox about; /* sandbox "": the daemon */
	struct audit_record record;
};

enum recorder_counters {
	RECORDER_COUNTERS_NOW,
	/* The recorder is new: what was counted before is no news. */
	RECORDER_COUNTERS_BASE,
	RECORDER_COUNTERS_LAST, /* the sandbox ends */
	RECORDER_COUNTERS_COUNT
};

/* MSG_RECORDER_COUNTERS: packets dropped since the sandbox began. */
struct message_recorder_counters {
	struct message_recorder_sandbox about;
	uint8_t kind;                          /* enum recorder_counters */
	uint64_t packets[REASON_PACKET_COUNT]; /* from REASON_PACKET_FIRST */
};

/* MSG_RECORDER_READ; the descriptor is a pipe or a stream socket. */
struct message_recorder_read {
	char sandbox[SANDBOX_NAME_SIZE]; /* "": all */
	/* 0: of all that had that name, whoever's they were */
	uint64_t generation;
	bool denied_only;
	bool follow; /* until the reader closes its end */
	/* There are more than came along, behind the one of that name. */
	bool has_more;
	char last[RECORDER_FILE_SIZE];
};

/*
 * MSG_RECORDER_OLDER: the reader has come to the end of the file `last`.
 * MSG_RECORDER_OLDER_HERE: those behind it, of which `last` is the last.
 */
struct message_recorder_older {
	uint32_t reader; /* the recorder's number of it */
	bool has_more;
	char last[RECORDER_FILE_SIZE];
};

struct message_recorder_status {
	bool can_write;
	uint64_t seq;                /* of the last line */
	char head[DIGEST_TEXT_SIZE]; /* hash of the last line */
	uint64_t lost;               /* records that were not written */
	uint32_t senders;
	uint32_t readers;
};

void message_recorder_sandbox_encode(struct wr *w,
    const struct message_recorder_sandbox *m);
/* is_daemon_ok: the name may be "". */
int message_recorder_sandbox_decode(struct rd *r, bool is_daemon_ok,
    struct message_recorder_sandbox *ret);
void message_recorder_event_encode(struct wr *w,
    const struct message_recorder_event *m);
/* text as in message_audit_decode(). */
int message_recorder_event_decode(struct rd *r, struct audit_text *text,
    struct message_recorder_event *ret);
void message_recorder_counters_encode(struct wr *w,
    const struct message_recorder_counters *m);
int message_recorder_counters_decode(struct rd *r,
    struct message_recorder_counters *ret);
void message_recorder_read_encode(struct wr *w,
    const struct message_recorder_read *m);
int message_recorder_read_decode(struct rd *r,
    struct message_recorder_read *ret);
void message_recorder_older_encode(struct wr *w,
    const struct message_recorder_older *m);
int message_recorder_older_decode(struct rd *r,
    struct message_recorder_older *ret);
void message_recorder_status_encode(struct wr *w,
    const struct message_recorder_status *m);
int message_recorder_status_decode(struct rd *r,
    struct message_recorder_status *ret);

#endif
