/*
 * Writes a secret the ways that origins do, for tests of the search: a form
 * (what encoders make of it) in a spelling (what writers of URLs, JSON and
 * HTML make of that). By other code than what it is to be found by.
 */
#ifndef TAPWARD_TESTS_SAY_H
#define TAPWARD_TESTS_SAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

enum say_form {
	SAY_RAW,
	SAY_LOWER,
	SAY_UPPER,
	SAY_HEX,
	SAY_HEX_UPPER,
	SAY_BASE64, /* of before, the secret and after: all alignments */
	SAY_BASE64_URL,
	SAY_FORMS
};

enum say_way {
	SAY_PLAIN,
	SAY_URI_COMPONENT, /* encodeURIComponent() */
	SAY_URI_LOWER,     /* the same in small digits */
	SAY_URI,           /* urllib's quote(): keeps a slash */
	SAY_URI_ALL,       /* every byte */
	SAY_URI_ALL_LOWER,
	SAY_URI_MIXED,    /* every other byte, digits in any case */
	SAY_URI_TWICE,    /* a URL in a URL */
	SAY_JSON,         /* JSON.stringify(), Python's json */
	SAY_JSON_PHP,     /* a backslash before a slash */
	SAY_JSON_GO,      /* \u0026 for what HTML minds */
	SAY_JSON_NET,     /* the same in capitals, '+' too */
	SAY_JSON_ALL,     /* \u00NN for every byte */
	SAY_JSON_TWICE,   /* PHP's, in a string of JSON */
	SAY_JSON_ESCAPED, /* a percent sign as \u0025 and two digits */
	SAY_HEX_ESCAPES,  /* \xNN for every byte: bytes of Python */
	SAY_REPR,         /* Python's repr() */
	SAY_HTML,         /* htmlspecialchars() */
	SAY_HTML_ALL,     /* htmlentities() with names of HTML 5 */
	SAY_HTML_DECIMAL, /* Go's html/template */
	SAY_HTML_HEX,     /* mustache */
	SAY_WAYS
};

/* Each has a name for messages. */
const char *say_form_name(enum say_form form);
const char *say_way_name(enum say_way way);

/*
 * Writes before, the secret and after; before and after as they are, but for
 * the forms of base64, which they are part of. ret_at and ret_end: what tells
 * of the secret alone.
 */
void say(struct wr *w, enum say_form form, enum say_way way, struct span before,
    struct span secret, struct span after, size_t *ret_at, size_t *ret_end);

#endif
