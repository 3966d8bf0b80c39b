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
policy_tcp_at(const struct policy *p, size_t i, struct policy_tcp *ret)
{
	return i < IMAGE_TCP_MAX && image_tcp(p, (uint32_t)i, ret);
}

uint32_t
policy_tcp_address(const struct policy *p, const char *host)
{
	struct policy_tcp tcp;
	struct image_run run;
	bool is_inline;

	/* Most names are none of these: one look-up says so. */
	if (!image_find(p, PATTERN_EXACT, span_of(host), &run, &is_inline))
		return 0;
	for (size_t i = 0; policy_tcp_at(p, i, &tcp); i++) {
		if (strcmp(tcp.host, host) == 0)
			return tcp.address;
	}
	return 0;
}

bool
policy_tcp_find(const struct policy *p, uint32_t address, uint16_t port,
    struct policy_tcp *ret)
{
	struct policy_tcp tcp;

	for (size_t i = 0; policy_tcp_at(p, i, &tcp); i++) {
		if (tcp.address == address && tcp.port == port) {
			*ret = tcp;
			return true;
		}
	}
	return false;
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

size_t
policy_ports(const struct policy *p, uint16_t *ret_ports, size_t ports_max)
{
	uint32_t count = p->tables[IMAGE_ALL_PORTS].count;

	if (count > UINT16_MAX)
		count = UINT16_MAX;
	for (uint32_t i = 0; i < count && i < ports_max; i++)
		ret_ports[i] = (uint16_t)image_u16(p, IMAGE_ALL_PORTS, i);
	return count;
}

/* Beyond these no port is looked at. */
#define NAME_PORTS_MAX 64

struct verdict
policy_judge_name(const struct policy_pair *pair, const char *host)
{
	struct verdict v = policy_judge_connect(pair, host, 443);
	uint16_t ports[NAME_PORTS_MAX];
	size_t count = 0;

	if (v.action != ACTION_ALLOW && pair->policy != NULL)
		count = policy_ports(pair->policy, ports, NAME_PORTS_MAX);
	for (size_t i = 0;
	     i < count && i < NAME_PORTS_MAX && v.action != ACTION_ALLOW; i++) {
		struct verdict o = policy_judge_connect(pair, host, ports[i]);

		if (o.action > v.action)
			v = o;
	}
	return v;
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
