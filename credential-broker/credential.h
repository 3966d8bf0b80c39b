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
	struct broker *broker; /* NULL: of none yet */
	unsigned int refs;
	bool is_loaded;      /* its kind can do with it */
	struct secret value; /* of the kinds that hold one */
	/* of the settings that are sources, by their index */
	struct secret secrets[BROKER_SETTINGS_MAX];
	bool is_serial; /* kind.is_serial, or load() found that it is */
	void *state;    /* the kind's */
};

struct credential_set {
	unsigned int count;
	struct credential *credentials[BROKER_CREDENTIALS_MAX];
};

/*
 * Checks the definition and loads its secrets from fds (borrowed, as
 * message_broker.h has them). 0, or -errno and a text for whoever wrote the
 * configuration. One of which a source could not be opened is part of the set
 * and not loaded: nothing is minted of it, but guests still bring no key of
 * theirs there. -ENOKEY: what a source holds is of no use; *ret is such a one.
 */
int credential_new(const struct message_broker_credential *definition,
    const int *fds, unsigned int fd_count, struct credential **ret,
    struct err *err);
struct credential *credential_ref(struct credential *c);
void credential_unref(struct credential *c); /* NULL is fine */
/* The same definition and the same secrets. */
bool credential_equals(const struct credential *a, const struct credential *b);

/* Of kinds: what a key of the definition says. NULL without it. */
const char *credential_setting(const struct credential *c, const char *name);
/* The nth of a list, from 0. */
const char *credential_item(const struct credential *c, const char *name,
    unsigned int n);
const struct secret *credential_secret(const struct credential *c,
    const char *name);
bool credential_says_yes(const struct credential *c, const char *name);
uint64_t credential_seconds(const struct credential *c, const char *name,
    uint64_t otherwise);
/* A list, parted by blanks. -EINVAL and a text if it does not fit. */
int credential_join(const struct credential *c, const char *name, char *buf,
    size_t size, struct err *err);

struct credential_set *credential_set_new(void);
void credential_set_free(struct credential_set *s); /* NULL is fine */
/* Takes c. -EEXIST for a second one of its name, -ENOSPC; c is then freed. */
int credential_set_add(struct credential_set *s, struct credential *c);
/* NULL without one. */
struct credential *credential_set_find(const struct credential_set *s,
    const char *name);

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
