/*
 * Values that are given back to their issuers: in the background, a few tries
 * each, whatever has become of their sandbox.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_REVOKER_H
#define TAPWARD_CREDENTIAL_BROKER_REVOKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/secret.h"
#include "credential-broker/kind.h"

struct broker;
struct revoker;

#define REVOKER_TRIES 3
/* Those that wait; more are left to end by themselves. */
#define REVOKER_MAX 4096

int revoker_new(struct broker *b, struct revoker **ret);
/* What is left is wiped, not given back. NULL is fine. */
void revoker_free(struct revoker *r);

/*
 * Called once for each new value, before it is used: what must be given back
 * is written down first. False: it cannot be, so it must not be used.
 */
bool revoker_note(struct credential *c, struct minted *m);
/* Gives it back if that can be done; what is needed for it is moved out of m.
 */
void revoker_take(struct credential *c, struct minted *m);
/* It has ended by itself. */
void revoker_forget(struct credential *c, const struct minted *m);
/*
 * A set of credentials has come into force: what a broker before this one had
 * minted and not given back is given back now.
 */
void revoker_sweep(struct broker *b);
/* How many are on their way. */
unsigned int revoker_count(const struct revoker *r);

#endif
