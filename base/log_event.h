/*
 * Lines of the log that an operator may want to find again: each is of a kind
 * with an id of its own. Where the log is systemd's journal they go there by
 * its own protocol, with the id and what it is about as fields
 * (systemd.journal-fields(7), sd_journal_send(3) without its library); else,
 * and from processes that hold no way to the journal, they are lines as
 * others are. packaging/systemd/tapward.catalog says what to do about each.
 */
#ifndef TAPWARD_BASE_LOG_EVENT_H
#define TAPWARD_BASE_LOG_EVENT_H

#include "base/log.h"

enum log_event {
	LOG_EVENT_STARTED,
	LOG_EVENT_START_FAILED,
	LOG_EVENT_STOPPING,
	LOG_EVENT_RELOADED,
	LOG_EVENT_RELOAD_REFUSED,
	LOG_EVENT_SANDBOX_CREATED,
	LOG_EVENT_SANDBOX_FAILED,
	LOG_EVENT_SANDBOX_ENDED,
	LOG_EVENT_SANDBOX_ADOPTED,
	LOG_EVENT_SANDBOX_CHANGED,
	LOG_EVENT_POLICY_RELOADED,
	LOG_EVENT_POLICY_REFUSED,
	LOG_EVENT_GATE_GONE,
	LOG_EVENT_GATE_REPLACED,
	LOG_EVENT_PROCESS_UP,
	LOG_EVENT_PROCESS_GONE,
	LOG_EVENT_PROCESS_FAILED,
	LOG_EVENT_WATCHDOG,
	LOG_EVENT_AUDIT_HEAD,
	LOG_EVENT_AUDIT_FAILED,
	LOG_EVENT_AUDIT_WRITES,
	LOG_EVENT_AUDIT_ROTATED,
	LOG_EVENT_AUDIT_ANCHOR,
	LOG_EVENT_CREDENTIAL_FAULT,
	LOG_EVENT_RESOLVER,
	LOG_EVENT_RESOLVER_DOWN,
	LOG_EVENT_RESOLVER_UP,
	LOG_EVENT_CEILING,
	LOG_EVENT_NO_CEILING,
	LOG_EVENT_COUNT
};

/* What it is about: NULL for what it is not. Printable. */
struct log_about {
	const char *sandbox;
	const char *reason;
	const char *role; /* of one of our processes */
};

struct log_event_row {
	const char *name; /* TAPWARD_EVENT */
	const char *id;   /* MESSAGE_ID */
	enum log_level level;
};

const struct log_event_row *log_event_row(enum log_event e);

/* Where the journal takes records. */
#define LOG_EVENT_JOURNAL "/run/systemd/journal/socket"
/* Standard error is the journal: $JOURNAL_STREAM says so. */
bool log_event_is_journal(void);
/* A way to the journal at path, which never makes us wait. 0 or -errno. */
int log_event_connect(const char *path, int *ret_fd);
/* Takes fd: from now on events go there; -1: to standard error. */
void log_event_use(int fd);

/* about may be NULL. What the journal does not take is a line as others. */
__attribute__((format(printf, 4, 5))) void log_event(enum log_event e,
    const struct log_about *about, const char *area, const char *fmt, ...);

#endif
