/*
 * The key of a client certificate, which is not here: the broker has it, and
 * signs what proves to an origin that we may use it. For OpenSSL this is a
 * private key like any other, of a provider of our own in a library context of
 * its own; a handshake that needs a signature stops (SSL_ERROR_WANT_ASYNC)
 * until the broker has answered.
 */
#ifndef TAPWARD_PROXY_CLIENT_KEY_H
#define TAPWARD_PROXY_CLIENT_KEY_H

#include <openssl/ssl.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/message_sign.h"

struct client_key;

/*
 * Asks somebody to sign what lies in tbs (borrowed until it returns) as scheme
 * says (RFC 8446 4.2.3). False: it could not be asked.
 */
typedef bool client_key_ask(struct client_key *k, uint16_t scheme,
    struct span tbs);

enum client_key_state {
	CLIENT_KEY_UNASKED,
	CLIENT_KEY_ASKED,
	CLIENT_KEY_SIGNED,
	CLIENT_KEY_FAILED,
};

struct client_key {
	unsigned int refs;   /* whoever made it, and the SSL it is used by */
	client_key_ask *ask; /* NULL: nobody signs any more */
	void *arg;           /* its */
	enum client_key_state state;
	uint8_t signature[SIGN_SIGNATURE_MAX];
	size_t signature_len;
};

struct client_key *client_key_new(client_key_ask *ask, void *arg);
/* Whoever made it has no more use for it. NULL is fine. */
void client_key_release(struct client_key *k);

/*
 * The library context that knows such keys, with OpenSSL's own algorithms
 * beside. NULL when memory is short.
 */
struct client_keys;
struct client_keys *client_keys_new(void);
void client_keys_free(struct client_keys *c); /* NULL is fine */
OSSL_LIB_CTX *client_keys_context(const struct client_keys *c);
/*
 * Gives ssl, whose SSL_CTX is of that context, the chain (certificates in DER,
 * one behind the other, the leaf first) and k as its key. 0, -EBADMSG for what
 * is no chain, -ENOMEM. From here on SSL_do_handshake() may stop.
 */
int client_key_use(const struct client_keys *c, SSL *ssl, struct span chain,
    struct client_key *k);
/* What was asked is answered, with {NULL, 0} for a refusal. */
void client_key_answer(struct client_key *k, struct span signature);
/*
 * True: ssl has stopped in the middle of a handshake. Before SSL_free() it is
 * to be given an answer and SSL_do_handshake() once more, which fails: nobody
 * else would free what it holds.
 */
bool client_key_has_stopped(SSL *ssl);
/* The handshake is over: what follows runs on the stack of whoever asks. */
void client_key_done(SSL *ssl);

#endif
