/*
 * Reading what issuers answer: one JSON object (RFC 8259), no name twice, on a
 * heap that is wiped. jansson refuses bad UTF-8 and deep nesting itself.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_ANSWER_H
#define TAPWARD_CREDENTIAL_BROKER_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/bytes.h"

/* NULL unless body is one JSON object. Free by json_decref(). */
json_t *answer_parse(struct span body);
/*
 * A text that is not empty and holds no NUL; borrows from the object. NULL
 * without one of this name.
 */
const char *answer_text(const json_t *object, const char *name);
/*
 * A number of seconds, which some write as a string or as 3599.0. False
 * without one, or if it is negative or beyond 2^32.
 */
bool answer_seconds(const json_t *object, const char *name, uint64_t *ret);
/*
 * RFC 3339 in UTC or with an offset: "2026-01-31T23:59:59Z". Seconds since
 * 1970; false if it is none.
 */
bool answer_time(const json_t *object, const char *name, uint64_t *ret);
bool answer_parse_time(const char *text, uint64_t *ret);

#endif
