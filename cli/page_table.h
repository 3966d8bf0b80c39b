/*
 * A table of a page: what stands in its columns is told by rows of data.
 */
#ifndef TAPWARD_CLI_PAGE_TABLE_H
#define TAPWARD_CLI_PAGE_TABLE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum page_cell {
	PAGE_NAME,    /* text, the row's head */
	PAGE_PLACE,   /* host and port, the row's head, and its share */
	PAGE_CODE,    /* text */
	PAGE_TEXT,    /* text, or a list of texts */
	PAGE_WHEN,    /* the time of a day */
	PAGE_COUNT,   /* a number */
	PAGE_REFUSED, /* a number that is marked if it is not 0 */
	PAGE_BYTES,
	PAGE_SPAN, /* milliseconds */
};

struct page_column {
	const char *title;
	const char *key;
	enum page_cell cell;
};

/* rows is an array of objects. */
void page_table_write(FILE *f, const json_t *rows,
    const struct page_column *columns, size_t count);

/* "" and 0 for what is not there. */
const char *page_text(const json_t *row, const char *key);
uint64_t page_number(const json_t *row, const char *key);

#endif
