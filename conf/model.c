/*
 * See model.h.
 */
#include "conf/model.h"

#include <errno.h>
#include <string.h>

int
model_init(struct model *m)
{
	*m = (struct model){ .strings = VEC_OF(char),
		.files = VEC_OF(uint32_t),
		.rules = VEC_OF(struct model_rule),
		.hosts = VEC_OF(struct model_host),
		.ports = VEC_OF(uint16_t),
		.methods = VEC_OF(uint32_t),
		.paths = VEC_OF(uint32_t),
		.queries = VEC_OF(uint32_t),
		.refs = VEC_OF(uint32_t),
		.budgets = VEC_OF(struct image_budget),
		.redirects = VEC_OF(struct image_redirect) };
	return vec_add(&m->strings, 1) != NULL ? 0 : -ENOMEM;
}

void
model_done(struct model *m)
{
	vec_done(&m->strings);
	vec_done(&m->files);
	vec_done(&m->rules);
	vec_done(&m->hosts);
	vec_done(&m->ports);
	vec_done(&m->methods);
	vec_done(&m->paths);
	vec_done(&m->queries);
	vec_done(&m->refs);
	vec_done(&m->budgets);
	vec_done(&m->redirects);
}

int
model_add_string(struct model *m, struct span s, uint32_t *ret_off)
{
	size_t off = m->strings.count;
	char *at;

	if (s.len >= POLICY_IMAGE_MAX_BYTES ||
	    off >= POLICY_IMAGE_MAX_BYTES - s.len)
		return -ENOMEM;
	at = vec_add(&m->strings, s.len + 1);
	if (at == NULL)
		return -ENOMEM;
	if (s.len > 0)
		memcpy(at, s.ptr, s.len);
	*ret_off = (uint32_t)off;
	return 0;
}

const char *
model_string(const struct model *m, uint32_t off)
{
	return vec_at(&m->strings, off);
}

struct model_rule *
model_rule_at(const struct model *m, size_t i)
{
	return vec_at(&m->rules, i);
}
