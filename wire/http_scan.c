/*
 * The search for the end of a head. A table of states and classes of bytes,
 * so that each byte is looked at once however the head arrives.
 */
#include <assert.h>

#include "wire/http.h"

enum scan_state {
	SCAN_START,      /* nothing yet */
	SCAN_START_CR,   /* the one CRLF that may come first (9112 2.2) */
	SCAN_LINE_START, /* past a CRLF */
	SCAN_LINE,
	SCAN_LINE_CR,
	SCAN_END_CR, /* the CR of the empty line */
	SCAN_STATES,
	/* Not stored: what ends the search. */
	SCAN_DONE,
	SCAN_BAD_LINE_END,
	SCAN_BAD_CONTROL,
};

enum byte_class {
	BYTE_OTHER,
	BYTE_CR,
	BYTE_LF,
	BYTE_CONTROL, /* but HTAB */
	BYTE_CLASSES
};

static const uint8_t next_state[SCAN_STATES][BYTE_CLASSES] = {
	[SCAN_START] = { SCAN_LINE, SCAN_START_CR, SCAN_BAD_LINE_END,
	    SCAN_BAD_CONTROL },
	[SCAN_START_CR] = { SCAN_BAD_LINE_END, SCAN_BAD_LINE_END,
	    SCAN_LINE_START, SCAN_BAD_LINE_END },
	[SCAN_LINE_START] = { SCAN_LINE, SCAN_END_CR, SCAN_BAD_LINE_END,
	    SCAN_BAD_CONTROL },
	[SCAN_LINE] = { SCAN_LINE, SCAN_LINE_CR, SCAN_BAD_LINE_END,
	    SCAN_BAD_CONTROL },
	[SCAN_LINE_CR] = { SCAN_BAD_LINE_END, SCAN_BAD_LINE_END,
	    SCAN_LINE_START, SCAN_BAD_LINE_END },
	[SCAN_END_CR] = { SCAN_BAD_LINE_END, SCAN_BAD_LINE_END, SCAN_DONE,
	    SCAN_BAD_LINE_END },
};

static enum byte_class
class_of(uint8_t c)
{
	if (c == '\r')
		return BYTE_CR;
	if (c == '\n')
		return BYTE_LF;
	return (c < 0x20 && c != '\t') || c == 0x7f ? BYTE_CONTROL : BYTE_OTHER;
}

/*
 * A bad byte is not passed over, so that asking again says the same. Indexes
 * the span itself: struct rd costs a call for each byte of each head.
 */
enum http_status
http_scan(struct http_scan *s, struct span so_far, size_t *ret_len)
{
	size_t end =
	    so_far.len < HTTP_HEAD_MAX_BYTES ? so_far.len : HTTP_HEAD_MAX_BYTES;

	assert(s->state < SCAN_STATES);
	for (; s->at < end; s->at++) {
		uint8_t next =
		    next_state[s->state][class_of(so_far.ptr[s->at])];

		if (next == SCAN_BAD_LINE_END)
			return HTTP_LINE_END;
		if (next == SCAN_BAD_CONTROL)
			return HTTP_CONTROL;
		if (next == SCAN_DONE) {
			*ret_len = s->at + 1;
			return HTTP_OK;
		}
		s->state = next;
	}
	return s->at < HTTP_HEAD_MAX_BYTES ? HTTP_MORE : HTTP_HEAD_SIZE;
}
