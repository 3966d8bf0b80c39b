/*
 * JSON Web Tokens that we sign (RFC 7515 compact form): RS256, PS256, ES256 by
 * a private key in PEM.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_JWT_H
#define TAPWARD_CREDENTIAL_BROKER_JWT_H

#include <stdint.h>

#include "base/err.h"
#include "base/secret.h"
#include "credential-broker/form.h"

struct jwt_key;

/*
 * Reads an unencrypted private key: RSA of 2048 bits or more, or EC on P-256.
 * On failure -EINVAL and what is wrong with it, without a byte of it.
 */
int jwt_key_new(const struct secret *pem, struct jwt_key **ret,
    struct err *err);
void jwt_key_free(struct jwt_key *k); /* NULL is fine */

/* Base64url of SHA-256, and a NUL. */
#define JWT_THUMBPRINT_SIZE 44
/*
 * What "x5t#S256" says of a certificate in PEM, which is to be of this key and
 * not ended. 0, or -EINVAL and what is wrong with it.
 */
int jwt_thumbprint(const struct jwt_key *k, const struct secret *pem,
    char ret[JWT_THUMBPRINT_SIZE], struct err *err);

struct jwt_claim {
	const char *name;
	const char *text; /* NULL: number is the value */
	uint64_t number;
};

/*
 * Appends the signed token to f: header {"alg","typ"} and what of it is given,
 * then the claims in their order. alg NULL: RS256 or ES256, as the key is.
 */
struct jwt_spec {
	const char *alg;
	const char *key_id;   /* "kid"; NULL: none */
	const char *x5t;      /* "x5t"; NULL: none */
	const char *x5t_s256; /* "x5t#S256"; NULL: none */
	const struct jwt_claim *claims;
	size_t claim_count;
};
void jwt_sign(const struct jwt_key *k, const struct jwt_spec *spec,
    struct form *f);

#endif
