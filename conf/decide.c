/*
 * From a question to a verdict: each file is judged alone, then the stricter
 * verdict counts. Deny beats ask beats allow whatever the order of rules; the
 * order only chooses which of several equal rules is named.
 */
#include "conf/policy.h"

#include <assert.h>
#include <string.h>

#include "conf/decide_private.h"
#include "conf/glob.h"
#include "wire/git.h"
#include "wire/host.h"
#include "wire/path.h"

/* A miss that came further is the larger: it names the nearest rule. */
static_assert(REASON_PORT < REASON_METHOD && REASON_METHOD < REASON_PATH &&
	REASON_PATH < REASON_QUERY && REASON_QUERY < REASON_WEBSOCKET &&
	REASON_WEBSOCKET < REASON_GIT_REF,
    "reasons are compared");

/*
 * Steps of matching patterns in one file, some 20 ms: a policy that is made to
 * be slow must not hold up the broker, which judges for every sandbox. Beyond
 * it no pattern of an allow rule matches, and each of a deny rule does.
 */
#define STEPS_MAX ((size_t)16 << 20)
/* Rules looked at for one host, for the same reason; beyond is unsound. */
#define RULES_MAX 8192u

bool
decide_has_port(const struct policy *p, const struct image_run *run,
    uint16_t port)
{
	for (uint32_t i = 0; i < run->count; i++) {
		if (image_u16(p, IMAGE_PORTS, run->at + i) == port)
			return true;
	}
	return false;
}

struct span
decide_pattern_at(const struct policy *p, const struct image_run *run,
    uint32_t i)
{
	const char *s =
	    image_string(p, image_u32(p, IMAGE_PATTERNS, run->at + i));

	return span_of(s != NULL ? s : "");
}

/*
 * What a deny rule names is denied in any case of its letters: many an origin
 * takes "delete" for DELETE, /Admin for /admin. An allow rule is exact.
 */
static bool
is_any_case(const struct image_rule *r)
{
	return r->action == ACTION_DENY;
}

static bool
has_method(const struct policy *p, const struct image_rule *r,
    const struct policy_request *req)
{
	for (uint32_t i = 0; i < r->methods.count; i++) {
		struct span method = decide_pattern_at(p, &r->methods, i);

		if (is_any_case(r) ? span_eq_case(method, req->method)
				   : span_eq(method, req->method))
			return true;
	}
	return r->methods.count == 0;
}

bool
decide_can_afford(struct tally *t, struct span pattern, size_t text_len)
{
	const uint8_t *star =
	    pattern.len > 0 ? memchr(pattern.ptr, '*', pattern.len) : NULL;
	size_t cost = pattern.len;

	/* A first star at the very end, or two, compare bytes up to it. */
	if (star != NULL && star + 2 < pattern.ptr + pattern.len)
		cost *= text_len;
	t->steps += cost + 1;
	return t->steps <= STEPS_MAX;
}

static bool
has_path(const struct policy *p, const struct image_rule *r,
    const struct policy_request *req, struct tally *t)
{
	for (uint32_t i = 0; i < r->paths.count; i++) {
		struct span pattern = decide_pattern_at(p, &r->paths, i);

		if (!decide_can_afford(t, pattern, req->path.len))
			return r->action == ACTION_DENY;
		if (is_any_case(r) ? path_match_any_case(pattern, req->path)
				   : path_match(pattern, req->path))
			return true;
	}
	return r->paths.count == 0;
}

static bool
has_query(const struct policy *p, const struct image_rule *r, struct span query,
    struct tally *t)
{
	for (uint32_t i = 0; i < r->queries.count; i++) {
		struct span pattern = decide_pattern_at(p, &r->queries, i);

		if (!decide_can_afford(t, pattern, query.len))
			return r->action == ACTION_DENY;
		if (is_any_case(r) ? glob_match_any_case(pattern, query, '&')
				   : glob_match(pattern, query, '&'))
			return true;
	}
	return false;
}

