/*
 * Programs of the host's own that are run for it: helpers of credentials
 * (`kind = exec`) and the hook of [ask]. Each is what the configuration says,
 * as whom it says, without a shell, and no longer than it says. It is process
 * 1 of a PID namespace (tapward-helper), so that all it starts ends with it.
 */
#ifndef TAPWARD_DAEMON_HELPER_H
#define TAPWARD_DAEMON_HELPER_H

#include "base/channel.h"
#include "base/message_helper.h"

struct helper_run;
struct supervisor;

/* Of credentials at once: one of each is the broker's own bound. */
#define HELPERS_MAX 16

struct helper_program {
	const char *name;     /* for the log */
	const char *command;  /* its words are parted by blanks */
	const char *run_as;   /* NULL: a uid that nobody else has */
	const char *argument; /* behind the command; or NULL */
	uint32_t timeout_ms;
	const int *fds; /* HELPER_FDS */
};

/* status counts with HELPER_RAN. The run is gone by then. */
typedef void helper_done(enum helper_outcome how, uint8_t status, void *arg);

/*
 * Starts it; what p points to is borrowed until this returns. *ret is good
 * until done, which is never called from inside. 0, -ENOENT when there is no
 * such user or nothing to run, or another -errno.
 */
int helper_start(struct supervisor *sv, const struct helper_program *p,
    helper_done *done, void *arg, struct helper_run **ret);
/* Ends it without a word. NULL is fine. */
void helper_cancel(struct helper_run *r);

/* Handler of MSG_BROKER_RUN; arg is the broker's struct proc. */
int helper_on_run(struct chan *c, struct chan_msg *msg, void *arg);
/* The broker is gone: nobody wants to hear. */
void helper_end_all(void);

#endif
