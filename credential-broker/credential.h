/*
 * The credentials of the host's configuration, as one set that is replaced
 * whole, and what each is bound to: who may use it, and for which requests.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_CREDENTIAL_H
#define TAPWARD_CREDENTIAL_BROKER_CREDENTIAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/message_broker.h"
#include "base/message_lease.h"
#include "base/secret.h"
#include "credential-broker/kind.h"

struct credential {
	struct message_broker_credential definition;
	const struct kind *kind;
	struct secret value; /* of the kinds that hold one */
};

struct credential_set {
	unsigned int count;
	struct credential *credentials[BROKER_CREDENTIALS_MAX];
};

/*
 * Checks the definition and loads its value from source_fd (borrowed, -1:
 * none came). 0, or -errno and a text for whoever wrote the configuration.
 * One whose source could not be opened is part of the set without a value:
 * nothing is minted of it, but guests still bring no key of theirs there.
 * -ENOKEY: what the source holds is of no use; *ret is such a one.
 */
int credential_new(const struct message_broker_credential *definition,
    int source_fd, struct credential **ret, struct err *err);
void credential_free(struct credential *c); /* NULL is fine */
/* The same definition and the same value. */
bool credential_equals(const struct credential *a, const struct credential *b);

struct credential_set *credential_set_new(void);
void credential_set_free(struct credential_set *s); /* NULL is fine */
/* Takes c. -EEXIST for a second one of its name, -ENOSPC; c is then freed. */
int credential_set_add(struct credential_set *s, struct credential *c);
/* NULL without one. */
struct credential *credential_set_find(const struct credential_set *s,
    const char *name);

/* Any grant of c fits both the sandbox's name and its owner (DESIGN 10). */
bool credential_is_granted(const struct credential *c,
    const struct message_broker_attach *s);

/*
 * NULL when c may go into the request, else one word that says what it is not
 * bound to: "host", "port", "method", "path", "deny-path". The path is
 * canonical (wire/path.h).
 */
const char *credential_misuse(const struct credential *c,
    const struct message_lease_request *req);
/* It binds neither method nor path: one lease serves any request to host. */
bool credential_serves_any_request(const struct credential *c);

#endif
