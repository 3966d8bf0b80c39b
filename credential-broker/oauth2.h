/*
 * What the kinds that speak OAuth 2.0 share (RFC 6749): how a client proves
 * itself, and the answer of a token endpoint.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_OAUTH2_H
#define TAPWARD_CREDENTIAL_BROKER_OAUTH2_H

#include "base/err.h"
#include "credential-broker/credential.h"
#include "credential-broker/fetch.h"
#include "credential-broker/form.h"
#include "credential-broker/jwt.h"
#include "credential-broker/kind.h"

enum oauth2_auth {
	OAUTH2_AUTH_BASIC, /* RFC 6749 2.3.1, both halves form-encoded */
	OAUTH2_AUTH_POST,
	OAUTH2_AUTH_NONE,
	OAUTH2_AUTH_JWT, /* RFC 7523 2.2 */
};

struct oauth2_client {
	enum oauth2_auth auth;
	const char *id;              /* NULL without one */
	const struct secret *secret; /* NULL without one */
	const struct jwt_key *key;   /* NULL without one */
	const char *key_id;          /* NULL without one */
	const char *audience;        /* of its assertion: the token URL */
};

/*
 * Adds what proves the client to body; header gets the line of Basic, or
 * stays empty.
 */
void oauth2_prove(const struct oauth2_client *c, struct form *body,
    struct form *header);
/*
 * Appends a JWT that asserts subject for issuer at audience, good for five
 * minutes (RFC 7523 3). subject NULL: issuer. scope NULL: none.
 */
void oauth2_assert(const struct jwt_key *key, const char *key_id,
    const char *issuer, const char *subject, const char *audience,
    const char *scope, struct form *f);
/*
 * Reads the answer of a token endpoint, whatever its status, into ret: value
 * and end. asked: the scopes that were asked for, parted by blanks; "": none
 * were. ret may be filled with a fault, too: it is then to be given back.
 * ret_refresh, if not NULL, gets a refresh token that came along.
 */
enum mint_fault oauth2_read(const struct fetch_answer *a, const char *asked,
    uint64_t default_ttl_s, struct minted *ret, struct secret *ret_refresh);

#endif
