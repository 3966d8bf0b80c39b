/* See html.h. */
#include "cli/html.h"

#include <inttypes.h>

/* NULL for a character that stands for itself. */
static const char *
entity_of(uint8_t c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

static void
put(FILE *f, uint8_t c)
{
	const char *entity = entity_of(c);

	if (entity != NULL)
		(void)fputs(entity, f);
	else
		(void)fputc(c, f);
}

static void
put_shown(FILE *f, uint8_t c)
{
	if (c < 0x20 || c > 0x7e)
		(void)fprintf(f, "\\x%02x", (unsigned int)c);
	else
		put(f, c);
}

void
html_text(FILE *f, const char *text)
{
	for (const char *p = text; *p != '\0'; p++)
		put_shown(f, (uint8_t)*p);
}

void
html_lines(FILE *f, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n' || text[i] == '\t')
			(void)fputc(text[i], f);
		else
			put_shown(f, (uint8_t)text[i]);
	}
}

void
html_count(FILE *f, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			(void)fputc(',', f);
		(void)fputc(digits[i], f);
	}
}

void
html_bytes(FILE *f, uint64_t n)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB",
		"EB" };
	uint64_t whole = n, tenths = 0;
	size_t unit = 0;

	while (whole >= 1000) {
		tenths = whole % 1000 / 100;
		whole /= 1000;
		unit++;
	}
	if (unit == 0 || whole >= 100)
		(void)fprintf(f, "%" PRIu64 "&#160;%s", whole, units[unit]);
	else
		(void)fprintf(f, "%" PRIu64 ".%" PRIu64 "&#160;%s", whole,
		    tenths, units[unit]);
}

void
html_span(FILE *f, uint64_t ms)
{
	static const struct {
		uint64_t ms;
		const char *unit;
	} units[] = {
		{ 86400000, "d" },
		{ 3600000, "h" },
		{ 60000, "min" },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		uint64_t lower = i == 0 ? 3600000 : i == 1 ? 60000 : 1000;

		if (ms < units[i].ms)
			continue;
		(void)fprintf(f, "%" PRIu64 " %s", ms / units[i].ms,
		    units[i].unit);
		if (ms % units[i].ms / lower > 0)
			(void)fprintf(f, " %" PRIu64 " %s",
			    ms % units[i].ms / lower,
			    i == 2 ? "s" : units[i + 1].unit);
		return;
	}
	if (ms < 1000)
		(void)fprintf(f, "%" PRIu64 " ms", ms);
	else if (ms % 1000 < 100)
		(void)fprintf(f, "%" PRIu64 " s", ms / 1000);
	else
		(void)fprintf(f, "%" PRIu64 ".%" PRIu64 " s", ms / 1000,
		    ms % 1000 / 100);
}
