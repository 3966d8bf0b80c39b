/*
 * What decide.c and decide_git.c share. For nobody else.
 */
#ifndef TAPWARD_CONF_DECIDE_PRIVATE_H
#define TAPWARD_CONF_DECIDE_PRIVATE_H

#include "conf/image.h"

struct question {
	const char *host;
	uint16_t port;
	const struct policy_request *req; /* NULL: the connection only */
	const struct policy_command *cmd; /* NULL: the request, not its body */
	const struct policy_lfs *lfs;     /* what was granted, else NULL */
	uint32_t file;                    /* whose rule of it is meant */
	bool may_be_push;                 /* however it is read */
	bool is_dial; /* of an inspected connection: the origin's side */
};

/* Rules by what they judge: [allow] and [ask] requests, [git] git's. */
enum { TALLY_PLAIN, TALLY_GIT, TALLY_KINDS };

/* Budgets of rules that match, and when the rules end: by their budgets. */
struct tally_budgets {
	uint64_t bits;
	uint64_t first_s; /* 0: none ends */
	uint64_t last_s;
	uint32_t first;
	uint32_t last;
	bool is_endless; /* one of them does not */
};

/* What one file's rules make of a question. Rules by number, or none. */
struct tally {
	bool is_unsound;
	uint32_t rules; /* looked at */
	size_t steps;
	uint32_t deny;
	uint32_t ask[TALLY_KINDS];
	uint32_t ask_later; /* is_dial: of requests that it is made for */
	uint32_t allow[TALLY_KINDS];
	const char *credential[TALLY_KINDS];
	struct tally_budgets seen[TALLY_KINDS];
	uint32_t near; /* rule that missed by the least */
	enum reason near_reason;
	/*
	 * A push, and the file has [git] rules for its host and port: they
	 * alone say whether it may be.
	 */
	bool is_git_push;
};

/* Pattern i of a run; an unsound one is empty, which matches nothing. */
struct span decide_pattern_at(const struct policy *p,
    const struct image_run *run, uint32_t i);
/* Counts the cost of matching; false when it is too much. */
bool decide_can_afford(struct tally *t, struct span pattern, size_t text_len);

/* A denial of the file, in the name of no rule. */
struct verdict decide_no_verdict(const char *file, uint32_t line,
    enum reason reason);
/* A rule that matches, of budget i, or of none (IMAGE_NONE). */
void decide_note_budget(const struct policy *p, uint32_t i, struct tally *t,
    struct tally_budgets *seen);
void decide_join_budgets(struct tally_budgets *to,
    const struct tally_budgets *from);
/*
 * What was found allowed, with its budgets, or denied since its time is up.
 * On a connection that is inspected each request is asked for again, and may
 * be matched by a rule without an end.
 */
struct verdict decide_apply_budgets(const struct policy *p,
    const struct question *q, const struct tally *t, struct verdict v);

/* Is v, which t came to in a policy that learns, the ceiling's to decide? */
bool decide_is_learned(const struct tally *t, const struct verdict *v);
/* What is said in the place of v, where the ceiling says c. */
struct verdict decide_learn(const struct policy *p, const struct question *q,
    const struct verdict *v, struct verdict c);
/* The origin's side is only asked for: others may be let through there. */
bool decide_is_asked_later(const struct tally *t, const struct verdict *v);

/* Every rule with a host pattern that stands for q->host. */
typedef void decide_rule_fn(const struct policy *p, uint32_t id,
    const struct image_rule *r, const struct question *q, struct tally *t);
void decide_each_rule(const struct policy *p, const struct question *q,
    decide_rule_fn *fn, struct tally *t);
bool decide_has_port(const struct policy *p, const struct image_run *run,
    uint16_t port);
struct tally decide_tally_init(void);
/* An allowing verdict in the rule's name, with its budgets, or its end. */
struct verdict decide_granted(const struct policy *p,
    const struct image_rule *r, const struct question *q);
/* Does a verdict of one file stand against whatever was granted? */
bool decide_stands(const struct verdict *v);
/*
 * The first pattern of `redirect` (is_git: of `lfs-host`) that stands for the
 * host, of the rule (NULL: of any). False: there is none.
 */
bool decide_find_redirect(const struct policy *p, const char *rule, bool is_git,
    const char *host, struct image_redirect *ret, struct image_rule *ret_rule);
/* Is one of a [git] rule's repositories this? */
bool decide_has_repo(const struct policy *p, const struct image_rule *r,
    struct span repo, struct tally *t);

/* Why a [git] rule does not match q->req; REASON_NONE when it does. */
enum reason decide_git_miss(const struct policy *p, const struct image_rule *r,
    const struct question *q, struct tally *t);

#endif