/* Why an allow or ask rule does not match; REASON_NONE when it does. */
static enum reason
request_miss(const struct policy *p, const struct image_rule *r,
    const struct policy_request *req, struct tally *t)
{
	if (r->scheme != req->scheme)
		return REASON_PORT;
	if (!has_method(p, r, req))
		return REASON_METHOD;
	if (r->paths.count > 0 &&
	    (req->is_ambiguous ||
		(req->has_encoded_slash &&
		    (r->widen & WIDEN_ENCODED_SLASH) == 0)))
		return REASON_PATH;
	if (!has_path(p, r, req, t))
		return REASON_PATH;
	if (r->queries.count > 0 &&
	    (!req->has_query || !has_query(p, r, req->query, t)))
		return REASON_QUERY;
	if (req->is_websocket && (r->widen & WIDEN_WEBSOCKET) == 0)
		return REASON_WEBSOCKET;
	return REASON_NONE;
}

static bool
deny_covers_path(const struct policy *p, const struct image_rule *r,
    const struct policy_request *req, struct tally *t)
{
	if (r->paths.count == 0 || req->is_ambiguous)
		return true;
	if (req->has_encoded_slash && (r->widen & WIDEN_ENCODED_SLASH) == 0)
		return true;
	return has_path(p, r, req, t);
}

/*
 * The whole query, each of its parameters, and any that has more than one
 * spelling: an origin decodes what it gets.
 */
static bool
deny_covers_query(const struct policy *p, const struct image_rule *r,
    const struct policy_request *req, struct tally *t)
{
	struct span left = req->query;

	if (r->queries.count == 0)
		return true;
	if (!req->has_query)
		return false;
	for (size_t i = 0; i < left.len; i++) {
		if (left.ptr[i] == '%' || left.ptr[i] == '+' ||
		    left.ptr[i] == ';')
			return true;
	}
	if (has_query(p, r, left, t))
		return true;
	while (left.len > 0) {
		const uint8_t *amp = memchr(left.ptr, '&', left.len);
		size_t len = amp != NULL ? (size_t)(amp - left.ptr) : left.len;
		size_t used = amp != NULL ? len + 1 : len;

		if (has_query(p, r, (struct span){ left.ptr, len }, t))
			return true;
		left = (struct span){ left.ptr + used, left.len - used };
	}
	return false;
}

static bool
deny_covers(const struct policy *p, const struct image_rule *r,
    const struct question *q, struct tally *t)
{
	if (r->ports.count > 0 && !decide_has_port(p, &r->ports, q->port))
		return false;
	if (q->req == NULL)
		return r->methods.count + r->paths.count + r->queries.count ==
		    0;
	return has_method(p, r, q->req) && deny_covers_path(p, r, q->req, t) &&
	    deny_covers_query(p, r, q->req, t);
}

static void
keep_first(uint32_t *kept, uint32_t id)
{
	if (id < *kept)
		*kept = id;
}

static void
keep_near(struct tally *t, uint32_t id, enum reason miss)
{
	if (miss > t->near_reason || (miss == t->near_reason && id < t->near)) {
		t->near = id;
		t->near_reason = miss;
	}
}

/* Of a rule for this host and port. */
static enum reason
git_rule_miss(const struct policy *p, const struct image_rule *r,
    const struct question *q, struct tally *t)
{
	t->is_git_push = t->is_git_push || q->may_be_push;
	return q->req == NULL ? REASON_NONE : decide_git_miss(p, r, q, t);
}

