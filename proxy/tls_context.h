/*
 * What TLS is taken on any side, and how whoever we connect to proves its
 * name: shared by the gate and by what asks resolvers.
 */
#ifndef TAPWARD_PROXY_TLS_CONTEXT_H
#define TAPWARD_PROXY_TLS_CONTEXT_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * With what both sides have in common, in a library context, NULL for the usual
 * one. NULL when it fails.
 */
SSL_CTX *tls_context_new(OSSL_LIB_CTX *libctx, const SSL_METHOD *method);
/*
 * The peer is to prove that it is host, a canonical name, and is told that it
 * is wanted (SNI). False when memory is short.
 */
bool tls_context_expect(SSL *ssl, const char *host);
/*
 * Why a handshake that we began failed, in words of ours and OpenSSL's only:
 * nothing that the peer sent. ret holds size bytes. Empties the queue.
 */
void tls_context_failure(const SSL *ssl, char *ret, size_t size);

#endif
