/*
 * TLS of one gate: towards the guest with leaves that the sandbox's own CA
 * signs, towards origins verified against the host's roots.
 *
 * tls_ca.c keeps the CA, tls_leaf.c makes and caches leaves, tls_guest.c and
 * tls_origin.c the two sides.
 */
#ifndef TAPWARD_PROXY_TLS_H
#define TAPWARD_PROXY_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/bytes.h"
#include "base/names.h"
#include "base/reason.h"
#include "proxy/client_key.h"
#include "proxy/gate.h"

struct tls_state;

/*
 * Makes g->tls: CA from the PEM file in ca_fd (key and certificate), roots
 * from the image in roots_fd. Both are borrowed. g->limits must be set. 0 or
 * -errno; -EBADMSG for a CA that is none.
 */
int tls_state_new(struct gate *g, int ca_fd, int roots_fd);
/* New roots: what the old ones vouched for (sessions, idle connections) ends.
 */
int tls_state_set_roots(struct gate *g, int roots_fd);
/* Frees g->tls. Every SSL made by it is gone by then. */
void tls_state_free(struct gate *g);

/* What one connection's side keeps for OpenSSL's callbacks; outlives the SSL.
 */
struct tls_guest {
	struct tls_state *state;
	const char *sni;
	/*
	 * Set before the handshake: HTTP/1.1 is chosen if it is offered, too.
	 * A guest that is denied reads why in its reason phrase.
	 */
	bool prefers_http11;
	bool is_limited; /* no leaf: too many new names a second */
};

struct tls_origin {
	struct tls_state *state;
	const char *host;
	uint16_t port;
	uint32_t roots_generation; /* whose roots verify it */
	/* of one that shows a client certificate; else fd is 0 */
	LIST_ENTRY(tls_origin) shown;
	int fd; /* + 1 */
	char credential[CREDENTIAL_NAME_SIZE];
};

/*
 * The guest's side of one connection. The leaf is for sni, which is
 * canonical, borrowed as long as keep, and the only name under which a session
 * can be resumed. NULL when memory is short.
 */
SSL *tls_guest_new(struct gate *g, const char *sni, struct tls_guest *keep);

/* Why a handshake with a guest failed. */
struct tls_failure {
	enum reason reason; /* REASON_GUEST_TLS or REASON_LIMIT_MINT */
	char text[96];      /* "alert unknown_ca": printable */
};
/* Called right after it failed; empties OpenSSL's error queue. */
struct tls_failure tls_guest_failure(const struct tls_guest *keep);

/*
 * The origin's side of one connection: SNI, hostname check and a
 * session kept from before, all for (host, port); host is borrowed as long as
 * keep. Without may_h2 HTTP/1.1 alone is offered. A handshake that succeeds
 * has verified the name. NULL when memory is short.
 */
SSL *tls_origin_new(struct gate *g, const char *host, uint16_t port,
    bool may_h2, struct tls_origin *keep);
struct tls_certified {
	const char *host;
	uint16_t port;
	bool may_h2;
	int fd;
	const char *credential;
	struct span chain;      /* is shown */
	struct client_key *key; /* signs (client_key.h) */
};
/*
 * The same for a connection over fd that is to show a client certificate. No
 * session of another connection is resumed, and its own is kept for none.
 * NULL: no memory, or no certificates.
 */
SSL *tls_origin_new_certified(struct gate *g, const struct tls_certified *to,
    struct tls_origin *keep);
/* Ends such connections: of this credential, or, if it is NULL, of any. */
void tls_origins_cut(struct gate *g, const char *credential);
/* What the two sides agreed on, after the handshake. */
enum tls_http {
	TLS_HTTP_1, /* or nothing was said */
	TLS_HTTP_2,
	TLS_HTTP_NONE, /* not verified, or another protocol: ends it */
};
enum tls_http tls_guest_http(const SSL *ssl);
enum tls_http tls_origin_http(const SSL *ssl);
/*
 * The connection belongs to another object: keep is what the callbacks use
 * from here on, with a host that is borrowed as long.
 */
void tls_origin_move(SSL *ssl, struct tls_origin *keep, struct tls_origin *from,
    const char *host);
/* To be called before SSL_free(), so that its session can be resumed. */
void tls_origin_done(SSL *ssl);

#endif
