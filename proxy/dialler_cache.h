/*
 * Names that resolved, or did not, for as long as their records allow. Shared
 * by all sandboxes: a name comes in here only after the policy of one allowed
 * it, and every dial is judged before it is looked up here. Bounded; the entry
 * that was not asked for longest makes room.
 */
#ifndef TAPWARD_PROXY_DIALLER_CACHE_H
#define TAPWARD_PROXY_DIALLER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/address.h"

struct dialler_cache;

/* NULL when memory or randomness is short. names_max is at least 1. */
struct dialler_cache *dialler_cache_new(size_t names_max);
void dialler_cache_free(struct dialler_cache *c); /* NULL is fine */

/* Addresses of a name; none: it is known not to resolve. */
struct dialler_cached {
	const struct address *addresses; /* borrowed until the next call */
	unsigned int count;
};

/* False: nothing is known, or what was known has run out. */
bool dialler_cache_find(struct dialler_cache *c, const char *host,
    struct dialler_cached *ret);
/*
 * Replaces what was known of host. Short memory leaves it unknown, which
 * costs a question.
 */
void dialler_cache_put(struct dialler_cache *c, const char *host,
    const struct address *addresses, unsigned int count, uint32_t ttl_s);
/* Forgets everything. */
void dialler_cache_flush(struct dialler_cache *c);
/* Also takes a new bound over. At least 1. */
void dialler_cache_resize(struct dialler_cache *c, size_t names_max);
size_t dialler_cache_count(const struct dialler_cache *c);

#endif
