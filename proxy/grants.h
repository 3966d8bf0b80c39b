/*
 * What the broker says that this sandbox is granted: at which host:port, and
 * which fields a guest may not bring there, because a credential of the host's
 * is there for it (DESIGN 8). Names only. It does not hang on the policy: who
 * writes that one could else let a key of his own in by not naming ours.
 */
#ifndef TAPWARD_PROXY_GRANTS_H
#define TAPWARD_PROXY_GRANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct grants;

struct grants *grants_new(void);
void grants_free(struct grants *g); /* NULL is fine */

/*
 * MSG_GRANT and MSG_GRANTS_WHOLE. What is being sent counts once it is whole;
 * until then what was whole before. 0, -ENOMEM, or -EBADMSG.
 */
int grants_on_grant(struct grants *g, struct rd *body);
int grants_on_whole(struct grants *g, struct rd *body);
/* Another broker: what the one before was sending is dropped. */
void grants_forget_next(struct grants *g);

/* A whole set was told. */
bool grants_are_known(const struct grants *g);
/* Is anything granted at host:port? */
bool grants_have(const struct grants *g, const char *host, uint16_t port);
/*
 * Does text hold the placeholder of a credential that is granted, but not for
 * host:port? A guest that was made to send it somewhere else thinks that it
 * gives a secret away.
 */
bool grants_misplaced(const struct grants *g, const char *host, uint16_t port,
    struct span text);
/* What the metadata service of a cloud hands out. Borrowed. */
struct grants_metadata {
	const char *placeholder, *identity,
	    *place; /* as base/message_lease.h */
};
/*
 * Of cloud (enum grant_cloud); of more than one credential that of the first in
 * the configuration. False: nothing is granted there, and it is not to be seen.
 */
bool grants_metadata(const struct grants *g, uint8_t cloud,
    struct grants_metadata *ret);
/* Is there any cloud's? */
bool grants_have_metadata(const struct grants *g);
/* May a guest not send a field of this name, in any spelling, there? */
bool grants_strip(const struct grants *g, const char *host, uint16_t port,
    struct span name);
/* The same of a parameter in a query. */
bool grants_strip_parameter(const struct grants *g, const char *host,
    uint16_t port, struct span name);

#endif
