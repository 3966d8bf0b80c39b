/*
 * Reading of paths: one pass that takes a path apart into units (a byte, or a
 * percent triplet and the byte it stands for). Matching is in path_match.c,
 * which takes units by the same path_unit().
 */
#include "wire/path.h"

#include <assert.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/path_unit.h"

struct path_unit
path_unit(struct rd *r)
{
	struct path_unit u = { .byte = rd_u8(r) };
	struct rd ahead;
	int high, low;

	if (u.byte != '%')
		return u;
	ahead = *r;
	high = ascii_hex(rd_u8(&ahead));
	low = ascii_hex(rd_u8(&ahead));
	if (!rd_ok(&ahead) || high < 0 || low < 0)
		return u;
	*r = ahead;
	u.byte = (uint8_t)(high << 4 | low);
	u.is_encoded = true;
	return u;
}

/* RFC 3986 3.3, without ';', which servers read as the end of a segment. */
static bool
is_plain(uint8_t c)
{
	static const char marks[] = "-._~!$&'()*+,=:@";

	return ascii_is_alnum(c) || (c != '\0' && strchr(marks, c) != NULL);
}

static enum path_fault
fault_of_plain(uint8_t c)
{
	if (c == '%')
		return PATH_BAD_PERCENT;
	if (c == ';')
		return PATH_SEMICOLON;
	return is_plain(c) || c == '/' ? PATH_CANONICAL : PATH_BAD_BYTE;
}

static enum path_fault
fault_of_encoded(uint8_t c)
{
	if (c < 0x20 || c == 0x7f)
		return PATH_ENCODED_CONTROL;
	if (ascii_is_alnum(c) || c == '-' || c == '_' || c == '.')
		return PATH_ENCODED_PLAIN;
	if (c == '\\' || c == ';' || c == '?' || c == '#' || c == '%')
		return PATH_ENCODED_SPECIAL;
	return PATH_CANONICAL;
}

/* Where a run of encoded bytes from 0x80 up stands (RFC 3629 4). */
struct utf8 {
	unsigned int left; /* continuation bytes that must follow */
	uint8_t low;       /* range of the next one */
	uint8_t high;
};

/* The ranges of the second byte keep out overlong forms and surrogates. */
static bool
utf8_lead(struct utf8 *u, uint8_t c)
{
	*u = (struct utf8){ .low = 0x80, .high = 0xbf };
	if (c >= 0xc2 && c <= 0xdf)
		u->left = 1;
	else if (c >= 0xe0 && c <= 0xef)
		u->left = 2;
	else if (c >= 0xf0 && c <= 0xf4)
		u->left = 3;
	else
		return false;
	if (c == 0xe0)
		u->low = 0xa0;
	else if (c == 0xed)
		u->high = 0x9f;
	else if (c == 0xf0)
		u->low = 0x90;
	else if (c == 0xf4)
		u->high = 0x8f;
	return true;
}

static bool
utf8_next(struct utf8 *u, struct path_unit unit)
{
	bool is_high = unit.is_encoded && unit.byte >= 0x80;

	if (u->left == 0)
		return !is_high || utf8_lead(u, unit.byte);
	if (!is_high || unit.byte < u->low || unit.byte > u->high)
		return false;
	*u = (struct utf8){ .left = u->left - 1, .low = 0x80, .high = 0xbf };
	return true;
}

/* The segment that is being read: its length, and whether all are dots. */
struct segment {
	size_t len;
	bool is_dots;
};

static enum path_fault
segment_fault(const struct segment *s, bool is_last)
{
	if (s->len == 0 && !is_last)
		return PATH_EMPTY_SEGMENT;
	if (s->is_dots && (s->len == 1 || s->len == 2))
		return PATH_DOT_SEGMENT;
	return PATH_CANONICAL;
}

static enum path_fault
segment_next(struct segment *s, struct path_unit u)
{
	if (u.byte == '/') {
		enum path_fault f = segment_fault(s, false);

		*s = (struct segment){ .is_dots = true };
		return f;
	}
	s->len++;
	s->is_dots = s->is_dots && u.byte == '.';
	return PATH_CANONICAL;
}

static enum path_fault
unit_fault(struct path_unit u, struct segment *segment, struct utf8 *utf8)
{
	enum path_fault f =
	    u.is_encoded ? fault_of_encoded(u.byte) : fault_of_plain(u.byte);
	enum path_fault of_segment = segment_next(segment, u);

	if (f == PATH_CANONICAL && !utf8_next(utf8, u))
		f = PATH_BAD_UTF8;
	return f == PATH_CANONICAL ? of_segment : f;
}

static void
note(struct path_reading *reading, enum path_fault f)
{
	if (f == PATH_CANONICAL || reading->is_ambiguous)
		return;
	reading->is_ambiguous = true;
	reading->fault = f;
}

struct path_reading
path_read(struct span path)
{
	struct path_reading reading = { .fault = PATH_CANONICAL };
	struct segment segment = { .is_dots = true };
	struct utf8 utf8 = { .left = 0 };
	struct rd r = rd_span(path);

	if (rd_u8(&r) != '/') {
		note(&reading, PATH_NO_SLASH);
		return reading;
	}
	while (rd_left(&r) > 0) {
		struct path_unit u = path_unit(&r);

		if (u.is_encoded && u.byte == '/')
			reading.has_encoded_slash = true;
		note(&reading, unit_fault(u, &segment, &utf8));
	}
	if (utf8.left > 0)
		note(&reading, PATH_BAD_UTF8);
	note(&reading, segment_fault(&segment, true));
	return reading;
}

const char *
path_fault_text(enum path_fault f)
{
	static const char *const texts[] = {
		[PATH_CANONICAL] = "the path has one reading",
		[PATH_NO_SLASH] = "the path does not begin with a slash",
		[PATH_DOT_SEGMENT] = "the path has a \".\" or \"..\" segment",
		[PATH_EMPTY_SEGMENT] = "the path has an empty segment",
		[PATH_BAD_PERCENT] =
		    "a '%' is not followed by two hexadecimal digits",
		[PATH_ENCODED_PLAIN] =
		    "a letter, digit, '-', '_' or '.' is percent-encoded",
		[PATH_ENCODED_SPECIAL] =
		    "a backslash, ';', '?', '#' or '%' is percent-encoded",
		[PATH_ENCODED_CONTROL] = "a control byte is percent-encoded",
		[PATH_BAD_UTF8] = "percent-encoded bytes are not UTF-8",
		[PATH_SEMICOLON] = "the path has a ';'",
		[PATH_BAD_BYTE] =
		    "the path has a byte that should be percent-encoded",
	};

	static_assert(sizeof(texts) / sizeof(texts[0]) == PATH_FAULT_COUNT,
	    "a text for each fault");
	return texts[f];
}
