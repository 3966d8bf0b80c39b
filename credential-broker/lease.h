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
 * An origin answered 401 to the lease of this number. Its value is dropped, at
 * most once in TOKEN_REJECT_MS, and the gate forgets it; a value that cannot be
 * minted anew stays. Whoever asks next gets another value: the gate itself, if
 * it can send the request again.
 */
void lease_reject(struct sandbox *s, uint64_t lease_id);
/*
 * Ends leases of the credential, NULL: all. Each is written down as revoked,
 * and the gate is told to forget, and to end what one has opened: a WebSocket
 * lives longer than its lease.
 */
void lease_revoke(struct sandbox *s, const char *credential);

#endif
