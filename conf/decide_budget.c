/*
 * Budgets of rules that match, and the ends of rules.
 */
#include "base/clock.h"
#include "conf/decide_private.h"

void
decide_note_budget(const struct policy *p, uint32_t i, struct tally *t,
    struct tally_budgets *seen)
{
	struct image_budget b = { .rule = IMAGE_NONE };

	if (i != IMAGE_NONE) {
		if (i >= BUDGETS_MAX || !image_budget(p, i, &b)) {
			t->is_unsound = true;
			return;
		}
		seen->bits |= UINT64_C(1) << i;
	}
	if (b.budget.until_s == 0) {
		seen->is_endless = true;
		return;
	}
	if (seen->first_s == 0 || b.budget.until_s < seen->first_s) {
		seen->first = i;
		seen->first_s = b.budget.until_s;
	}
	if (b.budget.until_s > seen->last_s) {
		seen->last = i;
		seen->last_s = b.budget.until_s;
	}
}

void
decide_join_budgets(struct tally_budgets *to, const struct tally_budgets *from)
{
	to->bits |= from->bits;
	to->is_endless = to->is_endless || from->is_endless;
	if (from->first_s != 0 &&
	    (to->first_s == 0 || from->first_s < to->first_s)) {
		to->first = from->first;
		to->first_s = from->first_s;
	}
	if (from->last_s > to->last_s) {
		to->last = from->last;
		to->last_s = from->last_s;
	}
}

static struct verdict
ended_verdict(const struct policy *p, uint32_t i)
{
	struct policy_budget b;

	if (!policy_budget_at(p, i, &b))
		return decide_no_verdict(p->file, p->line, REASON_NO_POLICY);
	return (struct verdict){ .action = ACTION_DENY,
		.reason = REASON_UNTIL,
		.rule = b.rule,
		.file = b.file,
		.line = b.line,
		.say = b.say,
		.credential = "" };
}

struct verdict
decide_apply_budgets(const struct policy *p, const struct question *q,
    const struct tally *t, struct verdict v)
{
	const struct tally_budgets *seen = &t->seen[TALLY_PLAIN];
	bool is_looked_into = q->req == NULL && v.scheme != SCHEME_TCP &&
	    v.tls == TLS_MODE_INSPECT;
	uint64_t now_s = clock_wall_ms() / 1000;
	struct image_budget whole;

	v.budgets[VERDICT_POLICY] = seen->bits;
	if (is_looked_into && !seen->is_endless && seen->last_s <= now_s)
		return ended_verdict(p, seen->last);
	if (!is_looked_into && seen->first_s != 0 && seen->first_s <= now_s)
		return ended_verdict(p, seen->first);
	if (p->budget != IMAGE_NONE) {
		if (!image_budget(p, p->budget, &whole))
			return decide_no_verdict(p->file, p->line,
			    REASON_NO_POLICY);
		if (whole.budget.until_s != 0 && whole.budget.until_s <= now_s)
			return ended_verdict(p, p->budget);
		v.budgets[VERDICT_POLICY] |= UINT64_C(1) << p->budget;
	}
	return v;
}
