/*
 * One sandbox as the broker knows it: its owner, its policy, its channels, and
 * the leases it has.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_SANDBOX_H
#define TAPWARD_CREDENTIAL_BROKER_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/channel.h"
#include "base/message_audit.h"
#include "base/message_broker.h"
#include "conf/asked.h"
#include "conf/policy.h"
#include "credential-broker/broker.h"
#include "credential-broker/credential.h"

/* Leases of one sandbox at once: pairs of credential and host. */
#define SANDBOX_LEASES_MAX 64

/*
 * A credential for a host, until its end. Requests under it share its number
 * and its end and are no new lease: each is checked, but not written down.
 */
struct lease {
	LIST_ENTRY(lease) link;
	uint64_t id;
	uint64_t expires_boot_ms;
	char credential[CREDENTIAL_NAME_SIZE];
	char host[HOST_NAME_SIZE];
	uint64_t token; /* the number of its value; 0: one without an end */
};

struct token;

struct sandbox {
	LIST_ENTRY(sandbox) link;
	struct broker *broker;
	uint64_t generation;
	struct message_broker_attach attached; /* its name, its owner */
	struct policy *policy;
	struct policy *ceiling;  /* NULL: the host goes without */
	struct chan *gate;       /* NULL once it is gone */
	struct chan *recorder;   /* NULL once it is gone */
	bool recorder_can_write; /* as it last said */
	struct asked asked;      /* requests that [ask] rules hold */
	unsigned int lease_count;
	LIST_HEAD(leases, lease) leases;
	uint64_t proofs_until_boot_ms; /* prove.c; 0: none yet */
	/* token.h */
	unsigned int token_count, wait_count, budget;
	uint64_t budget_boot_ms; /* when budget was last added to; 0: never */
	LIST_HEAD(tokens, token) tokens;
};

/*
 * fds as of enum broker_attach_fd; those taken are left as -1. Puts it into
 * b's list. 0 or -errno: nothing is attached then.
 */
int sandbox_new(struct broker *b, const struct message_broker_attach *m,
    int *fds);
/* Ends its leases and channels. NULL is fine. Not from the gate's handlers. */
void sandbox_free(struct sandbox *s);
/* Both borrowed, ceiling_fd -1: none. All leases end. 0 or -errno. */
int sandbox_set_policy(struct sandbox *s, int policy_fd, int ceiling_fd);
/*
 * The broker's set was replaced: leases of what changed since before end, and
 * the gate is told what is granted now.
 */
void sandbox_set_changed(struct sandbox *s,
    const struct credential_set *before);

/* A decision could be written down now. */
bool sandbox_can_audit(const struct sandbox *s);
void sandbox_audit(struct sandbox *s, const struct audit_record *r);

#endif
