/*
 * See side_peer.h.
 */
#include "side_peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

/* How large chunks are. */
#define PIECE 8192

uint64_t
side_sum(uint64_t size)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < size; i++) {
		uint8_t c = h2p_pattern(size - i);

		sum = h2p_sum(sum, i, &c, 1);
	}
	return sum;
}

static void
start_h2(struct side *s)
{
	s->h2 = calloc(1, sizeof(*s->h2));
	assert_non_null(s->h2);
	if (s->is_origin)
		h2p_origin(s->h2, s->p);
	else
		h2p_guest(s->h2, s->p);
}

void
side_guest(struct side *s, struct fix *f, bool is_h2)
{
	*s = (struct side){ .f = f, .p = &f->guest, .is_h2 = is_h2 };
	fix_offer(f, is_h2 ? "\x02h2" : "\x08http/1.1");
	fix_open_tls(f, "api.example.org");
	if (is_h2)
		start_h2(s);
}

void
side_origin(struct side *s, struct fix *f, bool is_h2, size_t k)
{
	*s = (struct side){ .f = f, .is_h2 = is_h2, .is_origin = true };
	s->p = fix_origin(f, k);
	if (is_h2)
		start_h2(s);
}

void
side_done(struct side *s)
{
	if (s->h2 == NULL)
		return;
	h2p_done(s->h2);
	free(s->h2);
	s->h2 = NULL;
}

void
side_next(struct side *s)
{
	struct side fresh = { .f = s->f,
		.p = s->p,
		.is_h2 = s->is_h2,
		.is_origin = s->is_origin,
		.h2 = s->h2 };

	/* HTTP/1: what comes next is another message. */
	if (!s->is_h2) {
		memmove(s->p->in, s->p->in + s->taken, s->p->in_len - s->taken);
		s->p->in_len -= s->taken;
	}
	fresh.seen = s->h2 == NULL ? 0 : s->h2->count;
	*s = fresh;
}

/* --- sending --- */

static void
add_fields(char *to, size_t size, const struct side_message *m, bool is_h2)
{
	size_t len = strlen(to);

	if (m->fields != NULL)
		len += (size_t)snprintf(to + len, size - len, "%s", m->fields);
	if (m->body == SIDE_LENGTH)
		(void)snprintf(to + len, size - len,
		    "content-length: %" PRIu64 "\n",
		    m->declared != 0 ? m->declared : m->size);
	else if (m->body == SIDE_STREAM && !is_h2)
		(void)snprintf(to + len, size - len,
		    "transfer-encoding: chunked\n");
}

static const char *
path_of(const struct side_message *m)
{
	return m->path != NULL ? m->path : "/p?q";
}

static void
send_h2(struct side *s, const struct side_message *m)
{
	struct h2p_stream body = { .left = m->size,
		.is_open = m->is_open,
		.trailer = m->trailer };
	char fields[8192];

	if (m->method != NULL)
		(void)snprintf(fields, sizeof(fields),
		    ":method: %s\n:scheme: https\n:authority: api.example.org\n"
		    ":path: %s\n",
		    m->method, path_of(m));
	else
		(void)snprintf(fields, sizeof(fields), ":status: %u\n",
		    m->status);
	add_fields(fields, sizeof(fields), m, true);
	if (m->method != NULL)
		s->s =
		    h2p_ask(s->h2, fields, m->body == SIDE_NONE ? NULL : &body);
	else
		h2p_answer(s->h2, s->s, fields,
		    m->body == SIDE_NONE ? NULL : &body);
}

static void
send_head(struct side *s, const struct side_message *m)
{
	char fields[8192] = "", line[256];

	if (m->method != NULL)
		(void)snprintf(line, sizeof(line),
		    "%s %s HTTP/1.1\r\nHost: api.example.org\r\n", m->method,
		    path_of(m));
	else
		(void)snprintf(line, sizeof(line), "HTTP/1.1 %u X\r\n",
		    m->status);
	peer_say(s->p, line);
	add_fields(fields, sizeof(fields), m, false);
	for (const char *at = fields; *at != '\0'; at = strchr(at, '\n') + 1) {
		peer_send(s->p, at, (size_t)(strchr(at, '\n') - at));
		peer_say(s->p, "\r\n");
	}
	peer_say(s->p, "\r\n");
}

/* All chunks in one piece of memory, or the bytes as they are. */
static size_t
write_body(uint8_t *to, const struct side_message *m)
{
	size_t at = 0;

	for (uint64_t i = 0; i < m->size;) {
		uint64_t len = m->size - i < PIECE ? m->size - i : PIECE;

		if (m->body == SIDE_STREAM)
			at += chunked_header(len, to + at);
		for (uint64_t k = 0; k < len; k++)
			to[at++] = h2p_pattern(m->size - i - k);
		if (m->body == SIDE_STREAM) {
			to[at++] = '\r';
			to[at++] = '\n';
		}
		i += len;
	}
	return at;
}

static void
send_h1(struct side *s, const struct side_message *m)
{
	uint8_t *body = malloc((size_t)(m->size + m->size / PIECE * 32 + 32));

	assert_non_null(body);
	s->sends_chunks = m->body == SIDE_STREAM;
	send_head(s, m);
	peer_send(s->p, body, write_body(body, m));
	free(body);
	if (m->body != SIDE_STREAM || m->is_open)
		return;
	peer_say(s->p, "0\r\n");
	if (m->trailer != NULL) {
		peer_say(s->p, m->trailer);
		peer_say(s->p, ": done\r\n");
	}
	peer_say(s->p, "\r\n");
}

