/*
 * Budgets hold back as deny rules do: all of all rules that match count. So
 * one that is gone, or larger, opens something, whatever the other rules say.
 */
#include "conf/change_private.h"

/* NULL: no budget. */
static const struct budget *
budget_at(const struct model *m, uint32_t number)
{
	const struct image_budget *b;

	if (number == 0)
		return NULL;
	b = vec_at(&m->budgets, number - 1);
	return &b->budget;
}

static bool
within(uint64_t max, uint64_t of)
{
	return of == 0 || (max != 0 && max <= of);
}

/* Whatever a lets through in all, b does. */
static bool
is_within(const struct budget *a, const struct budget *b)
{
	if (b == NULL)
		return true;
	if (a == NULL)
		return false;
	return within(a->until_s, b->until_s) &&
	    within(a->max_requests, b->max_requests) &&
	    within(a->max_upload, b->max_upload) &&
	    within(a->max_download, b->max_download) &&
	    within(a->max_connections, b->max_connections) &&
	    /* no more within a longer span is no more within a shorter one */
	    within(a->rate, b->rate) &&
	    (b->rate == 0 || a->rate_s >= b->rate_s);
}

static bool
takes_hosts(const struct side *in, size_t by, const struct side *from,
    size_t rule, size_t *steps)
{
	for (size_t i = from->first[rule]; i < from->first[rule + 1]; i++) {
		struct cover_host want = { &from->m,
			vec_at(&from->m.hosts, i) };
		bool is_taken = false;

		for (size_t k = in->first[by];
		     k < in->first[by + 1] && !is_taken; k++, ++*steps)
			is_taken = cover_host((struct cover_host){ &in->m,
						  vec_at(&in->m.hosts, k) },
			    want);
		if (!is_taken)
			return false;
	}
	return true;
}

/* A path is asked for as it is, or with %2F for a slash. */
static bool
takes_spellings(const struct model_rule *by, const struct model_rule *r)
{
	return by->paths.count == 0 ||
	    (r->widen & WIDEN_ENCODED_SLASH & ~by->widen) == 0;
}

bool
change_is_limited(const struct side *in, const struct side *from, size_t rule,
    size_t *steps)
{
	const struct model_rule *r = model_rule_at(&from->m, rule);
	const struct budget *b = budget_at(&from->m, r->budget);

	for (size_t i = 0; i < in->m.rules.count && b != NULL; i++) {
		const struct model_rule *by = model_rule_at(&in->m, i);

		++*steps;
		if (by->action != ACTION_DENY && by->is_git == r->is_git &&
		    by->scheme == r->scheme && by->tls == r->tls &&
		    (r->widen & WIDEN_WEBSOCKET & ~by->widen) == 0 &&
		    takes_spellings(by, r) &&
		    is_within(budget_at(&in->m, by->budget), b) &&
		    cover_request((struct cover_rule){ &in->m, by },
			(struct cover_rule){ &from->m, r }) &&
		    takes_hosts(in, i, from, rule, steps))
			return true;
	}
	return b == NULL;
}

bool
change_is_whole_limited(const struct side *in, const struct side *from)
{
	return is_within(budget_at(&in->m, in->m.budget),
	    budget_at(&from->m, from->m.budget));
}
