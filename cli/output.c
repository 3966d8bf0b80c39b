/* See output.h. */
#include "cli/output.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void
output_json(const json_t *json)
{
	(void)json_dumpf(json, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

const char *
output_member(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text == NULL ? "-" : text;
}

/* Of a character of several bytes (RFC 3629), all but the first. */
static bool
is_rest(uint8_t c)
{
	return (c & 0xc0) == 0x80;
}

void
output_make_printable(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++) {
		uint8_t c = (uint8_t)*text;

		if (!is_rest(c))
			*to++ = (char)(c >= 0x20 && c <= 0x7e ? c : '?');
	}
	*to = '\0';
}

void
output_line(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n == -1)
		return;
	output_make_printable(text);
	(void)puts(text);
	free(text);
}
