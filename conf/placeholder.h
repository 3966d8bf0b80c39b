/*
 * What a guest holds in place of a secret where the host's configuration names
 * nothing: a text of the shape that clients of a service check a key for
 * before they send it. It is made of the credential's name, so that it stays
 * what it is, and is no secret.
 */
#ifndef TAPWARD_CONF_PLACEHOLDER_H
#define TAPWARD_CONF_PLACEHOLDER_H

#include "base/message_broker.h"

/* NUL-terminated; of bytes that no URL, header or JSON text escapes. */
void placeholder_make(const struct message_broker_credential *d,
    char ret[LEASE_USER_SIZE]);

#endif
