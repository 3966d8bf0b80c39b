/*
 * An input is a pattern, a line end, and a path. The match agrees with one
 * that tries every way (and remembers what it tried); a path that is not
 * ambiguous holds none of the things that would make it so once decoded.
 */
#include "fuzz_wire.h"

#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/path.h"
#include "wire/token.h"

#define PATH_MAX_BYTES 512

/* One byte a unit; a star of a pattern is 1, two of them are 2. */
struct units {
	uint8_t at[PATH_MAX_BYTES];
	size_t count;
};

static struct units
units_of(struct span in, bool is_pattern)
{
	struct units u = { .count = 0 };

	for (size_t i = 0; i < in.len; i++) {
		uint8_t c = in.ptr[i];

		if (c == '%' && in.len - i > 2 &&
		    ascii_hex(in.ptr[i + 1]) >= 0 &&
		    ascii_hex(in.ptr[i + 2]) >= 0) {
			c = (uint8_t)(ascii_hex(in.ptr[i + 1]) * 16 +
			    ascii_hex(in.ptr[i + 2]));
			i += 2;
		} else if (is_pattern && c == '*') {
			c = 1;
			if (in.len - i > 1 && in.ptr[i + 1] == '*') {
				c = 2;
				i++;
			}
		}
		u.at[u.count++] = c;
	}
	return u;
}

/* Row by row: does pattern[0..i] match path[0..k]? */
static bool
match_by_table(const struct units *pattern, const struct units *path)
{
	static bool now[PATH_MAX_BYTES + 1], before[PATH_MAX_BYTES + 1];

	memset(now, 0, sizeof(now));
	now[0] = true;
	for (size_t i = 0; i < pattern->count; i++) {
		uint8_t p = pattern->at[i];

		memcpy(before, now, sizeof(now));
		now[0] = before[0] && (p == 1 || p == 2);
		for (size_t k = 0; k < path->count; k++) {
			uint8_t c = path->at[k];

			if (p == 1 || p == 2)
				now[k + 1] = before[k + 1] ||
				    (now[k] && (p == 2 || c != '/'));
			else
				now[k + 1] = before[k] && p == c;
		}
	}
	return now[path->count];
}

static bool
has(const struct units *u, const char *what)
{
	return memmem(u->at, u->count, what, strlen(what)) != NULL;
}

static size_t
count_of(const uint8_t *at, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += at[i] == '/';
	return count;
}

static void
one_reading(struct span path, const struct path_reading *reading)
{
	struct units u = units_of(path, false);

	HOLDS(u.at[0] == '/');
	HOLDS(!has(&u, "//") && !has(&u, "/../") && !has(&u, "/./"));
	HOLDS(!has(&u, "\\") && !has(&u, ";") && !has(&u, "?"));
	HOLDS(!has(&u, "#") && !has(&u, "%"));
	HOLDS(memchr(u.at, '\0', u.count) == NULL);
	HOLDS(reading->has_encoded_slash ==
	    (count_of(u.at, u.count) > count_of(path.ptr, path.len)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span path = { data, size };
	struct span pattern = token_cut(&path, '\n');
	struct path_reading reading = path_read(path);
	struct units of_pattern, of_path;

	HOLDS(path_fault_text(reading.fault) != NULL);
	HOLDS(reading.is_ambiguous == (reading.fault != PATH_CANONICAL));
	if (pattern.len > PATH_PATTERN_MAX_BYTES || path.len > PATH_MAX_BYTES)
		return 0;
	if (!reading.is_ambiguous)
		one_reading(path, &reading);
	if (path_pattern_fault(pattern) != NULL) {
		(void)path_match(pattern, path); /* only survives */
		return 0;
	}
	of_pattern = units_of(pattern, true);
	of_path = units_of(path, false);
	HOLDS(
	    path_match(pattern, path) == match_by_table(&of_pattern, &of_path));
	return 0;
}
