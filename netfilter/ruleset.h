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
#include "netfilter/opening.h"
#include "netfilter/plan.h"

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
 * Makes the sets, which hold before, hold after and nothing else, in one
 * transaction, under traffic. 0 or -errno; they hold before on failure.
 */
int ruleset_update(const struct net_opening *before,
    const struct net_opening *after, struct err *err);
/* 0 or -errno. */
int ruleset_counters(struct net_counters *ret);

/*
 * A number that differs after any change of this namespace's rulesets, by
 * whomever. 0 or -errno.
 */
int ruleset_generation(uint32_t *ret_generation);
/*
 * A non-blocking socket that becomes readable when anybody changes a ruleset
 * of this namespace, us included. 0 or -errno.
 */
int ruleset_watch_open(int *ret_fd);
/* Empties it; ask ruleset_generation() what happened. 0 or -errno. */
int ruleset_watch_drain(int fd);

#endif
