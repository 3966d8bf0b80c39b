/*
 * The presets that are shipped, compiled in from conf/presets/ so that nobody
 * can change what one means without changing the program. The same files are
 * installed for people to read. A file's name is the preset's, and its first
 * line says in which group it is shown and what it is for.
 */
#ifndef TAPWARD_CONF_PRESETS_H
#define TAPWARD_CONF_PRESETS_H

#include <stddef.h>

#include "base/bytes.h"

struct preset {
	const char *name;
	const unsigned char *text;
	size_t len;
};

extern const struct preset presets_all[]; /* by name; ends with NULL */

/* A compile_preset (conf/compile.h): arg is not used. */
struct span presets_find(const char *name, void *arg);
/* NULL when there is none. */
const struct preset *presets_get(const char *name);

/* Of the first line, "; GROUP: TITLE"; both empty when it is not one. */
struct preset_about {
	struct span group;
	struct span title;
};
struct preset_about presets_about(const struct preset *p);

#endif
