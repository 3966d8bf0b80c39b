/*
 * The presets that are shipped, compiled in from conf/presets/ so that nobody
 * can change what one means without changing the program. The same files are
 * installed for people to read.
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

#endif
