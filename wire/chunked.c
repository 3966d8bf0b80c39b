#include "wire/chunked.h"

#include <assert.h>
#include <stdbool.h>

#include "base/ascii.h"
#include "wire/token.h"

/* 15 digits are below 2^60: no sum of them can wrap. */
#define SIZE_DIGITS_MAX 15

enum {
	STATE_SIZE,      /* digits of a chunk's size */
	STATE_EXTENSION, /* past the first ';' */
	STATE_SIZE_LF,   /* LF after a size line's CR */
	STATE_DATA,
	STATE_DATA_CR,
	STATE_DATA_LF,
	STATE_TRAILER_START, /* first byte of a trailer line */
	STATE_TRAILER_NAME,
	STATE_TRAILER_VALUE,
	STATE_TRAILER_LF,
	STATE_END_LF, /* LF of the empty line */
	STATE_DONE,
	STATE_COUNT
};

/* One byte in a state: CHUNKED_MORE to go on, or a refusal. */
typedef enum chunked_status step_fn(struct chunked *d, uint8_t c);

/*
 * RFC 9112 7.1.1, without the blanks that it calls bad: ";name", ";name=token"
 * or ";name=\"quoted\"", as often as there is room. No byte of a quoted string
 * ends the line, so that those who do not know them find the same end.
 */
enum extension_state {
	EXTENSION_BAD,
	EXTENSION_START, /* past a ';' */
	EXTENSION_NAME,
	EXTENSION_VALUE_START, /* past the '=' */
	EXTENSION_VALUE,
	EXTENSION_QUOTED, /* past the '"' */
	EXTENSION_PAIR,   /* past a backslash */
	EXTENSION_UNQUOTED,
	EXTENSION_STATES,
	EXTENSION_LINE_END, /* not stored */
};

enum extension_class {
	EXTENSION_TOKEN, /* tchar (RFC 9110 5.6.2) */
	EXTENSION_SEMICOLON,
	EXTENSION_EQUALS,
	EXTENSION_QUOTE,
	EXTENSION_BACKSLASH,
	EXTENSION_OTHER, /* that a quoted string may hold, but HTAB */
	EXTENSION_CR,
	EXTENSION_CONTROL,
	EXTENSION_CLASSES
};

static const uint8_t next_extension[EXTENSION_STATES][EXTENSION_CLASSES] = {
	[EXTENSION_START] = { [EXTENSION_TOKEN] = EXTENSION_NAME },
	[EXTENSION_NAME] = { [EXTENSION_TOKEN] = EXTENSION_NAME,
	    [EXTENSION_SEMICOLON] = EXTENSION_START,
	    [EXTENSION_EQUALS] = EXTENSION_VALUE_START,
	    [EXTENSION_CR] = EXTENSION_LINE_END },
	[EXTENSION_VALUE_START] = { [EXTENSION_TOKEN] = EXTENSION_VALUE,
	    [EXTENSION_QUOTE] = EXTENSION_QUOTED },
	[EXTENSION_VALUE] = { [EXTENSION_TOKEN] = EXTENSION_VALUE,
	    [EXTENSION_SEMICOLON] = EXTENSION_START,
	    [EXTENSION_CR] = EXTENSION_LINE_END },
	[EXTENSION_QUOTED] = { [EXTENSION_TOKEN] = EXTENSION_QUOTED,
	    [EXTENSION_SEMICOLON] = EXTENSION_QUOTED,
	    [EXTENSION_EQUALS] = EXTENSION_QUOTED,
	    [EXTENSION_QUOTE] = EXTENSION_UNQUOTED,
	    [EXTENSION_BACKSLASH] = EXTENSION_PAIR,
	    [EXTENSION_OTHER] = EXTENSION_QUOTED },
	[EXTENSION_PAIR] = { [EXTENSION_TOKEN] = EXTENSION_QUOTED,
	    [EXTENSION_SEMICOLON] = EXTENSION_QUOTED,
	    [EXTENSION_EQUALS] = EXTENSION_QUOTED,
	    [EXTENSION_QUOTE] = EXTENSION_QUOTED,
	    [EXTENSION_BACKSLASH] = EXTENSION_QUOTED,
	    [EXTENSION_OTHER] = EXTENSION_QUOTED },
	[EXTENSION_UNQUOTED] = { [EXTENSION_SEMICOLON] = EXTENSION_START,
	    [EXTENSION_CR] = EXTENSION_LINE_END },
};

