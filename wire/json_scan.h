/*
 * JSON as it comes (RFC 8259), a token at a time: no memory, no recursion, a
 * fixed size. Stricter than most readers where two of them could differ: a
 * name that comes twice in one object, in any case of its letters, is refused
 * (many readers take the last, some the first, and Go's takes any case); so
 * are names that are not printable ASCII, half a surrogate, U+0000, and bytes
 * that are not UTF-8. The outermost value is an object or an array.
 */
#ifndef TAPWARD_WIRE_JSON_SCAN_H
#define TAPWARD_WIRE_JSON_SCAN_H

#include <stdbool.h>

#include "base/bytes.h"

/* Of one name, text or number; its text is held until it is whole. */
#define JSON_SCAN_TEXT_MAX 8192
#define JSON_SCAN_DEPTH_MAX 16
/* Names of all objects that are open at once. */
#define JSON_SCAN_NAMES_MAX 96

enum json_token {
	JSON_MORE, /* all bytes were taken; see json_scan_is_whole() */
	JSON_OBJECT,
	JSON_OBJECT_END,
	JSON_ARRAY,
	JSON_ARRAY_END,
	JSON_NAME, /* its text is in json_scan_text(), and of the next two */
	JSON_TEXT,
	JSON_NUMBER, /* as it was written */
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
	/* refusals: they are final, and repeated */
	JSON_BROKEN,
	JSON_TWICE, /* a name of one object */
	JSON_LARGE, /* more than the bounds above */
	JSON_TOKENS
};

enum json_phase {
	JSON_AT_START, /* zeroed */
	JSON_AT_VALUE,
	JSON_AT_VALUE_OR_END, /* of an array */
	JSON_AT_NAME,
	JSON_AT_NAME_OR_END,
	JSON_AT_COLON,
	JSON_AT_COMMA_OR_END,
	JSON_IN_STRING,
	JSON_IN_ESCAPE,
	JSON_IN_HEX,
	JSON_IN_NUMBER,
	JSON_IN_WORD,
	JSON_AT_END, /* the outermost value is whole: blanks may follow */
};

/* Zeroed: before the first byte. */
struct json_scan {
	enum json_phase phase;
	enum json_token fault;
	bool is_name;
	/* what is open: bit i says that level i is an array */
	unsigned int depth;
	uint32_t arrays;
	/* names that were seen in objects that are open, as hashes */
	uint64_t names[JSON_SCAN_NAMES_MAX];
	size_t name_count;
	size_t names_at[JSON_SCAN_DEPTH_MAX];
	/* within a string */
	unsigned int hex_left, tail_left;
	uint32_t hex, high; /* high: of a surrogate pair, or 0 */
	uint8_t tail_min, tail_max;
	const char *word; /* what is left of true, false or null */
	enum json_token word_token;
	size_t len;
	uint8_t text[JSON_SCAN_TEXT_MAX];
};

/* The next token; takes from *in what it was read from. */
enum json_token json_scan_next(struct json_scan *j, struct span *in);
/* The text of the token that was just returned. */
struct span json_scan_text(const struct json_scan *j);
/* The outermost value has ended, and nothing was wrong so far. */
bool json_scan_is_whole(const struct json_scan *j);
/* A whole number that is not negative, as written: no exponent, no point. */
bool json_scan_number(const struct json_scan *j, uint64_t *ret);

#endif
