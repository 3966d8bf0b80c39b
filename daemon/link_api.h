/*
 * The way to tapward-api.
 */
#ifndef TAPWARD_DAEMON_LINK_API_H
#define TAPWARD_DAEMON_LINK_API_H

#include "base/message_api.h"
#include "daemon/sandbox.h"
#include "daemon/service.h"

extern const struct service_spec link_api_spec;

/* Binds control.sock and, if set, metrics-listen. 0 or -errno with a text. */
int link_api_listen(struct supervisor *sv, struct err *err);
/*
 * Answers a request, unless the api that asked is gone. fd -1: none;
 * borrowed.
 */
void link_api_answer(struct supervisor *sv, const struct sandbox_request *to,
    const struct message_api_answer *answer, int fd);
/* Shorthand for an answer without a payload. */
void link_api_refuse(struct supervisor *sv, const struct sandbox_request *to,
    enum api_result result, const char *text);
void link_api_event(const struct sandbox *s, const char *what);

#endif
