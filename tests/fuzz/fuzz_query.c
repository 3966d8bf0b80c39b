/*
 * An input is a name, a line end, and a query. The pieces and what parts them
 * are the query, byte for byte; and where every piece of that name is left out
 * no origin that decodes once finds it, as a decoder of our own says.
 */
#include "fuzz_wire.h"

#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/query.h"
#include "wire/token.h"

#define NAME_MAX_BYTES 64

/* As a CGI library would: until '=', escapes and '+' resolved. */
static bool
decodes_to(struct span piece, const char *name)
{
	const size_t len = strlen(name);
	size_t at = 0, n = 0;

	while (at < piece.len && piece.ptr[at] != '=') {
		uint8_t c = piece.ptr[at++];

		if (c == '+') {
			c = ' ';
		} else if (c == '%' && piece.len - at >= 2 &&
		    ascii_hex(piece.ptr[at]) >= 0 &&
		    ascii_hex(piece.ptr[at + 1]) >= 0) {
			c = (uint8_t)(ascii_hex(piece.ptr[at]) * 16 +
			    ascii_hex(piece.ptr[at + 1]));
			at += 2;
		}
		if (n == len || c != (uint8_t)name[n])
			return false;
		n++;
	}
	return n == len;
}

static bool
is_name(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!ascii_is_alnum(s.ptr[i]) && s.ptr[i] != '-' &&
		    s.ptr[i] != '_')
			return false;
	return s.len > 0 && s.len < NAME_MAX_BYTES;
}

static void
check(struct span query, const char *name)
{
	struct query_reader r = { .rest = query };
	struct query_piece p;
	size_t at = 0;

	while (query_next(&r, &p)) {
		if (p.before != 0)
			HOLDS(at < query.len && query.ptr[at++] == p.before);
		HOLDS(query.len - at >= p.text.len);
		HOLDS(p.text.len == 0 ||
		    memcmp(query.ptr + at, p.text.ptr, p.text.len) == 0);
		at += p.text.len;
		if (!query_is_named(p.name, name))
			HOLDS(!decodes_to(p.text, name));
	}
	HOLDS(at == query.len);
}

/* What is written is one piece, of that name and no other byte. */
static void
check_written(const char *name, struct span value)
{
	static uint8_t buf[3 * 4096 + NAME_MAX_BYTES + 1];
	struct wr w = wr_init(buf, sizeof(buf));
	struct query_reader r;
	struct query_piece p;

	if (value.len > 4096)
		return;
	query_write(&w, name, value);
	HOLDS(wr_ok(&w));
	r = (struct query_reader){ .rest = { buf, w.len } };
	HOLDS(query_next(&r, &p) && p.text.len == w.len && !query_next(&r, &p));
	HOLDS(query_is_named(p.name, name));
	for (size_t i = 0; i < w.len; i++)
		HOLDS(buf[i] > 0x20 && buf[i] < 0x7f && buf[i] != '#');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = { data, size }, first = token_cut(&rest, '\n');
	char name[NAME_MAX_BYTES];

	if (!is_name(first))
		return 0;
	memcpy(name, first.ptr, first.len);
	name[first.len] = '\0';
	check(rest, name);
	check_written(name, rest);
	return 0;
}
