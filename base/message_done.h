/*
 * The answer of a child to a message that only says "do this": whether it was
 * done, and if not, what a person should know. Used by dialler and broker.
 */
#ifndef TAPWARD_BASE_MESSAGE_DONE_H
#define TAPWARD_BASE_MESSAGE_DONE_H

#include <stdbool.h>

#include "base/bytes.h"

#define MESSAGE_DONE_TEXT_SIZE 512

struct message_done {
	bool ok;
	/*
	 * One printable line when not ok, or when it was done and something is
	 * amiss all the same; else "". Never a secret's bytes.
	 */
	char text[MESSAGE_DONE_TEXT_SIZE];
};

void message_done_encode(struct wr *w, const struct message_done *m);
/* 0, or -EBADMSG for fields that no honest sender writes. */
int message_done_decode(struct rd *r, struct message_done *ret);

#endif
