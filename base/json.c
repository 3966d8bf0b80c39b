/*
 * JSON text (RFC 8259), see json.h.
 */
#include "base/json.h"

#include <inttypes.h>
#include <stddef.h>

struct json
json_init(struct wr *w)
{
	return (struct json){ .w = w, .needs_comma = false };
}

/* A byte of a string: itself, \" or \\, or \u00NN. */
static void
put_byte(struct wr *w, uint8_t c)
{
	if (c < 0x20 || c > 0x7e) {
		wr_fmt(w, "\\u%04x", (unsigned int)c);
		return;
	}
	if (c == '"' || c == '\\')
		wr_u8(w, '\\');
	wr_u8(w, c);
}

/* How many bytes at the front stand for themselves. */
static size_t
plain_run(struct span s)
{
	size_t i = 0;

	while (i < s.len && s.ptr[i] >= 0x20 && s.ptr[i] <= 0x7e &&
	    s.ptr[i] != '"' && s.ptr[i] != '\\')
		i++;
	return i;
}

static void
put_string(struct wr *w, struct span s, const char *end)
{
	wr_u8(w, '"');
	while (s.len > 0) {
		size_t run = plain_run(s);

		wr_bytes(w, s.ptr, run);
		if (run < s.len)
			put_byte(w, s.ptr[run++]);
		s.ptr += run;
		s.len -= run;
	}
	wr_text(w, end);
	wr_u8(w, '"');
}

/* What stands before each value. */
static void
begin(struct json *j, const char *key)
{
	if (j->needs_comma)
		wr_u8(j->w, ',');
	if (key != NULL) {
		put_string(j->w, span_of(key), "");
		wr_u8(j->w, ':');
	}
	j->needs_comma = true;
}

static void
open_with(struct json *j, const char *key, uint8_t bracket)
{
	begin(j, key);
	wr_u8(j->w, bracket);
	j->needs_comma = false;
}

static void
close_with(struct json *j, uint8_t bracket)
{
	wr_u8(j->w, bracket);
	j->needs_comma = true;
}

void
json_open_object(struct json *j, const char *key)
{
	open_with(j, key, '{');
}

void
json_close_object(struct json *j)
{
	close_with(j, '}');
}

void
json_open_array(struct json *j, const char *key)
{
	open_with(j, key, '[');
}

void
json_close_array(struct json *j)
{
	close_with(j, ']');
}

void
json_str(struct json *j, const char *key, const char *value)
{
	begin(j, key);
	if (value == NULL)
		wr_text(j->w, "null");
	else
		put_string(j->w, span_of(value), "");
}

void
json_bytes(struct json *j, const char *key, struct span v, size_t max)
{
	const char *end = "";

	if (v.len > max) {
		v.len = max;
		end = "...";
	}
	begin(j, key);
	put_string(j->w, v, end);
}

void
json_u64(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	wr_decimal(j->w, value);
}

void
json_i64(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	wr_fmt(j->w, "%" PRId64, value);
}

void
json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	wr_text(j->w, value ? "true" : "false");
}
