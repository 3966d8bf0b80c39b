/*
 * What Vault and OpenBao are asked, and what of their answers is believed
 * (their HTTP API, version 1). Nothing here asks.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_VAULT_H
#define TAPWARD_CREDENTIAL_BROKER_VAULT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/secret.h"
#include "credential-broker/credential.h"
#include "credential-broker/form.h"
#include "credential-broker/kind.h"

#define VAULT_PATH_SIZE 640
/* A token: 95 bytes today, a JWT where somebody has made it one. */
#define VAULT_TOKEN_MAX_BYTES 4096
#define VAULT_LEASE_MAX_BYTES 1024

enum vault_engine {
	VAULT_KV2,    /* versions, at MOUNT/data/PATH */
	VAULT_KV1,    /* or anything else that has no lease */
	VAULT_DYNAMIC /* made for whoever asks, with a lease */
};

/* How we log in; the field names are those of the request. */
struct vault_login {
	const char *name;
	const char *id_field, *id_key;         /* a setting */
	const char *secret_field, *secret_key; /* a source */
};

/* What load() makes of a definition. */
struct vault {
	const struct vault_login *login; /* id_field NULL: with a token */
	enum vault_engine engine;
	uint64_t duration_s;
	bool may_be_clear;
};

/* A token or a lease, and when it ends. */
struct vault_lease {
	struct secret id; /* empty: there is none */
	uint64_t end_boot_ms;
};
void vault_lease_done(struct vault_lease *l); /* wipes */

/* 0, or -EINVAL and what is wrong. */
int vault_read_definition(const struct credential *c, struct vault *ret,
    struct err *err);

/* --- questions: paths below vault-url, bodies in JSON --------------------- */

void vault_put_login(const struct credential *c, char path[VAULT_PATH_SIZE],
    struct form *body);
/* A token of the policies that the definition names, for one sandbox. */
void vault_put_create(const struct credential *c, const char *sandbox,
    char path[VAULT_PATH_SIZE], struct form *body);
void vault_put_renew(const struct vault *v, char path[VAULT_PATH_SIZE],
    struct form *body);
void vault_put_renew_lease(const struct vault *v, struct span lease,
    char path[VAULT_PATH_SIZE], struct form *body);
/* By GET. */
void vault_put_read(const struct credential *c, char path[VAULT_PATH_SIZE]);

/* --- answers -------------------------------------------------------------- */

/*
 * Of login and create. MINT_ANSWER: it holds no token, or one wrapped, or one
 * that could not be given back; MINT_EXPIRED: one without life.
 */
enum mint_fault vault_take_token(const json_t *j, struct vault_lease *ret);
/* Of create: its policies are no more than those asked for. */
bool vault_is_within(const struct credential *c, const json_t *j);
/*
 * Of a renewal, of which part ("auth" or NULL: the whole) says for how long:
 * moves the end, unless it would move by so little that the most it may live
 * is reached. MINT_EXPIRED: make another.
 */
enum mint_fault vault_take_renewal(const json_t *j, const char *part,
    struct vault_lease *l);
/*
 * Of a read: ret gets value and user, ret_lease the lease if it has one that
 * can be renewed. ret->not_after_boot_ms is only moved to sooner.
 */
enum mint_fault vault_take_secret(const struct credential *c, const json_t *j,
    struct minted *ret, struct vault_lease *ret_lease);

#endif