static void
judge_rule(const struct policy *p, uint32_t id, const struct image_rule *r,
    const struct question *q, struct tally *t)
{
	enum reason miss = REASON_NONE;
	int kind = r->is_git ? TALLY_GIT : TALLY_PLAIN;
	/* An inspected connection is opened; its requests are asked for. */
	bool asks = r->action == ACTION_ASK &&
	    (q->req != NULL || r->scheme == SCHEME_TCP ||
		r->tls == TLS_MODE_PASSTHROUGH);

	if (r->action == ACTION_DENY) {
		if (deny_covers(p, r, q, t))
			keep_first(&t->deny, id);
		return;
	}
	if (!decide_has_port(p, &r->ports, q->port))
		miss = REASON_PORT;
	else if (r->is_git)
		miss = git_rule_miss(p, r, q, t);
	else if (q->req != NULL)
		miss = request_miss(p, r, q->req, t);
	if (miss != REASON_NONE) {
		keep_near(t, id, miss);
		return;
	}
	if (q->is_dial && r->action == ACTION_ASK && !asks)
		keep_first(&t->ask_later, id);
	else
		keep_first(asks ? &t->ask[kind] : &t->allow[kind], id);
	if (t->credential[kind][0] == '\0')
		t->credential[kind] = r->credential;
	decide_note_budget(p, r->budget, t, &t->seen[kind]);
}

static void
find_credential(const struct policy *p, uint32_t id, const struct image_rule *r,
    const struct question *q, struct tally *t)
{
	(void)id;
	if (r->credential[0] != '\0' && decide_has_port(p, &r->ports, q->port))
		t->credential[TALLY_PLAIN] = r->credential;
}

static void
each_rule_of(const struct policy *p, enum pattern_kind kind, struct span name,
    const struct question *q, decide_rule_fn *fn, struct tally *t)
{
	struct image_run run;
	struct image_rule r;
	bool is_inline;

	if (!image_find(p, kind, name, &run, &is_inline))
		return;
	for (uint32_t i = 0; i < run.count; i++) {
		uint32_t id =
		    is_inline ? run.at : image_u32(p, IMAGE_LISTS, run.at + i);

		if (t->rules++ >= RULES_MAX || !image_rule(p, id, &r)) {
			t->is_unsound = true;
			return;
		}
		fn(p, id, &r, q, t);
	}
}

void
decide_each_rule(const struct policy *p, const struct question *q,
    decide_rule_fn *fn, struct tally *t)
{
	struct span name = span_of(q->host);
	enum pattern_kind kind = PATTERN_ONE_LABEL;

	if (name.len == 0 || name.len >= HOST_SIZE)
		return;
	each_rule_of(p, PATTERN_EXACT, name, q, fn, t);
	for (;;) {
		const uint8_t *dot = memchr(name.ptr, '.', name.len);
		size_t used = dot != NULL ? (size_t)(dot - name.ptr) + 1 : 0;

		if (dot == NULL)
			return;
		name = (struct span){ name.ptr + used, name.len - used };
		if (kind == PATTERN_ONE_LABEL)
			each_rule_of(p, kind, name, q, fn, t);
		kind = PATTERN_ANY_DEPTH;
		each_rule_of(p, kind, name, q, fn, t);
	}
}

struct verdict
decide_no_verdict(const char *file, uint32_t line, enum reason reason)
{
	return (struct verdict){ .action = ACTION_DENY,
		.reason = reason,
		.rule = "-",
		.file = file,
		.line = line,
		.say = "",
		.credential = "" };
}

/* The verdict of rule id; one that cannot be read denies. */
static struct verdict
rule_verdict(const struct policy *p, uint32_t id, enum action action,
    enum reason reason)
{
	struct verdict v =
	    decide_no_verdict(p->file, p->line, REASON_NO_POLICY);
	struct image_rule r;

	if (!image_rule(p, id, &r))
		return v;
	v.action = action;
	v.reason = reason;
	v.rule = r.name;
	v.file = r.file;
	v.line = r.line;
	v.say = r.say;
	v.scheme = r.scheme;
	v.tls = r.tls;
	v.widen = r.widen;
	v.is_git = r.is_git;
	v.max_push = r.git.max_push;
	/* Without a path there is nothing that a slash could mislead. */
	if (r.paths.count == 0)
		v.widen |= WIDEN_ENCODED_SLASH;
	return v;
}

