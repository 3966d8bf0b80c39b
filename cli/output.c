/* See output.h. */
#include "cli/output.h"

#include <stddef.h>
#include <stdio.h>

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
