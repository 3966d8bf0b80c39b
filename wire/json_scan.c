/*
 * See json_scan.h.
 */
#include "wire/json_scan.h"

#include "base/ascii.h"
#include "wire/token.h"

static enum json_token
fail(struct json_scan *j, enum json_token why)
{
	j->fault = why;
	return why;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_array(const struct json_scan *j)
{
	return (j->arrays >> (j->depth - 1) & 1) != 0;
}

static bool
put(struct json_scan *j, uint32_t byte)
{
	if (j->len == sizeof(j->text))
		return false;
	j->text[j->len++] = (uint8_t)byte;
	return true;
}

/* --- what is open --- */

static enum json_token
open_level(struct json_scan *j, bool is_array)
{
	if (j->depth == JSON_SCAN_DEPTH_MAX)
		return fail(j, JSON_LARGE);
	j->names_at[j->depth] = j->name_count;
	j->arrays &= ~(1u << j->depth);
	j->arrays |= (is_array ? 1u : 0u) << j->depth;
	j->depth++;
	j->phase = is_array ? JSON_AT_VALUE_OR_END : JSON_AT_NAME_OR_END;
	return is_array ? JSON_ARRAY : JSON_OBJECT;
}

static void
end_value(struct json_scan *j)
{
	j->phase = j->depth == 0 ? JSON_AT_END : JSON_AT_COMMA_OR_END;
}

static enum json_token
close_level(struct json_scan *j, uint8_t c)
{
	bool was_array = is_array(j);

	if (was_array != (c == ']'))
		return fail(j, JSON_BROKEN);
	j->depth--;
	j->name_count = j->names_at[j->depth];
	end_value(j);
	return was_array ? JSON_ARRAY_END : JSON_OBJECT_END;
}

/*
 * FNV-1a, letters as lower case. Whoever finds two names of one hash gets both
 * refused, and nothing else.
 */
static uint64_t
hash_name(const struct json_scan *j)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < j->len; i++) {
		h ^= ascii_lower(j->text[i]);
		(void)__builtin_mul_overflow(h, UINT64_C(0x100000001b3), &h);
	}
	return h;
}

static enum json_token
end_name(struct json_scan *j)
{
	uint64_t h = hash_name(j);

	if (span_printable(json_scan_text(j)) != j->len)
		return fail(j, JSON_BROKEN);
	for (size_t i = j->names_at[j->depth - 1]; i < j->name_count; i++) {
		if (j->names[i] == h)
			return fail(j, JSON_TWICE);
	}
	if (j->name_count == JSON_SCAN_NAMES_MAX)
		return fail(j, JSON_LARGE);
	j->names[j->name_count++] = h;
	j->phase = JSON_AT_COLON;
	return JSON_NAME;
}

/* --- strings --- */

static void
begin_string(struct json_scan *j, bool is_name)
{
	j->phase = JSON_IN_STRING;
	j->is_name = is_name;
	j->len = 0;
	j->high = 0;
	j->tail_left = 0;
}

static enum json_token
end_string(struct json_scan *j)
{
	if (j->high != 0 || j->tail_left > 0)
		return fail(j, JSON_BROKEN);
	if (j->is_name)
		return end_name(j);
	end_value(j);
	return JSON_TEXT;
}

/* Unicode 15, table 3-7: how a sequence begins, and what its second may be. */
static bool
begin_sequence(struct json_scan *j, uint8_t c)
{
	static const struct {
		uint8_t first, last, tail, min, max;
	} rows[] = {
		{ 0xc2, 0xdf, 1, 0x80, 0xbf },
		{ 0xe0, 0xe0, 2, 0xa0, 0xbf },
		{ 0xe1, 0xec, 2, 0x80, 0xbf },
		{ 0xed, 0xed, 2, 0x80, 0x9f },
		{ 0xee, 0xef, 2, 0x80, 0xbf },
		{ 0xf0, 0xf0, 3, 0x90, 0xbf },
		{ 0xf1, 0xf3, 3, 0x80, 0xbf },
		{ 0xf4, 0xf4, 3, 0x80, 0x8f },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (c < rows[i].first || c > rows[i].last)
			continue;
		j->tail_left = rows[i].tail;
		j->tail_min = rows[i].min;
		j->tail_max = rows[i].max;
		return true;
	}
	return false;
}

