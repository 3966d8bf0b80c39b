/*
 * From requests that were denied to the smallest policy that lets them
 * through: presets where they fit, and for the rest a rule for each host and
 * set of methods. Pure.
 */
#ifndef TAPWARD_CONF_LEARN_H
#define TAPWARD_CONF_LEARN_H

#include <stddef.h>

#include "base/bytes.h"
#include "conf/verdict.h"

/* Different requests that are told apart; more are an error. */
#define LEARN_REQUESTS_MAX 1024
#define LEARN_TEXT_MAX_BYTES 262144
/* Paths of one rule that are named one by one. */
#define LEARN_PATHS_MAX 8

struct learn;

/* NULL when memory is short. */
struct learn *learn_new(void);
void learn_free(struct learn *l); /* NULL is fine */
/*
 * Adds one request; target is path and query, as it was asked for. Those that
 * are none (no host, a method that is not written in capitals) are left out.
 * 0, -ENOMEM, or -E2BIG.
 */
int learn_add(struct learn *l, const char *host, uint16_t port,
    const char *method, const char *target);
/*
 * The policy's text, each line with how many requests it is for. 0, -ENOMEM,
 * or -EMSGSIZE when it does not fit w.
 */
int learn_write(struct learn *l, struct wr *w);
/*
 * The rules alone, without a preset: what could be added to a policy. They are
 * called NAME-N; of name at most 40 bytes are taken, and number is the last N
 * that was used, before and after. 0 or -EMSGSIZE.
 */
int learn_write_rules(struct learn *l, const char *name, size_t *number,
    struct wr *w);

#endif
