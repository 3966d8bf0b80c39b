/*
 * Idle connections to origins that may carry another exchange, and the burial
 * of objects that are still on the stack.
 *
 * A connection is found again only by the name that its certificate was
 * verified for, port, scheme and credential, and only under the policy it was
 * made under: a pool keyed by less has sent a secret to the wrong origin.
 */
#ifndef TAPWARD_PROXY_POOL_H
#define TAPWARD_PROXY_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "proxy/gate.h"
#include "proxy/origin.h"

/* Connections of HTTP/2, busy or idle: h2_origin.c keeps the list. */
TAILQ_HEAD(h2_origins, h2_origin);
struct h2_origins *pool_h2(struct gate *g);
/* Those that are connecting, and exchanges that wait for one. */
TAILQ_HEAD(origin_streams, origin);
TAILQ_HEAD(exchange_line, exchange);
struct origin_streams *pool_connecting(struct gate *g);
struct exchange_line *pool_line(struct gate *g);
/* Open WebSockets whose request carried a credential. */
struct exchange_line *pool_tunnels(struct gate *g);
/* Something is free that one of them may have waited for. */
void pool_wake(struct gate *g);
/* May what was made for a serve b? */
bool pool_key_is(const struct origin_key *a, const struct origin_key *b);

/* Makes g->pool. 0 or -ENOMEM. */
int pool_new(struct gate *g);
void pool_free(struct gate *g);

/*
 * A stream of a connection of HTTP/2 that fits, or of HTTP/1.1 the youngest
 * that was idle for less than idle_max_ms, no longer
 * the pool's; NULL without one.
 */
struct origin *pool_take(struct gate *g, const struct origin_key *key,
    uint64_t idle_max_ms);
/* Takes an idle origin; over limits.idle_origins the oldest goes. */
void pool_put(struct gate *g, struct origin *o);
/* It ended by itself while it was idle: takes it out, does not free it. */
void pool_drop(struct gate *g, struct origin *o);
/* Ends all idle ones. */
void pool_flush(struct gate *g);
/*
 * A lease was revoked: ends the idle ones that carry this credential, or, if it
 * is NULL, any, and the WebSockets. They hold its value. A busy one must not
 * come back: it was given to its exchange before pool_revocations() changed.
 * Before pool_new() there is nothing to do.
 */
void pool_revoke(struct gate *g, const char *credential);
uint32_t pool_revocations(const struct gate *g);
size_t pool_count(const struct gate *g);

/*
 * So many bytes may have been waiting in an exchange that is over. A second
 * after the last of many, memory that is free is given back to the machine:
 * what waited was spread over all of it.
 */
void pool_note_freed(struct gate *g, uint64_t bytes);

/* Embedded in what is buried. */
struct grave {
	struct grave *next;
	void (*free)(struct grave *g);
};
/*
 * Calls free(grave) when the callback that is running has returned to the
 * event loop, so that no caller up the stack is left with a freed object.
 */
void pool_bury(struct gate *g, struct grave *grave,
    void (*free)(struct grave *grave));

#endif
