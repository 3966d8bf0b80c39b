/*
 * From a whole HTTP request to a message for the supervisor, and back from
 * its answer.
 */
#ifndef TAPWARD_DAEMON_API_ROUTE_H
#define TAPWARD_DAEMON_API_ROUTE_H

#include "daemon/api_conn.h"

/* Where a request leads. */
struct api_target {
	enum api_op op;
	bool is_events; /* GET /v1/events: no question to the supervisor */
	bool has_body;
};

/*
 * Finds the target of method and path and fills in the parts of req that they
 * hold. Returns 200, or the status of the refusal (400, 404, 405). Pure.
 */
unsigned int api_route_find(const struct http_request *http,
    struct api_target *ret_target, struct message_api_request *req);

/* Handles the request that c has read whole. */
void api_route(struct api_conn *c);
/* The supervisor's answer to it. Takes fd (or -1). */
void api_route_answer(struct api_conn *c,
    const struct message_api_answer *answer, int fd);

#endif
