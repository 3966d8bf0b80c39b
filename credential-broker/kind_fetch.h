/*
 * What kinds share whose state of a flight is one question of fetch.h.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_KIND_FETCH_H
#define TAPWARD_CREDENTIAL_BROKER_KIND_FETCH_H

#include "credential-broker/fetch.h"
#include "credential-broker/kind.h"

/* t is what fetch_start() gave; NULL: the flight is over, by fault. */
void kind_fetch_begun(struct mint *m, struct fetch *t, enum mint_fault fault);
/* Its answer has come: mint_end(), after which result is wiped. */
void kind_fetch_end(struct mint *m, enum mint_fault fault,
    struct minted *result, uint32_t retry_after_s);
void kind_fetch_cancel(struct mint *m); /* kind.cancel */

/* The same of what is given back. */
void kind_fetch_revoke_begun(struct revoke *r, struct fetch *t,
    enum mint_fault fault);
void kind_fetch_revoke_end(struct revoke *r, enum mint_fault fault);
void kind_fetch_revoke_cancel(struct revoke *r); /* kind.revoke_cancel */

#endif
