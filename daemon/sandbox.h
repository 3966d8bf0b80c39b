/*
 * A sandbox in the supervisor: what it is, where it stands, what holds it.
 *
 * One job at a time works on it (create.c, replace.c, reload.c, adopt.c), a
 * table of steps. What a job has made is the sandbox's at once, so that
 * sandbox_free() ends it wherever it stands.
 */
#ifndef TAPWARD_DAEMON_SANDBOX_H
#define TAPWARD_DAEMON_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/message_api.h"
#include "daemon/gate.h"
#include "daemon/policy_set.h"
#include "daemon/question.h"
#include "daemon/state.h"
#include "daemon/steps.h"
#include "daemon/vm.h"
#include "daemon/wires.h"
#include "netfilter/sandbox_net.h"

struct supervisor;
struct event;

enum sandbox_phase {
	SANDBOX_CREATING, /* not there yet for anybody but its creator */
	SANDBOX_ADOPTING, /* taken over from an earlier supervisor */
	SANDBOX_RUNNING,
	SANDBOX_RESTARTING, /* its gate is being replaced */
};

/* Who in tapward-api waits for a job's end. */
struct sandbox_request {
	uint32_t id;         /* 0: nobody */
	uint32_t api_serial; /* restarts of the api when it asked */
};

/* A new policy that came while its gate was being replaced. */
struct sandbox_waiting {
	struct sandbox_request request;
	int text_fd; /* -1: none waits */
	char display_name[API_DISPLAY_NAME_SIZE];
};

struct sandbox {
	LIST_ENTRY(sandbox) entry;
	struct supervisor *sv;
	struct state state; /* as it is written down */
	enum sandbox_phase phase;
	bool is_detached;        /* its device has vanished */
	bool is_kept;            /* its state file is there */
	bool learns;             /* as its policy's image says, or will */
	bool has_missed_ceiling; /* there is another since its job began */
	uint32_t gate_restarts;

	struct policy_set policy;
	struct sandbox_net *net;
	struct gate *gate;
	/* What this gate last counted, and those before it in all. */
	struct message_gate_status counted, counted_before;
	struct questions questions; /* that it waits for an answer to */
	struct wires wires;         /* while a job connects it */
	struct event *device_event, *ruleset_event, *ttl_event;
	struct event *count_event;
	/* Packets, from REASON_PACKET_FIRST; counters.c */
	uint64_t dropped[REASON_PACKET_COUNT];      /* as last read */
	uint64_t dropped_told[REASON_PACKET_COUNT]; /* to the recorder */
	bool is_dropped_settled;                    /* and told twice */

	struct vm *vm; /* NULL: none runs in it */
	bool had_vm;   /* vm_last says how the one before ended */
	struct message_vm_state vm_last;
	int hold_fd; /* of a tied one, until a supervisor has to end; or -1 */
	struct event *hold_event;

	struct steps job;
	struct sandbox_request request;
	int guest_ns_fd;        /* create: where a veth's other end goes */
	struct policy_set next; /* create, reload */
	struct sandbox_waiting waiting;
	char *findings; /* of a compile, for the answer; or NULL */
	size_t findings_len;
	int gate_fds[GATE_SOCKET_COUNT]; /* adopt: what its gate gave back */
	int nflog_fd;            /* adopt: what the recorder gave back */
	bool is_gate_lost;       /* adopt: to be replaced afterwards */
	bool lacks_broker;       /* its gate was started while that was away */
	bool is_remove_wanted;   /* as soon as the job is over */
	struct event *retry;     /* of a replacement */
	struct event *gate_late; /* reload: it did not take the policy */
	unsigned int retry_ms;
	uint64_t replaced_ms; /* when its gate last began to serve */
};

/*
 * A new one in the list, with its name and generation, holding nothing. NULL
 * when memory is short.
 */
struct sandbox *sandbox_add(struct supervisor *sv, const char *name);
/*
 * Ends what it holds, in the order that closes it to its guest first, and
 * takes it off the list. Its files go, its CA too unless another shares it.
 */
void sandbox_free(struct sandbox *s);
/* Frees what is ours in memory; for one whose steps are all undone. */
void sandbox_discard(struct sandbox *s);
/* Frees it but leaves all of it running, for the next supervisor. */
void sandbox_leave(struct sandbox *s);
/* NULL if there is none. */
struct sandbox *sandbox_find(const struct supervisor *sv, const char *name);
/* Its gate is there and was started, as far as we know. */
bool sandbox_has_gate(const struct sandbox *s);

/* run-dir/sandboxes/NAME/FILE. */
void sandbox_path(const struct sandbox *s, const char *file, char *buf,
    size_t size);
/* Writes run-dir/sandboxes/NAME/state as s is now. 0 or -errno. */
int sandbox_keep(struct sandbox *s);
/* Writes policy text and image beside it. 0 or -errno. */
int sandbox_keep_policy(const struct sandbox *s,
    const struct policy_set *policy);
/*
 * The counts of its budgets (conf/budget.h), made with O_CREAT in flags and
 * begun anew with O_TRUNC. 0 or -errno.
 */
int sandbox_open_counts(const struct sandbox *s, int flags, int *ret_fd);
/* Begins to watch its device and its end of life. 0 or -ENOMEM. */
int sandbox_watch(struct sandbox *s);
/* Tells recorder and api that something happened to it. */
void sandbox_say(struct sandbox *s, const char *what);
/* Copies findings of a compile for the answer. */
void sandbox_set_findings(struct sandbox *s, struct span text);
enum api_state sandbox_state(const struct sandbox *s);
/* What may be shown of it to its owner. */
void sandbox_describe(const struct sandbox *s, struct message_api_sandbox *ret);

#endif
