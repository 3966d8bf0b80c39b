/*
 * One connection to a resolver by TLS (RFC 7858): connected, verified against
 * the name that the host gives it (RFC 8310 5, strict), and then answers as
 * they come. Nothing is sent before the certificate was found right, and
 * nothing ever in the clear.
 */
#ifndef TAPWARD_PROXY_DIALLER_TLS_CONN_H
#define TAPWARD_PROXY_DIALLER_TLS_CONN_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/message_dialler.h"
#include "proxy/dialler_query.h"

struct event_base;
struct dialler_tls_conn;

/*
 * All come from the event loop. on_message: one answer, borrowed; false ends
 * the connection as of a resolver that answers nonsense. on_end: it is to be
 * freed there; text says more of fault, in words of ours and OpenSSL's.
 */
struct dialler_tls_owner {
	void (*on_open)(void *arg);
	bool (*on_message)(struct span message, void *arg);
	void (*on_end)(enum dialler_fault fault, const char *text, void *arg);
	void *arg;
};

/* at and owner are borrowed as long as it lives. NULL when memory is short. */
struct dialler_tls_conn *dialler_tls_conn_new(struct event_base *base,
    SSL_CTX *ctx, const struct message_resolver *at, uint32_t timeout_ms,
    const struct dialler_tls_owner *owner);
/* Not from within on_open or on_message. NULL is fine. */
void dialler_tls_conn_free(struct dialler_tls_conn *c);
/* Its certificate was found right, and questions can be put. */
bool dialler_tls_conn_is_open(const struct dialler_tls_conn *c);
/* "TLSv1.3"; of one that is open. */
const char *dialler_tls_conn_version(const struct dialler_tls_conn *c);
/*
 * Questions that are put in one turn of the loop go together. A failure is
 * told by on_end. It is open.
 */
void dialler_tls_conn_ask(struct dialler_tls_conn *c,
    const struct dialler_query *q);

#endif
