/*
 * Questions to resolvers by TLS, and by nothing else: RFC 7858 on one kept
 * connection for each, many questions on it at once and answers in any order.
 *
 * Resolvers are asked in their order. The next one is asked too when one has
 * not answered in time (a late answer still counts), and instead when one
 * cannot be reached, cannot prove its name, fails or refuses. What a connection
 * owed when it ended is asked again on a new one.
 */
#ifndef TAPWARD_PROXY_DIALLER_TLS_H
#define TAPWARD_PROXY_DIALLER_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/message_dialler.h"
#include "proxy/dialler_query.h"
#include "proxy/roots.h"

struct event_base;
struct dialler_tls;

/* Questions at once: two of each name (dialler_resolve.c). */
#define DIALLER_TLS_QUERIES_MAX 2048
/*
 * For connection and handshake; and for an answer, then the next one is asked,
 * too. For that less if names are to be given up early: three tenths of it.
 */
#define DIALLER_TLS_TRY_MS 1500
/* One that was silent or of no use is asked last for so long. */
#define DIALLER_TLS_REST_MS 30000
/*
 * And is not connected to for so long: else each name that a guest asks for
 * would make a connection that is known to fail.
 */
#define DIALLER_TLS_HOLD_MS 1000
/* One that is down is looked at so often, so that its return is known. */
#define DIALLER_TLS_LOOK_MS 10000
/* A connection that owes nothing is kept so long (RFC 7858 3.4). */
#define DIALLER_TLS_IDLE_MS 20000

/* Before the process is sealed. 0 or -errno. */
int dialler_tls_new(struct event_base *base, struct dialler_tls **ret);
/* Cancels what is asked. NULL is fine. */
void dialler_tls_free(struct dialler_tls *t);
/*
 * Cancels what is asked. A question is answered, or given up, within
 * give_up_ms. Without roots (NULL), which are borrowed for good, or resolvers
 * each question fails. 0 or -errno; then each question fails, too.
 */
int dialler_tls_configure(struct dialler_tls *t,
    const struct message_resolver *resolvers, unsigned int count,
    struct roots *roots, uint32_t give_up_ms);
/*
 * host is a canonical name, borrowed until q->done was called, which may be
 * before this returns.
 */
void dialler_tls_ask(struct dialler_tls *t, const char *host, uint16_t type,
    struct dialler_query *q);
/*
 * Makes a connection to each that has none, so that a certificate that is
 * wrong is known before a guest waits for it.
 */
void dialler_tls_probe(struct dialler_tls *t);
/* changed is called when the state of a resolver is another one. */
typedef void dialler_tls_changed(void *arg);
void dialler_tls_watch(struct dialler_tls *t, dialler_tls_changed *changed,
    void *arg);
/* How the resolver of this index, below count, is. */
void dialler_tls_state(const struct dialler_tls *t, unsigned int i,
    struct message_resolver_state *ret);

#endif
