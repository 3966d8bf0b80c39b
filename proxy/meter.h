/*
 * Budgets as the gate keeps them: what a request or a tunnel counts for, and
 * what is left. Counts are in a table that outlives the gate (conf/budget.h);
 * a byte is counted before it is sent on, so that a gate which dies in between
 * has counted too much and never too little.
 */
#ifndef TAPWARD_PROXY_METER_H
#define TAPWARD_PROXY_METER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/reason.h"
#include "conf/verdict.h"
#include "proxy/gate.h"

enum meter_way { METER_UP, METER_DOWN };

/* Which budget it was: bit i of a file of the pair in force. */
struct meter_bit {
	bool is_set;
	uint8_t file; /* VERDICT_POLICY or VERDICT_CEILING */
	uint8_t i;
};

#define METER_DETAIL_SIZE 64

/* A budget that does not let something through. */
struct meter_refusal {
	struct meter_bit bit;
	struct verdict verdict; /* a denial, of the rule that has the budget */
	unsigned int status;    /* 0: the reason's own */
	unsigned int retry_after_s;     /* 0: none is known */
	char detail[METER_DETAIL_SIZE]; /* "" where a guest may not know */
};

/* It is over now: its time has come, or its bytes are used up. */
typedef void meter_over(const struct meter_refusal *why, void *arg);

/* One request or tunnel that counts. Zeroed, it counts for nothing. */
struct meter {
	TAILQ_ENTRY(meter) link;
	uint64_t bits[VERDICT_FILES];
	uint32_t generation; /* of the policy that the bits are of */
	bool is_on;
	/*
	 * Nobody waits for an end of it: it is over as soon as its bytes are
	 * used up. A request is when one byte more is to be sent.
	 */
	bool is_tunnel;
	meter_over *on_over; /* must end it; from the loop only */
	void *arg;
};

/*
 * Maps the counts in fd (borrowed), a struct budget_table. 0, -EBADMSG for a
 * file of another size, or -errno.
 */
int meters_new(struct gate *g, int fd);
void meters_free(struct gate *g); /* every meter has ended by then */
/*
 * g->pair has changed: a rule of a name that is known keeps its counts. Those
 * that go on call meter_rejoin().
 */
void meters_policy_changed(struct gate *g);

/*
 * Begins to count: one request, one connection, and `bytes` sent up. v is an
 * allowing verdict; of `announced` it is known that no less will be sent up.
 * False: it is refused, nothing is counted, and *ret says by what.
 */
bool meter_begin(struct gate *g, struct meter *m, const struct verdict *v,
    uint64_t bytes, uint64_t announced, struct meter_refusal *ret);
/* It goes on under another policy; nothing is refused. */
void meter_rejoin(struct gate *g, struct meter *m, const struct verdict *v);
/* Ends it; does nothing for one that has not begun. */
void meter_end(struct gate *g, struct meter *m);

/* Bytes that may still go this way; UINT64_MAX without a limit. */
uint64_t meter_left(const struct gate *g, const struct meter *m,
    enum meter_way way);
void meter_count(struct gate *g, const struct meter *m, enum meter_way way,
    uint64_t bytes);
/* Bytes that were counted did not go after all. */
void meter_return(struct gate *g, const struct meter *m, enum meter_way way,
    uint64_t bytes);
/* Says which budget it is that has fewer than `bytes` left for this way. */
void meter_refusal_of(const struct gate *g, const struct meter *m,
    enum meter_way way, uint64_t bytes, struct meter_refusal *ret);

#endif
