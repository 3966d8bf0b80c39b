/*
 * A report as one page of HTML that needs nothing else and runs nothing: for
 * a person who reads it after a run, on a screen or on paper.
 */
#ifndef TAPWARD_CLI_PAGE_H
#define TAPWARD_CLI_PAGE_H

#include <jansson.h>
#include <stdio.h>

/*
 * r is what report_finish() and those after it made. 0, or -EIO when the
 * style's hash cannot be computed; whether f took it is told by ferror(3).
 */
int page_write(FILE *f, const json_t *r);

#endif
