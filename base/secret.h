/*
 * A secret value: in locked memory that is left out of core files and of
 * children, wiped when it goes. There is on purpose no way to print it.
 */
#ifndef TAPWARD_BASE_SECRET_H
#define TAPWARD_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Longest value: Azure and AWS session tokens reach 4 KiB, JWTs 16 KiB. */
#define SECRET_MAX_BYTES 65536
/* And of what is made of one: all the ways in which it could be written. */
#define SECRET_DERIVED_MAX_BYTES (1u << 20)

struct secret {
	uint8_t *ptr; /* NULL when empty */
	size_t len;
	size_t map_size; /* whole pages */
};

/* The empty secret. */
#define SECRET_NONE ((struct secret){ NULL, 0, 0 })

/*
 * Copies len bytes; what s held before is wiped. -E2BIG over the limit,
 * -ENOMEM when memory cannot be had or locked: an unlocked secret is not
 * stored. The caller still owns, and wipes, the source.
 */
int secret_set(struct secret *s, const void *ptr, size_t len);
/*
 * An uninitialised writable secret of exactly len bytes, at most
 * SECRET_DERIVED_MAX_BYTES; as secret_set().
 */
int secret_alloc(struct secret *s, size_t len);
/*
 * As secret_set() with all that can be read from fd, which must block; no copy
 * of it is left on the heap. Also -errno of read().
 */
int secret_read(struct secret *s, int fd);
/* Hands the value over: s becomes empty. */
struct secret secret_steal(struct secret *s);
struct span secret_span(const struct secret *s);
/* Compares in constant time for equal lengths. */
bool secret_equals(const struct secret *a, struct span b);
/* Wipes and frees; s is then empty. NULL and empty are fine. */
void secret_done(struct secret *s);

#define AUTO_SECRET __attribute__((cleanup(secret_done)))

/* Wipes bytes that held a secret on the way; never optimised away. */
void secret_wipe(void *ptr, size_t len);

#endif
