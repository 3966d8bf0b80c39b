/*
 * JSON of the control API, by jansson. Pure: bytes in, message out, and back.
 */
#ifndef TAPWARD_DAEMON_API_JSON_H
#define TAPWARD_DAEMON_API_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/message_api.h"

/* What a body asks for beside the message: owned by the caller. */
struct api_body {
	char *policy; /* text, NULL if none was given */
	size_t policy_len;
};

void api_body_done(struct api_body *b);

/*
 * Reads the body of a POST or PUT into req (its op is set) and body. Unknown
 * members, wrong types and values out of range are -EINVAL with a sentence in
 * err. req->op decides which members there may be.
 */
int api_json_read(struct span text, struct message_api_request *req,
    struct api_body *body, struct err *err);

/* New references, or NULL when memory is short. */
json_t *api_json_sandbox(const struct message_api_sandbox *s);
json_t *api_json_entry(const struct message_api_entry *e);
json_t *api_json_status(const struct message_api_status *s);
json_t *api_json_top(const struct message_api_status *status,
    const struct message_top *top);
/* UTC with milliseconds; null for 0. */
json_t *api_json_time(uint64_t wall_ms);
json_t *api_json_ask(const struct message_api_ask *a);
json_t *api_json_event(const struct message_api_event *e);
/* {"error": text, "findings": [line, ...]} */
json_t *api_json_error(const char *text, struct span findings);

#endif