struct tally
decide_tally_init(void)
{
	return (struct tally){ .deny = IMAGE_NONE,
		.ask = { IMAGE_NONE, IMAGE_NONE },
		.ask_later = IMAGE_NONE,
		.allow = { IMAGE_NONE, IMAGE_NONE },
		.credential = { "", "" },
		.near = IMAGE_NONE,
		.near_reason = REASON_NONE };
}

/* What kept rules come to: all of them, or of a push those of [git] alone. */
static void
join_kinds(struct tally *t)
{
	if (t->is_git_push) {
		t->ask[TALLY_PLAIN] = IMAGE_NONE;
		t->allow[TALLY_PLAIN] = IMAGE_NONE;
		t->credential[TALLY_PLAIN] = "";
		t->seen[TALLY_PLAIN] = (struct tally_budgets){ 0 };
	}
	decide_join_budgets(&t->seen[TALLY_PLAIN], &t->seen[TALLY_GIT]);
	keep_first(&t->ask[TALLY_PLAIN], t->ask[TALLY_GIT]);
	keep_first(&t->allow[TALLY_PLAIN], t->allow[TALLY_GIT]);
	if (t->credential[TALLY_PLAIN][0] == '\0')
		t->credential[TALLY_PLAIN] = t->credential[TALLY_GIT];
}

static bool
is_push(const struct question *q)
{
	struct span repo;

	return q->req != NULL &&
	    git_service_of(q->req->path, &repo) == GIT_SERVICE_PUSH;
}

/* Its body is to be read, if it is a [git] rule that lets it through. */
static bool
reads_lfs(const struct question *q, const struct tally *t)
{
	struct span repo;

	return q->req != NULL && !span_is(q->req->method, "GET") &&
	    (t->allow[TALLY_GIT] != IMAGE_NONE ||
		t->ask[TALLY_GIT] != IMAGE_NONE) &&
	    git_service_is_read(git_service_of(q->req->path, &repo));
}

/* t is decide_tally_init()'s, and holds what there was to tell afterwards. */
static struct verdict
judge_file(const struct policy *p, const struct question *q, struct tally *t)
{
	struct verdict v;

	decide_each_rule(p, q, judge_rule, t);
	join_kinds(t);
	if (t->is_unsound)
		return decide_no_verdict(p->file, p->line, REASON_NO_POLICY);
	if (t->deny != IMAGE_NONE)
		return rule_verdict(p, t->deny, ACTION_DENY,
		    REASON_DENIED_BY_RULE);
	if (t->ask[TALLY_PLAIN] != IMAGE_NONE)
		v = rule_verdict(p, t->ask[TALLY_PLAIN], ACTION_ASK,
		    REASON_NONE);
	else if (t->allow[TALLY_PLAIN] != IMAGE_NONE)
		v = rule_verdict(p, t->allow[TALLY_PLAIN], ACTION_ALLOW,
		    REASON_NONE);
	else if (t->ask_later != IMAGE_NONE)
		v = rule_verdict(p, t->ask_later, ACTION_ASK, REASON_NONE);
	else if (t->near != IMAGE_NONE)
		return rule_verdict(p, t->near, ACTION_DENY, t->near_reason);
	else
		return decide_no_verdict(p->file, p->line, REASON_NO_RULE);
	if (v.action == ACTION_DENY)
		return v;
	v.credential = t->credential[TALLY_PLAIN];
	v.reads_push = t->is_git_push && is_push(q);
	v.reads_lfs = reads_lfs(q, t);
	return decide_apply_budgets(p, q, t, v);
}

/* The smaller of both limits; 0 is none. */
static uint64_t
meet_max(uint64_t a, uint64_t b)
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

