/*
 * A sandbox that learns: what no rule of its policy decides is the ceiling's
 * to say. The verdict is the ceiling's own, and never wider.
 */
#include "conf/decide_private.h"

/*
 * A denial that says only that nobody has written a rule yet. One that a rule
 * says (deny, until) is a person's wish, and one for a policy that cannot be
 * read is no verdict to learn from.
 */
static bool
is_for_want_of_a_rule(enum reason reason)
{
	return reason == REASON_NO_RULE || reason == REASON_PORT ||
	    reason == REASON_METHOD || reason == REASON_PATH ||
	    reason == REASON_QUERY || reason == REASON_WEBSOCKET;
}

/*
 * Who wrote [git] rules said what may be pushed; a policy that is learned
 * could not say it again, since a push is read command by command.
 */
bool
decide_is_learned(const struct tally *t, const struct verdict *v)
{
	return v->action == ACTION_DENY && !t->is_git_push &&
	    is_for_want_of_a_rule(v->reason);
}

/*
 * A host that [ask] rules name for some requests is dialled for the others,
 * too. That a question was answered is then left to the gate and the broker.
 */
bool
decide_is_asked_later(const struct tally *t, const struct verdict *v)
{
	return v->action == ACTION_ASK && t->ask_later != IMAGE_NONE &&
	    t->ask[TALLY_PLAIN] == IMAGE_NONE;
}

struct verdict
decide_learn(const struct policy *p, const struct question *q,
    const struct verdict *v, struct verdict c)
{
	/* Of no rule: what has no end by itself. */
	const struct tally none = { .seen[TALLY_PLAIN].is_endless = true };
	struct verdict whole;

	c.by_ceiling = true;
	if (c.action == ACTION_DENY)
		return c;
	/* The budget of the policy as a whole counts for all of it. */
	whole = decide_apply_budgets(p, q, &none, *v);
	if (whole.reason != v->reason)
		return whole;
	c.budgets[VERDICT_CEILING] = c.budgets[VERDICT_POLICY];
	c.budgets[VERDICT_POLICY] = whole.budgets[VERDICT_POLICY];
	c.by_ceiling = c.action == ACTION_ASK;
	c.credential = "";
	c.tls = TLS_MODE_INSPECT;
	c.widen &= ~(uint32_t)WIDEN_REDIRECT;
	c.learned = (struct verdict_learned){ v->reason, v->rule, v->file,
		v->line, v->is_git };
	return c;
}
