/*
 * A peer of the inspected path that speaks HTTP/2 by libnghttp2: a guest's
 * program, or an origin. What it saw of each stream is kept for the test.
 */
#ifndef TAPWARD_TESTS_H2_PEER_H
#define TAPWARD_TESTS_H2_PEER_H

#include <nghttp2/nghttp2.h>

#include "inspect_fixture.h"

#define H2P_STREAMS_MAX 400

struct h2p_stream {
	int32_t id;
	char head[1024];    /* "name: value\n" each; of the final head */
	char trailers[256]; /* the same */
	size_t head_len, trailers_len;
	unsigned int interim;
	bool has_head, is_ended, is_reset;
	uint32_t error; /* of the reset */
	size_t body_len;
	uint64_t body_sum; /* of its bytes and where they are */
	char body[256];    /* how it begins */

	/* what is sent */
	uint64_t left; /* bytes of a pattern */
	const char *text;
	bool is_open;        /* more may come: not ended with them */
	const char *trailer; /* a name; its value is "done" */
	bool is_deferred;
	size_t unconsumed; /* came in while windows were kept */
};

struct h2p {
	struct peer *peer;
	nghttp2_session *session;
	struct h2p_stream streams[H2P_STREAMS_MAX];
	size_t count;
	bool has_goaway, is_broken;
	uint32_t goaway;
	bool keeps_window; /* takes bytes, and says so by h2p_consume() only */
};

/* Speaks HTTP/2 on p, from its next turn on. Frees by h2p_done(). */
void h2p_guest(struct h2p *h, struct peer *p);
void h2p_origin(struct h2p *h, struct peer *p);
void h2p_done(struct h2p *h);

/* Byte i of the pattern that bodies are made of, and the sum of it. */
uint8_t h2p_pattern(uint64_t i);
uint64_t h2p_sum(uint64_t sum, uint64_t at, const uint8_t *ptr, size_t len);

/*
 * Sends a request or an answer: fields is "name: value\n" each, pseudo-fields
 * first; s says what body follows (text, left, is_open, trailer) and may be
 * NULL without one. The stream that was made for it.
 */
struct h2p_stream *h2p_ask(struct h2p *h, const char *fields,
    const struct h2p_stream *body);
void h2p_answer(struct h2p *h, struct h2p_stream *s, const char *fields,
    const struct h2p_stream *body);
/* An interim answer. */
void h2p_interim(struct h2p *h, struct h2p_stream *s, const char *fields);
/* More of a body that was left open, once the last is gone; borrowed. */
void h2p_more(struct h2p *h, struct h2p_stream *s, struct span data);
/* Gives windows back for at most so many bytes. */
void h2p_consume(struct h2p *h, struct h2p_stream *s, size_t most);
/* Ends a body that was left open. */
void h2p_end(struct h2p *h, struct h2p_stream *s);
void h2p_reset(struct h2p *h, struct h2p_stream *s, uint32_t error);
bool h2p_has(const char *text, const char *line);

#endif
