/*
 * What exchange_push.c and exchange_push_judge.c share. For nobody else.
 */
#ifndef TAPWARD_PROXY_PUSH_PRIVATE_H
#define TAPWARD_PROXY_PUSH_PRIVATE_H

#include "proxy/decode.h"
#include "proxy/exchange_private.h"
#include "proxy/pack_look.h"
#include "proxy/push_report.h"
#include "wire/git_push.h"

#define PUSH_TEXT_SIZE 192

struct exchange_push {
	struct event event;
	bool is_pending; /* the event looks at what came */
	/* What the other side asks for, and what of the pack came with it. */
	struct git_push list;
	struct buf hold;
	size_t held;       /* of the gate's memory, for hold */
	size_t sent;       /* of hold, to the origin */
	bool is_flushed;   /* all of hold is with the origin */
	const char *fault; /* of gathering; NULL so far */
	enum coding coding;
	struct decoder *decoder;
	/* Its references were allowed. */
	bool is_out;
	bool is_many;  /* updates to show */
	bool is_shown; /* that each update moves forward */
	struct pack_look *look;
	size_t looked;     /* of hold */
	uint64_t received; /* before it was let out */
	uint64_t bytes;    /* of the body */
	uint64_t max;      /* 0: any */
	bool is_large;
	char text[PUSH_TEXT_SIZE];
	/* It was refused: the rest is dropped, then this is the answer. */
	bool is_refused;
	uint64_t dropped;
	enum reason reason;
	char detail[PUSH_TEXT_SIZE];
	struct buf report;
};

/* --- exchange_push_judge.c --- */
enum push_verdict {
	PUSH_ALLOWED,
	PUSH_TO_SHOW, /* if it is shown that each update moves forward */
	PUSH_DENIED,
};
/*
 * The commands of p->list under the policy that is in force. Takes p->text and
 * p->max from them.
 */
enum push_verdict exchange_push_judge(struct exchange *x);
/* Has p->look shown what was left to be shown? */
bool exchange_push_shows(struct exchange *x);
/*
 * Writes p->reason, p->detail and p->report; x->verdict becomes the first one
 * that refuses. fault: not of the commands, else NULL.
 */
void exchange_push_report(struct exchange *x, enum reason reason,
    const char *fault);

#endif
