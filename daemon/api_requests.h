/*
 * What local users ask through tapward-api, and who may (DESIGN 10): others of
 * the group may list a sandbox; only its owner and root may show, change,
 * enter or end it, or read its log.
 */
#ifndef TAPWARD_DAEMON_API_REQUESTS_H
#define TAPWARD_DAEMON_API_REQUESTS_H

#include "base/message_api.h"
#include "daemon/sandbox.h"

/* Answers it, now or later. fds: taken by setting an entry to -1. */
void api_request_take(struct supervisor *sv,
    const struct message_api_request *m, struct sandbox_request to, int *fds,
    unsigned int fd_count);

/* uid may do more with it than see that it is there. Pure. */
bool api_may(const struct state *state, uint32_t uid);

#endif
