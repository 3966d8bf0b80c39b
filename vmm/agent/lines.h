/*
 * Text files of the guest, taken apart: lines, and fields of a line. No libc
 * lookups (NSS), which a static program has not.
 */
#ifndef TAPWARD_VMM_AGENT_LINES_H
#define TAPWARD_VMM_AGENT_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * Takes the bytes up to the next sep, and it, off *text; the rest if there is
 * none. False when text is empty. *ret borrows.
 */
bool lines_take(struct span *text, char sep, struct span *ret);
/* Decimal digits only; false for others, nothing at all, and above max. */
bool lines_number(struct span s, uint32_t max, uint32_t *ret);
/* s with a NUL after it. False if it does not fit or holds a NUL. */
bool lines_copy(struct span s, char *buf, size_t size);

#endif
