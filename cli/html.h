/*
 * Text and quantities in HTML. Whatever a guest chose goes through html_text()
 * and comes out as printable ASCII without a character of markup.
 */
#ifndef TAPWARD_CLI_HTML_H
#define TAPWARD_CLI_HTML_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* In content or in a quoted attribute. Other bytes are shown as \xNN. */
void html_text(FILE *f, const char *text);
/* The same, but ends of lines and tabs stay: a policy is ASCII. */
void html_lines(FILE *f, const char *text, size_t len);

void html_count(FILE *f, uint64_t n); /* 12,345 */
void html_bytes(FILE *f, uint64_t n); /* 4.2 MB; powers of 1000 */
void html_span(FILE *f, uint64_t ms); /* 37.6 s */

#endif
