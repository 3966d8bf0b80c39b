/*
 * Keys of AWS: as files and programs hold them, as a kind hands them out, and
 * what a gate gets of one.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_AWS_KEY_H
#define TAPWARD_CREDENTIAL_BROKER_AWS_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/secret.h"
#include "credential-broker/kind.h"

/* A key as a kind hands it out: "KEYID SECRET", perhaps " TOKEN". Borrowed. */
struct aws_key {
	struct span id;
	struct span secret;
	struct span token; /* empty: it is no session's */
};

/* False for anything else. */
bool aws_key_split(struct span value, struct aws_key *ret);
/* The same, made of its parts. -EINVAL if they are none; or as secret_set(). */
int aws_key_join(const struct aws_key *k, struct secret *ret);
/* The same, as a kind says it of an issuer's answer. */
enum mint_fault aws_key_mint(const struct aws_key *k, struct secret *ret);

/*
 * Reads a file as AWS's own programs have them: aws_access_key_id =,
 * aws_secret_access_key = and perhaps aws_session_token =, under one [profile]
 * or none. Or a line as kinds hand it out. NULL, or what is wrong; never a byte
 * of it. *ret is as aws_key_join() makes it.
 */
const char *aws_key_read(struct span file, struct secret *ret);

/*
 * What a lease holds of k (LEASE_APPLY_SIGV4): good for one region and one
 * service, and for the day (UTC) of wall_ms. 0 or -errno.
 */
int aws_key_derive(const struct aws_key *k, const char *region,
    const char *service, uint64_t wall_ms, struct secret *ret);
/* How long that day has left. */
uint64_t aws_key_day_left_ms(uint64_t wall_ms);

#endif
