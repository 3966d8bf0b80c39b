/*
 * Texts that hold secrets while they are put together, in memory that is
 * locked and wiped: forms (application/x-www-form-urlencoded), header lines,
 * JSON texts, JWTs. Sticky as struct wr: one form_ok() at the end tells.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_FORM_H
#define TAPWARD_CREDENTIAL_BROKER_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/secret.h"

#define FORM_MAX_BYTES 65536

struct form {
	struct secret buf;
	size_t len;
	bool failed;
};

/* Room for FORM_MAX_BYTES less a NUL. */
struct form form_new(void);
void form_done(struct form *f);
#define AUTO_FORM __attribute__((cleanup(form_done)))

/* name=value, both percent-encoded, and '&' before them if need be. */
void form_add(struct form *f, const char *name, const char *value);
void form_add_span(struct form *f, const char *name, struct span value);
/* As they are. */
void form_text(struct form *f, const char *text);
void form_span(struct form *f, struct span s);
/* As a value of a form is written (RFC 6749 2.3.1, appendix B). */
void form_encoded(struct form *f, struct span s);
/* RFC 4648 4 with padding, and 5 without. */
void form_base64(struct form *f, struct span s);
void form_base64url(struct form *f, struct span s);
/* Within a JSON string: quotes, backslashes and control bytes escaped. */
void form_json(struct form *f, struct span s);

bool form_ok(const struct form *f);
struct span form_span_of(const struct form *f);
/* NUL-terminated; "" once it has failed. */
const char *form_text_of(struct form *f);

#endif
