/*
 * A writer of JSON text on top of struct wr, for audit records and answers.
 * It only writes: nothing here parses. Bytes outside 0x20..0x7e come out as
 * \u00NN, so that a line of output is printable ASCII whatever a guest sent.
 */
#ifndef TAPWARD_BASE_JSON_H
#define TAPWARD_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct json {
	struct wr *w;
	bool needs_comma;
};

struct json json_init(struct wr *w);
void json_open_object(struct json *j, const char *key); /* key NULL: none */
void json_close_object(struct json *j);
void json_open_array(struct json *j, const char *key);
void json_close_array(struct json *j);
/* A value of NULL comes out as null. */
void json_str(struct json *j, const char *key, const char *value);
/* Guest bytes: cut after max bytes with "..." to show it. */
void json_bytes(struct json *j, const char *key, struct span v, size_t max);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_i64(struct json *j, const char *key, int64_t value);
void json_bool(struct json *j, const char *key, bool value);

#endif
