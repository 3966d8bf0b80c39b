/*
 * The search in a WebSocket, see websocket_scan.h.
 *
 * Each byte passes two parsers: end, as it comes, which finds what is to be
 * searched; and going, as it is cleared, which tells where in the stream of
 * frames the bytes of messages end that were found clean.
 */
#include "proxy/websocket_scan.h"

#include <string.h>

#include "base/secret.h"

/* Bytes that wait for the guest, beside what may begin the credential. */
#define HELD_MAX_BYTES 65536
/* A frame's head before each byte of a message. */
#define FRAMED_FACTOR 12

/* A control frame is searched by itself: 125 bytes that nothing joins. */
static enum websocket_scan_result
search_control(struct websocket_scan *s, const struct scan_forms *forms,
    struct span data)
{
	memcpy(s->control + s->control_len, data.ptr, data.len);
	s->control_len += data.len;
	(void)scan_look(forms, (struct span){ s->control, s->control_len },
	    true, &s->found);
	if (s->found.form != SCAN_NONE)
		return WEBSOCKET_SCAN_LEAK;
	if (websocket_frames_in_control(&s->end) == 0) {
		secret_wipe(s->control, s->control_len);
		s->control_len = 0;
	}
	return WEBSOCKET_SCAN_OK;
}

/* Puts messages into the window. */
static enum websocket_scan_result
take_frames(struct websocket_scan *s, const struct scan_forms *forms,
    struct span in)
{
	enum websocket_scan_result r = WEBSOCKET_SCAN_OK;

	while (r == WEBSOCKET_SCAN_OK) {
		struct span data = { NULL, 0 };

		switch (websocket_frames_feed(&s->end, &in, &data)) {
		case WEBSOCKET_FRAME_MORE:
			return r;
		case WEBSOCKET_FRAME_DATA:
			if (buf_append(&s->window, data) != 0)
				r = WEBSOCKET_SCAN_NO_MEMORY;
			break;
		case WEBSOCKET_FRAME_CONTROL:
			r = search_control(s, forms, data);
			break;
		case WEBSOCKET_FRAME_RESERVED:
		case WEBSOCKET_FRAME_OPCODE:
		case WEBSOCKET_FRAME_MASKED:
		case WEBSOCKET_FRAME_LENGTH:
		case WEBSOCKET_FRAME_LONG:
		case WEBSOCKET_FRAME_ORDER:
		case WEBSOCKET_FRAME_COUNT:
			r = WEBSOCKET_SCAN_BROKEN;
			break;
		}
	}
	return r;
}

/*
 * One piece of messages of at most want bytes, or none when the frames before
 * limit hold no more.
 */
static size_t
clear_piece(struct websocket_scan *s, size_t limit, size_t want)
{
	struct websocket_frames before = s->going;
	struct span from = { buf_span(&s->held).ptr + s->clean,
		limit - s->clean };
	struct span in = from, data = { NULL, 0 };
	enum websocket_frame f = websocket_frames_feed(&s->going, &in, &data);

	if (f == WEBSOCKET_FRAME_DATA && data.len > want) {
		/* Again, and to there only. */
		s->going = before;
		in = (struct span){ from.ptr,
			(size_t)(data.ptr - from.ptr) + want };
		from.len = in.len;
		f = websocket_frames_feed(&s->going, &in, &data);
	}
	s->clean += from.len - in.len;
	return f == WEBSOCKET_FRAME_DATA ? data.len : 0;
}

/* want bytes of messages and the frames around them are clean. */
static void
clear(struct websocket_scan *s, size_t want)
{
	/* A control frame goes when it is whole. */
	size_t limit = s->held.len - websocket_frames_in_control(&s->end);

	while (want > 0 && s->clean < limit)
		want -= clear_piece(s, limit, want);
}

/* The window was searched: all but what may begin a form, its tail, may go. */
static void
settle(struct websocket_scan *s, size_t tail)
{
	size_t fresh = s->window.len - s->given;
	size_t stays = tail < fresh ? tail : fresh;

	if (tail <= WEBSOCKET_SCAN_SHORT && websocket_frames_at_rest(&s->end))
		stays = 0;
	/* With the last byte of a message go the frames behind it. */
	clear(s, stays == 0 ? SIZE_MAX : fresh - stays);
	buf_consume(&s->window, s->window.len - tail);
	s->given = tail - stays;
}

enum websocket_scan_result
websocket_scan_feed(struct websocket_scan *s, const struct scan_forms *forms,
    struct span raw)
{
	size_t before = s->held.len, free_of_it;
	enum websocket_scan_result r;
	struct span in;

	s->held.is_secret = s->window.is_secret = true;
	if (buf_append(&s->held, raw) != 0)
		return WEBSOCKET_SCAN_NO_MEMORY;
	in = buf_span(&s->held);
	in = (struct span){ in.ptr + before, in.len - before };
	r = take_frames(s, forms, in);
	/* What came before a fault is looked at all the same. */
	free_of_it = scan_look(forms, buf_span(&s->window), false, &s->found);
	if (s->found.form != SCAN_NONE)
		return WEBSOCKET_SCAN_LEAK;
	if (r == WEBSOCKET_SCAN_OK)
		settle(s, s->window.len - free_of_it);
	return r;
}

const char *
websocket_scan_text(const struct websocket_scan *s)
{
	return websocket_frame_text(s->end.fault);
}

static size_t
most(const struct scan_forms *forms)
{
	return HELD_MAX_BYTES + FRAMED_FACTOR * scan_forms_longest(forms);
}

size_t
websocket_scan_room(const struct websocket_scan *s,
    const struct scan_forms *forms)
{
	return s->held.len < most(forms) ? most(forms) - s->held.len : 0;
}

bool
websocket_scan_is_stuck(const struct websocket_scan *s,
    const struct scan_forms *forms)
{
	return s->clean == 0 && websocket_scan_room(s, forms) == 0;
}

struct span
websocket_scan_clean(const struct websocket_scan *s)
{
	return (struct span){ buf_span(&s->held).ptr, s->clean };
}

void
websocket_scan_consume(struct websocket_scan *s, size_t len)
{
	buf_consume(&s->held, len);
	s->clean -= len;
}

bool
websocket_scan_is_empty(const struct websocket_scan *s)
{
	return s->held.len == 0;
}

void
websocket_scan_done(struct websocket_scan *s)
{
	buf_done(&s->held);
	buf_done(&s->window);
	secret_wipe(s->control, sizeof(s->control));
}
