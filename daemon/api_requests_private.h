/*
 * What the api_requests*.c files share. For nobody else.
 */
#ifndef TAPWARD_DAEMON_API_REQUESTS_PRIVATE_H
#define TAPWARD_DAEMON_API_REQUESTS_PRIVATE_H

#include "daemon/api_requests.h"
#include "daemon/sandbox.h"

/* One request while it is looked at. */
struct request {
	struct supervisor *sv;
	const struct message_api_request *m;
	struct sandbox_request to;
	int *fds; /* of those, what is taken is set to -1 */
	unsigned int fd_count;
	struct sandbox *sandbox; /* for ops that need one */
};

void request_refuse(const struct request *r, enum api_result result,
    const char *text);
/* fd -1: none; borrowed. */
void request_answer_ok(const struct request *r, int fd);

/* --- api_requests_ask.c --- */
void request_asks(struct request *r);
void request_answer(struct request *r);

/* --- api_requests_vm.c --- */
void request_vm_start(struct request *r);
void request_vm_stop(struct request *r);
void request_session(struct request *r);

/* --- api_requests_status.c --- */
void request_status(struct request *r);
/* has_recorder: sv->recorder_status is what it has just said. */
void request_status_fill(const struct supervisor *sv, uint32_t peer_uid,
    bool has_recorder, struct message_api_status *ret);

/* --- api_requests_top.c --- */
void request_top(struct request *r);
void request_top_one(struct request *r);

#endif
