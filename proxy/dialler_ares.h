/*
 * c-ares on our event loop: questions to the configured resolvers and to
 * nobody else. No file is read (hosts, resolv.conf, nsswitch), no search list
 * and no alias exists, and a literal address never comes here (measured: c-ares
 * 1.18.1 sends literals and names with blanks to the wire).
 */
#ifndef TAPWARD_PROXY_DIALLER_ARES_H
#define TAPWARD_PROXY_DIALLER_ARES_H

#include <stdint.h>

#include "base/message_dialler.h"
#include "proxy/dialler_query.h"

struct event_base;
struct dialler_ares;
struct dialler_health;

/*
 * Resolvers are asked in their order: the next one after a second without an
 * answer, or sooner if one cannot be reached, fails or refuses. One that was
 * silent is asked last for so long, then it has its place again.
 */
#define DIALLER_RESOLVER_REST_MS 30000

/*
 * Before the process is sealed: c-ares seeds its ids from /dev/urandom here,
 * and would fall back to rand() without it, so its absence is -ENOENT. 0 or
 * -errno.
 */
int dialler_ares_new(struct event_base *base, struct dialler_ares **ret);
/* Cancels what is asked. NULL is fine. */
void dialler_ares_free(struct dialler_ares *a);
/* Cancels what is asked; then 0 or -errno. Without any, each question fails. */
int dialler_ares_set_resolvers(struct dialler_ares *a,
    const struct message_resolver *resolvers, unsigned int count);
/* host is a canonical name. May call q->done before it returns. */
void dialler_ares_ask(struct dialler_ares *a, const char *host, uint16_t type,
    struct dialler_query *q);
/* How they are; borrowed. */
struct dialler_health *dialler_ares_health(struct dialler_ares *a);

#endif
