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
#include "wire/lfs.h"

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
	const char *say; /* of the rule that refused, in that turn; or NULL */
	struct buf report;
	/* It is no push, but a body of LFS (exchange_lfs.c). */
	bool is_lfs;
	enum git_service service;
	enum git_operation operation; /* none: it writes nothing */
	char ref[GIT_REF_MAX_BYTES + 1];
	struct lfs *document; /* that is being read; or NULL */
	bool reads_answer;
	uint64_t answered; /* bytes of the answer that were read */
	size_t ahead;      /* of those, what the guest's half did not take */
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
/* Is it, or is it told to be, larger than p->max? */
bool exchange_push_is_large(const struct exchange *x);
/* Has p->look shown what was left to be shown? */
bool exchange_push_shows(struct exchange *x);
/*
 * Writes p->reason, p->detail and p->report; x->verdict becomes the first one
 * that refuses. fault: not of the commands, else NULL.
 */
void exchange_push_report(struct exchange *x, enum reason reason,
    const char *fault);

/* --- exchange_lfs.c --- */
/* NULL, or why it is not read at all. */
const char *exchange_lfs_begin(struct exchange *x,
    const struct http_request *req);
/*
 * The whole body under the policy that is in force. REASON_NONE, or why it is
 * refused; x->verdict becomes what refuses it. Takes p->text from it.
 */
enum reason exchange_lfs_judge(struct exchange *x, struct span all,
    const char **ret_detail);
/* A new policy: may what was let through go on? */
bool exchange_lfs_still(const struct exchange *x);
/* What is held of a document. */
void exchange_lfs_drop(struct exchange *x);

#endif
