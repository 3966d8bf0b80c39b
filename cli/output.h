/*
 * What several commands print, and read out of the daemon's JSON.
 */
#ifndef TAPWARD_CLI_OUTPUT_H
#define TAPWARD_CLI_OUTPUT_H

#include <jansson.h>

/* Indented, on standard output. */
void output_json(const json_t *json);
/* The text of a member, "-" if it has none. Borrows. */
const char *output_member(const json_t *json, const char *key);

#endif
