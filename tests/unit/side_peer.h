/*
 * A guest or an origin whose version of HTTP is a parameter: the same test
 * drives each of them against each.
 */
#ifndef TAPWARD_TESTS_SIDE_PEER_H
#define TAPWARD_TESTS_SIDE_PEER_H

#include "h2_peer.h"
#include "wire/chunked.h"

enum side_body {
	SIDE_NONE,
	SIDE_LENGTH,
	SIDE_STREAM, /* chunked, or DATA without a length */
};

struct side {
	struct fix *f;
	struct peer *p;
	bool is_h2, is_origin;
	struct h2p *h2;
	struct h2p_stream *s;
	size_t seen; /* streams of exchanges before */

	/* what came in last: a request or an answer */
	bool has_head, is_whole, is_cut;
	char head[2048]; /* lower case; h2 as ":status: 200\n" */
	char trailers[256];
	unsigned int interim;
	uint64_t body_len, body_sum;
	bool is_bodyless; /* HTTP/1: the answer to HEAD */
	/* HTTP/1 */
	bool sends_chunks;
	size_t taken; /* bytes of p->in that were looked at */
	bool is_chunked, has_length;
	uint64_t length;
	struct chunked chunked;
};

/* A message that is sent. */
struct side_message {
	const char *method;  /* a request */
	const char *path;    /* NULL: "/p?q" */
	unsigned int status; /* or an answer */
	const char *fields;  /* "name: value\n" each, or NULL */
	enum side_body body;
	uint64_t size;
	uint64_t declared;   /* with SIDE_LENGTH; 0: size */
	const char *trailer; /* its name; its value is "done" */
	bool is_open;        /* the body is not ended */
};

/* The guest opens its connection to api.example.org. */
void side_guest(struct side *s, struct fix *f, bool is_h2);
/* The k-th origin that is dialled. */
void side_origin(struct side *s, struct fix *f, bool is_h2, size_t k);
void side_done(struct side *s);
void side_send(struct side *s, const struct side_message *m);
void side_interim(struct side *s, unsigned int status);
/* More of an open body, once the last is gone; borrowed until then. */
void side_more(struct side *s, struct span data);
/* Is there still something of the last? */
bool side_has_more(const struct side *s);
/* Ends an open body. */
void side_end(struct side *s);
/* Resets the stream, or drops the connection. */
void side_reset(struct side *s);
/* Takes what came in; call it as a condition: s->is_whole, ... */
struct side *side_look(struct side *s);
/* The sum of a body of the pattern. */
uint64_t side_sum(uint64_t size);
/* Another exchange begins. */
void side_next(struct side *s);

#endif
