/*
 * Character classes over ASCII bytes, without locale. The ones of <ctype.h>
 * follow the locale and are undefined for negative char.
 */
#ifndef TAPWARD_BASE_ASCII_H
#define TAPWARD_BASE_ASCII_H

#include <stdbool.h>
#include <stdint.h>

static inline bool
ascii_is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static inline bool
ascii_is_alpha(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool
ascii_is_alnum(uint8_t c)
{
	return ascii_is_digit(c) || ascii_is_alpha(c);
}

static inline uint8_t
ascii_lower(uint8_t c)
{
	return (c >= 'A' && c <= 'Z') ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* The value of one hexadecimal digit, -1 for any other byte. */
static inline int
ascii_hex(uint8_t c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = ascii_lower(c);
	return (c >= 'a' && c <= 'f') ? c - 'a' + 10 : -1;
}

#endif
