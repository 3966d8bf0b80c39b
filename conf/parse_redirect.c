/*
 * `redirect = HOST TIME`: where answers to what the rule allows may point a
 * guest, and for how long it may follow.
 */
#include <errno.h>

#include "conf/limits.h"
#include "conf/parse.h"
#include "conf/public_suffix.h"

static const char form[] =
    "write a host and how long a redirect to it may be followed, as "
    "*.blob.example.net 60s";

/* "HOST TIME" in two, blanks between them. */
static bool
split(struct span v, struct span *ret_host, struct span *ret_time)
{
	size_t i = 0;

	while (i < v.len && v.ptr[i] != ' ' && v.ptr[i] != '\t')
		i++;
	*ret_host = (struct span){ v.ptr, i };
	while (i < v.len && (v.ptr[i] == ' ' || v.ptr[i] == '\t'))
		i++;
	*ret_time = (struct span){ v.ptr + i, v.len - i };
	return ret_host->len > 0 && ret_time->len > 0;
}

const char *
parse_add_redirect(struct parse *p, struct span host, uint32_t seconds)
{
	struct image_redirect r = { .rule = (uint32_t)p->m->rules.count - 1,
		.seconds = seconds };
	struct host_pattern pattern;
	const char *fault = host_pattern_parse(host, &pattern);

	if (fault == NULL && pattern.kind != PATTERN_EXACT)
		fault = public_suffix_fault(pattern.name);
	if (fault != NULL)
		return fault;
	if (p->m->redirects.count >= IMAGE_REDIRECTS_MAX)
		return "more than 256 of redirect and lfs-host in one policy";
	r.kind = pattern.kind;
	if (model_add_string(p->m, span_of(pattern.name), &r.name) != 0 ||
	    vec_push(&p->m->redirects, &r) != 0)
		p->rc = -ENOMEM;
	return NULL;
}

const char *
parse_take_redirect(struct parse *p, struct span v, uint32_t line)
{
	struct span host, time;
	const char *fault;
	uint64_t seconds;

	(void)line;
	if (!split(v, &host, &time))
		return form;
	if (!limit_parse(UNIT_S, time, &seconds) || seconds == 0 ||
	    seconds > IMAGE_REDIRECT_S_MAX)
		return "a redirect is followed for 1s to 1h";
	fault = parse_add_redirect(p, host, (uint32_t)seconds);
	if (fault == NULL)
		parse_rule(p)->widen |= WIDEN_REDIRECT;
	return fault;
}
