/*
 * Paths of requests: can one be read in two ways, and does it match a rule.
 *
 * Rules match the bytes that are forwarded, so each resource has to have one
 * spelling. A path is canonical when
 * - it begins with '/', and no segment is empty (but the last), "." or "..";
 * - each byte is '/', or a pchar of RFC 3986 3.3 other than ';', or a percent
 *   triplet;
 * - a triplet stands for a byte that may not be written plainly: not a letter,
 *   digit, '-', '_', '.', a control, DEL, '\', ';', '?', '#', '%'; and runs of
 *   triplets from %80 up are well-formed UTF-8 (RFC 3629: no overlong forms).
 * Triplets of '~', ':', '@' and the sub-delims but ';' are let through and
 * matched as the byte they stand for: apt writes %7e and %2b, npm %40. Upper
 * and lower case of hexadecimal digits are one. %2F is told apart, since npm
 * needs it: a rule may opt in, and it then counts as a slash.
 */
#ifndef TAPWARD_WIRE_PATH_H
#define TAPWARD_WIRE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* The first reason why a path is not canonical, for a message. */
enum path_fault {
	PATH_CANONICAL,
	PATH_NO_SLASH,    /* does not begin with '/'; also "*" and "" */
	PATH_DOT_SEGMENT, /* "." or "..", also between encoded slashes */
	PATH_EMPTY_SEGMENT,
	PATH_BAD_PERCENT,     /* '%' without two hexadecimal digits */
	PATH_ENCODED_PLAIN,   /* a triplet of a letter, digit, '-', '_', '.' */
	PATH_ENCODED_SPECIAL, /* a triplet of '\', ';', '?', '#' or '%' */
	PATH_ENCODED_CONTROL,
	PATH_BAD_UTF8,
	PATH_SEMICOLON,
	PATH_BAD_BYTE, /* '\', '"', a blank and others to be encoded */
	PATH_FAULT_COUNT
};

/*
 * The two claims of struct policy_request (conf/policy.h). They are
 * independent: %2F alone does not make a path ambiguous.
 */
struct path_reading {
	bool is_ambiguous;
	bool has_encoded_slash;
	enum path_fault fault; /* PATH_CANONICAL unless is_ambiguous */
};

struct path_reading path_read(struct span path);
const char *path_fault_text(enum path_fault f);

/* Longest pattern. */
#define PATH_PATTERN_MAX_BYTES 255

/*
 * NULL for a pattern that path_match() takes, else one clause that says what
 * is wrong with it. A pattern is a canonical path (%2F allowed) that may hold
 * '*' (any bytes of one segment, also none) and "**" (any bytes at all); three
 * stars in a row are refused. A literal star is written %2A.
 */
const char *path_pattern_fault(struct span pattern);

/*
 * Does the whole path match? A '/' of either side matches %2F of the other.
 * Time is at most length of path times length of pattern. The answer means
 * something only for a pattern that path_pattern_fault() passed and a path
 * that path_read() calls unambiguous: a rule is compiled once, a path is read
 * once, and many rules are asked. An empty or too long pattern matches nothing.
 */
bool path_match(struct span pattern, struct span path);
/*
 * The same without regard to the case of ASCII letters: for what is to be
 * denied, since many an origin takes /Admin for /admin.
 */
bool path_match_any_case(struct span pattern, struct span path);

#endif
