/*
 * The children of which there is one: recorder, broker, dialler, ca, api.
 * Started, watched, restarted with a growing pause, and, those that outlive
 * us, taken up again.
 */
#ifndef TAPWARD_DAEMON_SERVICE_H
#define TAPWARD_DAEMON_SERVICE_H

#include "daemon/asks.h"
#include "daemon/proc.h"
#include "daemon/uids.h"

struct supervisor;
struct service;

enum service_id {
	SERVICE_RECORDER,
	SERVICE_BROKER,
	SERVICE_DIALLER,
	SERVICE_CA,
	SERVICE_API,
	SERVICE_COUNT
};

#define SERVICE_PAUSE_MIN_MS 50
#define SERVICE_PAUSE_MAX_MS 5000
/* Of a unit, which another starts: to look whether it is there. */
#define SERVICE_UNIT_PAUSE_MAX_MS 400
/* One that lived this long has earned a short pause again. */
#define SERVICE_STABLE_MS 30000

struct service_spec {
	const char *role;
	const char *program;
	enum uid_role uid;
	bool outlives_us;   /* has a socket under run-dir/peer/ */
	bool keeps_secrets; /* may lock memory */
	/*
	 * A variable of our environment that says of which unit it is
	 * (unit.h); NULL, or where that is not set: it is our child.
	 */
	const char *unit_variable;
	const struct chan_rule *rules;
	size_t rule_count;
	/*
	 * It is there. s->is_same: it is one that the last supervisor had
	 * told of every sandbox; else it knows none.
	 */
	void (*on_up)(struct service *s);
	/* It is gone; it will be started again. */
	void (*on_down)(struct service *s);
};

struct service {
	struct supervisor *sv;
	const struct service_spec *spec;
	const char *unit;  /* NULL: our child */
	struct proc *proc; /* NULL while there is none */
	struct asks asks;
	struct event *restart;
	unsigned int pause_ms;
	uint64_t started_ms;
	uint32_t restarts;
	bool was_adopted;
	bool is_missed; /* a unit of which it was told that it is away */
	bool is_same;   /* knows of every sandbox of the last supervisor */
};

/* The rows, one for each service_id, made of the link_*.h modules. */
extern const struct service_spec *const service_specs[SERVICE_COUNT];

int service_init(struct service *s, struct supervisor *sv,
    const struct service_spec *spec);
/*
 * Takes up the one that is there, or starts one. 0 or -errno. A unit is waited
 * for from then on.
 */
int service_start(struct service *s);
/*
 * Ends it for good (is_leaving: one that outlives us is left running). A unit
 * is told to end and begins anew, without what it knew of us.
 */
void service_stop(struct service *s, bool is_leaving);
bool service_is_up(const struct service *s);
/* It is a unit that does not run: for whoever started us to mend. */
bool service_is_away(const struct service *s);
/*
 * Asks it; who hears the answer with this id. 0, -EAGAIN while it is being
 * restarted, or -errno.
 */
int service_ask(struct service *s, uint16_t type, const struct wr *body,
    const int *fds, unsigned int fd_count, struct asker who);
/* Tells it. As service_ask(). */
int service_tell(struct service *s, uint16_t type, const struct wr *body,
    const int *fds, unsigned int fd_count);
/*
 * Writes down that this process knows of every sandbox: a later supervisor
 * then need not tell it again.
 */
void service_note_same(struct service *s);
/* Handler of an answer that is a struct message_done. */
int service_on_done(struct chan *c, struct chan_msg *msg, void *arg);

#endif
