/*
 * Whom something is granted to: a credential, which broker and supervisor must
 * read in one way, or that a sandbox learns.
 */
#ifndef TAPWARD_CONF_GRANT_H
#define TAPWARD_CONF_GRANT_H

#include <stdbool.h>

#include "base/message_broker.h"

/* Any of them fits both the sandbox's name and its owner. */
bool grants_cover(const struct message_broker_grant *grants, unsigned int count,
    const struct message_broker_attach *s);
/* Any grant of d fits both the sandbox's name and its owner (DESIGN 10). */
bool grant_covers(const struct message_broker_credential *d,
    const struct message_broker_attach *s);
/* `metadata = yes`: its guests find its placeholder at 169.254.169.254. */
bool grant_opens_metadata(const struct message_broker_credential *d);

#endif
