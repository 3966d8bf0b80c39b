/*
 * What somebody who was asked has allowed, as dialler and broker keep it for
 * one sandbox: an [ask] verdict is an allowing one for as long as this says.
 * The supervisor alone tells it; a gate that was taken over can ask, and can
 * use what was allowed while it lasts, but answer it cannot.
 */
#ifndef TAPWARD_CONF_ASKED_H
#define TAPWARD_CONF_ASKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/message_ask.h"
#include "conf/policy.h"

/* Of one sandbox at once; the oldest makes room for another. */
#define ASKED_MAX 256

struct asked_entry;

struct asked {
	TAILQ_HEAD(, asked_entry) entries; /* oldest first */
	unsigned int count;
};

void asked_init(struct asked *all);
void asked_done(struct asked *all);
/* From now on, for m->seconds. 0 or -ENOMEM. */
int asked_add(struct asked *all, const struct message_ask_allowed *m);

/*
 * v, or an allowing verdict if v asks and it was allowed: something on this
 * host and port by that scheme; or this request with v's credential.
 */
struct verdict asked_dial(const struct asked *all, struct verdict v,
    const char *host, uint16_t port);
struct verdict asked_request(const struct asked *all, struct verdict v,
    const struct policy_request *req);

#endif
