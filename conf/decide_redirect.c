/*
 * Redirects that a guest may follow: what the answer to an allowed request may
 * grant, and what a grant may open. Both files must say so. A deny rule of
 * either stands against it, as against everything.
 */
#include "conf/decide_private.h"

#include <string.h>

#define PORT_HTTPS 443

/* Does the pattern stand for the host? As each_rule() finds them. */
static bool
stands_for(enum pattern_kind kind, const char *name, const char *host)
{
	size_t name_len = strlen(name), len = strlen(host);
	const char *rest;

	if (kind == PATTERN_EXACT)
		return strcmp(name, host) == 0;
	if (len <= name_len + 1)
		return false;
	rest = host + len - name_len;
	if (strcmp(rest, name) != 0 || rest[-1] != '.')
		return false;
	return kind == PATTERN_ANY_DEPTH ||
	    memchr(host, '.', len - name_len - 1) == NULL;
}

bool
decide_find_redirect(const struct policy *p, const char *rule, bool is_git,
    const char *host, struct image_redirect *ret, struct image_rule *ret_rule)
{
	for (uint32_t i = 0; i < IMAGE_REDIRECTS_MAX; i++) {
		struct image_redirect r;
		const char *name;

		if (!image_redirect(p, i, &r))
			return false;
		name = image_string(p, r.name);
		if (name == NULL || !stands_for(r.kind, name, host) ||
		    !image_rule(p, r.rule, ret_rule) ||
		    ret_rule->is_git != is_git)
			continue;
		if (rule == NULL || strcmp(ret_rule->name, rule) == 0) {
			*ret = r;
			return true;
		}
	}
	return false;
}

uint32_t
policy_redirect_s(const struct policy_pair *pair,
    const struct policy_request *req, const char *host)
{
	const struct policy *files[] = { pair->policy, pair->ceiling };
	uint32_t least = 0;

	for (size_t i = 0; i < VERDICT_FILES; i++) {
		struct policy_pair alone = { files[i], NULL };
		struct image_redirect r;
		struct image_rule rule;
		struct verdict v;

		if (i == VERDICT_CEILING && files[i] == NULL)
			break;
		v = policy_judge_request(&alone, req);
		if (v.action == ACTION_DENY ||
		    !decide_find_redirect(files[i], v.rule, false, host, &r,
			&rule))
			return 0;
		if (least == 0 || r.seconds < least)
			least = r.seconds;
	}
	return least;
}

static struct verdict
ask(const struct policy_pair *pair, const char *host, uint16_t port,
    const struct policy_request *req)
{
	return req != NULL ? policy_judge_request(pair, req)
			   : policy_judge_dial(pair, host, port);
}

bool
decide_stands(const struct verdict *v)
{
	return v->reason == REASON_DENIED_BY_RULE ||
	    v->reason == REASON_NO_POLICY || v->reason == REASON_UNTIL ||
	    v->reason == REASON_GIT_REF || v->action == ACTION_ASK;
}

struct verdict
decide_granted(const struct policy *p, const struct image_rule *r,
    const struct question *q)
{
	struct tally t = { .near = IMAGE_NONE };
	struct verdict v;

	decide_note_budget(p, r->budget, &t, &t.seen[TALLY_PLAIN]);
	if (t.is_unsound)
		return decide_no_verdict(p->file, p->line, REASON_NO_POLICY);
	v = (struct verdict){ .action = ACTION_ALLOW,
		.rule = r->name,
		.file = r->file,
		.line = r->line,
		.say = r->say,
		.scheme = SCHEME_HTTPS,
		.tls = TLS_MODE_INSPECT,
		.is_git = r->is_git,
		.credential = "" };
	return decide_apply_budgets(p, q, &t, v);
}

/* A dialler is not told which of the two it is. */
static bool
find_any(const struct policy *p, const char *host, bool is_dial,
    struct image_rule *ret)
{
	struct image_redirect r;

	return (is_dial &&
		   decide_find_redirect(p, NULL, true, host, &r, ret)) ||
	    decide_find_redirect(p, NULL, false, host, &r, ret);
}

/* What one file says of it; v.action is DENY where it stands against it. */
static struct verdict
judge_file(const struct policy *p, const char *host,
    const struct policy_request *req)
{
	const struct policy_pair alone = { p, NULL };
	struct verdict v = ask(&alone, host, PORT_HTTPS, req);
	struct question q = { .host = host, .port = PORT_HTTPS, .req = req };
	struct image_rule rule;

	if (decide_stands(&v) || p == NULL ||
	    !find_any(p, host, req == NULL, &rule)) {
		v.action = ACTION_DENY;
		return v;
	}
	return decide_granted(p, &rule, &q);
}

static bool
only_reads(const struct policy_request *req)
{
	return req == NULL ||
	    (req->scheme == SCHEME_HTTPS && !req->is_websocket &&
		!req->is_ambiguous &&
		(span_is(req->method, "GET") || span_is(req->method, "HEAD")));
}

struct verdict
policy_judge_redirect(const struct policy_pair *pair, const char *host,
    uint16_t port, const struct policy_request *req)
{
	const struct policy_pair alone = { pair->ceiling, NULL };
	struct verdict before = ask(pair, host, port, req), v, c;
	/* A redirect that the policy grants is not learned. */
	bool is_denied = before.action == ACTION_DENY ||
	    before.learned.reason != REASON_NONE;

	if (!is_denied || port != PORT_HTTPS || !only_reads(req))
		return before;
	v = judge_file(pair->policy, host, req);
	if (v.action == ACTION_DENY)
		return before;
	if (pair->ceiling == NULL)
		return v;
	c = judge_file(pair->ceiling, host, req);
	/* What LFS names may be the ceiling's by any rule (decide_lfs.c). */
	if (req == NULL && v.is_git && c.action == ACTION_DENY)
		c = policy_judge_dial(&alone, host, port);
	if (c.action != ACTION_ALLOW)
		return before;
	v.budgets[VERDICT_CEILING] = c.budgets[VERDICT_POLICY];
	return v;
}
