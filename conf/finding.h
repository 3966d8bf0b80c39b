/*
 * Collecting what a compile has to say. Private to the compiler.
 */
#ifndef TAPWARD_CONF_FINDING_H
#define TAPWARD_CONF_FINDING_H

#include <stdint.h>

#include "conf/compile.h"

/* Where a finding is: a file by its display name, and a line (0: none). */
struct place {
	const char *file;
	uint32_t line;
};

__attribute__((format(printf, 3, 4))) void
finding_error(struct compile_result *r, struct place at, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void
finding_warning(struct compile_result *r, struct place at, const char *fmt,
    ...);

/*
 * A warning that a person may waive (conf/waiver.h): code is a static string
 * and ends the text in brackets.
 */
__attribute__((format(printf, 4, 5))) void
finding_review(struct compile_result *r, struct place at, const char *code,
    const char *fmt, ...);

/* An error whose text holds its place already. */
void finding_text(struct compile_result *r, const char *text);

#endif
