/*
 * What a reviewer has looked at and found right is written beside it:
 *
 *	; check: plain-http: packages are signed, and apt checks them
 *	[allow mirror]
 *
 * A comment `; check: CODE[, CODE]: WHY` before a heading, or below one, takes
 * the warnings of these codes from that section. Errors cannot be waived.
 */
#ifndef TAPWARD_CONF_WAIVER_H
#define TAPWARD_CONF_WAIVER_H

#include "conf/compile.h"

/* Most of one file; those beyond waive nothing. */
#define WAIVERS_MAX 128

/*
 * Drops the warnings of in's own text that are waived. In a review
 * (in->review) it adds one for each waiver that gives no reason, names a code
 * that there is not, or waives nothing.
 */
void waiver_apply(const struct compile_input *in, struct compile_result *ret);

/* The codes of warnings, for a message; ends with NULL. */
extern const char *const waiver_codes[];

#endif
