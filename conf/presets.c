/*
 * See presets.h; the table is made by presets.cmake.
 */
#include "conf/presets.h"

#include <string.h>

const struct preset *
presets_get(const char *name)
{
	for (const struct preset *p = presets_all; p->name != NULL; p++) {
		if (strcmp(p->name, name) == 0)
			return p;
	}
	return NULL;
}

struct span
presets_find(const char *name, void *arg)
{
	const struct preset *p = presets_get(name);

	(void)arg;
	if (p == NULL)
		return (struct span){ NULL, 0 };
	return (struct span){ p->text, p->len };
}

struct preset_about
presets_about(const struct preset *p)
{
	struct preset_about none = { { NULL, 0 }, { NULL, 0 } }, a = none;
	const uint8_t *at = p->text, *end = memchr(p->text, '\n', p->len);
	const uint8_t *colon;

	if (end == NULL || end - at < 4 || memcmp(at, "; ", 2) != 0)
		return none;
	at += 2;
	colon = memchr(at, ':', (size_t)(end - at));
	if (colon == NULL || end - colon < 3 || colon[1] != ' ')
		return none;
	a.group = (struct span){ at, (size_t)(colon - at) };
	a.title = (struct span){ colon + 2, (size_t)(end - colon) - 2 };
	return a;
}
