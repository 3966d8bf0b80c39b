/*
 * Namespaces that are prepared, each with a gate that waits in it, so that a
 * create needs neither of them made.
 */
#ifndef TAPWARD_DAEMON_POOL_H
#define TAPWARD_DAEMON_POOL_H

#include <stdbool.h>
#include <sys/queue.h>

#include "daemon/gate.h"

struct event;
struct pool_entry;

struct pool {
	struct supervisor *sv;
	TAILQ_HEAD(, pool_entry) entries;
	unsigned int count;
	struct event *refill;
	unsigned int pause_ms;
};

/* What a sandbox takes out of the pool; both its own. */
struct pool_pair {
	struct sandbox_net *net;
	struct gate *gate; /* is_ready, or to say hello yet */
};

/* 0 or -ENOMEM. */
int pool_init(struct pool *p, struct supervisor *sv);
void pool_done(struct pool *p);
/* Fills it up, one entry a turn of the loop. */
void pool_fill(struct pool *p);
/*
 * One of the pool, or, if none is ready, one made now. owner hears of its
 * gate from here on. 0, or -errno with a text.
 */
int pool_take(struct pool *p, const struct gate_owner *owner, void *arg,
    struct pool_pair *ret, struct err *err);
unsigned int pool_ready_count(const struct pool *p);
/* A namespace of the pool has this inode: no guest's device goes there. */
bool pool_has_inode(const struct pool *p, uint64_t inode);

#endif
