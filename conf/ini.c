/*
 * Two readings that must agree: line_check() takes each line apart by a
 * grammar without exceptions, libinih takes the same line apart by its own,
 * and on_pair() refuses the file where they differ.
 */
#include "conf/ini.h"

#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"

struct ini_state {
	struct rd in;
	const char *file;
	unsigned int line;
	char heading[INI_NAME_MAX + 1]; /* as libinih must report it */
	char kind[INI_NAME_MAX + 1];
	const char *name;           /* second word within heading */
	char key[INI_NAME_MAX + 1]; /* of this line, "" for none */
	ini_entry_fn *fn;
	void *arg;
	struct err *err;
	int rc;
};

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static bool
is_name_byte(uint8_t c)
{
	return ascii_is_alnum(c) || c == '-' || c == '_' || c == '.';
}

static struct span
trim(struct span s)
{
	while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
		s.len--;
	while (s.len > 0 && is_blank(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	return s;
}

static int
refuse(struct ini_state *st, const char *what)
{
	st->rc = err_at(st->err, st->file, st->line, "%s", what);
	return st->rc;
}

/* The bytes before the first c, or the whole; *ret_found tells which. */
static struct span
until(struct span s, uint8_t c, bool *ret_found)
{
	const uint8_t *p = s.len > 0 ? memchr(s.ptr, c, s.len) : NULL;

	*ret_found = p != NULL;
	if (p != NULL)
		s.len = (size_t)(p - s.ptr);
	return s;
}

static struct span
after(struct span whole, struct span head)
{
	size_t skip = head.len + 1;

	return (struct span){ whole.ptr + skip, whole.len - skip };
}

static const char *
bad_byte(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '\0')
			return "a NUL byte: a policy is plain text, remove it";
		if (s.ptr[i] >= 0x7f)
			return "a byte that is not ASCII: write names in "
			       "their xn-- form and comments in ASCII";
		if (s.ptr[i] < 0x20 && s.ptr[i] != '\t')
			return "a control byte: only printable text, tabs and "
			       "line ends are taken";
	}
	return NULL;
}

static bool
all_name_bytes(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!is_name_byte(s.ptr[i]))
			return false;
	}
	return s.len > 0;
}

static void
copy(char *buf, struct span s)
{
	memcpy(buf, s.ptr, s.len);
	buf[s.len] = '\0';
}

/* `[kind]` or `[kind NAME]`, then nothing but a comment. */
static int
heading_check(struct ini_state *st, struct span line)
{
	struct span inner, kind, name = { NULL, 0 }, rest;
	bool found;
	struct ini_entry e = { .line = st->line };

	line.ptr++;
	line.len--;
	inner = until(line, ']', &found);
	if (!found)
		return refuse(st, "a section heading without its ']'");
	rest = after(line, inner);
	if (trim(rest).len > 0 &&
	    !(is_blank(rest.ptr[0]) && trim(rest).ptr[0] == ';'))
		return refuse(st,
		    "text after a section heading: keys go on "
		    "lines of their own");
	if (inner.len > INI_NAME_MAX)
		return refuse(st,
		    "a section name of more than 49 bytes: "
		    "shorten it");
	kind = until(inner, ' ', &found);
	if (found)
		name = after(inner, kind);
	if (!all_name_bytes(kind) || (found && !all_name_bytes(name)))
		return refuse(st,
		    "a section heading is [KIND] or [KIND NAME] "
		    "of letters, digits, '-', '_' and '.'");
	copy(st->heading, inner);
	copy(st->kind, kind);
	st->name = st->heading + (found ? kind.len + 1 : kind.len);
	e.kind = st->kind;
	e.name = st->name;
	st->rc = st->fn(&e, st->arg);
	return st->rc;
}

