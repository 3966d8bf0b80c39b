/*
 * Wildcards that would name hosts of everybody.
 */
#ifndef TAPWARD_CONF_PUBLIC_SUFFIX_H
#define TAPWARD_CONF_PUBLIC_SUFFIX_H

#include <stdbool.h>

/*
 * NULL, or why no wildcard may stand on name (canonical): it is a public
 * suffix of the list built into libpsl, with its private part, or above one.
 */
const char *public_suffix_fault(const char *name);

/*
 * Public suffixes lie below name that the list names one by one, so that the
 * question above cannot find them: not refused, but worth a second look.
 */
bool public_suffix_is_below(const char *name);

#endif
