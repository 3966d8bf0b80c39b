/*
 * What a program says that gives out a key of AWS, by the protocol that AWS's
 * own programs call credential_process.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_AWS_PROCESS_H
#define TAPWARD_CREDENTIAL_BROKER_AWS_PROCESS_H

#include <stdint.h>

#include "base/bytes.h"
#include "credential-broker/kind.h"

/*
 * One JSON object: Version 1, AccessKeyId, SecretAccessKey, perhaps a
 * SessionToken, and an Expiration (RFC 3339). Without that the key is used for
 * default_ttl_s, and then asked for anew. Fields that are not named are passed
 * over. ret->value is as aws_key_join() makes it.
 */
enum mint_fault aws_process_read(struct span output, uint64_t default_ttl_s,
    struct minted *ret);

#endif
