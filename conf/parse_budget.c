/*
 * The keys of budgets: of a rule, or below [policy] of the file as a whole.
 */
#include <errno.h>

#include "base/clock.h"
#include "conf/limits.h"
#include "conf/parse.h"

/* That of the section being read, made with its first key. NULL and why. */
static struct budget *
budget_of_section(struct parse *p, const char **ret_fault)
{
	bool is_rule = p->section != SECTION_POLICY;
	uint32_t *at = is_rule ? &parse_rule(p)->budget : &p->m->budget;
	struct image_budget fresh = {
		.rule = is_rule ? (uint32_t)p->m->rules.count - 1 : IMAGE_NONE
	};
	struct image_budget *b;

	if (*at == 0) {
		if (p->m->budgets.count >= BUDGETS_MAX) {
			*ret_fault = "more than 64 rules with a budget: give "
				     "one to [policy] instead, or join rules";
			return NULL;
		}
		if (vec_push(&p->m->budgets, &fresh) != 0) {
			p->rc = -ENOMEM;
			return NULL;
		}
		*at = (uint32_t)p->m->budgets.count;
	}
	b = vec_at(&p->m->budgets, *at - 1);
	return &b->budget;
}

static const char *
take_count(struct parse *p, struct span v, enum limit_unit unit, uint64_t max,
    uint64_t *ret)
{
	uint64_t n;

	(void)p;
	if (!limit_parse(unit, v, &n))
		return limit_unit_text(unit);
	if (n == 0)
		return "0 lets nothing through: write a deny rule";
	if (n > max)
		return "too large to be a limit";
	*ret = n;
	return NULL;
}

const char *
parse_take_max_requests(struct parse *p, struct span v, uint32_t line)
{
	const char *fault = NULL;
	struct budget *b = budget_of_section(p, &fault);

	(void)line;
	return b == NULL
	    ? fault
	    : take_count(p, v, UNIT_COUNT, BUDGET_COUNT_MAX, &b->max_requests);
}

const char *
parse_take_max_upload(struct parse *p, struct span v, uint32_t line)
{
	const char *fault = NULL;
	struct budget *b = budget_of_section(p, &fault);

	(void)line;
	return b == NULL
	    ? fault
	    : take_count(p, v, UNIT_BYTES, BUDGET_COUNT_MAX, &b->max_upload);
}

const char *
parse_take_max_download(struct parse *p, struct span v, uint32_t line)
{
	const char *fault = NULL;
	struct budget *b = budget_of_section(p, &fault);

	(void)line;
	return b == NULL
	    ? fault
	    : take_count(p, v, UNIT_BYTES, BUDGET_COUNT_MAX, &b->max_download);
}

const char *
parse_take_max_connections(struct parse *p, struct span v, uint32_t line)
{
	const char *fault = NULL;
	struct budget *b = budget_of_section(p, &fault);
	uint64_t n = 0;

	(void)line;
	if (b == NULL)
		return fault;
	fault = take_count(p, v, UNIT_COUNT, BUDGET_CONNECTIONS_MAX, &n);
	if (fault == NULL)
		b->max_connections = (uint32_t)n;
	return fault;
}

const char *
parse_take_rate(struct parse *p, struct span v, uint32_t line)
{
	const char *fault = NULL;
	struct budget *b = budget_of_section(p, &fault);

	(void)line;
	return b == NULL ? fault : budget_parse_rate(v, b);
}

const char *
parse_take_until(struct parse *p, struct span v, uint32_t line)
{
	const char *fault = NULL;
	struct budget *b = budget_of_section(p, &fault);

	if (b == NULL)
		return fault;
	fault = budget_parse_until(v, &b->until_s);
	if (fault == NULL && b->until_s <= clock_wall_ms() / 1000)
		finding_warning(p->ret, parse_at(p, line),
		    "this time has come: nothing is let through any more");
	return fault;
}
