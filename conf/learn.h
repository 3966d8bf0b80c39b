/*
 * From what was asked for to the smallest policy that lets it through: presets
 * where they fit, repositories of git by what is fetched, and for the rest a
 * rule for each host and set of methods. Pure.
 */
#ifndef TAPWARD_CONF_LEARN_H
#define TAPWARD_CONF_LEARN_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/message_audit.h"
#include "conf/verdict.h"

/* Different requests that are told apart; more are an error. */
#define LEARN_REQUESTS_MAX 1024
#define LEARN_TEXT_MAX_BYTES 262144
/* Paths of one rule that are named one by one. */
#define LEARN_PATHS_MAX 8

struct learn;

/* A request, or a tunnel: method and target are "" of one. */
struct learn_request {
	const char *host;
	uint16_t port;
	/* AUDIT_SCHEME_NONE: http on port 80, else https */
	enum audit_scheme scheme;
	const char *method;
	const char *target;     /* path and query, as it was asked for */
	const char *credential; /* that went along; "" for none */
	uint64_t count;         /* how often */
};

/* NULL when memory is short. */
struct learn *learn_new(void);
void learn_free(struct learn *l); /* NULL is fine */
/*
 * Adds it, unless it is none (no host, a method that is not written in
 * capitals). 0, -ENOMEM, or -E2BIG.
 */
int learn_add(struct learn *l, const struct learn_request *r);
/*
 * The policy's text, each line with how many requests it is for. 0, -ENOMEM,
 * or -EMSGSIZE when it does not fit w.
 */
int learn_write(struct learn *l, struct wr *w);
/*
 * The rules alone, without presets and without [git] rules, which would say of
 * pushes, too: what could be added to a policy. They are called NAME-N; of
 * name at most 40 bytes are taken, and number is the last N that was used,
 * before and after. 0 or -EMSGSIZE.
 */
int learn_write_rules(struct learn *l, const char *name, size_t *number,
    struct wr *w);

#endif
