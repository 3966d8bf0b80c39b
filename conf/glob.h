/*
 * Patterns of '*' and "**" over bytes: '*' stands for any run of bytes other
 * than sep, "**" for any run at all. Two uses: query strings are matched by
 * them (paths by wire/path.h, in the same language), and the compiler asks
 * whether two patterns can match one text.
 */
#ifndef TAPWARD_CONF_GLOB_H
#define TAPWARD_CONF_GLOB_H

#include <stdbool.h>

#include "base/bytes.h"

/* Longest pattern; a longer one matches nothing and overlaps everything. */
#define GLOB_MAX_BYTES 255

/* Matches the whole text, in time of at most both lengths multiplied. */
bool glob_match(struct span pattern, struct span text, uint8_t sep);
/* Without regard to the case of ASCII letters: for what is to be denied. */
bool glob_match_any_case(struct span pattern, struct span text, uint8_t sep);

/*
 * Is there a text that both match? Percent triplets count as the byte they
 * stand for, as in wire/path.h. *ret_steps is raised by the work done.
 */
bool glob_overlaps(struct span a, struct span b, uint8_t sep,
    size_t *ret_steps);

#endif
