/*
 * Broker and supervisor: a helper program of a credential is to be run. The
 * broker names the credential only; what is run, and as whom, is what the
 * supervisor's own configuration says of it, so that a broker that was taken
 * over runs nothing else.
 */
#ifndef TAPWARD_BASE_MESSAGE_HELPER_H
#define TAPWARD_BASE_MESSAGE_HELPER_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/names.h"

/* It is killed after this. */
#define HELPER_TIMEOUT_MS 7000

/* The descriptors of MSG_BROKER_RUN, in this order. */
enum helper_fd {
	HELPER_FD_STDIN,
	HELPER_FD_STDOUT,
	HELPER_FDS,
};

/* MSG_BROKER_RUN, answered by MSG_BROKER_RAN of the same id. */
struct message_helper_run {
	char credential[CREDENTIAL_NAME_SIZE];
};

enum helper_outcome {
	HELPER_RAN,         /* status is what it exited with */
	HELPER_KILLED,      /* by a signal of its own */
	HELPER_LATE,        /* it took too long */
	HELPER_NOT_STARTED, /* no such credential, program or user */
	HELPER_OUTCOMES
};

/* MSG_BROKER_RAN */
struct message_helper_ran {
	uint8_t outcome; /* enum helper_outcome */
	uint8_t status;
};

void message_helper_run_encode(struct wr *w,
    const struct message_helper_run *m);
int message_helper_run_decode(struct rd *r, struct message_helper_run *ret);
void message_helper_ran_encode(struct wr *w,
    const struct message_helper_ran *m);
int message_helper_ran_decode(struct rd *r, struct message_helper_ran *ret);

#endif
