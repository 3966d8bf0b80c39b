/*
 * See presets.h; the table is made by presets.cmake.
 */
#include "conf/presets.h"

#include <string.h>

struct span
presets_find(const char *name, void *arg)
{
	(void)arg;
	for (const struct preset *p = presets_all; p->name != NULL; p++) {
		if (strcmp(p->name, name) == 0)
			return (struct span){ p->text, p->len };
	}
	return (struct span){ NULL, 0 };
}
