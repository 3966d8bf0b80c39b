/*
 * What the fuzz targets of wire/ share. A property that does not hold ends
 * the process, in every build.
 */
#ifndef TAPWARD_TESTS_FUZZ_FUZZ_WIRE_H
#define TAPWARD_TESTS_FUZZ_FUZZ_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(claim)                                                           \
	do {                                                                   \
		if (!(claim)) {                                                \
			(void)fprintf(stderr, "%s:%d: %s\n", __FILE__,         \
			    __LINE__, #claim);                                 \
			abort();                                               \
		}                                                              \
	} while (0)

/*
 * Lengths of the pieces that an input is fed in: small ones, which depend on
 * the input, so that a found split is found again.
 */
static inline size_t
next_piece(uint32_t *seed)
{
	*seed = (uint32_t)(*seed * UINT64_C(1103515245) + 12345);
	return 1 + (*seed >> 16) % 7;
}

#endif
