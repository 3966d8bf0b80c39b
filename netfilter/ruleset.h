/*
 * The ruleset of one sandbox, by libnftnl, in the namespace the caller is in.
 *
 * Base chains are never deleted or replaced under a live guest: what changes
 * with a policy is in two sets. The accepting rules name every field they
 * rely on and everything else falls to a chain's drop policy, so a packet too
 * short for a match is dropped, not missed.
 */
#ifndef TAPWARD_NETFILTER_RULESET_H
#define TAPWARD_NETFILTER_RULESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/reason.h"
#include "netfilter/plan.h"

/* A reserved address of a `scheme = tcp` host and a port of it. */
struct net_reserved {
	uint32_t address;
	uint16_t port;
};

/* What a policy opens. Borrowed by every function here. */
struct net_opening {
	const uint16_t *ports; /* on the synthetic range; 80, 443 always are */
	size_t port_count;     /* at most NET_PORTS_MAX */
	const struct net_reserved *reserved;
	size_t reserved_count; /* at most NET_RESERVED_MAX */
};

/* Packets that met their end for a reason, since the ruleset was installed. */
struct net_counters {
	uint64_t packets[REASON_COUNT];
	uint64_t bytes[REASON_COUNT];
};

/*
 * Puts the whole ruleset for device in place in one transaction, whatever
 * stood there of it; the device must exist (kernel 6.1) and be down. Nothing
 * changes on failure. 0 or -errno, with a text in err.
 */
int ruleset_install(const struct net_plan *plan, const char *device,
    const struct net_opening *open, struct err *err);
/*
 * Reads back every table, chain, rule, set, element and counter of the
 * namespace and compares with what ruleset_install() would send. -EBADMSG if
 * anything is missing, different or strange, err then quotes the first line
 * that differs; 0 or -errno.
 */
int ruleset_verify(const struct net_plan *plan, const char *device,
    const struct net_opening *open, struct err *err);
/*
 * Makes the sets hold open and nothing else, in one transaction, under
 * traffic. 0 or -errno; the old elements stay on failure.
 */
int ruleset_update(const struct net_opening *open, struct err *err);
/* 0 or -errno. */
int ruleset_counters(struct net_counters *ret);

/*
 * A non-blocking socket that becomes readable when anybody changes a ruleset
 * of this namespace, us included. 0 or -errno.
 */
int ruleset_watch_open(int *ret_fd);
/* Reads all that waits. *ret_changed: then ruleset_verify(). 0 or -errno. */
int ruleset_watch_drain(int fd, bool *ret_changed);

#endif
