/* The parts of a page, see page.h. */
#ifndef TAPWARD_CLI_PAGE_PRIVATE_H
#define TAPWARD_CLI_PAGE_PRIVATE_H

#include "cli/page_table.h"

/* What was refused, and all tables. */
void page_sections_write(FILE *f, const json_t *r);
/* "1 host", "7 hosts". */
void page_plural(FILE *f, uint64_t n, const char *one, const char *many);

#endif
