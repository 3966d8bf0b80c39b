/*
 * What becomes of a minted value, written into its sandbox's audit log: a
 * fingerprint and the digest of its scope, never the value.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_RECORD_H
#define TAPWARD_CREDENTIAL_BROKER_RECORD_H

#include "base/bytes.h"
#include "credential-broker/kind.h"

struct token;

enum record_event {
	RECORD_MINT,
	RECORD_REFRESH,
	RECORD_INVALIDATE, /* an origin answered 401 */
	RECORD_REVOKE,     /* it is being given back, or ends with us */
	RECORD_EVENT_COUNT
};

/* "fp=8HEX scope=8HEX", the second only for one that is narrowed. */
#define RECORD_TEXT_SIZE 64

/* Its present value. */
void record_minted(const struct token *t, enum record_event what);
/* There is none. */
void record_failed(const struct token *t, enum mint_fault fault);
/*
 * The first eight digits of HMAC-SHA256 by a key that this process made when
 * it began: two records of one value are seen to be, and nothing more.
 */
#define RECORD_FINGERPRINT_SIZE 9
void record_fingerprint(struct span value, char ret[RECORD_FINGERPRINT_SIZE]);

#endif