void
side_send(struct side *s, const struct side_message *m)
{
	if (s->is_h2)
		send_h2(s, m);
	else
		send_h1(s, m);
}

void
side_interim(struct side *s, unsigned int status)
{
	char text[64];

	if (s->is_h2) {
		(void)snprintf(text, sizeof(text), ":status: %u\n", status);
		h2p_interim(s->h2, s->s, text);
	} else {
		(void)snprintf(text, sizeof(text), "HTTP/1.1 %u X\r\n\r\n",
		    status);
		peer_say(s->p, text);
	}
}

void
side_more(struct side *s, struct span data)
{
	uint8_t size[CHUNKED_HEADER_SIZE];

	if (s->is_h2) {
		h2p_more(s->h2, s->s, data);
		return;
	}
	if (s->sends_chunks)
		peer_send(s->p, size, chunked_header(data.len, size));
	peer_send(s->p, data.ptr, data.len);
	if (s->sends_chunks)
		peer_say(s->p, "\r\n");
}

bool
side_has_more(const struct side *s)
{
	if (s->is_h2 && s->s->left > 0)
		return true;
	return s->p->out_at < s->p->out_len;
}

void
side_end(struct side *s)
{
	if (s->is_h2)
		h2p_end(s->h2, s->s);
	else if (s->sends_chunks)
		peer_say(s->p, "0\r\n\r\n");
}

void
side_reset(struct side *s)
{
	if (s->is_h2)
		h2p_reset(s->h2, s->s, NGHTTP2_CANCEL);
	else
		peer_drop(s->p);
}

/* --- what came in --- */

static struct side *
look_h2(struct side *s)
{
	if (s->s == NULL && s->is_origin && s->h2->count > s->seen)
		s->s = &s->h2->streams[s->h2->count - 1];
	if (s->s == NULL)
		return s;
	s->has_head = s->s->has_head;
	memcpy(s->head, s->s->head, sizeof(s->s->head));
	memcpy(s->trailers, s->s->trailers, sizeof(s->s->trailers));
	s->body_len = s->s->body_len;
	s->body_sum = s->s->body_sum;
	s->is_whole = s->s->is_ended;
	s->interim = s->s->interim;
	s->is_cut = s->s->is_reset || s->p->is_ended;
	return s;
}

static void
take_head(struct side *s)
{
	const uint8_t *in = s->p->in + s->taken;
	size_t left = s->p->in_len - s->taken;
	const uint8_t *end = left == 0 ? NULL : memmem(in, left, "\r\n\r\n", 4);
	const char *length;
	size_t len;

	if (end == NULL)
		return;
	len = (size_t)(end - in) + 2;
	assert_true(len < sizeof(s->head));
	for (size_t i = 0; i < len; i++)
		s->head[i] = (char)ascii_lower(in[i]);
	s->head[len] = '\0';
	s->taken += len + 2;
	if (strncmp(s->head, "http/1.1 1", 10) == 0) {
		s->interim++;
		take_head(s);
		return;
	}
	s->has_head = true;
	s->is_chunked = strstr(s->head, "transfer-encoding: chunked") != NULL;
	length = strstr(s->head, "content-length: ");
	s->has_length = length != NULL && !s->is_bodyless;
	if (s->has_length)
		s->length = strtoull(length + 16, NULL, 10);
}

static void
take_bytes(struct side *s, struct span data)
{
	s->body_sum = h2p_sum(s->body_sum, s->body_len, data.ptr, data.len);
	s->body_len += data.len;
}

static void
take_trailers(struct side *s, size_t len)
{
	struct span part = { s->p->in + s->taken, len };
	size_t had = strlen(s->trailers);

	part = chunked_trailers(&s->chunked, part);
	assert_true(had + part.len < sizeof(s->trailers));
	for (size_t i = 0; i < part.len; i++)
		s->trailers[had + i] = (char)ascii_lower(part.ptr[i]);
	s->trailers[had + part.len] = '\0';
}

static void
take_body(struct side *s)
{
	struct span in = { s->p->in + s->taken, s->p->in_len - s->taken };
	size_t before = in.len;
	struct span data;
	enum chunked_status r;

	if (!s->is_chunked) {
		if (in.len > s->length - s->body_len)
			in.len = (size_t)(s->length - s->body_len);
		take_bytes(s, in);
		s->taken += in.len;
		s->is_whole = s->body_len == s->length;
		return;
	}
	while ((r = chunked_feed(&s->chunked, &in, &data)) == CHUNKED_DATA)
		take_bytes(s, data);
	assert_true(r == CHUNKED_MORE || r == CHUNKED_DONE);
	take_trailers(s, before - in.len);
	s->taken += before - in.len;
	s->is_whole = r == CHUNKED_DONE;
}

struct side *
side_look(struct side *s)
{
	if (s->is_h2)
		return look_h2(s);
	if (!s->has_head)
		take_head(s);
	if (s->has_head && !s->is_whole)
		take_body(s);
	s->is_cut = s->p->is_ended && !s->is_whole;
	return s;
}
