/*
 * Requests that [ask] rules hold: the gate's side of asking. The question goes
 * to the supervisor, and whoever holds a request hears once how it ended. No
 * supervisor, no answer: what is held then is over, and what would have to be
 * asked is refused at once.
 */
#ifndef TAPWARD_PROXY_HOLD_H
#define TAPWARD_PROXY_HOLD_H

#include <stddef.h>
#include <stdint.h>

#include "base/message_ask.h"
#include "proxy/gate.h"

/* Questions a second: more than people ask, less than a flood. */
#define HOLD_RATE 20

struct hold;
struct holds;

enum hold_end {
	HOLD_DENIED,
	HOLD_ALLOWED,
	HOLD_UNHEARD, /* there is nobody, or nobody any more */
	HOLD_LATE,
};

/*
 * Never from inside hold_new(); the hold is gone by then. by is printable, ""
 * when it was nobody.
 */
typedef void hold_fn(enum hold_end how, const char *by, void *arg);

/* 0 or -ENOMEM. */
int holds_new(struct gate *g);
void holds_free(struct gate *g); /* all are cancelled by then */
/* g->supervisor is another, or none: all that is held is over. */
void holds_unheard(struct gate *g);
/* MSG_ASKED for the question of this id. One that is over is no fault. */
void holds_answer(struct gate *g, uint32_t id, const struct message_asked *m);

/*
 * Asks m. bytes: what is held for it, of limits.ask_memory_bytes. NULL when it
 * cannot be asked; *ret_detail says why.
 */
struct hold *hold_new(struct gate *g, const struct message_ask *m, size_t bytes,
    hold_fn *done, void *arg, const char **ret_detail);
/* Nobody wants to hear any more. NULL is fine. */
void hold_cancel(struct hold *h);
/* It need not be asked any more: ends in the next turn as if allowed by by. */
void hold_release(struct hold *h, const char *by);

#endif
