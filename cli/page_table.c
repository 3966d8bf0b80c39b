/* See page_table.h. */
#include "cli/page_table.h"

#include <string.h>

#include "base/clock.h"
#include "cli/html.h"
#include "cli/timeline.h"

const char *
page_text(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text == NULL ? "" : text;
}

uint64_t
page_number(const json_t *row, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(row, key));
}

static void
put_text(FILE *f, const json_t *row, const struct page_column *c)
{
	const json_t *value = json_object_get(row, c->key), *one;
	size_t i;

	if (!json_is_array(value)) {
		html_text(f, page_text(row, c->key));
		return;
	}
	json_array_foreach(value, i, one)
	{
		(void)fputs(i == 0 ? "" : ", ", f);
		html_text(f, json_string_value(one));
	}
}

static void
put_code(FILE *f, const json_t *row, const struct page_column *c)
{
	(void)fputs("<code>", f);
	put_text(f, row, c);
	(void)fputs("</code>", f);
}

static uint64_t
bytes_of(const json_t *row)
{
	return timeline_sum(page_number(row, "up"), page_number(row, "down"));
}

/* Rows are in order of their bytes, so the first has the most. */
static void
put_share(FILE *f, const json_t *row, uint64_t most)
{
	double scale = most == 0 ? 0 : 100.0 / (double)most;
	double down = (double)page_number(row, "down") * scale;
	double up = (double)page_number(row, "up") * scale;

	if (most == 0)
		return;
	(void)fprintf(f,
	    "<svg class=\"share\" viewBox=\"0 0 100 10\" "
	    "preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
	    "class=\"track\" width=\"100\" height=\"10\"/><rect "
	    "class=\"down\" width=\"%.2f\" height=\"10\"/><rect class=\"up\" "
	    "x=\"%.2f\" width=\"%.2f\" height=\"10\"/></svg>",
	    down, down, up);
}

static void
put_when(FILE *f, const char *time)
{
	uint64_t ms;

	/* of "2026-01-31T23:59:59.123Z" what changes during a run */
	if (timeline_parse(time, &ms))
		(void)fprintf(f, "%.12s", time + strlen("2026-01-31T"));
}

static void
put_value(FILE *f, const json_t *row, const struct page_column *c,
    uint64_t most)
{
	switch (c->cell) {
	case PAGE_NAME:
	case PAGE_CODE:
		put_code(f, row, c);
		break;
	case PAGE_PLACE:
		put_code(f, row, c);
		(void)fprintf(f, "<span class=\"meta\">:%llu</span>",
		    (unsigned long long)page_number(row, "port"));
		put_share(f, row, most);
		break;
	case PAGE_TEXT:
		put_text(f, row, c);
		break;
	case PAGE_WHEN:
		put_when(f, page_text(row, c->key));
		break;
	case PAGE_COUNT:
	case PAGE_REFUSED:
		html_count(f, page_number(row, c->key));
		break;
	case PAGE_BYTES:
		html_bytes(f, page_number(row, c->key));
		break;
	case PAGE_SPAN:
		html_span(f, page_number(row, c->key));
		break;
	}
}

/* The classes of a cell's element; a head is th. */
static const char *
element_of(const json_t *row, const struct page_column *c)
{
	switch (c->cell) {
	case PAGE_NAME:
	case PAGE_PLACE:
		return "th scope=\"row\"";
	case PAGE_REFUSED:
		return page_number(row, c->key) == 0
		    ? "td class=\"num zero\""
		    : "td class=\"num no-count\"";
	case PAGE_COUNT:
	case PAGE_BYTES:
	case PAGE_SPAN:
		return page_number(row, c->key) == 0 ? "td class=\"num zero\""
						     : "td class=\"num\"";
	case PAGE_WHEN:
		return "td class=\"when\"";
	case PAGE_CODE:
	case PAGE_TEXT:
		return "td";
	}
	return "td";
}

static void
put_heads(FILE *f, const struct page_column *columns, size_t count)
{
	(void)fputs("<thead><tr>", f);
	for (size_t i = 0; i < count; i++) {
		const char *element = element_of(NULL, &columns[i]);

		(void)fprintf(f, "<th scope=\"col\"%s>%s</th>",
		    strstr(element, "num") != NULL ? " class=\"num\"" : "",
		    columns[i].title);
	}
	(void)fputs("</tr></thead>\n<tbody>\n", f);
}

void
page_table_write(FILE *f, const json_t *rows, const struct page_column *columns,
    size_t count)
{
	const uint64_t most = bytes_of(json_array_get(rows, 0));
	const json_t *row;
	size_t i;

	(void)fputs("<div class=\"scroll\"><table>", f);
	put_heads(f, columns, count);
	json_array_foreach(rows, i, row)
	{
		(void)fputs("<tr>", f);
		for (size_t k = 0; k < count; k++) {
			const char *element = element_of(row, &columns[k]);

			(void)fprintf(f, "<%s>", element);
			put_value(f, row, &columns[k], most);
			(void)fprintf(f, "</%.2s>", element);
		}
		(void)fputs("</tr>\n", f);
	}
	(void)fputs("</tbody></table></div>\n", f);
}
