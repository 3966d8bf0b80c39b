/*
 * What a compiled policy says about itself.
 */
#include "conf/policy.h"

#include <string.h>

#include "conf/image.h"

const char *
policy_file(const struct policy *p)
{
	return p->file;
}

const char *
policy_digest(const struct policy *p)
{
	return p->digest;
}

bool
policy_is_ceiling(const struct policy *p)
{
	return p->is_ceiling;
}

bool
policy_learns(const struct policy *p)
{
	return p->learns;
}

bool
policy_pair_learns(const struct policy_pair *pair)
{
	return pair->policy != NULL && pair->ceiling != NULL &&
	    pair->policy->learns && pair->ceiling->learns;
}

size_t
policy_rule_count(const struct policy *p)
{
	return p->tables[IMAGE_RULES].count;
}

size_t
policy_host_count(const struct policy *p)
{
	return p->tables[IMAGE_ENTRIES].count;
}

bool
policy_budget_at(const struct policy *p, size_t i, struct policy_budget *ret)
{
	struct policy_budget found = { "-", p->file, p->line, "", { 0 } };
	struct image_budget b;
	struct image_rule r;

	if (i >= BUDGETS_MAX || !image_budget(p, (uint32_t)i, &b))
		return false;
	if (b.rule != IMAGE_NONE) {
		if (!image_rule(p, b.rule, &r))
			return false;
		found = (struct policy_budget){ r.name, r.file, r.line, r.say,
			{ 0 } };
	}
	found.budget = b.budget;
	*ret = found;
	return true;
}

const char *
policy_credential_at(const struct policy *p, size_t i)
{
	const char *name = NULL;

	if (i < p->tables[IMAGE_CREDENTIALS].count)
		name = image_string(p,
		    image_u32(p, IMAGE_CREDENTIALS, (uint32_t)i));
	return name != NULL ? name : "";
}

uint32_t
policy_credential_line(const struct policy *p, const char *name,
    const char **ret_file)
{
	struct image_rule rule;

	for (uint32_t i = 0; i < p->tables[IMAGE_RULES].count; i++) {
		if (!image_rule(p, i, &rule) ||
		    strcmp(rule.credential, name) != 0)
			continue;
		*ret_file = rule.file;
		return rule.line;
	}
	return 0;
}
