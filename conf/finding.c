/*
 * Findings past COMPILE_FINDINGS_MAX are counted, not kept; an error takes
 * the place of the last warning, so that warnings never hide one.
 */
#include "conf/finding.h"

#include <stdarg.h>
#include <stdio.h>

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

__attribute__((format(printf, 4, 0))) static void
add(struct compile_result *r, enum finding_level level, struct place at,
    const char *fmt, va_list ap)
{
	struct finding *f = find_room(r, level);
	const char *word = level == FINDING_WARNING ? "warning: " : "";
	int n;

	if (f == NULL)
		return;
	f->level = level;
	n = at.line > 0
	    ? snprintf(f->text, sizeof(f->text), "%s:%u: %s", at.file, at.line,
		  word)
	    : snprintf(f->text, sizeof(f->text), "%s: %s", at.file, word);
	if (n < 0 || (size_t)n >= sizeof(f->text))
		return;
	(void)vsnprintf(f->text + n, sizeof(f->text) - (size_t)n, fmt, ap);
}

void
finding_error(struct compile_result *r, struct place at, const char *fmt, ...)
{
	va_list ap;

	r->error_count++;
	va_start(ap, fmt);
	add(r, FINDING_ERROR, at, fmt, ap);
	va_end(ap);
}

void
finding_warning(struct compile_result *r, struct place at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(r, FINDING_WARNING, at, fmt, ap);
	va_end(ap);
}

void
finding_text(struct compile_result *r, const char *text)
{
	struct finding *f = find_room(r, FINDING_ERROR);

	r->error_count++;
	if (f == NULL)
		return;
	f->level = FINDING_ERROR;
	(void)snprintf(f->text, sizeof(f->text), "%s", text);
}
