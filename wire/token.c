#include "wire/token.h"

#include <string.h>

#include "base/ascii.h"

#define BIT(c) (UINT64_C(1) << ((c)&63))

bool
token_is_char(uint8_t c)
{
	/* Of the ones below '@', and of those from there on. */
	static const uint64_t low = BIT('!') | BIT('#') | BIT('$') | BIT('%') |
	    BIT('&') | BIT('\'') | BIT('*') | BIT('+') | BIT('-') | BIT('.');
	static const uint64_t high =
	    BIT('^') | BIT('_') | BIT('`') | BIT('|') | BIT('~');

	if (ascii_is_alnum(c))
		return true;
	return c < 128 && ((c < 64 ? low : high) & BIT(c)) != 0;
}

bool
token_is(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!token_is_char(s.ptr[i]))
			return false;
	return s.len > 0;
}

bool
token_is_text(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((s.ptr[i] < 0x20 && s.ptr[i] != '\t') || s.ptr[i] == 0x7f)
			return false;
	return true;
}

bool
token_is_visible(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < 0x21 || s.ptr[i] > 0x7e)
			return false;
	return s.len > 0;
}

struct span
token_cut(struct span *rest, uint8_t sep)
{
	struct rd r = rd_span(*rest);
	const uint8_t *at = NULL;
	struct span before;

	if (rest->len > 0)
		at = memchr(rest->ptr, sep, rest->len);
	if (at == NULL) {
		before = *rest;
		*rest = (struct span){ NULL, 0 };
		return before;
	}
	before = rd_take(&r, (size_t)(at - rest->ptr));
	rd_skip(&r, 1);
	*rest = rd_take(&r, rd_left(&r));
	return before;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

struct span
token_trim(struct span s)
{
	while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
		s.len--;
	while (s.len > 0 && is_blank(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	return s;
}

bool
token_decimal(struct span s, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.len == 0 || (s.ptr[0] == '0' && s.len > 1))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned int digit;

		if (!ascii_is_digit(s.ptr[i]))
			return false;
		digit = s.ptr[i] - (unsigned int)'0';
		if (digit > max || v > (max - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*ret = v;
	return true;
}
