/*
 * From a name to all of its addresses, IPv4 and IPv6: from the cache, or by
 * one flight of two questions that everybody who asks for the name shares.
 */
#ifndef TAPWARD_PROXY_DIALLER_RESOLVE_H
#define TAPWARD_PROXY_DIALLER_RESOLVE_H

#include <stdbool.h>

#include "base/message_dialler.h"
#include "proxy/dialler_answer.h"
#include "proxy/dialler_cache.h"
#include "proxy/dialler_query.h"

struct chan;
struct event_base;
struct dialler_resolver;
struct dialler_lookup; /* one who waits for a name */

#define DIALLER_RESOLVED_MAX (2 * DIALLER_ANSWER_ADDRESSES_MAX)

/*
 * None: why says whether the name does not resolve, or not in time, or the
 * answer was none that we take. Addresses are borrowed until the callee
 * returns. Comes from the event loop; the lookup is gone then.
 */
typedef void dialler_resolved(const struct address *addresses,
    unsigned int count, enum dialler_fault why, void *arg);

/* Before the process is sealed (dialler_ares.h). 0 or -errno. */
int dialler_resolver_new(struct event_base *base,
    struct dialler_resolver **ret);
/* Those who wait are forgotten, not called. NULL is fine. */
void dialler_resolver_free(struct dialler_resolver *r);
/*
 * Takes resolvers and limits over; config is borrowed for good. What was known
 * is forgotten, what is being asked is asked again. roots_fd (borrowed; -1:
 * none) is the index by which resolvers by TLS are verified. 0 or -errno.
 */
int dialler_resolver_configure(struct dialler_resolver *r,
    const struct message_dialler_config *config, int roots_fd);
/* Looks at them now, rather than when the first name is wanted. */
void dialler_resolver_probe(struct dialler_resolver *r);
void dialler_resolver_status(const struct dialler_resolver *r,
    struct message_dialler_status *ret);
/* changed is called when a resolver comes to be in another state. */
typedef void dialler_resolver_changed(void *arg);
void dialler_resolver_watch(struct dialler_resolver *r,
    dialler_resolver_changed *changed, void *arg);
/* Tells to how they are, as MSG_RESOLVERS; NULL: nobody is there. */
void dialler_resolver_tell(const struct dialler_resolver *r, struct chan *to);

/* As dialler_cache_find(). */
bool dialler_resolver_known(struct dialler_resolver *r, const char *host,
    struct dialler_cached *ret);
/*
 * host is a canonical name of two labels or more that a policy allowed. whose
 * is the generation of the sandbox that wants it, or RESOLVER_OURS: a name
 * counts as that one's until the nameservers have answered or were given up,
 * whether somebody waits for it still or not, and one has no more of them at
 * once than dials. NULL when too many names are being asked, or before the
 * first configuration.
 */
#define RESOLVER_OURS 0
struct dialler_lookup *dialler_resolver_ask(struct dialler_resolver *r,
    const char *host, uint64_t whose, dialler_resolved *done, void *arg);
void dialler_lookup_cancel(struct dialler_lookup *l); /* NULL is fine */

#endif
