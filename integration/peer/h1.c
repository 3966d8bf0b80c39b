/*
 * HTTP/1.1 at either end: what goes out, and when it is over. What comes in is
 * read by h1_read.c.
 */
#include "h1.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
say(struct h1 *h, const char *text)
{
	link_put(h->l, text, strlen(text));
}

static void
put_framing(struct h1 *h, const struct shape *s)
{
	char line[64];
	bool is_bodyless =
	    h->l->is_origin && (s->status == 304 || h->is_head_method);

	if (s->frame == FRAME_STREAM && !is_bodyless)
		say(h, "Transfer-Encoding: chunked\r\n");
	if (s->frame == FRAME_CLOSE)
		say(h, "Connection: close\r\n");
	if (s->frame != FRAME_LENGTH)
		return;
	(void)snprintf(line, sizeof(line), "Content-Length: %" PRIu64 "\r\n",
	    s->size);
	say(h, line);
}

static void
put_request(struct h1 *h)
{
	const struct shape *s = &h->t->shape;
	char line[1200];

	(void)snprintf(line, sizeof(line), "%s %s HTTP/1.1\r\nHost: %s\r\n%s%s",
	    s->method, s->path,
	    SSL_get_servername(h->l->ssl, TLSEXT_NAMETYPE_host_name),
	    s->takes_trailers ? "TE: trailers\r\nConnection: TE\r\n" : "",
	    s->expects ? "Expect: 100-continue\r\n" : "");
	say(h, line);
	put_framing(h, s);
	say(h, "\r\n");
}

static void
put_interims(struct h1 *h)
{
	const struct shape *s = &h->t->shape;
	char line[96];

	(void)snprintf(line, sizeof(line),
	    "HTTP/1.1 %u Interim\r\nLink: </style>; rel=preload\r\n\r\n",
	    s->interim);
	for (unsigned int i = 0; i < s->interims; i++)
		say(h, line);
	h->has_interims = true;
}

static void
put_answer(struct h1 *h)
{
	const struct shape *s = &h->t->shape;
	char line[64], name[128];
	const char *value = shape_field(s, name);

	(void)snprintf(line, sizeof(line), "HTTP/1.1 %u Answer\r\n", s->status);
	say(h, line);
	if (value != NULL) {
		say(h, name);
		say(h, ": ");
		say(h, value);
		say(h, "\r\n");
	}
	put_framing(h, s);
	say(h, "\r\n");
}

static bool
has_body(const struct h1 *h)
{
	const struct shape *s = &h->t->shape;

	return s->frame != FRAME_NONE &&
	    !(h->l->is_origin &&
		(s->status == 304 || s->status == 204 || h->is_head_method));
}

static void
end_body(struct h1 *h)
{
	const struct shape *s = &h->t->shape;
	char line[96] = "";

	h->is_out_done = true;
	h->t->out.is_whole = true;
	if (has_body(h) && s->frame == FRAME_STREAM) {
		if (s->trailer[0] != '\0')
			(void)snprintf(line, sizeof(line), "%s: done\r\n",
			    s->trailer);
		say(h, "0\r\n");
		say(h, line);
		say(h, "\r\n");
	}
	if (s->surplus)
		say(h, "HTTP/1.1 200 Surplus\r\nContent-Length: 4\r\n\r\nevil");
	if (s->is_half || s->frame == FRAME_CLOSE)
		h->l->ends = true;
}

/* Room for a chunk's size and ends, and for the end of all. */
#define FRAMING_MAX 256

static void
put_body(struct h1 *h)
{
	static uint8_t bytes[PEER_PIECE];
	struct turn *t = h->t;

	while (!h->is_out_done && link_room(h->l) > FRAMING_MAX) {
		size_t most = link_room(h->l) - FRAMING_MAX, len = 0;
		char line[32];

		if (has_body(h) && !t->out.is_whole)
			len = turn_take(t, bytes,
			    most < sizeof(bytes) ? most : sizeof(bytes));
		if (len > 0 && t->shape.frame == FRAME_STREAM) {
			(void)snprintf(line, sizeof(line), "%zx\r\n", len);
			say(h, line);
		}
		link_put(h->l, bytes, len);
		if (len > 0 && t->shape.frame == FRAME_STREAM)
			say(h, "\r\n");
		if (!has_body(h) || t->out.is_whole)
			end_body(h);
		else if (len == 0)
			return;
	}
}

