/*
 * A TCP connection to one of several addresses, tried in their order and
 * overlapping (RFC 8305, its connection part): the next one starts when one
 * fails, or after a quarter of a second. Only addresses that were given are
 * ever dialled; no name is known here.
 */
#ifndef TAPWARD_PROXY_DIALLER_CONNECT_H
#define TAPWARD_PROXY_DIALLER_CONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/address.h"

struct event_base;
struct dialler_connect;

/* Addresses tried at most; the others are left out. */
#define DIALLER_CONNECT_TRIES_MAX 8
#define DIALLER_CONNECT_STAGGER_MS 250

/*
 * fd is taken by the callee: connected, non-blocking, TCP_NODELAY set; -1:
 * none, and err is the errno of the last failure, ETIMEDOUT after the
 * time-out. a is the address of fd, or the last one that failed. Comes from the
 * event loop; the object is gone then.
 */
typedef void dialler_connected(int fd, int err, const struct address *a,
    void *arg);

struct dialler_connect_ask {
	const struct address *addresses; /* copied */
	unsigned int count;              /* at least 1 */
	uint16_t port;
	uint32_t timeout_ms; /* for all of it */
	dialler_connected *done;
	void *arg;
};

/* NULL when memory is short. */
struct dialler_connect *dialler_connect_start(struct event_base *base,
    const struct dialler_connect_ask *ask);
/* Closes what is on its way. NULL is fine. */
void dialler_connect_cancel(struct dialler_connect *c);

/*
 * The order in which to try: families alternate, beginning with IPv6 if
 * ipv6_first, else with IPv4 (RFC 8305 4). Writes at most
 * DIALLER_CONNECT_TRIES_MAX to ret and returns how many.
 */
unsigned int dialler_connect_order(const struct address *addresses,
    unsigned int count, bool ipv6_first, struct address *ret);

#endif