static enum extension_class
extension_class_of(uint8_t c)
{
	if (token_is_char(c))
		return EXTENSION_TOKEN;
	switch (c) {
	case ';':
		return EXTENSION_SEMICOLON;
	case '=':
		return EXTENSION_EQUALS;
	case '"':
		return EXTENSION_QUOTE;
	case '\\':
		return EXTENSION_BACKSLASH;
	case '\r':
		return EXTENSION_CR;
	default:
		return c < 0x20 || c == 0x7f ? EXTENSION_CONTROL
					     : EXTENSION_OTHER;
	}
}

static enum chunked_status
step_extension(struct chunked *d, uint8_t c)
{
	uint8_t next;

	assert(d->extension < EXTENSION_STATES);
	next = next_extension[d->extension][extension_class_of(c)];
	if (next == EXTENSION_LINE_END) {
		d->state = STATE_SIZE_LF;
		return CHUNKED_MORE;
	}
	d->extension = next;
	if (next == EXTENSION_BAD ||
	    ++d->extension_bytes > CHUNKED_EXTENSION_MAX_BYTES)
		return CHUNKED_EXTENSION;
	return CHUNKED_MORE;
}

static enum chunked_status
step_size(struct chunked *d, uint8_t c)
{
	int digit = ascii_hex(c);

	if (digit >= 0) {
		if (d->digits == SIZE_DIGITS_MAX)
			return CHUNKED_SIZE;
		d->digits++;
		d->left = d->left << 4 | (unsigned int)digit;
		return CHUNKED_MORE;
	}
	if (d->digits == 0)
		return CHUNKED_SIZE;
	if (c != '\r' && c != ';')
		return c == '\n' ? CHUNKED_LINE_END : CHUNKED_SIZE;
	d->state = c == '\r' ? STATE_SIZE_LF : STATE_EXTENSION;
	d->extension = EXTENSION_START;
	return CHUNKED_MORE;
}

static enum chunked_status
step_size_lf(struct chunked *d, uint8_t c)
{
	if (c != '\n')
		return CHUNKED_LINE_END;
	d->state = d->left > 0 ? STATE_DATA : STATE_TRAILER_START;
	d->digits = 0;
	d->extension_bytes = 0;
	return CHUNKED_MORE;
}

static enum chunked_status
step_data_cr(struct chunked *d, uint8_t c)
{
	if (c != '\r')
		return CHUNKED_DATA_END;
	d->state = STATE_DATA_LF;
	return CHUNKED_MORE;
}

static enum chunked_status
step_data_lf(struct chunked *d, uint8_t c)
{
	if (c != '\n')
		return CHUNKED_DATA_END;
	d->state = STATE_SIZE;
	return CHUNKED_MORE;
}

static enum chunked_status
count_trailer_byte(struct chunked *d)
{
	return ++d->trailer_bytes > CHUNKED_TRAILER_MAX_BYTES
	    ? CHUNKED_TRAILER_SIZE
	    : CHUNKED_MORE;
}

static enum chunked_status
step_trailer_start(struct chunked *d, uint8_t c)
{
	if (c == '\r') {
		d->trailer_bytes++;
		d->state = STATE_END_LF;
		return CHUNKED_MORE;
	}
	if (c == '\n')
		return CHUNKED_LINE_END;
	if (!token_is_char(c))
		return CHUNKED_TRAILER;
	if (++d->trailer_count > CHUNKED_TRAILERS_MAX)
		return CHUNKED_TRAILER_SIZE;
	d->state = STATE_TRAILER_NAME;
	return count_trailer_byte(d);
}

static enum chunked_status
step_trailer_name(struct chunked *d, uint8_t c)
{
	if (c == ':')
		d->state = STATE_TRAILER_VALUE;
	else if (!token_is_char(c))
		return CHUNKED_TRAILER;
	return count_trailer_byte(d);
}

static enum chunked_status
step_trailer_value(struct chunked *d, uint8_t c)
{
	if (c == '\r')
		d->state = STATE_TRAILER_LF;
	else if (c == '\n')
		return CHUNKED_LINE_END;
	else if ((c < 0x20 && c != '\t') || c == 0x7f)
		return CHUNKED_TRAILER;
	return count_trailer_byte(d);
}

