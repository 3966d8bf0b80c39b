/*
 * A resolver that is asked by TLS, on the test's own event loop: it says what a
 * nameserver with a script knows, and behaves as it is told.
 */
#ifndef TAPWARD_TESTS_UNIT_DOT_PEER_H
#define TAPWARD_TESTS_UNIT_DOT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <openssl/ssl.h>

#include "tests/unit/fix_cert.h"
#include "tests/unit/nameserver.h"

enum dot_way {
	DOT_PLAIN,
	DOT_SILENT,       /* takes questions and answers none */
	DOT_DEAF,         /* accepts, and no handshake comes of it */
	DOT_NO_TLS,       /* sends a line of text and no TLS */
	DOT_OLD_TLS,      /* 1.1 at most */
	DOT_CLOSES_EACH,  /* a connection gives one answer */
	DOT_CLOSES_FIRST, /* as soon as it has a question */
	DOT_BACKWARDS,    /* holds two, and answers the second first */
	DOT_OTHER_ID,
	DOT_OTHER_NAME, /* an answer, to a question that was not put */
	DOT_BYTES,      /* a byte in each record */
	DOT_HALF,       /* the first bytes of each answer, then silence */
	DOT_HUGE,       /* a length of 65535 */
	DOT_SHORT,      /* a length that no header has */
	DOT_STRAYS,     /* answers to nothing, without end */
};

struct dot_conn;

struct dot_peer {
	struct event_base *base;
	struct nameserver *ns; /* borrowed */
	enum dot_way way;
	const struct ca_made *ca; /* borrowed; who signs the certificate */
	const char *host;         /* that it is for */
	enum fix_cert cert;
	int fd;
	uint16_t port;
	struct event *event;
	unsigned int accepted;
	unsigned int handshakes;
	unsigned int open; /* connections, right now */
	unsigned int questions;
	unsigned int unpadded; /* of them */
	TAILQ_HEAD(dot_conns, dot_conn) conns;
};

/* All of p but base to cert is made by it. */
void dot_peer_init(struct dot_peer *p, const char *address);
void dot_peer_done(struct dot_peer *p);
/* Ends all of its connections, as one that is started anew. */
void dot_peer_hang_up(struct dot_peer *p);

#endif
