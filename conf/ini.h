/*
 * The one reader of INI text, for policies and the host's configuration, on
 * top of libinih. Policies come from repositories that nobody has read, and
 * libinih as Debian builds it bends what it cannot hold: it cuts lines at 200
 * bytes and reads the rest as a new line, cuts section names at 49, stops a
 * value at a NUL, takes an indented line as one more value, keeps the section
 * before an unterminated one. So every line is judged here before libinih
 * sees it, and what libinih makes of it must be what was read here.
 */
#ifndef TAPWARD_CONF_INI_H
#define TAPWARD_CONF_INI_H

#include "base/bytes.h"
#include "base/err.h"

/* Longest line, its end not counted, that libinih holds. */
#define INI_LINE_MAX 198
/* Longest section name ("allow NAME") and key. */
#define INI_NAME_MAX 49

/* A section heading, or a key below one. Borrowed until the call returns. */
struct ini_entry {
	const char *kind;  /* first word of the heading */
	const char *name;  /* second word, "" without one */
	const char *key;   /* NULL: this is the heading itself */
	const char *value; /* never empty; NULL for a heading */
	unsigned int line;
};

/* 0 to go on; anything else stops the reading and is returned. */
typedef int ini_entry_fn(const struct ini_entry *e, void *arg);

/*
 * Calls fn for each heading and each key of text, in order. Stops at the
 * first line that is not sound: -EINVAL and err set to "file:line: what".
 * What fn has seen until then must be thrown away.
 *
 * A line is `[kind]`, `[kind NAME]`, `key = value`, a comment from ';' or '#'
 * in the first column, or blank. " ;" after a value starts a comment too.
 * Printable ASCII and tabs only; a CR before the LF is dropped.
 */
int ini_read(struct span text, const char *file, ini_entry_fn *fn, void *arg,
    struct err *err);

#endif