static enum chunked_status
step_trailer_lf(struct chunked *d, uint8_t c)
{
	if (c != '\n')
		return CHUNKED_LINE_END;
	d->state = STATE_TRAILER_START;
	return count_trailer_byte(d);
}

static enum chunked_status
step_end_lf(struct chunked *d, uint8_t c)
{
	if (c != '\n')
		return CHUNKED_LINE_END;
	d->trailer_bytes++;
	d->state = STATE_DONE;
	return CHUNKED_MORE;
}

/* STATE_DATA and STATE_DONE take no single bytes. */
static step_fn *const steps[STATE_COUNT] = {
	[STATE_SIZE] = step_size,
	[STATE_EXTENSION] = step_extension,
	[STATE_SIZE_LF] = step_size_lf,
	[STATE_DATA_CR] = step_data_cr,
	[STATE_DATA_LF] = step_data_lf,
	[STATE_TRAILER_START] = step_trailer_start,
	[STATE_TRAILER_NAME] = step_trailer_name,
	[STATE_TRAILER_VALUE] = step_trailer_value,
	[STATE_TRAILER_LF] = step_trailer_lf,
	[STATE_END_LF] = step_end_lf,
};

static enum chunked_status
take_data(struct chunked *d, struct span *in, struct span *ret_data)
{
	struct rd r = rd_span(*in);
	size_t len = d->left < in->len ? (size_t)d->left : in->len;

	*ret_data = rd_take(&r, len);
	*in = rd_take(&r, rd_left(&r));
	d->left -= len;
	if (d->left == 0)
		d->state = STATE_DATA_CR;
	return CHUNKED_DATA;
}

enum chunked_status
chunked_feed(struct chunked *c, struct span *in, struct span *ret_data)
{
	assert(c->state >= 0 && c->state < STATE_COUNT);
	while (
	    c->fault == CHUNKED_MORE && in->len > 0 && c->state != STATE_DONE) {
		struct rd r = rd_span(*in);

		if (c->state == STATE_DATA)
			return take_data(c, in, ret_data);
		c->fault = steps[c->state](c, rd_u8(&r));
		*in = rd_take(&r, rd_left(&r));
	}
	if (c->fault != CHUNKED_MORE)
		return c->fault;
	return c->state == STATE_DONE ? CHUNKED_DONE : CHUNKED_MORE;
}

struct span
chunked_trailers(const struct chunked *c, struct span taken)
{
	size_t len = c->trailer_bytes;

	/* Nothing but the section's own bytes comes behind its first. */
	if (len > taken.len)
		len = taken.len;
	if (len == 0 || c->trailer_count == 0)
		return (struct span){ NULL, 0 };
	return (struct span){ taken.ptr + (taken.len - len), len };
}

const char *
chunked_status_text(enum chunked_status s)
{
	static const char *const texts[] = {
		[CHUNKED_MORE] = "the body goes on",
		[CHUNKED_DATA] = "bytes of the body",
		[CHUNKED_DONE] = "the body has ended",
		[CHUNKED_SIZE] = "a chunk's size is not plain hexadecimal",
		[CHUNKED_LINE_END] = "a line of the body does not end in CRLF",
		[CHUNKED_EXTENSION] =
		    "a chunk extension is malformed or too long",
		[CHUNKED_DATA_END] = "a chunk does not end in CRLF",
		[CHUNKED_TRAILER] = "a trailer field is malformed",
		[CHUNKED_TRAILER_SIZE] = "the trailer fields are too many",
	};

	static_assert(sizeof(texts) / sizeof(texts[0]) == CHUNKED_STATUS_COUNT,
	    "a text for each outcome");
	return texts[s];
}

size_t
chunked_header(uint64_t len, uint8_t ret[CHUNKED_HEADER_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	struct wr w = wr_init(ret, CHUNKED_HEADER_SIZE);
	unsigned int shift = 60;

	/* A size of 0 would end the body. */
	assert(len > 0);
	while (len >> shift == 0)
		shift -= 4;
	for (;; shift -= 4) {
		wr_u8(&w, (uint8_t)digits[len >> shift & 0xf]);
		if (shift == 0)
			break;
	}
	wr_text(&w, "\r\n");
	return w.len;
}
