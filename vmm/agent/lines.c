/*
 * See lines.h.
 */
#include "vmm/agent/lines.h"

#include <string.h>

#include "base/ascii.h"

bool
lines_take(struct span *text, char sep, struct span *ret)
{
	const uint8_t *end;

	if (text->len == 0)
		return false;
	end = memchr(text->ptr, sep, text->len);
	if (end == NULL) {
		*ret = *text;
		*text = (struct span){ NULL, 0 };
		return true;
	}
	*ret = (struct span){ text->ptr, (size_t)(end - text->ptr) };
	text->len -= ret->len + 1;
	text->ptr = end + 1;
	return true;
}

bool
lines_number(struct span s, uint32_t max, uint32_t *ret)
{
	uint64_t n = 0;

	if (s.len == 0)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!ascii_is_digit(s.ptr[i]))
			return false;
		n = n * 10 + (uint64_t)(s.ptr[i] - '0');
		if (n > max)
			return false;
	}
	*ret = (uint32_t)n;
	return true;
}

bool
lines_copy(struct span s, char *buf, size_t size)
{
	if (s.len >= size || (s.len > 0 && memchr(s.ptr, '\0', s.len) != NULL))
		return false;
	if (s.len > 0)
		memcpy(buf, s.ptr, s.len);
	buf[s.len] = '\0';
	return true;
}
