/*
 * `tapward check`: what is wrong with a file, and what a reviewer would ask.
 */
#ifndef TAPWARD_CONF_CHECK_H
#define TAPWARD_CONF_CHECK_H

#include <stddef.h>

#include "base/bytes.h"

/* Room for what check_text() writes. */
#define CHECK_TEXT_MAX_BYTES 131072

enum check_kind {
	CHECK_POLICY,
	CHECK_CEILING,  /* a policy by a ceiling's rules */
	CHECK_HOSTCONF, /* the host's configuration */
	CHECK_GUESS,    /* by its sections: a policy or the configuration */
};

struct check_report {
	size_t errors; /* all, written or not */
	size_t warnings;
	size_t rules; /* of a policy without errors */
	size_t hosts;
};

enum check_form {
	CHECK_LINES, /* for people */
	CHECK_JSON,  /* one object */
};

/*
 * Writes a line for each finding ("file:line: what, and how to mend it"), in
 * the order of the text, and, when there is no error, one that says so; or the
 * same as JSON. 0, or -ENOMEM.
 */
int check_text(const char *display_name, struct span text, enum check_kind kind,
    enum check_form form, struct wr *w, struct check_report *ret);

#endif
