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
	/* of a certificate that the key is for, and how it signs; NULL: none */
	const char *alg, *x5t_s256;
	const char *audience; /* of its assertion: the token URL */
};

/*
 * Adds what proves the client to body; header gets the line of Basic, or
 * stays empty.
 */
void oauth2_prove(const struct oauth2_client *c, struct form *body,
    struct form *header);
/* What a JWT asserts (RFC 7523 3). A text that is NULL is left out. */
struct oauth2_assertion {
	const struct jwt_key *key;
	const char *alg;               /* as jwt.h has it */
	const char *key_id, *x5t_s256; /* of its header */
	const char *issuer;            /* never NULL */
	const char *subject, *audience, *scope;
	uint64_t life_s;     /* 0: five minutes */
	bool has_not_before; /* some want "nbf" */
};
/* Appends it, signed. */
void oauth2_assert(const struct oauth2_assertion *a, struct form *f);
/*
 * Reads the answer of a token endpoint, whatever its status, into ret: value
 * and end. asked: the scopes that were asked for, parted by blanks; "": none
 * were. ret may be filled with a fault, too: it is then to be given back.
 * ret_refresh, if not NULL, gets a refresh token that came along.
 */
enum mint_fault oauth2_read(const struct fetch_answer *a, const char *asked,
    uint64_t default_ttl_s, struct minted *ret, struct secret *ret_refresh);

#endif
