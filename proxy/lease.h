/*
 * The gate's side of the broker: a credential for one request, and what the
 * sandbox is granted. A lease is kept only until its end and only if it serves
 * any request; else each request asks anew. It is in memory once, however many
 * requests use it.
 */
#ifndef TAPWARD_PROXY_LEASE_H
#define TAPWARD_PROXY_LEASE_H

#include "base/message_lease.h"
#include "proxy/gate.h"
#include "proxy/grants.h"
#include "proxy/inject.h"

struct lease_wait;

/*
 * REASON_NONE: there is one, with an injection_ref() to be kept, and to be let
 * go when its request is over. Else in is NULL.
 */
typedef void lease_done(enum reason reason, struct injection *in, void *arg);

/*
 * Calls done from inside when a kept lease serves (result NULL and
 * *ret_is_done true); else later, from the loop. No answer within
 * limits.connect_timeout_ms: REASON_CREDENTIAL_UNAVAILABLE. A broker that goes
 * meanwhile is waited for, and the next one asked. req's path and query are
 * borrowed until then, or lease_cancel().
 */
struct lease_wait *lease_get(struct gate *g,
    const struct message_lease_request *req, lease_done *done, void *arg,
    bool *ret_is_done);
void lease_cancel(struct lease_wait *w); /* NULL is fine */

/*
 * Inside done: what the broker says of its refusal that the guest may read, a
 * word; "" for nothing.
 */
const char *lease_detail(const struct gate *g);

/*
 * NULL until the broker has told them once; nothing may go to an origin
 * before. While a broker is away, what the last one told holds: names are no
 * secret, and to forget them would let a guest's own key through.
 */
const struct grants *lease_grants(const struct gate *g);
/*
 * Calls done later, from the loop: REASON_NONE when the grants were told,
 * else REASON_CREDENTIAL_UNAVAILABLE as for lease_get(). There is no injection
 * with it. NULL when memory is short.
 */
struct lease_wait *lease_await_grants(struct gate *g, lease_done *done,
    void *arg);
/*
 * An origin answered 401 to a request with this lease: the broker is told, and
 * asked before it is used again.
 */
void lease_rejected(struct gate *g, uint64_t lease_id);
/*
 * Asks the broker to sign text (borrowed until it returns) for a lease of a
 * client certificate. done is called later, from the loop, once: with a
 * signature, or with none. NULL: it could not be asked.
 */
struct sign_wait;
typedef void sign_done(struct span signature, void *arg);
struct sign_wait *lease_sign(struct gate *g, uint64_t lease_id, uint16_t scheme,
    struct span text, sign_done *done, void *arg);
void lease_sign_cancel(struct sign_wait *w); /* NULL is fine */
/* Wipes every lease held: a reload, a revocation. */
void lease_forget_all(struct gate *g);

int lease_port_set(struct gate *g, int fd);
void lease_port_free(struct gate *g);

#endif
