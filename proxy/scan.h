/*
 * Finds a secret in bytes that stream by, however they are split. It is looked
 * for as it is, in small and in capital letters, in base64 and base64url at
 * each of the three alignments and in hexadecimal; and each of these with any
 * of its bytes written as an escape of URLs, JSON or HTML (wire/spelling.h).
 * What could be the start of one is held back, and nothing else.
 *
 * Not found: what was transformed otherwise (encrypted, reversed, base64 of
 * base64 but for Basic, with separators between hexadecimal digits). Of base64
 * the digit at either end that neighbours share is no part of a form: it tells
 * four bits of the secret at most.
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
/* What one lease may be made of: its value, and parts that are secret alone. */
#define SCAN_SECRETS_MAX 4
#define SCAN_FORM_TEXT_SIZE 32

enum scan_form {
	SCAN_NONE,
	SCAN_RAW,
	SCAN_CASE, /* in small or in capital letters only */
	SCAN_PLUS, /* with '+' for each blank, as forms are encoded */
	SCAN_HEX,
	SCAN_BASE64,
	SCAN_BASE64_HEX, /* of what Basic sends */
	SCAN_BASE64_TWICE,
	SCAN_FORMS
};

struct scan_found {
	enum scan_form form; /* SCAN_NONE: nothing */
	bool is_escaped;
};

struct scan_secret {
	struct span value;  /* SCAN_SECRET_MIN_BYTES or more */
	bool is_sent_coded; /* in base64, which in turn could be encoded */
};

/* Zeroed: none, nothing is ever found. */
struct scan_forms {
	struct secret room; /* the secrets, and tables that tell of them */
};

/*
 * 1 to SCAN_SECRETS_MAX secrets, which are copied. 0, -EINVAL for one that is
 * too short, or as secret_alloc().
 */
int scan_forms_set(struct scan_forms *f, const struct scan_secret *secrets,
    size_t count);
void scan_forms_done(struct scan_forms *f);
bool scan_forms_is_empty(const struct scan_forms *f);
/*
 * Bytes that the longest form takes where each of its bytes is an escape of
 * the common lengths.
 */
size_t scan_forms_longest(const struct scan_forms *f);

/*
 * Overwrites ('*') each form that is whole in text. Returns how many bytes at
 * the front are free of any: what follows could be the start of one, unless
 * is_last says that nothing comes. found gets the first; what it held stays
 * when there is none.
 */
size_t scan_mask(const struct scan_forms *f, uint8_t *text, size_t len,
    bool is_last, struct scan_found *found);
/* The same, but it ends with the first that it finds, and changes nothing. */
size_t scan_look(const struct scan_forms *f, struct span text, bool is_last,
    struct scan_found *found);

/* "base64, escaped" and the like, for a record; "" for SCAN_NONE. */
void scan_found_text(const struct scan_found *found,
    char buf[SCAN_FORM_TEXT_SIZE]);

#endif
