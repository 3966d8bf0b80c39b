/*
 * Findings past COMPILE_FINDINGS_MAX are counted, not kept; an error takes
 * the place of the last warning, so that warnings never hide one.
 */
#include "conf/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct finding *
find_room(struct compile_result *r, enum finding_level level)
{
	if (r->finding_count < COMPILE_FINDINGS_MAX)
		return &r->findings[r->finding_count++];
	for (size_t left = r->finding_count; level == FINDING_ERROR && left > 0;
	     left--) {
		if (r->findings[left - 1].level == FINDING_WARNING)
			return &r->findings[left - 1];
	}
	return NULL;
}

/* The words behind the place; a code in brackets ends them, whole. */
__attribute__((format(printf, 2, 0))) static void
write_words(struct finding *f, const char *fmt, va_list ap)
{
	size_t max = sizeof(f->text), len = f->message;
	int n = vsnprintf(f->text + len, max - len, fmt, ap);
	size_t tail = f->code != NULL ? strlen(f->code) + 3 : 0;

	if (n < 0 || tail == 0)
		return;
	len += (size_t)n;
	if (len > max - tail - 1)
		len = max - tail - 1;
	(void)snprintf(f->text + len, max - len, " [%s]", f->code);
}

__attribute__((format(printf, 5, 0))) static void
add(struct compile_result *r, enum finding_level level, struct place at,
    const char *code, const char *fmt, va_list ap)
{
	struct finding *f = find_room(r, level);
	const char *word = level == FINDING_WARNING ? "warning: " : "";
	int n;

	if (f == NULL)
		return;
	*f = (struct finding){ .level = level, .code = code, .line = at.line };
	n = at.line > 0
	    ? snprintf(f->text, sizeof(f->text), "%s:%u: %s", at.file, at.line,
		  word)
	    : snprintf(f->text, sizeof(f->text), "%s: %s", at.file, word);
	if (n < 0 || (size_t)n >= sizeof(f->text) / 2)
		return;
	f->message = (uint32_t)n;
	write_words(f, fmt, ap);
}

void
finding_error(struct compile_result *r, struct place at, const char *fmt, ...)
{
	va_list ap;

	r->error_count++;
	va_start(ap, fmt);
	add(r, FINDING_ERROR, at, NULL, fmt, ap);
	va_end(ap);
}

void
finding_warning(struct compile_result *r, struct place at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(r, FINDING_WARNING, at, NULL, fmt, ap);
	va_end(ap);
}

void
finding_review(struct compile_result *r, struct place at, const char *code,
    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(r, FINDING_WARNING, at, code, fmt, ap);
	va_end(ap);
}

/* "file:123: words": where the words begin, and the line. */
static void
read_place(struct finding *f)
{
	for (const char *c = strchr(f->text, ':'); c != NULL;
	     c = strchr(c + 1, ':')) {
		char *end;
		unsigned long line = strtoul(c + 1, &end, 10);

		if (end == c + 1 || strncmp(end, ": ", 2) != 0)
			continue;
		f->line = (uint32_t)line;
		f->message = (uint32_t)(end + 2 - f->text);
		return;
	}
}

void
finding_text(struct compile_result *r, const char *text)
{
	struct finding *f = find_room(r, FINDING_ERROR);

	r->error_count++;
	if (f == NULL)
		return;
	*f = (struct finding){ .level = FINDING_ERROR };
	(void)snprintf(f->text, sizeof(f->text), "%s", text);
	read_place(f);
}
