/*
 * What a rule, or a policy as a whole, lets through in all: numbers of a
 * policy file, and how much of them is used. Counts live in a file that the
 * supervisor keeps for each sandbox (run-dir/sandboxes/NAME/counts) and every
 * gate of it maps, so that neither a gate that dies nor a reload begins anew.
 */
#ifndef TAPWARD_CONF_BUDGET_H
#define TAPWARD_CONF_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "conf/verdict.h"

/* Rules with a budget in one file: each is a bit of a verdict. */
#define BUDGETS_MAX 64
#define BUDGET_RATE_MAX 1000000u
#define BUDGET_RATE_S_MAX 86400u
#define BUDGET_UNTIL_MAX UINT64_C(253402300799) /* of the year 9999 */
#define BUDGET_CONNECTIONS_MAX 65536u
#define BUDGET_COUNT_MAX (UINT64_C(1) << 60)

/* 0: no such limit. */
struct budget {
	uint64_t until_s; /* Unix time: then it ends */
	uint64_t max_requests;
	uint64_t max_upload; /* bytes */
	uint64_t max_download;
	uint32_t rate;            /* requests ... */
	uint32_t rate_s;          /* ... within so many seconds */
	uint32_t max_connections; /* at once */
};

/* The values of their keys; NULL, or what is wrong with one. */
const char *budget_parse_rate(struct span v, struct budget *b);
/* RFC 3339 in UTC, seconds may be left out: 2026-12-31T18:00Z */
const char *budget_parse_until(struct span v, uint64_t *ret_s);

/* --- counts --- */

/*
 * A rate never lets more through within any span of its length: the span is
 * cut into so many slices, and one that the span touches counts as a whole.
 */
#define BUDGET_SLICES 60
/* Of rules in force, and of such that a reload took away. */
#define BUDGET_SLOTS 256
#define BUDGET_MAGIC UINT64_C(0x3142574150444754)

/*
 * One rule's counts. Gate and supervisor run on one machine and come from one
 * build: the file's magic says which layout it has.
 */
struct budget_slot {
	char rule[RULE_NAME_SIZE]; /* "" free; "-" a file as a whole */
	char file[RULE_AT_SIZE];   /* as in verdicts */
	uint32_t line;
	uint32_t is_ceiling;
	uint32_t is_in_force;
	uint32_t open; /* connections now; of this gate */
	struct budget budget;
	uint64_t requests;
	uint64_t up;
	uint64_t down;
	uint64_t newest; /* number of the newest slice */
	uint32_t slices[BUDGET_SLICES];
};

struct budget_table {
	uint64_t magic;
	struct budget_slot slots[BUDGET_SLOTS];
};

/* Whichever is not used up yet. UINT64_MAX: there is no limit. */
uint64_t budget_left(uint64_t max, uint64_t used);
/*
 * Requests that the rate takes at boot_ms; *ret_wait_ms is set when that is 0,
 * to when it takes one again. Nothing is counted.
 */
uint64_t budget_rate_left(const struct budget_slot *s, uint64_t boot_ms,
    uint64_t *ret_wait_ms);
/* Counts one request in its rate. */
void budget_rate_count(struct budget_slot *s, uint64_t boot_ms);
/*
 * The limits are these from now on; what was counted stays. A rate over
 * another span takes all that the old one still holds for just done.
 */
void budget_slot_set(struct budget_slot *s, const struct budget *b,
    uint64_t boot_ms);
/* False: not what a gate writes, and of no use to these functions. */
bool budget_slot_is_sound(const struct budget_slot *s);
/* "100/minute"; buf holds 32 bytes. */
const char *budget_rate_text(const struct budget *b, char buf[32]);

#endif
