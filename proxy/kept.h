/*
 * The leases that a gate keeps for the next request: few, in locked memory,
 * gone at their end.
 */
#ifndef TAPWARD_PROXY_KEPT_H
#define TAPWARD_PROXY_KEPT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "base/message_lease.h"
#include "proxy/inject.h"

/* What a kept lease is for. */
struct kept_key {
	char credential[CREDENTIAL_NAME_SIZE];
	char host[HOST_NAME_SIZE];
	uint16_t port;
	uint8_t scheme;
	char region[LEASE_WORD_SIZE]; /* a key to sign with is of one each */
	char service[LEASE_WORD_SIZE];
};

struct kept;
struct kept_leases {
	TAILQ_HEAD(, kept) line; /* oldest first */
	size_t count;
	struct event *sweep;
};

/* 0 or -ENOMEM. */
int kept_init(struct kept_leases *l, struct event_base *base);
void kept_done(struct kept_leases *l); /* wipes; fine after a failed init */
/* Borrows; NULL without one that has not ended. */
struct injection *kept_find(struct kept_leases *l, const struct kept_key *key);
/* Takes a reference to in, in place of what was kept for key. */
void kept_add(struct kept_leases *l, const struct kept_key *key,
    struct injection *in);
/* Wipes those of this credential; NULL: all. */
void kept_forget(struct kept_leases *l, const char *credential);
/* The same of this lease, if another value may be had in its place. */
void kept_reject(struct kept_leases *l, uint64_t lease_id);

#endif
