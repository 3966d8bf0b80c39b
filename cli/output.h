/*
 * What several commands print, and read out of the daemon's JSON.
 */
#ifndef TAPWARD_CLI_OUTPUT_H
#define TAPWARD_CLI_OUTPUT_H

#include <jansson.h>

/* Indented, on standard output. */
void output_json(const json_t *json);
/*
 * What is not printable ASCII becomes '?', one for each character of UTF-8: a
 * terminal does nothing at the word of whoever wrote the text.
 */
void output_make_printable(char *text);
/* As printf(), of one line that is printable; its end is added. */
void output_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The text of a member, "-" if it has none. Borrows. */
const char *output_member(const json_t *json, const char *key);

#endif
