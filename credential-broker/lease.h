/*
 * From the question of a gate to a lease, or to why not.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_LEASE_H
#define TAPWARD_CREDENTIAL_BROKER_LEASE_H

#include "base/message_lease.h"
#include "credential-broker/kind.h"
#include "credential-broker/sandbox.h"

/* Room for the longest MSG_LEASE: a value, and all the rest. */
#define LEASE_PACKET_BYTES (KIND_VALUE_MAX_BYTES + 8192)

/* Answers by one MSG_LEASE. req->host is canonical. */
void lease_request(struct sandbox *s, uint32_t id,
    const struct message_lease_request *req);
/*
 * Ends leases of the credential, NULL: all. Each is written down as revoked,
 * and the gate is told to forget, and to end what one has opened: a WebSocket
 * lives longer than its lease.
 */
void lease_revoke(struct sandbox *s, const char *credential);

#endif
