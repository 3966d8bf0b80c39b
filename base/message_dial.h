/*
 * Gate and dialler: a connection to an origin. The dialler judges
 * (sandbox, host, port) again by the policy that it was given for the sandbox
 * whose channel this is, resolves, classifies, connects.
 */
#ifndef TAPWARD_BASE_MESSAGE_DIAL_H
#define TAPWARD_BASE_MESSAGE_DIAL_H

#include "base/bytes.h"
#include "base/names.h"
#include "base/reason.h"

/* Values of enum scheme (conf/verdict.h), which this layer cannot see. */
#define DIAL_SCHEME_COUNT 3

struct message_dial {
	char host[HOST_NAME_SIZE]; /* canonical */
	uint16_t port;
	uint8_t scheme; /* enum scheme: what the gate is going to speak */
	/* A redirect that a guest follows: it is judged as such, too. */
	bool is_redirect;
};

struct message_dialed {
	enum reason reason; /* REASON_NONE: one descriptor comes along */
	bool by_ceiling;
	char address[ADDRESS_TEXT_SIZE]; /* connected to, or refused; "" */
	uint32_t resolve_us;
	uint32_t connect_us;
};

void message_dial_encode(struct wr *w, const struct message_dial *m);
/* 0, or -EBADMSG for fields that no honest sender writes. */
int message_dial_decode(struct rd *r, struct message_dial *ret);
void message_dialed_encode(struct wr *w, const struct message_dialed *m);
int message_dialed_decode(struct rd *r, struct message_dialed *ret);

#endif
