/*
 * [git] rules. A rule names repositories, and a request is one of the few that
 * git makes of one, or it is none of the rule's. What a push does to each
 * reference is asked apart (policy_judge_push), when its commands were read.
 */
#include "conf/decide_private.h"
#include "conf/glob.h"
#include "wire/git.h"
#include "wire/path.h"

/* What a request to a service has to be. */
struct service_row {
	const char *methods[2];
	const char *query;  /* NULL: without one */
	uint32_t flags;     /* IMAGE_GIT_ bits that the rule needs */
	enum reason reason; /* without them */
};

/* GIT_SERVICE_REFS stands for both of its queries, see refs_rows. */
static const struct service_row rows[GIT_SERVICES] = {
	[GIT_SERVICE_FETCH] = { { "POST" }, NULL, 0, REASON_NONE },
	[GIT_SERVICE_PUSH] = { { "POST" }, NULL, IMAGE_GIT_PUSH,
	    REASON_GIT_REF },
};

static const struct service_row refs_rows[] = {
	{ { "GET" }, "service=git-upload-pack", 0, REASON_NONE },
	{ { "GET" }, "service=git-receive-pack", IMAGE_GIT_PUSH,
	    REASON_GIT_REF },
};

static enum reason
row_miss(const struct service_row *row, const struct image_rule *r,
    const struct policy_request *req)
{
	bool has_method = false;

	for (size_t i = 0; i < 2 && row->methods[i] != NULL; i++)
		has_method =
		    has_method || span_is(req->method, row->methods[i]);
	if (!has_method)
		return REASON_METHOD;
	if (row->query == NULL
		? req->has_query
		: !req->has_query || !span_is(req->query, row->query))
		return REASON_QUERY;
	if ((r->git.flags & row->flags) != row->flags)
		return row->reason;
	return REASON_NONE;
}

/* The best that either of them says. */
static enum reason
refs_miss(const struct image_rule *r, const struct policy_request *req)
{
	enum reason fetch = row_miss(&refs_rows[0], r, req);
	enum reason push = row_miss(&refs_rows[1], r, req);

	if (fetch == REASON_NONE || push == REASON_NONE)
		return REASON_NONE;
	return fetch > push ? fetch : push;
}

static bool
has_repo(const struct policy *p, const struct image_rule *r, struct span repo,
    struct tally *t)
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
	if (service == GIT_SERVICE_NONE || !has_repo(p, r, repo, t))
		return REASON_PATH;
	if (service == GIT_SERVICE_REFS)
		miss = refs_miss(r, req);
	else if (rows[service].methods[0] != NULL)
		miss = row_miss(&rows[service], r, req);
	else
		return REASON_PATH;
	if (miss == REASON_NONE && req->is_websocket)
		return REASON_WEBSOCKET;
	if (miss == REASON_NONE && q->cmd != NULL)
		return command_miss(p, r, q->cmd, t);
	return miss;
}
