/*
 * Escapes of single bytes, see spelling.h.
 */
#include "wire/spelling.h"

#include <string.h>

#include "base/ascii.h"

/* No credential holds it (conf/hostconf, proxy/inject.h). */
#define NO_BYTE 0

/* Longer ones are padded with zeros by nobody. */
#define CODE_DIGITS_MAX 7

/*
 * Characters that writers of HTML name: those of htmlspecialchars(), and the
 * rest of ASCII that htmlentities() and OWASP's encoders know.
 */
static const struct entity {
	char name[9];
	uint8_t byte;
} entities[] = {
	{ "amp;", '&' },
	{ "lt;", '<' },
	{ "gt;", '>' },
	{ "quot;", '"' },
	{ "apos;", '\'' },
	{ "sol;", '/' },
	{ "plus;", '+' },
	{ "equals;", '=' },
	{ "period;", '.' },
	{ "lowbar;", '_' },
	{ "comma;", ',' },
	{ "colon;", ':' },
	{ "semi;", ';' },
	{ "excl;", '!' },
	{ "quest;", '?' },
	{ "num;", '#' },
	{ "dollar;", '$' },
	{ "percnt;", '%' },
	{ "commat;", '@' },
	{ "ast;", '*' },
	{ "lpar;", '(' },
	{ "rpar;", ')' },
	{ "lbrack;", '[' },
	{ "lsqb;", '[' },
	{ "rsqb;", ']' },
	{ "rbrack;", ']' },
	{ "lbrace;", '{' },
	{ "lcub;", '{' },
	{ "rcub;", '}' },
	{ "rbrace;", '}' },
	{ "vert;", '|' },
	{ "verbar;", '|' },
	{ "bsol;", '\\' },
	{ "Hat;", '^' },
	{ "grave;", '`' },
};

#define ENTITIES (sizeof(entities) / sizeof(entities[0]))

bool
spelling_is_lead(uint8_t c)
{
	return c == '%' || c == '\\' || c == '&';
}

static bool
begins_name(uint8_t c)
{
	for (size_t i = 0; i < ENTITIES; i++)
		if ((uint8_t)entities[i].name[0] == c)
			return true;
	return false;
}

bool
spelling_may_begin(uint8_t lead, uint8_t next)
{
	switch (lead) {
	case '%':
		return ascii_hex(next) != -1;
	case '\\':
		return next == 'x' || next == 'u' || !ascii_is_alnum(next);
	case '&':
		return next == '#' ||
		    (ascii_is_alpha(next) && begins_name(next));
	default:
		return false;
	}
}

static uint8_t
byte_of(uint32_t code)
{
	return code <= UINT8_MAX ? (uint8_t)code : NO_BYTE;
}

/* So many hexadecimal digits, no fewer. */
static enum spelling_step
take_hex(struct rd *r, unsigned int digits, uint8_t *ret)
{
	uint32_t code = 0;

	for (; digits > 0; digits--) {
		int c = rd_peek(r), digit;

		if (c == -1)
			return SPELLING_OPEN;
		digit = ascii_hex((uint8_t)c);
		if (digit == -1)
			return SPELLING_PLAIN;
		code = code << 4 | (uint32_t)digit;
		rd_skip(r, 1);
	}
	*ret = byte_of(code);
	return SPELLING_MEANT;
}

/* \n and the like stand for bytes that no secret holds. */
static enum spelling_step
take_backslash(struct rd *r, uint8_t *ret)
{
	uint8_t c;

	if (rd_left(r) == 0)
		return SPELLING_OPEN;
	c = rd_u8(r);
	if (c == 'x')
		return take_hex(r, 2, ret);
	if (c == 'u')
		return take_hex(r, 4, ret);
	if (ascii_is_alnum(c))
		return SPELLING_PLAIN;
	*ret = c;
	return SPELLING_MEANT;
}

/* Behind "&#": digits up to a semicolon. */
static enum spelling_step
take_code(struct rd *r, uint8_t *ret)
{
	uint32_t code = 0, base = 10;
	unsigned int digits = 0;

	if (rd_peek(r) == 'x' || rd_peek(r) == 'X') {
		base = 16;
		rd_skip(r, 1);
	}
	while (digits <= CODE_DIGITS_MAX && rd_left(r) > 0) {
		uint8_t c = rd_u8(r);
		int digit = base == 16 || ascii_is_digit(c) ? ascii_hex(c) : -1;

		if (c == ';' && digits > 0) {
			*ret = byte_of(code);
			return SPELLING_MEANT;
		}
		if (digit == -1)
			return SPELLING_PLAIN;
		code = code * base + (uint32_t)digit;
		digits++;
	}
	return digits > CODE_DIGITS_MAX ? SPELLING_PLAIN : SPELLING_OPEN;
}

static enum spelling_step
take_entity(struct rd *r, uint8_t *ret)
{
	struct span rest = { r->at, rd_left(r) };
	enum spelling_step s = SPELLING_PLAIN;

	if (rd_peek(r) == '#') {
		rd_skip(r, 1);
		return take_code(r, ret);
	}
	for (size_t i = 0; i < ENTITIES; i++) {
		const char *name = entities[i].name;
		size_t len, most;

		if (rest.len > 0 && rest.ptr[0] != (uint8_t)name[0])
			continue;
		len = strlen(name);
		most = len < rest.len ? len : rest.len;
		if (most > 0 && memcmp(rest.ptr, name, most) != 0)
			continue;
		if (most < len) {
			s = SPELLING_OPEN;
			continue;
		}
		rd_skip(r, len);
		*ret = entities[i].byte;
		return SPELLING_MEANT;
	}
	return s;
}

enum spelling_step
spelling_resolve(struct spelling *s, struct span text)
{
	struct rd r = rd_span(text);
	enum spelling_step step;
	uint8_t byte = NO_BYTE;

	rd_skip(&r, s->len);
	switch (s->byte) {
	case '%':
		step = take_hex(&r, 2, &byte);
		break;
	case '\\':
		step = take_backslash(&r, &byte);
		break;
	case '&':
		step = take_entity(&r, &byte);
		break;
	default:
		return SPELLING_PLAIN;
	}
	if (step == SPELLING_MEANT)
		*s = (struct spelling){ byte, text.len - rd_left(&r) };
	return step;
}
