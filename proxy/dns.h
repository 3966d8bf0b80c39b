/*
 * The gate's answers to DNS questions. Nothing is ever asked upstream: every
 * name gets a synthetic address, a denied one too, so that the guest is told
 * why where a person can read it (a 403), not by a resolver's error that npm
 * retries for 72 seconds.
 *
 * dns.c decides, dns_udp.c and dns_tcp.c carry.
 */
#ifndef TAPWARD_PROXY_DNS_H
#define TAPWARD_PROXY_DNS_H

#include <stdbool.h>

#include "base/bytes.h"
#include "proxy/gate.h"

/* Seconds that an answer, or its absence, may be kept. */
#define DNS_TTL_S 5

struct dns;

/* Makes g->dns. 0 or -ENOMEM. */
int dns_new(struct gate *g);
void dns_free(struct gate *g);

/*
 * Answers one packet into out, which has room for DNS_ANSWER_MAX_BYTES. False:
 * nothing is to be sent. No I/O but the audit record.
 */
bool dns_answer(struct gate *g, struct span packet, bool is_udp,
    struct wr *out);

/* Serve on a socket that is borrowed. NULL: no memory, or not such a socket. */
struct dns_udp;
struct dns_udp *dns_udp_start(struct gate *g, int fd);
void dns_udp_stop(struct dns_udp *u); /* NULL is fine */

struct dns_tcp;
struct dns_tcp *dns_tcp_start(struct gate *g, int fd);
void dns_tcp_stop(struct dns_tcp *t); /* NULL is fine */

#endif
