/*
 * Durations as people write them.
 */
#ifndef TAPWARD_CLI_DURATION_H
#define TAPWARD_CLI_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* "90s", "30m", "12h", "7d", or plain seconds; not 0, at most 366 days. */
bool duration_parse(const char *text, uint32_t *ret_s);

#endif
