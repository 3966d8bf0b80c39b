/*
 * One child process of the supervisor: started or taken up from an earlier
 * supervisor, its channel, its death.
 */
#ifndef TAPWARD_DAEMON_PROC_H
#define TAPWARD_DAEMON_PROC_H

#include <sys/types.h>

#include "base/channel.h"
#include "base/message_gate.h"
#include "base/process.h"

struct event_base;
struct proc;

/* From its start to its MSG_HELLO. */
#define PROC_HELLO_MS 10000

struct proc_spec {
	const char *program;   /* in libexec/tapward/ */
	const char *role;      /* what its MSG_HELLO must say */
	uid_t uid;             /* its gid is the same number */
	int root_fd;           /* the empty root */
	int netns_fd;          /* -1: the host's */
	const char *peer_path; /* its socket for later; NULL: none */
	/* For proc_adopt(): the unit that it must be of (unit.h), or NULL. */
	const char *unit;
	struct process_limits limits;
	/* Of process_spec; for proc_start() only. */
	const struct jail *jail;
	const int *cgroup_fds;
	unsigned int cgroup_count;
	const int *more_fds; /* behind those of every child; -1: /dev/null */
	unsigned int more_count;
	/*
	 * What it may send; borrowed for the life of the process. The first
	 * row is PROC_HELLO_RULE. Handlers get the struct proc as argument.
	 */
	const struct chan_rule *rules;
	size_t rule_count;
	/* It speaks our protocol and may be told what to do. */
	void (*on_hello)(struct proc *p, const struct message_hello *hello,
	    void *arg);
	/* It is dead and reaped; the callee calls proc_free(). */
	void (*on_gone)(struct proc *p, void *arg);
	void *arg;
};

int proc_on_hello(struct chan *c, struct chan_msg *msg, void *arg);
#define PROC_HELLO_RULE                                                        \
	{                                                                      \
		MSG_HELLO, MESSAGE_SMALL_BYTES, 0, 0, proc_on_hello            \
	}

/* spec is copied, what it points to is not. 0 or -errno. */
int proc_start(struct event_base *base, const struct proc_spec *spec,
    struct proc **ret);
/*
 * Connects to the socket at spec->peer_path; program and limits are not
 * looked at. The process there must run under spec->uid, or, if that is 0,
 * under any but root. -ECONNREFUSED or -ENOENT: nobody is there; else -errno.
 */
int proc_adopt(struct event_base *base, const struct proc_spec *spec,
    struct proc **ret);
/* Ends it; on_gone follows. */
void proc_kill(struct proc *p);
/* Waits until it ends, at most ms. */
void proc_await(const struct proc *p, int ms);
/* Ends it, if it still is, without on_gone, and frees. NULL is fine. */
void proc_free(struct proc *p);
/* Frees it and lets the process run. NULL is fine. */
void proc_leave(struct proc *p);
/* The same, and tells it to end, as a service manager does. */
void proc_term(struct proc *p);

void *proc_arg(const struct proc *p);
void proc_set_arg(struct proc *p, void *arg);
pid_t proc_pid(const struct proc *p);
uid_t proc_uid(const struct proc *p);
uint64_t proc_start_ticks(const struct proc *p);
/* It said MSG_HELLO and its channel is open. */
bool proc_is_ready(const struct proc *p);
uint32_t proc_next_id(struct proc *p);
/* As chan_send(); a channel that breaks ends the process. */
int proc_send(struct proc *p, uint16_t type, uint32_t id, const struct wr *body,
    const int *fds, unsigned int fd_count);

#endif
