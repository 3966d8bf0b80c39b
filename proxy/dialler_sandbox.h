/*
 * One sandbox as the dialler knows it: its policy, and the channels to its
 * gate and, in its name, to the recorder. What the gate may ask is bounded by
 * this policy whatever the gate has become.
 */
#ifndef TAPWARD_PROXY_DIALLER_SANDBOX_H
#define TAPWARD_PROXY_DIALLER_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/channel.h"
#include "base/message_audit.h"
#include "base/message_dialler.h"
#include "conf/asked.h"
#include "conf/policy.h"
#include "proxy/dialler.h"

struct dialler_dial;

struct dialler_sandbox {
	LIST_ENTRY(dialler_sandbox) link;
	struct dialler *dialler;
	char name[SANDBOX_NAME_SIZE];
	uint64_t generation;
	struct policy *policy;
	struct policy *ceiling;  /* NULL: the host goes without */
	struct chan *gate;       /* NULL once it is gone */
	struct chan *recorder;   /* NULL once it is gone */
	bool recorder_can_write; /* as it last said */
	struct asked asked;      /* hosts that only [ask] rules name */
	unsigned int dial_count;
	LIST_HEAD(dialler_dials, dialler_dial) dials;
};

/*
 * fds as of enum dialler_attach_fd; those taken are left as -1. Puts it into
 * d's list. 0 or -errno: nothing is attached then.
 */
int dialler_sandbox_new(struct dialler *d,
    const struct message_dialler_sandbox *m, int *fds);
/* Ends its dials and channels. NULL is fine. Not from the gate's handlers. */
void dialler_sandbox_free(struct dialler_sandbox *s);
/*
 * Both borrowed, ceiling_fd -1: none. Dials that the new policy does not allow
 * are refused. 0 or -errno: the one before holds.
 */
int dialler_sandbox_set_policy(struct dialler_sandbox *s, int policy_fd,
    int ceiling_fd);
struct policy_pair dialler_sandbox_pair(const struct dialler_sandbox *s);

/* A decision could be written down now. */
bool dialler_sandbox_can_audit(const struct dialler_sandbox *s);
void dialler_sandbox_audit(struct dialler_sandbox *s,
    const struct audit_record *r);

#endif
