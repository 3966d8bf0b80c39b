/*
 * Objects of LFS: an answer names their URLs, at the repository's own host or
 * elsewhere, and what grants them is the [git] rule that let the question
 * through, in each file.
 */
#include "conf/decide_private.h"

#include <stdio.h>

#include "wire/git.h"

#define PORT_HTTPS 443

static uint32_t
flags_for(bool writes)
{
	return writes ? IMAGE_GIT_LFS | IMAGE_GIT_PUSH : IMAGE_GIT_LFS;
}

static bool
has_flags(const struct image_rule *r, bool writes)
{
	uint32_t needs = flags_for(writes);

	return r->is_git && (r->git.flags & needs) == needs;
}

/* Of rules for q->host: the first one that lets the question through. */
static void
find_asked(const struct policy *p, uint32_t id, const struct image_rule *r,
    const struct question *q, struct tally *t)
{
	if (r->action != ACTION_DENY && r->is_git &&
	    decide_has_port(p, &r->ports, q->port) &&
	    decide_git_miss(p, r, q, t) == REASON_NONE &&
	    id < t->allow[TALLY_GIT])
		t->allow[TALLY_GIT] = id;
}

/* ... of an object, or what says that one is there. */
static void
find_own(const struct policy *p, uint32_t id, const struct image_rule *r,
    const struct question *q, struct tally *t)
{
	struct span repo;

	(void)git_service_of(q->req->path, &repo);
	if (r->action != ACTION_DENY && has_flags(r, q->lfs->writes) &&
	    decide_has_port(p, &r->ports, q->port) &&
	    decide_has_repo(p, r, repo, t) && id < t->allow[TALLY_GIT])
		t->allow[TALLY_GIT] = id;
}

/* ... and the one that a grant names. */
static void
find_named(const struct policy *p, uint32_t id, const struct image_rule *r,
    const struct question *q, struct tally *t)
{
	if (r->action != ACTION_DENY && has_flags(r, q->lfs->writes) &&
	    decide_has_port(p, &r->ports, q->port) &&
	    span_is(span_of(r->name), q->lfs->rules[q->file]))
		t->allow[TALLY_GIT] = id;
}

static bool
find_rule(const struct policy *p, const struct question *q, decide_rule_fn *fn,
    struct image_rule *ret)
{
	struct tally t = decide_tally_init();

	decide_each_rule(p, q, fn, &t);
	return !t.is_unsound && t.allow[TALLY_GIT] != IMAGE_NONE &&
	    image_rule(p, t.allow[TALLY_GIT], ret);
}

/* May an answer that the rule let come name something there? */
static bool
names(const struct policy *p, const struct image_rule *r, const char *host,
    uint16_t port)
{
	struct image_redirect redirect;
	struct image_rule rule;

	return port == PORT_HTTPS &&
	    decide_find_redirect(p, r->name, true, host, &redirect, &rule);
}

bool
policy_lfs_grants(const struct policy_pair *pair,
    const struct policy_request *req, const char *host, uint16_t port,
    bool writes, struct policy_lfs *ret)
{
	const struct policy *files[] = { pair->policy, pair->ceiling };
	struct question q = { .host = req->host,
		.port = req->port,
		.req = req };
	struct policy_lfs lfs = { .writes = writes,
		.is_own =
		    port == req->port && span_is(span_of(host), req->host) };

	for (uint32_t i = 0; i < VERDICT_FILES && files[i] != NULL; i++) {
		struct image_rule r;

		if (!find_rule(files[i], &q, find_asked, &r)) {
			/* A ceiling may let it through by another rule. */
			if (i == VERDICT_POLICY)
				return false;
			continue;
		}
		if (!has_flags(&r, writes) ||
		    (!lfs.is_own && !names(files[i], &r, host, port)))
			return false;
		(void)snprintf(lfs.rules[i], sizeof(lfs.rules[i]), "%s",
		    r.name);
	}
	*ret = lfs;
	return lfs.rules[VERDICT_POLICY][0] != '\0';
}

/* The rule of the file that the grant is from, if it still would. */
static bool
granting_rule(const struct policy *p, const struct question *q,
    struct image_rule *ret)
{
	struct image_redirect redirect;

