/*
 * Plots of a report's timeline as inline SVG. Only numbers of the timeline go
 * into them. Styles are classes, since the page's policy allows no attribute
 * with one.
 */
#ifndef TAPWARD_CLI_PAGE_PLOT_H
#define TAPWARD_CLI_PAGE_PLOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct page_plot {
	const char *title;
	/* Two columns of a slot, their classes and what they are. */
	size_t columns[2];
	const char *classes[2];
	const char *words[2];
	/* The second goes down from the axis; else it stands on the first. */
	bool is_mirrored;
	void (*put)(FILE *f, uint64_t n); /* a quantity */
	const char *unit;                 /* behind it, in a bar's text */
};

/* A figure element; nothing where the timeline is empty. */
void page_plot_write(FILE *f, const json_t *timeline,
    const struct page_plot *plot);
/* What is hatched is drawn by this; once in a page, before any plot. */
void page_plot_hatch(FILE *f);

#endif
