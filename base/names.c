/*
 * Names that cross our channels, see names.h.
 */
#include "base/names.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/ascii.h"

static bool
is_lower_alnum(uint8_t c)
{
	return ascii_is_digit(c) || (c >= 'a' && c <= 'z');
}

bool
sandbox_name_is_valid(const char *name)
{
	size_t len = strnlen(name, SANDBOX_NAME_SIZE);

	if (len == 0 || len == SANDBOX_NAME_SIZE)
		return false;
	if (!is_lower_alnum((uint8_t)name[0]))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!is_lower_alnum((uint8_t)name[i]) && name[i] != '-')
			return false;
	return true;
}
