/*
 * The page's one style sheet, and the policy by which a browser takes that and
 * nothing else.
 */
#ifndef TAPWARD_CLI_PAGE_STYLE_H
#define TAPWARD_CLI_PAGE_STYLE_H

#include <stdio.h>

/*
 * The meta element with the Content-Security-Policy and the style element that
 * its hash allows. 0, or -EIO when the hash cannot be computed.
 */
int page_style_write(FILE *f);

#endif
