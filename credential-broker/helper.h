/*
 * Helper programs: asked for at the supervisor, which runs them
 * (base/message_helper.h), spoken to by two pipes. What they write is in locked
 * memory from the first byte.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_HELPER_H
#define TAPWARD_CREDENTIAL_BROKER_HELPER_H

#include "base/bytes.h"
#include "base/channel.h"
#include "credential-broker/kind.h"

struct broker;
struct helper;

/* What it is told: less than a pipe holds, so that writing never waits. */
#define HELPER_INPUT_MAX_BYTES 4096
#define HELPER_OUTPUT_MAX_BYTES 65536

/*
 * It has ended and said all. MINT_OK: it exited with status 0. MINT_REFUSED:
 * with another; output is there all the same. Borrowed until done returns.
 */
typedef void helper_done(enum mint_fault fault, struct span output, void *arg);

/*
 * Runs the program of this credential with in on its standard input. NULL: it
 * cannot be; else done is called later, from the loop, once.
 */
struct helper *helper_start(struct broker *b, const char *credential,
    struct span in, helper_done *done, void *arg);
/* It runs on to its end, and nobody listens. NULL is fine. */
void helper_cancel(struct helper *h);

/* Handler of MSG_BROKER_RAN; arg is the broker. */
int helper_on_ran(struct chan *c, struct chan_msg *msg, void *arg);
/* The supervisor is gone: nobody will answer. */
void helper_fail_all(struct broker *b);

#endif
