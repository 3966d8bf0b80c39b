/*
 * Finds a secret in bytes that stream by, however they are split: raw, in
 * base64 and base64url at each of the three alignments, and as encoders of
 * URLs and of JSON escape it. What could be the
 * start of one is held back, and nothing else.
 *
 * A search of Wu and Manber: most bytes are never looked at, so that the scan
 * costs little beside TLS.
 */
#ifndef TAPWARD_PROXY_SCAN_H
#define TAPWARD_PROXY_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/secret.h"

/* Shorter secrets would be found everywhere: a lease of one is refused. */
#define SCAN_SECRET_MIN_BYTES 8
#define SCAN_FORMS_MAX 24

/* The forms of one secret. Zeroed: none, nothing is ever found. */
struct scan_forms {
	struct secret bytes; /* all forms, one after another */
	size_t at[SCAN_FORMS_MAX];
	size_t len[SCAN_FORMS_MAX];
	size_t count;
	size_t len_min, len_max;
	uint8_t shift[4096];
	bool begins[256]; /* some form begins with this byte */
};

/* 0, -EINVAL for a secret that is too short, or as secret_alloc(). */
int scan_forms_set(struct scan_forms *f, struct span secret);
void scan_forms_done(struct scan_forms *f);
bool scan_forms_is_empty(const struct scan_forms *f);

/* Where the first form in data begins and how long it is; false: none. */
bool scan_find(const struct scan_forms *f, struct span data, size_t *ret_at,
    size_t *ret_len);
/* How many of the last bytes of data could be the start of a form. */
size_t scan_tail(const struct scan_forms *f, struct span data);

#endif
