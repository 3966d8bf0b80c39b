/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash, so that whoever
 * writes a policy or a host name cannot choose names that fall together.
 */
#ifndef TAPWARD_CONF_SIPHASH_H
#define TAPWARD_CONF_SIPHASH_H

#include <stdint.h>

#include "base/bytes.h"

struct siphash_key {
	uint64_t k0, k1;
};

uint64_t siphash(const struct siphash_key *key, struct span in);

#endif
