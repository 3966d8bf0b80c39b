/*
 * Small readings of spans that the HTTP parsers share.
 */
#ifndef TAPWARD_WIRE_TOKEN_H
#define TAPWARD_WIRE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* tchar of RFC 9110 5.6.2. */
bool token_is_char(uint8_t c);
/* One or more tchar. */
bool token_is(struct span s);
/* HTAB, or 0x20 and up but DEL: what a field value or a phrase may hold. */
bool token_is_text(struct span s);
/* 0x21..0x7e, and at least one. */
bool token_is_visible(struct span s);

/*
 * What is before the first sep; rest becomes what is after it. Without a sep:
 * all of rest, and rest becomes empty with a NULL ptr.
 */
struct span token_cut(struct span *rest, uint8_t sep);
/* Without SP and HTAB at both ends. */
struct span token_trim(struct span s);
/*
 * 0|[1-9][0-9]*, at most max: no sign, no leading zero, no blank. False else.
 */
bool token_decimal(struct span s, uint64_t max, uint64_t *ret);

#endif