static enum json_token
string_byte(struct json_scan *j, uint8_t c)
{
	if (j->tail_left > 0) {
		if (c < j->tail_min || c > j->tail_max)
			return fail(j, JSON_BROKEN);
		j->tail_left--;
		j->tail_min = 0x80;
		j->tail_max = 0xbf;
	} else if (c == '"') {
		return end_string(j);
	} else if (c == '\\') {
		j->phase = JSON_IN_ESCAPE;
		return JSON_MORE;
	} else if (c < 0x20 || j->high != 0 ||
	    (c >= 0x80 && !begin_sequence(j, c))) {
		return fail(j, JSON_BROKEN);
	}
	return put(j, c) ? JSON_MORE : fail(j, JSON_LARGE);
}

static enum json_token
escape_byte(struct json_scan *j, uint8_t c)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char bytes[] = "\"\\/\b\f\n\r\t";

	if (c == 'u') {
		j->phase = JSON_IN_HEX;
		j->hex = 0;
		j->hex_left = 4;
		return JSON_MORE;
	}
	for (size_t i = 0; i + 1 < sizeof(letters); i++) {
		if (letters[i] != (char)c || j->high != 0)
			continue;
		j->phase = JSON_IN_STRING;
		return put(j, (uint8_t)bytes[i]) ? JSON_MORE
						 : fail(j, JSON_LARGE);
	}
	return fail(j, JSON_BROKEN);
}

static bool
put_code(struct json_scan *j, uint32_t code)
{
	if (code < 0x80)
		return put(j, code);
	if (code < 0x800)
		return put(j, 0xc0 | code >> 6) && put(j, 0x80 | (code & 0x3f));
	if (code < 0x10000)
		return put(j, 0xe0 | code >> 12) &&
		    put(j, 0x80 | (code >> 6 & 0x3f)) &&
		    put(j, 0x80 | (code & 0x3f));
	return put(j, 0xf0 | code >> 18) &&
	    put(j, 0x80 | (code >> 12 & 0x3f)) &&
	    put(j, 0x80 | (code >> 6 & 0x3f)) && put(j, 0x80 | (code & 0x3f));
}

static enum json_token
hex_byte(struct json_scan *j, uint8_t c)
{
	int digit = ascii_hex(c);
	uint32_t code;
	bool is_high, is_low;

	if (digit < 0)
		return fail(j, JSON_BROKEN);
	j->hex = j->hex << 4 | (uint32_t)digit;
	if (--j->hex_left > 0)
		return JSON_MORE;
	j->phase = JSON_IN_STRING;
	code = j->hex;
	is_high = code >= 0xd800 && code <= 0xdbff;
	is_low = code >= 0xdc00 && code <= 0xdfff;
	if (code == 0 || is_low != (j->high != 0))
		return fail(j, JSON_BROKEN);
	if (is_high) {
		j->high = code;
		return JSON_MORE;
	}
	if (is_low)
		code = 0x10000 + ((j->high - 0xd800) << 10) + (code - 0xdc00);
	j->high = 0;
	return put_code(j, code) ? JSON_MORE : fail(j, JSON_LARGE);
}

/* --- numbers and words --- */

static size_t
digits_at(struct span s, size_t at)
{
	size_t n = 0;

	while (at + n < s.len && ascii_is_digit(s.ptr[at + n]))
		n++;
	return n;
}

/* RFC 8259 6. */
static bool
is_number(struct span s)
{
	size_t at = s.len > 0 && s.ptr[0] == '-' ? 1 : 0;
	size_t n = digits_at(s, at);

	if (n == 0 || (n > 1 && s.ptr[at] == '0'))
		return false;
	at += n;
	if (at < s.len && s.ptr[at] == '.') {
		n = digits_at(s, at + 1);
		if (n == 0)
			return false;
		at += n + 1;
	}
	if (at < s.len && (s.ptr[at] == 'e' || s.ptr[at] == 'E')) {
		at++;
		if (at < s.len && (s.ptr[at] == '+' || s.ptr[at] == '-'))
			at++;
		n = digits_at(s, at);
		if (n == 0)
			return false;
		at += n;
	}
	return at == s.len;
}

static bool
is_number_byte(uint8_t c)
{
	return ascii_is_digit(c) || c == '-' || c == '+' || c == '.' ||
	    c == 'e' || c == 'E';
}

static enum json_token
begin_word(struct json_scan *j, const char *rest, enum json_token token)
{
	j->phase = JSON_IN_WORD;
	j->word = rest;
	j->word_token = token;
	return JSON_MORE;
}

static enum json_token
word_byte(struct json_scan *j, uint8_t c)
{
	if ((uint8_t)*j->word != c)
		return fail(j, JSON_BROKEN);
	j->word++;
	if (*j->word != '\0')
		return JSON_MORE;
	end_value(j);
	return j->word_token;
}

