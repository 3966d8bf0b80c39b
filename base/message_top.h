/*
 * What `tapward top` shows, inside an answer of message_api.h: sandboxes with
 * what their gates have counted, beside message_recent.h.
 */
#ifndef TAPWARD_BASE_MESSAGE_TOP_H
#define TAPWARD_BASE_MESSAGE_TOP_H

#include "base/bytes.h"
#include "base/message_recent.h"
#include "base/names.h"

/* Sandboxes of one page: with all that comes along it fits a message. */
#define TOP_PAGE_MAX 256

struct message_top_entry {
	char name[SANDBOX_NAME_SIZE];
	uint8_t state; /* enum api_state */
	uint32_t owner_uid;
	uint64_t generation;
	uint64_t created_wall_ms;
	bool learns;
	/* False: another user's, and what follows is 0. */
	bool is_shown;
	uint32_t connections; /* of its guest, open now */
	uint32_t asks;        /* requests that wait for an answer */
	/* Since the sandbox, or the supervisor, began. */
	uint64_t accepted; /* connections */
	uint64_t requests; /* that have ended */
	uint64_t denied;   /* records of a refusal */
	uint64_t dropped;  /* packets */
	uint64_t up, down; /* body and tunnel bytes as they move */
};

struct message_top {
	uint64_t mono_ms; /* of the sample, for rates */
	uint16_t count;
	bool has_more; /* ask again with the last name as `name` */
	bool has_recent;
	struct message_top_entry entries[TOP_PAGE_MAX];
	struct message_recent recent;
};

void message_top_encode(struct wr *w, const struct message_top *m);
int message_top_decode(struct rd *r, struct message_top *ret);

#endif
