/*
 * How texts write a byte otherwise than as itself: URLs as %2F (RFC 3986 2.1),
 * strings of JSON, JavaScript, C and Python as \/, \x2f or \u002f (RFC 8259 7),
 * HTML as &sol;, &#47; or &#x2f;. Hexadecimal digits in any case, and one
 * inside another: %252F, \\\/, &amp;#47;.
 */
#ifndef TAPWARD_WIRE_SPELLING_H
#define TAPWARD_WIRE_SPELLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* One inside another: JSON in JSON in JSON in JSON has 15 backslashes. */
#define SPELLING_DEPTH_MAX 16

struct spelling {
	uint8_t byte; /* what is meant */
	size_t len;   /* by so many bytes of the text */
};

/* '%', '\\' or '&': what an escape begins with. */
bool spelling_is_lead(uint8_t c);
/* Could an escape begin with these two bytes? Most that leads begin do not. */
bool spelling_may_begin(uint8_t lead, uint8_t next);

enum spelling_step {
	SPELLING_PLAIN, /* it stands for itself: there is nothing to resolve */
	SPELLING_MEANT, /* s says what it stands for, which may go on so */
	SPELLING_OPEN,  /* the text ends before that can be told */
};

/*
 * Takes the spelling at the start of text one step further: s holds the step
 * before, of the first { text.ptr[0], 1 }.
 */
enum spelling_step spelling_resolve(struct spelling *s, struct span text);

#endif
