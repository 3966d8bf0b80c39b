/*
 * What the recorder remembers of sandboxes that are there: their last
 * refusals, and the hosts that were last asked for. Supervisor and recorder,
 * and inside an answer of message_api.h. Guest bytes are printable here:
 * whoever writes them makes them so (recent_text()).
 */
#ifndef TAPWARD_BASE_MESSAGE_RECENT_H
#define TAPWARD_BASE_MESSAGE_RECENT_H

#include "base/bytes.h"
#include "base/message_audit.h"
#include "base/message_recorder.h"
#include "base/names.h"
#include "base/reason.h"

/* Of one answer, and so the most that is remembered of one sandbox. */
#define RECENT_REFUSALS_MAX 16
#define RECENT_HOSTS_MAX 16
/* Sandboxes that one question may name. */
#define RECENT_NAMED_MAX 1024
/* What is kept of a path; more of it is in the audit log. */
#define RECENT_PATH_SIZE 96

/* The same again is one of these, and counted. */
struct message_refusal {
	uint64_t wall_ms; /* of the last */
	uint64_t count;
	char sandbox[SANDBOX_NAME_SIZE];
	uint8_t event; /* enum audit_event */
	enum reason reason;
	bool by_ceiling;
	char rule[CREDENTIAL_NAME_SIZE]; /* "-" without one */
	char host[HOST_NAME_SIZE];       /* or an address; "" without one */
	uint16_t port;                   /* 0: none */
	char method[METHOD_NAME_SIZE];
	char path[RECENT_PATH_SIZE];
};

struct message_recent_host {
	uint64_t wall_ms; /* of the last record */
	char host[HOST_NAME_SIZE];
	uint64_t allowed; /* records since it is remembered */
	uint64_t denied;
	uint64_t up, down; /* bytes */
};

/* MSG_RECORDER_RECENT: of which sandboxes, by generation, in rising order. */
struct message_recent_wanted {
	bool all; /* whatever is named */
	uint16_t count;
	const uint64_t *generations; /* borrowed */
};

/* MSG_RECORDER_RECENT_ANSWER. Hosts come when one sandbox is named. */
struct message_recent {
	struct message_recorder_status status;
	uint16_t refusal_count; /* the newest first */
	uint16_t host_count;    /* the last used first */
	struct message_refusal refusals[RECENT_REFUSALS_MAX];
	struct message_recent_host hosts[RECENT_HOSTS_MAX];
};

/* Of what is told to people: RFC 8259 6. A sum of more stays there. */
#define RECENT_NUMBER_MAX ((UINT64_C(1) << 53) - 1)
static inline uint64_t
recent_add(uint64_t a, uint64_t b)
{
	return b > RECENT_NUMBER_MAX || a > RECENT_NUMBER_MAX - b
	    ? RECENT_NUMBER_MAX
	    : a + b;
}

/* Copies s into buf with "?" for what is not printable; "..." if it is cut. */
void recent_text(char *buf, size_t size, struct span s);

void message_recent_wanted_encode(struct wr *w,
    const struct message_recent_wanted *m);
/* ret->generations points into room. */
int message_recent_wanted_decode(struct rd *r, uint64_t room[RECENT_NAMED_MAX],
    struct message_recent_wanted *ret);
void message_recent_encode(struct wr *w, const struct message_recent *m);
int message_recent_decode(struct rd *r, struct message_recent *ret);

#endif