	if (q->lfs->is_own)
		return find_rule(p, q, find_named, ret);
	return q->port == PORT_HTTPS &&
	    decide_find_redirect(p, q->lfs->rules[q->file], true, q->host,
		&redirect, ret) &&
	    has_flags(ret, q->lfs->writes);
}

/* At its own host, and what LFS has of a repository that the rule names. */
static bool
takes_credential(const struct policy *p, const struct image_rule *r,
    const struct question *q)
{
	struct tally t = decide_tally_init();
	struct span repo;
	enum git_service s = git_service_of(q->req->path, &repo);

	return q->lfs->is_own &&
	    (s == GIT_SERVICE_OBJECT || s == GIT_SERVICE_VERIFY) &&
	    decide_has_repo(p, r, repo, &t);
}

/* What one file says; v.action is DENY where it stands against it. */
static struct verdict
judge_file(const struct policy *p, const struct question *q)
{
	const struct policy_pair alone = { p, NULL };
	struct verdict v = policy_judge_request(&alone, q->req);
	struct image_rule r;

	if (q->lfs->rules[q->file][0] == '\0')
		return v;
	if (decide_stands(&v) || !granting_rule(p, q, &r)) {
		v.action = ACTION_DENY;
		return v;
	}
	v = decide_granted(p, &r, q);
	if (v.action == ACTION_ALLOW && takes_credential(p, &r, q))
		v.credential = r.credential;
	return v;
}

/* What a grant is never for, whoever wrote the URL. */
static bool
is_out_of_reach(const struct policy_request *req)
{
	return req->scheme != SCHEME_HTTPS || req->is_websocket ||
	    req->is_ambiguous || git_may_be_push(req->path, req->query);
}

/* before: without a grant. */
static struct verdict
judge_granted(const struct policy_pair *pair, const struct policy_request *req,
    const struct policy_lfs *lfs, struct verdict before)
{
	struct question q = { .host = req->host,
		.port = req->port,
		.req = req,
		.lfs = lfs,
		.file = VERDICT_POLICY };
	struct verdict v, c;

	if (before.action != ACTION_DENY || is_out_of_reach(req) ||
	    pair->policy == NULL)
		return before;
	v = judge_file(pair->policy, &q);
	if (v.action != ACTION_ALLOW)
		return before;
	if (pair->ceiling == NULL)
		return v;
	q.file = VERDICT_CEILING;
	c = judge_file(pair->ceiling, &q);
	if (c.action != ACTION_ALLOW)
		return before;
	v.budgets[VERDICT_CEILING] = c.budgets[VERDICT_POLICY];
	return v;
}

struct verdict
policy_judge_lfs(const struct policy_pair *pair,
    const struct policy_request *req, const struct policy_lfs *lfs)
{
	return judge_granted(pair, req, lfs, policy_judge_request(pair, req));
}

/* What an object's URL may be asked with, if it is one; NULL: nothing. */
static const char *
method_of_own(const struct policy_request *req)
{
	struct span repo;
	enum git_service s = git_service_of(req->path, &repo);

	if (s == GIT_SERVICE_VERIFY)
		return "POST";
	if (s != GIT_SERVICE_OBJECT)
		return NULL;
	return span_is(req->method, "PUT") ? "PUT" : "GET";
}

struct verdict
policy_judge_object(const struct policy_pair *pair,
    const struct policy_request *req)
{
	const struct policy *files[] = { pair->policy, pair->ceiling };
	struct verdict before = policy_judge_request(pair, req);
	const char *method = method_of_own(req);
	struct policy_lfs lfs = { .is_own = true,
		.writes = !span_is(req->method, "GET") };
	struct question q = { .host = req->host,
		.port = req->port,
		.req = req,
		.lfs = &lfs };

	if (before.action != ACTION_DENY || method == NULL ||
	    !span_is(req->method, method))
		return before;
	for (uint32_t i = 0; i < VERDICT_FILES && files[i] != NULL; i++) {
		struct image_rule r;

		if (find_rule(files[i], &q, find_own, &r))
			(void)snprintf(lfs.rules[i], sizeof(lfs.rules[i]), "%s",
			    r.name);
		else if (i == VERDICT_POLICY)
			return before;
	}
	return judge_granted(pair, req, &lfs, before);
}
