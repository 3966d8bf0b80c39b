/* See console.h. */
#include "vmm/console.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPE 0x1b

int
console_init(struct console *c, size_t size)
{
	*c = (struct console){ .ring = malloc(size), .size = size };
	return c->ring == NULL ? -ENOMEM : 0;
}

void
console_done(struct console *c)
{
	free(c->ring);
	c->ring = NULL;
}

void
console_add(struct console *c, struct span bytes)
{
	if (bytes.len > c->size) {
		c->total += bytes.len - c->size;
		bytes.ptr += bytes.len - c->size;
		bytes.len = c->size;
	}
	while (bytes.len > 0) {
		size_t at = (size_t)(c->total % c->size);
		size_t n = c->size - at < bytes.len ? c->size - at : bytes.len;

		memcpy(c->ring + at, bytes.ptr, n);
		c->total += n;
		bytes.ptr += n;
		bytes.len -= n;
	}
}

/* A filter that takes a terminal's sequences out of a stream of bytes. */
enum place { IN_TEXT, AFTER_ESCAPE, IN_SEQUENCE };

/* The byte to show, or -1 for none. */
static int
shown(enum place *place, uint8_t byte)
{
	switch (*place) {
	case AFTER_ESCAPE:
		*place = byte == '[' ? IN_SEQUENCE : IN_TEXT;
		return -1;
	case IN_SEQUENCE:
		if (byte >= 0x40 && byte <= 0x7e)
			*place = IN_TEXT;
		return -1;
	case IN_TEXT:
		break;
	}
	if (byte == ESCAPE) {
		*place = AFTER_ESCAPE;
		return -1;
	}
	if (byte == '\r')
		return -1;
	return byte == '\n' || (byte >= 0x20 && byte <= 0x7e) ? byte : '.';
}

/* All of the ring, made fit to be shown, into text; returns its length. */
static size_t
clean(const struct console *c, char *text)
{
	uint64_t first = c->total > c->size ? c->total - c->size : 0;
	enum place place = IN_TEXT;
	size_t len = 0;

	for (uint64_t at = first; at < c->total; at++) {
		int byte = shown(&place, c->ring[at % c->size]);
		bool is_empty_line =
		    byte == '\n' && (len == 0 || text[len - 1] == '\n');

		if (byte != -1 && !is_empty_line)
			text[len++] = (char)byte;
	}
	return len;
}

void
console_tail(const struct console *c, char *buf, size_t size)
{
	char *text = malloc(c->size);
	size_t len, from = 0;

	buf[0] = '\0';
	if (text == NULL)
		return;
	len = clean(c, text);
	if (len > size - 1) {
		const char *newline;

		from = len - (size - 1);
		/* Not the rest of a line that was cut. */
		newline = memchr(text + from, '\n', len - from - 1);
		if (newline != NULL)
			from = (size_t)(newline - text) + 1;
	}
	memcpy(buf, text + from, len - from);
	buf[len - from] = '\0';
	free(text);
}
