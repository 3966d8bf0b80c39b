/*
 * Who sends records: the channels of gates, dialler and broker, and the NFLOG
 * sockets of namespaces. Each has a rate of its own, so that one guest cannot
 * fill the log of all; what is above it is counted, and the count is a record.
 */
#ifndef TAPWARD_DAEMON_RECORDER_SENDER_H
#define TAPWARD_DAEMON_RECORDER_SENDER_H

#include "base/message_audit.h"
#include "base/message_recent.h"
#include "base/message_recorder.h"

struct event_base;
struct recorder_senders;

/* Records of one sender: sustained a second, and at once. */
#define RECORDER_RATE_DECISIONS 2000
#define RECORDER_BURST_DECISIONS 20000
/* Those in which a sender owns up to what it lost have room of their own. */
#define RECORDER_RATE_GAPS (1000 / AUDIT_GAP_MS)
#define RECORDER_BURST_GAPS 10
#define RECORDER_RATE_PACKETS 20
#define RECORDER_BURST_PACKETS 100
/* How often what was above the rate is written down. */
#define RECORDER_OVERFLOW_MS 5000
#define RECORDER_SENDERS_MAX 65536

struct recorder_senders_callbacks {
	void (*on_record)(const struct message_recorder_sandbox *about,
	    const struct audit_record *record, void *arg);
	void *arg;
};

/* cb is copied. NULL when memory is short. */
struct recorder_senders *recorder_senders_new(struct event_base *base,
    const struct recorder_senders_callbacks *cb);
void recorder_senders_free(struct recorder_senders *all);

/*
 * Takes fd: a channel for MSG_AUDIT, or a NFLOG socket. The sender of a
 * channel hears at once whether the sink can write. 0 or -errno.
 */
int recorder_senders_attach(struct recorder_senders *all,
    const struct message_recorder_sandbox *about, int fd, bool can_write);
int recorder_senders_nflog(struct recorder_senders *all,
    const struct message_recorder_sandbox *about, int fd);
/* All of this sandbox's senders have about->policy from now on. */
void recorder_senders_policy(struct recorder_senders *all,
    const struct message_recorder_sandbox *about);
/*
 * Closes its NFLOG sockets; its channels go when their senders close them,
 * so that what they still hold is not lost.
 */
void recorder_senders_detach(struct recorder_senders *all,
    const struct message_recorder_sandbox *about);
/*
 * What a ruleset has counted. Of packets that have no record, neither their
 * own nor in an overflow, the number is told: the kernel logs only so many a
 * second. Those of the last message are looked at, since a record may be on
 * its way for a moment; at the end all are. ret_growth is by how much the
 * counters grew; zeros for a sandbox that is not there.
 */
void recorder_senders_counters(struct recorder_senders *all,
    const struct message_recorder_counters *m,
    uint64_t ret_growth[REASON_PACKET_COUNT]);
/* Borrows its NFLOG socket; -1 without one. */
int recorder_senders_nflog_fd(const struct recorder_senders *all,
    const struct message_recorder_sandbox *about);
/* Tells all channels. */
void recorder_senders_state(struct recorder_senders *all, bool can_write);
/* What is remembered of sandboxes that send: all but ret->status. */
void recorder_senders_recent(const struct recorder_senders *all,
    const struct message_recent_wanted *wanted, struct message_recent *ret);
uint32_t recorder_senders_count(const struct recorder_senders *all);

#endif
