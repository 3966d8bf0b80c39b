/*
 * What the table-driven tests of wire/ share: spans of literals, and checks
 * that print the claim of the row that failed.
 */
#ifndef TAPWARD_TESTS_UNIT_WIRE_ROWS_H
#define TAPWARD_TESTS_UNIT_WIRE_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"

/* A literal that may hold NULs. */
#define BYTES(s)                                                               \
	{                                                                      \
		(const uint8_t *)(s), sizeof(s) - 1                            \
	}
#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static inline void
row_equal(const char *claim, uint64_t got, uint64_t want)
{
	if (got != want)
		fail_msg("%s: got %lu, want %lu", claim, (unsigned long)got,
		    (unsigned long)want);
}

static inline void
row_span(const char *claim, struct span got, const char *want)
{
	if (!span_is(got, want))
		fail_msg("%s: got \"%.*s\", want \"%s\"", claim, (int)got.len,
		    got.len > 0 ? (const char *)got.ptr : "", want);
}

#endif
