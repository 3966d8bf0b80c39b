/*
 * A question of [ask]: may this request go? A gate holds the request and puts
 * the question (MSG_ASK), the supervisor answers it (MSG_ASKED) when somebody
 * who may has said so; the gate may take it back before (MSG_ASK_CANCEL, no
 * body). Before the gate hears yes, dialler and, if a credential goes along,
 * broker are told by the supervisor (MSG_ASK_ALLOWED, answered as their other
 * orders are): they let nothing of it through on the gate's word.
 *
 * Every byte of a question is a printable one: what cannot be shown as it is
 * cannot be asked about, so that who reads it reads what will be sent.
 */
#ifndef TAPWARD_BASE_MESSAGE_ASK_H
#define TAPWARD_BASE_MESSAGE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/names.h"

/* Path, '?' and query of a request that can be asked about, and a NUL. */
#define ASK_TARGET_SIZE 2049
/* "uid 1000", "the hook": who answered. */
#define ASK_BY_SIZE 64
/* As of RULE_NAME_SIZE and RULE_AT_SIZE (conf/verdict.h). */
#define ASK_RULE_SIZE 64
#define ASK_FILE_SIZE 128

/*
 * What is asked. Two that are equal in all of this are the same question,
 * however each came up.
 */
struct message_ask_subject {
	uint8_t scheme; /* enum scheme, below 2: HTTP or HTTPS */
	uint16_t port;
	char host[HOST_NAME_SIZE];
	char method[METHOD_NAME_SIZE];
	char target[ASK_TARGET_SIZE];
	bool is_websocket;
	char credential[CREDENTIAL_NAME_SIZE]; /* that goes along, or "" */
};

struct message_ask {
	struct message_ask_subject subject;
	/* The ceiling asks: who answers for the host has to. */
	bool by_ceiling;
	/* Which rule; for a person, nothing hangs on it. */
	char rule[ASK_RULE_SIZE];
	char file[ASK_FILE_SIZE];
	uint32_t line;
	uint64_t body_bytes; /* ASK_BODY_UNKNOWN: it is not told */
};
#define ASK_BODY_UNKNOWN UINT64_MAX

enum ask_outcome {
	ASK_DENIED, /* zeroed memory denies */
	ASK_ALLOWED,
	ASK_UNHEARD, /* there is nobody who could be asked */
	ASK_OUTCOMES
};

struct message_asked {
	uint8_t outcome; /* enum ask_outcome */
	char by[ASK_BY_SIZE];
};

struct message_ask_allowed {
	char sandbox[SANDBOX_NAME_SIZE];
	uint64_t generation;
	struct message_ask_subject subject;
	bool by_host; /* by who may answer for the ceiling, too */
	uint32_t seconds;
};

bool ask_subject_equals(const struct message_ask_subject *a,
    const struct message_ask_subject *b);

void message_ask_encode(struct wr *w, const struct message_ask *m);
/* All: 0, or -EBADMSG for fields that no honest sender writes. */
int message_ask_decode(struct rd *r, struct message_ask *ret);
void message_asked_encode(struct wr *w, const struct message_asked *m);
int message_asked_decode(struct rd *r, struct message_asked *ret);
void message_ask_allowed_encode(struct wr *w,
    const struct message_ask_allowed *m);
int message_ask_allowed_decode(struct rd *r, struct message_ask_allowed *ret);

#endif
