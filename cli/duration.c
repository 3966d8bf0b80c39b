#include "cli/duration.h"

#include "base/ascii.h"

#define DURATION_MAX_S (UINT64_C(366) * 24 * 3600)

static uint32_t
duration_unit(char c)
{
	switch (c) {
	case '\0':
	case 's':
		return 1;
	case 'm':
		return 60;
	case 'h':
		return 3600;
	case 'd':
		return 24 * 3600;
	default:
		return 0;
	}
}

bool
duration_parse(const char *text, uint32_t *ret_s)
{
	uint64_t v = 0;
	const char *p = text;
	uint32_t unit;

	while (ascii_is_digit((uint8_t)*p) && v <= DURATION_MAX_S)
		v = v * 10 + (uint64_t)(*p++ - '0');
	unit = duration_unit(*p);
	if (p == text || unit == 0 || (*p != '\0' && p[1] != '\0'))
		return false;
	v *= unit;
	if (v == 0 || v > DURATION_MAX_S)
		return false;
	*ret_s = (uint32_t)v;
	return true;
}
