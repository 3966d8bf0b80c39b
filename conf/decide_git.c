/*
 * [git] rules. A rule names repositories, and a request is one of the few that
 * git makes of one, or it is none of the rule's. What a push does to each
 * reference is asked apart (policy_judge_push), when its commands were read.
 */
#include "conf/decide_private.h"
#include "conf/glob.h"
#include "wire/git.h"
#include "wire/path.h"

/* One way of asking for a service. */
struct service_row {
	enum git_service service;
	const char *method;
	const char *query; /* NULL: without one; "*": with any */
	uint32_t flags;    /* IMAGE_GIT_ bits that the rule needs */
};

#define LFS_WRITES (IMAGE_GIT_LFS | IMAGE_GIT_PUSH)

/*
 * What is asked of LFS in the body of GIT_SERVICE_LFS is judged when that was
 * read (lfs_miss). Its objects are nobody's but by a grant (decide_lfs.c).
 */
static const struct service_row rows[] = {
	{ GIT_SERVICE_REFS, "GET", "service=git-upload-pack", 0 },
	{ GIT_SERVICE_REFS, "GET", "service=git-receive-pack", IMAGE_GIT_PUSH },
	{ GIT_SERVICE_FETCH, "POST", NULL, 0 },
	{ GIT_SERVICE_PUSH, "POST", NULL, IMAGE_GIT_PUSH },
	{ GIT_SERVICE_LFS, "POST", NULL, IMAGE_GIT_LFS },
	{ GIT_SERVICE_LOCKS, "GET", NULL, LFS_WRITES },
	{ GIT_SERVICE_LOCKS, "GET", "*", LFS_WRITES },
	{ GIT_SERVICE_LOCKS, "POST", NULL, LFS_WRITES },
	{ GIT_SERVICE_OTHERS, "POST", NULL, LFS_WRITES },
	{ GIT_SERVICE_UNLOCK, "POST", NULL, LFS_WRITES },
};

static bool
has_query(const struct service_row *row, const struct policy_request *req)
{
	if (row->query == NULL)
		return !req->has_query;
	return req->has_query &&
	    (row->query[0] == '*' || span_is(req->query, row->query));
}

static enum reason
row_miss(const struct service_row *row, const struct image_rule *r,
    const struct policy_request *req)
{
	uint32_t missing = row->flags & ~r->git.flags;

	if ((missing & IMAGE_GIT_LFS) != 0)
		return REASON_PATH;
	if (!span_is(req->method, row->method))
		return REASON_METHOD;
	if (!has_query(row, req))
		return REASON_QUERY;
	return missing != 0 ? REASON_GIT_REF : REASON_NONE;
}

/* The best that any of its rows says. */
static enum reason
service_miss(enum git_service service, const struct image_rule *r,
    const struct policy_request *req)
{
	enum reason best = REASON_NONE;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum reason miss;

		if (rows[i].service != service)
			continue;
		miss = row_miss(&rows[i], r, req);
		if (miss == REASON_NONE)
			return miss;
		if (miss > best)
			best = miss;
	}
	return best == REASON_NONE ? REASON_PATH : best;
}

bool
decide_has_repo(const struct policy *p, const struct image_rule *r,
    struct span repo, struct tally *t)
{
	for (uint32_t i = 0; i < r->paths.count; i++) {
		struct span pattern = decide_pattern_at(p, &r->paths, i);

		if (!decide_can_afford(t, pattern, repo.len))
			return false;
		if (path_match(pattern, repo))
			return true;
	}
	return false;
}

static bool
has_ref(const struct policy *p, const struct image_rule *r, struct span ref,
    struct tally *t)
{
	for (uint32_t i = 0; i < r->git.refs.count; i++) {
		struct span pattern = decide_pattern_at(p, &r->git.refs, i);

		if (!decide_can_afford(t, pattern, ref.len))
			return false;
		if (glob_match(pattern, ref, '/'))
			return true;
	}
	return false;
}

static enum reason
command_miss(const struct policy *p, const struct image_rule *r,
    const struct policy_command *cmd, struct tally *t)
{
	static const struct {
		bool is_known;
		uint32_t needs;
	} operations[GIT_OPERATIONS] = {
		[GIT_CREATE] = { true, 0 },
		[GIT_UPDATE] = { true, 0 },
		[GIT_DELETE] = { true, IMAGE_GIT_DELETE },
		[GIT_FORCE] = { true, IMAGE_GIT_FORCE },
	};
	uint32_t needs;

	if ((unsigned int)cmd->operation >= GIT_OPERATIONS ||
	    !operations[cmd->operation].is_known)
		return REASON_GIT_REF;
	needs = operations[cmd->operation].needs |
	    (cmd->has_options ? (uint32_t)IMAGE_GIT_OPTIONS : 0);
	if (git_ref_fault(cmd->ref) != NULL ||
	    (r->git.flags & needs) != needs || !has_ref(p, r, cmd->ref, t))
		return REASON_GIT_REF;
	return REASON_NONE;
}

/* Of LFS: what a body asks for, and the reference it names, if it does. */
static enum reason
lfs_miss(const struct policy *p, const struct image_rule *r,
    const struct policy_command *cmd, struct tally *t)
{
	uint32_t needs = LFS_WRITES;

	if (cmd->operation == GIT_FORCE)
		needs |= IMAGE_GIT_FORCE;
	else if (cmd->operation != GIT_UPDATE)
		return REASON_GIT_REF;
	if ((r->git.flags & needs) != needs)
		return REASON_GIT_REF;
	if (cmd->ref.len > 0 &&
	    (git_ref_fault(cmd->ref) != NULL || !has_ref(p, r, cmd->ref, t)))
		return REASON_GIT_REF;
	return REASON_NONE;
}

enum reason
decide_git_miss(const struct policy *p, const struct image_rule *r,
    const struct question *q, struct tally *t)
{
	const struct policy_request *req = q->req;
	enum git_service service;
	enum reason miss;
	struct span repo;

	if (r->scheme != req->scheme)
		return REASON_PORT;
	if (req->is_ambiguous || req->has_encoded_slash)
		return REASON_PATH;
	service = git_service_of(req->path, &repo);
	if (service == GIT_SERVICE_NONE || !decide_has_repo(p, r, repo, t))
		return REASON_PATH;
	miss = service_miss(service, r, req);
	if (miss == REASON_NONE && req->is_websocket)
		return REASON_WEBSOCKET;
	if (miss != REASON_NONE || q->cmd == NULL)
		return miss;
	return git_service_is_read(service) ? lfs_miss(p, r, q->cmd, t)
					    : command_miss(p, r, q->cmd, t);
}
