/*
 * What conn.c, conn_open.c and nobody else share.
 */
#ifndef TAPWARD_PROXY_CONN_PRIVATE_H
#define TAPWARD_PROXY_CONN_PRIVATE_H

#include "proxy/conn.h"
#include "wire/tls_hello.h"

TAILQ_HEAD(conn_line, conn);

struct conns {
	struct conn_line open;
	struct conn_line closed; /* freed when the callback has returned */
	struct event *reaper;
	uint64_t over_cap; /* since the last record of it */
	uint64_t over_cap_ms;
	uint8_t gather[TLS_HELLO_MAX_BYTES];
};

/* The only writer of c->state. */
void conn_enter(struct conn *c, enum conn_state next);
/* What the policy in force says of conn_host(c). */
struct verdict conn_verdict(const struct conn *c);
/* A `scheme = tcp` host: goes on to DIAL, or is closed. */
void conn_judge_tcp(struct conn *c);
/* Makes event and timer, once gate and fd are set. */
void conn_assign_events(struct conn *c);

#endif
