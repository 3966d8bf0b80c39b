/*
 * One unit of a path: a byte, or a percent triplet. Shared by the reading and
 * the matching of paths, so that both see the same units.
 */
#ifndef TAPWARD_WIRE_PATH_UNIT_H
#define TAPWARD_WIRE_PATH_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct path_unit {
	uint8_t byte; /* itself, or what the triplet stands for */
	bool is_encoded;
};

/* Takes the next unit; a '%' without two hexadecimal digits is itself. */
struct path_unit path_unit(struct rd *r);

#endif
