/*
 * The supervisor as a whole: what its modules share. One thread, one loop;
 * each module owns the part of this that its header names.
 */
#ifndef TAPWARD_DAEMON_SUPERVISOR_H
#define TAPWARD_DAEMON_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/message_dialler.h"
#include "base/message_recent.h"
#include "base/message_recorder.h"
#include "base/names.h"
#include "daemon/cgroup.h"
#include "daemon/compiler.h"
#include "daemon/config.h"
#include "daemon/pool.h"
#include "daemon/reloading.h"
#include "daemon/sandbox.h"
#include "daemon/service.h"
#include "daemon/steps.h"
#include "daemon/uids.h"
#include "netfilter/sandbox_net.h"

#define SUPERVISOR_PATH_SIZE 384

struct event;
struct event_base;

struct supervisor {
	struct event_base *base;
	const char *config_path;
	struct config *config;
	struct net_host host;
	struct net_plan plan; /* of the configuration we started with */
	int root_fd;          /* the empty root of our children */
	int lock_fd;          /* one supervisor for a run-dir */
	struct uids uids;
	struct cgroup_host cgroups;
	struct event *cgroup_sweep; /* sweep.c */
	unsigned int cgroup_sweeps;
	bool is_kvm_broken; /* a guest under it did not boot */
	struct service services[SERVICE_COUNT];
	struct compiler compiler;
	struct pool pool;

	struct policy_set ceiling; /* image_fd -1: `policy = none` */
	int roots_fd;              /* sealed index of CA certificates, or -1 */
	uint32_t roots_count;

	LIST_HEAD(, sandbox) sandboxes;
	LIST_HEAD(, gate) retired_gates;
	unsigned int sandbox_count;
	unsigned int creating; /* somebody waits: what can wait does */
	uint64_t last_generation;

	bool audit_can_write; /* as the recorder last said */
	struct message_recorder_status recorder_status; /* when last asked */
	struct message_recent recent;     /* the same; for whoever hears it */
	struct resolver_watch *resolvers; /* how they are */
	/* Why a credential has no value, or a new set was refused; or "". */
	char credential_fault[API_FAULT_SIZE];
	uint64_t started_wall_ms;
	struct steps startup;
	unsigned int adopting; /* sandboxes that are being taken up */
	bool is_serving;       /* startup is over */
	bool is_leaving;       /* sandboxes run on when we end */
	int exit_status;
	struct host_watch *host_watch;
	struct event *rotate_event; /* rotate.c */
	int control_fd, metrics_fd; /* listeners, for each new api */
	bool is_control_given;      /* the service manager's, who keeps it */
	struct reloading reloading;
	struct watchdog *watchdog; /* NULL: nobody wants to know */
};

/* "RUN-DIR/a/b" and the like into a buffer of SUPERVISOR_PATH_SIZE. */
__attribute__((format(printf, 3, 4))) void
supervisor_run_path(const struct supervisor *sv, char buf[SUPERVISOR_PATH_SIZE],
    const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void
supervisor_state_path(const struct supervisor *sv,
    char buf[SUPERVISOR_PATH_SIZE], const char *fmt, ...);

#endif