static void
go_out(struct h1 *h)
{
	struct turn *t = h->t;

	if (h->l->is_origin && t->has_head && !h->has_interims)
		put_interims(h);
	if (!t->is_head_sent) {
		if (h->l->is_origin && !turn_may_answer(t))
			return;
		t->is_head_sent = true;
		if (h->l->is_origin)
			put_answer(h);
		else
			put_request(h);
	}
	if (t->shape.expects && t->interim_count == 0 && !t->has_head)
		return;
	put_body(h);
}

void
h1_finish(struct h1 *h, enum turn_end end)
{
	h->t->end = end;
	turn_say(h->t, h->l);
}

void
h1_begin(struct h1 *h)
{
	struct shape s = h->shape;

	turn_free(h->t);
	if (h->l->is_origin)
		shape_init(&s);
	h->t = turn_new(&s, h->l->is_origin);
	h->is_out_done = h->has_interims = h->is_head_method = false;
	h->state = H1_READ_HEAD;
	h->head_len = 0;
	h->is_head_method = strcmp(s.method, "HEAD") == 0;
}

/* False: nothing more is to be done. */
static bool
next(struct h1 *h)
{
	if (!h->l->is_origin && ++h->count == h->shape.streams)
		return false;
	if (h->l->ends)
		return false;
	h1_begin(h);
	return true;
}

static bool
is_over(const struct h1 *h)
{
	/* A guest that was answered early sends no more. */
	return h->l->is_origin ? h->is_out_done && h->t->in.is_whole
			       : h->t->in.is_whole;
}

static bool
output(void *state)
{
	struct h1 *h = state;

	/* What was put before it goes before it. */
	if (turn_is_cut(h->t) && h->l->out_len > 0)
		return true;
	if (turn_is_cut(h->t)) {
		h->l->resets = h->t->shape.cut != CUT_CLOSE;
		h->l->goes = !h->l->is_origin;
		h1_finish(h, TURN_OURS);
		return false;
	}
	go_out(h);
	if (!is_over(h))
		return true;
	h1_finish(h, TURN_WHOLE);
	return next(h);
}

static void *
start(struct link *l, const struct shape *s)
{
	static struct h1 h;

	memset(&h, 0, sizeof(h));
	h.l = l;
	if (s != NULL)
		h.shape = *s;
	h1_begin(&h);
	return &h;
}

static void
stop(void *state)
{
	struct h1 *h = state;

	if (!h->l->is_origin && !turn_is_over(h->t))
		h1_finish(h, TURN_LATE);
	turn_free(h->t);
}

static bool
ended(void *state, bool is_reset)
{
	struct h1 *h = state;

	if (!is_reset && h->state == H1_READ_CLOSE) {
		h->t->in.is_whole = true;
		h1_finish(h, TURN_WHOLE);
		return false;
	}
	/* An idle one of an origin's has no turn to tell of. */
	if (!h->l->is_origin || h->t->has_head || h->head_len > 0)
		h1_finish(h, is_reset ? TURN_RESET : TURN_CUT);
	return false;
}

/* The head is read as it comes, and what follows the end of all, too. */
static size_t
room(void *state)
{
	const struct h1 *h = state;

	if (h->state == H1_READ_HEAD || h->t->in.is_whole ||
	    (h->l->is_origin && h->is_out_done))
		return PEER_PIECE;
	return pace_room(&h->t->in.pace);
}

static uint64_t
next_ms(void *state)
{
	const struct h1 *h = state;

	return turn_next_ms(h->t);
}

static int
wait_fd(void *state)
{
	const struct h1 *h = state;

	return h->l->is_origin && h->t->is_head_sent ? h->t->go_fd : -1;
}

const struct version version_h1 = {
	.name = "h1",
	.alpn = "\x08http/1.1",
	.start = start,
	.stop = stop,
	.input = h1_input,
	.output = output,
	.ended = ended,
	.room = room,
	.next_ms = next_ms,
	.wait_fd = wait_fd,
};
