/*
 * One channel of c-ares on our event loop: questions to the resolvers it was
 * given, in their order, and to nobody else. No file is read (hosts,
 * resolv.conf, nsswitch), no search list and no alias exists.
 */
#ifndef TAPWARD_PROXY_DIALLER_LANE_H
#define TAPWARD_PROXY_DIALLER_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include <ares.h>
#include <event2/event.h>

#include "base/message_dialler.h"
#include "proxy/dialler_query.h"

/* A socket for each resolver, UDP and TCP; c-ares has no more. */
#define DIALLER_LANE_SOCKETS_MAX (2 * DIALLER_RESOLVERS_MAX)

struct dialler_lane_socket {
	int fd; /* -1: not used */
	short what;
	struct event *event;
};

struct dialler_lane {
	struct dialler_ares *ares; /* the owner's */
	struct event_base *base;
	ares_channel channel;
	unsigned int open; /* the owner's: questions */
	struct event *timer;
	int reading_fd; /* whose answer is being read; -1: nobody's */
	struct dialler_lane_socket sockets[DIALLER_LANE_SOCKETS_MAX];
};

struct dialler_lane_how {
	int timeout_ms; /* first wait for an answer; doubled at each try */
	int tries;
	bool takes_failures; /* SERVFAIL and the like are answers */
};

/*
 * Before the process is sealed: c-ares seeds its ids from /dev/urandom here.
 * 0 or -errno; dialler_lane_done() in either case.
 */
int dialler_lane_init(struct dialler_lane *l, struct event_base *base,
    const struct dialler_lane_how *how);
/* Cancels what is asked. */
void dialler_lane_done(struct dialler_lane *l);
void dialler_lane_cancel(struct dialler_lane *l);
/*
 * Whom to ask from now on: all count of them, from the one at first on. No
 * question may be open. 0 or -errno.
 */
int dialler_lane_set(struct dialler_lane *l, const struct message_resolver *all,
    unsigned int count, unsigned int first);
/* There is a resolver. May call done before it returns. */
void dialler_lane_ask(struct dialler_lane *l, const char *host, uint16_t type,
    ares_callback done, void *arg);
/* What a callback was given; empty: no answer. */
struct span dialler_lane_packet(const unsigned char *packet, int len);
/*
 * For a callback that was given a packet: which of these it came from; count
 * if that cannot be told.
 */
unsigned int dialler_lane_sender(const struct dialler_lane *l,
    const struct message_resolver *all, unsigned int count);
/*
 * What a status without an answer means. c-ares says ECONNREFUSED of a resolver
 * that is not there, and of one that answers SERVFAIL or REFUSED.
 */
enum dialler_fault dialler_lane_fault(int status);

#endif
