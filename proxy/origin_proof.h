/*
 * An origin's handshake in which a client certificate is shown: the broker
 * signs (client_key.h, lease.h), and meanwhile it stands still.
 */
#ifndef TAPWARD_PROXY_ORIGIN_PROOF_H
#define TAPWARD_PROXY_ORIGIN_PROOF_H

#include "proxy/origin_private.h"

struct origin_proof;

/* The rule of o's exchange names a certificate. */
bool origin_shows(const struct origin *o);
/* As tls_origin_new(), for such a one. goes_on is called when it may. */
SSL *origin_proof_begin(struct origin *o, void (*goes_on)(struct origin *o));
/* A signature is waited for: reading is of no use. */
bool origin_proof_waits(const struct origin *o);
/* After a failed handshake: it failed since the broker did not sign. */
bool origin_proof_was_refused(const struct origin *o);
/*
 * After a handshake: NULL, or why nothing may be sent, which is that the origin
 * did not ask for a certificate.
 */
const char *origin_proof_fault(const struct origin *o);
/* Before its stream is done, or once the handshake is. */
void origin_proof_end(struct origin *o);

#endif
