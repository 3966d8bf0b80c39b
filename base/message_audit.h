/*
 * What a process tells the recorder: one record for one decision. The
 * recorder adds seq, time, prev, and sandbox, generation and policy from the
 * channel it came by, never from the sender; it escapes and caps guest bytes.
 */
#ifndef TAPWARD_BASE_MESSAGE_AUDIT_H
#define TAPWARD_BASE_MESSAGE_AUDIT_H

#include "base/bytes.h"
#include "base/names.h"
#include "base/reason.h"

enum audit_event {
	AUDIT_DNS,
	AUDIT_CONNECT,
	AUDIT_REQUEST,
	AUDIT_PACKET,
	AUDIT_LEASE,
	AUDIT_LIFECYCLE,
	AUDIT_ASK, /* somebody is asked, or has answered */
	AUDIT_RUN, /* a command or a copy in a virtual machine of ours */
	AUDIT_EVENT_COUNT
};

/* Guest bytes kept of each; longer ones are cut by the recorder. */
#define AUDIT_HOST_MAX 255
#define AUDIT_PATH_MAX 1024
#define AUDIT_DETAIL_MAX 256
#define AUDIT_BODY_MAX_BYTES 4096
/* A sender owns up to what it lost no more often than this. */
#define AUDIT_GAP_MS 1000

/* What was spoken, where that is known. */
enum audit_scheme {
	AUDIT_SCHEME_NONE,
	AUDIT_SCHEME_HTTPS,
	AUDIT_SCHEME_HTTP,
	AUDIT_SCHEME_WSS,
	AUDIT_SCHEME_WS,
	AUDIT_SCHEME_TCP,         /* a tunnel */
	AUDIT_SCHEME_PASSTHROUGH, /* a tunnel; TLS that nobody looked into */
	AUDIT_SCHEME_COUNT
};

/*
 * The policy's own verdict, a denial, on what the ceiling alone let through:
 * the sandbox learns.
 */
struct audit_learned {
	enum reason reason; /* REASON_NONE: it does not, and the rest is "" */
	const char *rule;
	const char *file;
	uint32_t line;
};

struct audit_record {
	enum audit_event event;
	uint8_t verdict; /* enum action */
	enum reason reason;
	bool by_ceiling;
	const char *rule; /* "-" without one */
	const char *file; /* of the rule; "" without one */
	uint32_t line;
	struct audit_learned learned;
	enum audit_scheme scheme;
	struct span host;
	uint16_t port; /* 0: not shown */
	struct span method;
	struct span path;
	uint16_t status; /* 0: not shown */
	uint64_t up;     /* body or tunnel bytes, guest to origin */
	uint64_t down;
	uint32_t ms;
	const char *credential; /* "" without one */
	uint64_t lease;         /* 0 without one */
	const char *address;    /* dialled or refused; "" without one */
	/* One clause: the TLS alert, the question type, a life-cycle word. */
	struct span detail;
};

/* A record with every pointer set to "" or "-", and all else 0. */
struct audit_record audit_record_init(enum audit_event event);
const char *audit_event_name(enum audit_event e);
/* "https", "passthrough"; "" for AUDIT_SCHEME_NONE. */
const char *audit_scheme_name(enum audit_scheme s);

void message_audit_encode(struct wr *w, const struct audit_record *m);
/* Strings and spans borrow from the message; 0 or -EBADMSG. */
struct audit_text {
	char rule[64];
	char file[128];
	char learned_rule[64];
	char learned_file[128];
	char credential[CREDENTIAL_NAME_SIZE];
	char address[ADDRESS_TEXT_SIZE];
};
/* text is where ret's strings point into; it must live as long as ret. */
int message_audit_decode(struct rd *r, struct audit_text *text,
    struct audit_record *ret);

/* MSG_AUDIT_STATE: one byte, 1 when the sink can write. */
void message_audit_state_encode(struct wr *w, bool can_write);
int message_audit_state_decode(struct rd *r, bool *ret_can_write);

#endif