static int
key_check(struct ini_state *st, struct span line)
{
	bool found;
	struct span key = trim(until(line, '=', &found)), value;

	if (found && key.len > INI_NAME_MAX)
		return refuse(st, "a key of more than 49 bytes");
	if (!found || !all_name_bytes(key))
		return refuse(st,
		    "this is not `key = value`, a [section] or "
		    "a comment (\"; text\" in the first column)");
	value = trim(after(line, until(line, '=', &found)));
	if (value.len == 0)
		return refuse(st,
		    "a key without a value: give one or remove "
		    "the line");
	if (value.ptr[0] == ';' || value.ptr[0] == '#')
		return refuse(st,
		    "a value that starts like a comment: give a "
		    "value or remove the line");
	if (st->heading[0] == '\0')
		return refuse(st, "a key before the first [section]");
	copy(st->key, key);
	return 0;
}

/* Judges one line; *ret_pass tells whether libinih need see it. */
static int
line_check(struct ini_state *st, struct span line, bool *ret_pass)
{
	const char *bad = bad_byte(line);

	*ret_pass = false;
	st->key[0] = '\0';
	if (line.len > INI_LINE_MAX)
		return refuse(st,
		    "a line of more than 198 bytes: repeat the "
		    "key on lines of its own instead");
	if (bad != NULL)
		return refuse(st, bad);
	if (trim(line).len == 0 || line.ptr[0] == ';' || line.ptr[0] == '#')
		return 0;
	if (is_blank(line.ptr[0]))
		return refuse(st,
		    "an indented line: start it in the first "
		    "column");
	*ret_pass = true;
	if (line.ptr[0] == '[')
		return heading_check(st, line);
	return key_check(st, line);
}

static struct span
take_line(struct rd *in)
{
	bool found;
	struct span left = { in->at, rd_left(in) };
	struct span line = rd_take(in, until(left, '\n', &found).len);

	rd_skip(in, found ? 1 : 0);
	if (found && line.len > 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	return line;
}

/* libinih's reader: one whole line into buf of num bytes, NULL to end. */
static char *
next_line(char *buf, int num, void *stream)
{
	struct ini_state *st = stream;
	struct span line;
	bool pass;

	if (st->rc != 0 || rd_left(&st->in) == 0)
		return NULL;
	st->line++;
	line = take_line(&st->in);
	if (line_check(st, line, &pass) != 0)
		return NULL;
	if (!pass)
		line.len = 0;
	if (num < 0 || line.len + 2 > (size_t)num) {
		(void)refuse(st, "a line longer than this libinih holds");
		return NULL;
	}
	if (line.len > 0)
		memcpy(buf, line.ptr, line.len);
	buf[line.len] = '\n';
	buf[line.len + 1] = '\0';
	return buf;
}

/* libinih's handler: 0 stops it. */
static int
on_pair(void *user, const char *section, const char *key, const char *value)
{
	struct ini_state *st = user;
	struct ini_entry e = { .kind = st->kind,
		.name = st->name,
		.key = key,
		.value = value,
		.line = st->line };

	if (st->rc != 0)
		return 0;
	if (strcmp(section, st->heading) != 0 || strcmp(key, st->key) != 0 ||
	    value == NULL || value[0] == '\0') {
		(void)refuse(st, "a line that can be read in two ways");
		return 0;
	}
	st->key[0] = '\0'; /* a second call for this line differs above */
	st->rc = st->fn(&e, st->arg);
	return st->rc == 0;
}

int
ini_read(struct span text, const char *file, ini_entry_fn *fn, void *arg,
    struct err *err)
{
	struct ini_state st = { .in = rd_span(text),
		.file = file,
		.fn = fn,
		.arg = arg,
		.err = err,
		.name = "" };
	int rc;

	ini_stop_on_first_error = true;
	ini_allow_multiline = false;
	ini_allow_bom = false;
	rc = ini_parse_stream(next_line, &st, on_pair, &st);
	if (st.rc != 0)
		return st.rc;
	if (rc != 0)
		return err_at(err, file, st.line, "not a line of an INI file");
	return 0;
}