/* The stricter of both, and of each widening only what both gave. */
static struct verdict
meet(struct verdict policy, struct verdict ceiling)
{
	struct verdict v = policy;

	if (policy.action == ACTION_DENY)
		return policy;
	ceiling.by_ceiling = true;
	if (ceiling.action == ACTION_DENY)
		return ceiling;
	if (policy.scheme != ceiling.scheme) {
		ceiling.action = ACTION_DENY;
		ceiling.reason = REASON_PORT;
		ceiling.credential = "";
		memset(ceiling.budgets, 0, sizeof(ceiling.budgets));
		return ceiling;
	}
	/* Where both ask, who answers for the host must be asked. */
	if (ceiling.action < policy.action || ceiling.action == ACTION_ASK)
		v = ceiling;
	v.credential = policy.credential;
	v.budgets[VERDICT_POLICY] = policy.budgets[VERDICT_POLICY];
	v.budgets[VERDICT_CEILING] = ceiling.budgets[VERDICT_POLICY];
	v.widen = policy.widen & ceiling.widen;
	v.reads_push = policy.reads_push || ceiling.reads_push;
	v.reads_lfs = policy.reads_lfs || ceiling.reads_lfs;
	v.max_push = meet_max(policy.max_push, ceiling.max_push);
	v.tls = policy.tls == ceiling.tls ? policy.tls : TLS_MODE_INSPECT;
	return v;
}

static struct verdict
judge(const struct policy_pair *pair, const struct question *q)
{
	struct tally mine = decide_tally_init(), most = decide_tally_init();
	struct verdict v, c;

	if (pair->policy == NULL)
		return decide_no_verdict("-", 0, REASON_NO_POLICY);
	v = judge_file(pair->policy, q, &mine);
	if (pair->ceiling == NULL)
		return v;
	c = judge_file(pair->ceiling, q, &most);
	if (policy_pair_learns(pair) && decide_is_learned(&mine, &v))
		return decide_learn(pair->policy, q, &v, c);
	if (policy_pair_learns(pair) && decide_is_asked_later(&mine, &v))
		v.action = ACTION_ALLOW;
	return meet(v, c);
}

struct verdict
policy_judge_connect(const struct policy_pair *pair, const char *host,
    uint16_t port)
{
	struct question q = { .host = host, .port = port };

	return judge(pair, &q);
}

struct verdict
policy_judge_dial(const struct policy_pair *pair, const char *host,
    uint16_t port)
{
	struct question q = { .host = host, .port = port, .is_dial = true };

	return judge(pair, &q);
}

/* A path that is read in two ways may lead to a push, too. */
static bool
may_be_push(const struct policy_request *req)
{
	if (git_may_be_push(req->path, req->query))
		return true;
	return req->is_ambiguous && !span_is(req->method, "GET") &&
	    !span_is(req->method, "HEAD");
}

struct verdict
policy_judge_request(const struct policy_pair *pair,
    const struct policy_request *req)
{
	struct question q = { .host = req->host,
		.port = req->port,
		.req = req,
		.may_be_push = may_be_push(req) };

	return judge(pair, &q);
}

/* Its bodies are no pushes, though they may need the right to. */
static bool
is_lfs(const struct policy_request *req)
{
	struct span repo;

	return git_service_is_read(git_service_of(req->path, &repo));
}

struct verdict
policy_judge_push(const struct policy_pair *pair,
    const struct policy_request *req, const struct policy_command *cmd)
{
	struct question q = { .host = req->host,
		.port = req->port,
		.req = req,
		.cmd = cmd,
		.may_be_push = !is_lfs(req) };

	return judge(pair, &q);
}

bool
policy_has_credential_at(const struct policy_pair *pair, const char *host,
    uint16_t port)
{
	struct question q = { .host = host, .port = port };
	struct tally t = decide_tally_init();

	if (pair->policy == NULL)
		return false;
	decide_each_rule(pair->policy, &q, find_credential, &t);
	/* What cannot be read may name one: strip rather than let through. */
	return t.credential[TALLY_PLAIN][0] != '\0' || t.is_unsound;
}
