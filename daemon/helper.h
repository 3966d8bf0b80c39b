/*
 * Helper programs of credentials (`kind = exec`), run for the broker: what the
 * configuration says, as whom it says, and no longer than HELPER_TIMEOUT_MS.
 */
#ifndef TAPWARD_DAEMON_HELPER_H
#define TAPWARD_DAEMON_HELPER_H

#include "base/channel.h"
#include "base/message_helper.h"

struct service;

/* At once, of all credentials: one of each is the broker's own bound. */
#define HELPERS_MAX 16

/* Handler of MSG_BROKER_RUN; arg is the broker's struct proc. */
int helper_on_run(struct chan *c, struct chan_msg *msg, void *arg);
/* The broker is gone: nobody wants to hear. */
void helper_end_all(void);

#endif