/* --- between them --- */

static enum json_token
begin_value(struct json_scan *j, uint8_t c)
{
	static const char *const words[] = { "true", "false", "null" };

	switch (c) {
	case '{':
		return open_level(j, false);
	case '[':
		return open_level(j, true);
	default:
		break;
	}
	if (j->depth == 0)
		return fail(j, JSON_BROKEN);
	switch (c) {
	case '"':
		begin_string(j, false);
		return JSON_MORE;
	case 't':
		return begin_word(j, &words[0][1], JSON_TRUE);
	case 'f':
		return begin_word(j, &words[1][1], JSON_FALSE);
	case 'n':
		return begin_word(j, &words[2][1], JSON_NULL);
	default:
		break;
	}
	if (c != '-' && !ascii_is_digit(c))
		return fail(j, JSON_BROKEN);
	j->phase = JSON_IN_NUMBER;
	j->len = 0;
	return put(j, c) ? JSON_MORE : fail(j, JSON_LARGE);
}

static enum json_token
between_byte(struct json_scan *j, uint8_t c)
{
	if (is_blank(c))
		return JSON_MORE;
	switch (j->phase) {
	case JSON_AT_VALUE_OR_END:
		if (c == ']')
			return close_level(j, c);
		return begin_value(j, c);
	case JSON_AT_START:
	case JSON_AT_VALUE:
		return begin_value(j, c);
	case JSON_AT_NAME_OR_END:
		if (c == '}')
			return close_level(j, c);
		break;
	case JSON_AT_COLON:
		if (c != ':')
			return fail(j, JSON_BROKEN);
		j->phase = JSON_AT_VALUE;
		return JSON_MORE;
	case JSON_AT_COMMA_OR_END:
		if (c != ',')
			return c == '}' || c == ']' ? close_level(j, c)
						    : fail(j, JSON_BROKEN);
		j->phase = is_array(j) ? JSON_AT_VALUE : JSON_AT_NAME;
		return JSON_MORE;
	case JSON_AT_NAME:
	case JSON_AT_END:
	case JSON_IN_STRING:
	case JSON_IN_ESCAPE:
	case JSON_IN_HEX:
	case JSON_IN_NUMBER:
	case JSON_IN_WORD:
		break;
	}
	if (j->phase == JSON_AT_END || c != '"')
		return fail(j, JSON_BROKEN);
	begin_string(j, true);
	return JSON_MORE;
}

/* *ret_taken: the byte is part of what was returned, or of what follows. */
static enum json_token
take(struct json_scan *j, uint8_t c, bool *ret_taken)
{
	*ret_taken = true;
	switch (j->phase) {
	case JSON_IN_STRING:
		return string_byte(j, c);
	case JSON_IN_ESCAPE:
		return escape_byte(j, c);
	case JSON_IN_HEX:
		return hex_byte(j, c);
	case JSON_IN_WORD:
		return word_byte(j, c);
	case JSON_IN_NUMBER:
		if (is_number_byte(c))
			return put(j, c) ? JSON_MORE : fail(j, JSON_LARGE);
		*ret_taken = false;
		if (!is_number(json_scan_text(j)))
			return fail(j, JSON_BROKEN);
		end_value(j);
		return JSON_NUMBER;
	case JSON_AT_START:
	case JSON_AT_VALUE:
	case JSON_AT_VALUE_OR_END:
	case JSON_AT_NAME:
	case JSON_AT_NAME_OR_END:
	case JSON_AT_COLON:
	case JSON_AT_COMMA_OR_END:
	case JSON_AT_END:
		break;
	}
	return between_byte(j, c);
}

enum json_token
json_scan_next(struct json_scan *j, struct span *in)
{
	if (j->fault != JSON_MORE)
		return j->fault;
	while (in->len > 0) {
		bool is_taken;
		enum json_token t = take(j, in->ptr[0], &is_taken);

		if (is_taken)
			*in = (struct span){ in->ptr + 1, in->len - 1 };
		if (t != JSON_MORE)
			return t;
	}
	return JSON_MORE;
}

struct span
json_scan_text(const struct json_scan *j)
{
	return (struct span){ j->text, j->len };
}

bool
json_scan_is_whole(const struct json_scan *j)
{
	return j->fault == JSON_MORE && j->phase == JSON_AT_END;
}

bool
json_scan_number(const struct json_scan *j, uint64_t *ret)
{
	return token_decimal(json_scan_text(j), INT64_MAX, ret);
}
