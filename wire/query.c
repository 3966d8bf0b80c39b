/*
 * Parameters of a query, see query.h.
 */
#include "wire/query.h"

#include <string.h>

#include "base/ascii.h"

bool
query_next(struct query_reader *r, struct query_piece *ret)
{
	size_t n = 0;
	const uint8_t *equals;

	if (r->is_over)
		return false;
	while (
	    n < r->rest.len && r->rest.ptr[n] != '&' && r->rest.ptr[n] != ';')
		n++;
	ret->text = (struct span){ r->rest.ptr, n };
	ret->before = r->before;
	equals = n == 0 ? NULL : memchr(r->rest.ptr, '=', n);
	ret->name = (struct span){ r->rest.ptr,
		equals == NULL ? n : (size_t)(equals - r->rest.ptr) };
	r->is_over = n == r->rest.len;
	if (!r->is_over) {
		r->before = r->rest.ptr[n];
		r->rest =
		    (struct span){ r->rest.ptr + n + 1, r->rest.len - n - 1 };
	}
	return true;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The byte at *at as it is meant, lower case; *at is moved behind it. */
static uint8_t
take_byte(struct span name, size_t *at)
{
	uint8_t c = name.ptr[(*at)++];

	if (c == '+')
		return ' ';
	if (c == '%' && name.len - *at >= 2 && ascii_hex(name.ptr[*at]) != -1 &&
	    ascii_hex(name.ptr[*at + 1]) != -1) {
		c = (uint8_t)(ascii_hex(name.ptr[*at]) * 16 +
		    ascii_hex(name.ptr[*at + 1]));
		*at += 2;
	}
	return ascii_lower(c);
}

/* What PHP makes of bytes that a variable's name may not hold. */
static uint8_t
bent(uint8_t c)
{
	return c == ' ' || c == '.' ? '_' : c;
}

/* Only what ends a name is left of it: blanks, a NUL, an index. */
static bool
ends_there(struct span name, size_t at)
{
	while (at < name.len) {
		const uint8_t c = take_byte(name, &at);

		if (c == '[' || c == '\0')
			return true;
		if (!is_blank(c))
			return false;
	}
	return true;
}

bool
query_is_named(struct span name, const char *want)
{
	size_t at = 0, begin = 0;

	/* Leading blanks are passed over by some. */
	while (at < name.len && is_blank(take_byte(name, &at)))
		begin = at;
	at = begin;
	for (; *want != '\0'; want++) {
		uint8_t c;

		if (at == name.len)
			return false;
		c = take_byte(name, &at);
		if (c != ascii_lower((uint8_t)*want) &&
		    bent(c) != (uint8_t)*want)
			return false;
	}
	return ends_there(name, at);
}

void
query_write(struct wr *w, const char *name, struct span value)
{
	static const char digits[] = "0123456789ABCDEF";
	static const char unreserved[] = { '-', '.', '_', '~' };

	wr_text(w, name);
	wr_u8(w, '=');
	for (size_t i = 0; i < value.len; i++) {
		const uint8_t c = value.ptr[i];

		if (ascii_is_alnum(c) ||
		    memchr(unreserved, c, sizeof(unreserved)) != NULL) {
			wr_u8(w, c);
			continue;
		}
		wr_u8(w, '%');
		wr_u8(w, (uint8_t)digits[c >> 4]);
		wr_u8(w, (uint8_t)digits[c & 15]);
	}
}
