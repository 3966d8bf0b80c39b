/*
 * The target is taken apart by the parsers of wire/, as a gate takes a
 * request apart: what they refuse has no verdict, whatever the policy.
 */
#include "conf/explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf/explain_net.h"
#include "wire/authority.h"
#include "wire/git.h"
#include "wire/path.h"

#define PORT_HTTP 80
#define PORT_HTTPS 443

struct target {
	enum scheme scheme;
	bool has_scheme;
	bool is_websocket;
	bool has_path;
	bool has_query;
	struct span authority;
	struct span path;
	struct span query;
	/* of a push: what it does, and the key without which it may not */
	const struct policy_command *cmd;
	const char *missing_key;
};

static struct span
cut(struct span *s, size_t n)
{
	struct span head = { s->ptr, n };

	*s = (struct span){ s->ptr + n, s->len - n };
	return head;
}

/* How many bytes there are before the first that ends holds. */
static size_t
length_until(struct span s, const char *ends)
{
	size_t i = 0;

	while (i < s.len && strchr(ends, s.ptr[i]) == NULL)
		i++;
	return i;
}

static bool
take_scheme(struct span *s, struct target *t)
{
	static const struct {
		const char *name;
		enum scheme scheme;
		bool is_websocket;
	} all[] = {
		{ "https", SCHEME_HTTPS, false },
		{ "http", SCHEME_HTTP, false },
		{ "tcp", SCHEME_TCP, false },
		{ "wss", SCHEME_HTTPS, true },
		{ "ws", SCHEME_HTTP, true },
	};
	struct span name = { s->ptr, length_until(*s, ":/?") };

	if (s->len - name.len < 3 || memcmp(s->ptr + name.len, "://", 3) != 0)
		return true;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (span_is_case(name, all[i].name)) {
			t->scheme = all[i].scheme;
			t->is_websocket = all[i].is_websocket;
			t->has_scheme = true;
			(void)cut(s, name.len + 3);
			return true;
		}
	}
	return false;
}

static int
split(const char *text, struct target *t, struct err *err)
{
	struct span s = span_of(text);

	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] <= ' ' || s.ptr[i] >= 0x7f || s.ptr[i] == '#')
			return err_at(err, NULL, 0,
			    "a URL holds no blanks, no '#' and ASCII only: "
			    "write it as it is sent");
	}
	if (!take_scheme(&s, t))
		return err_at(err, NULL, 0,
		    "schemes are https://, http://, wss://, ws://, tcp://, "
		    "udp:// and dns://");
	t->authority = cut(&s, length_until(s, "/?"));
	t->path = cut(&s, length_until(s, "?"));
	t->has_path = t->path.len > 0 || s.len > 0;
	t->has_query = s.len > 0;
	if (t->has_query)
		(void)cut(&s, 1);
	t->query = s;
	if (t->path.len == 0)
		t->path = span_of("/");
	if (t->scheme == SCHEME_TCP && t->has_path)
		return err_at(err, NULL, 0,
		    "tcp:// names a host and a port, and no path");
	return 0;
}

static int
name_target(const struct target *t, struct explanation *ret, struct err *err)
{
	struct authority a;
	enum authority_status status = authority_parse(t->authority, &a);

	if (status == AUTHORITY_ADDRESS)
		return err_at(err, NULL, 0,
		    "an IP address matches no rule: name the host");
	if (status != AUTHORITY_OK)
		return err_at(err, NULL, 0, "%.*s: %s", (int)t->authority.len,
		    (const char *)t->authority.ptr,
		    authority_status_text(status));
	if (t->scheme == SCHEME_TCP && !a.has_port)
		return err_at(err, NULL, 0, "tcp:// needs a port");
	(void)snprintf(ret->host, sizeof(ret->host), "%s", a.host);
	ret->port = t->scheme == SCHEME_HTTP ? PORT_HTTP : PORT_HTTPS;
	if (a.has_port)
		ret->port = a.port;
	ret->scheme = t->scheme;
	return 0;
}

/* --- hints ---------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
hint(struct explanation *e, const char *fmt, ...)
{
	const char *who =
	    e->verdict.by_ceiling ? "the host's administrator can " : "";
	size_t n = strlen(who);
	va_list ap;

	memcpy(e->hint, who, n + 1);
	va_start(ap, fmt);
	(void)vsnprintf(e->hint + n, sizeof(e->hint) - n, fmt, ap);
	va_end(ap);
}

static void
hint_path(struct explanation *e, const struct target *t)
{
	struct path_reading r = path_read(t->path);
	const struct verdict *v = &e->verdict;
	int len = t->path.len < 128 ? (int)t->path.len : 128;

	if (r.is_ambiguous)
		hint(e,
		    "send another path: this one can be read in two ways "
		    "(%s), so no rule with a path matches it",
		    path_fault_text(r.fault));
	else if (r.has_encoded_slash)
		hint(e,
		    "add `encoded-slash = yes` to [%s %s] (%s:%u) if "
		    "%%2F may count as a slash there",
		    verdict_section(v), v->rule, v->file, v->line);
	else
		hint(e, "add `path = %.*s` to [%s %s] (%s:%u)", len,
		    (const char *)t->path.ptr, verdict_section(v), v->rule,
		    v->file, v->line);
}

/* Near to a [git] rule, but not what it lets through. */
static void
hint_git(struct explanation *e, const struct target *t)
{
	const struct verdict *v = &e->verdict;
	struct span repo = t->path;
	enum git_service service = git_service_of(t->path, &repo);
	int len = repo.len < 128 ? (int)repo.len : 128;

	if (service == GIT_SERVICE_OBJECT || service == GIT_SERVICE_VERIFY)
		hint(e,
		    "say `lfs = yes` in [git %s] (%s:%u): the answer that "
		    "names an object's URL then lets it be asked for",
		    v->rule, v->file, v->line);
	else if (t->missing_key != NULL)
		hint(e, "add `%s = yes` to [git %s] (%s:%u)", t->missing_key,
		    v->rule, v->file, v->line);
	else if (v->reason == REASON_GIT_REF && t->cmd != NULL)
		hint(e, "add `push = %.*s` to [git %s] (%s:%u)",
		    (int)t->cmd->ref.len, (const char *)t->cmd->ref.ptr,
		    v->rule, v->file, v->line);
	else if (v->reason == REASON_GIT_REF)
		hint(e,
		    "add `push = refs/heads/NAME` to [git %s] (%s:%u), which "
		    "lets nothing be pushed",
		    v->rule, v->file, v->line);
	else if (v->reason == REASON_PATH && service != GIT_SERVICE_NONE)
		hint(e, "add `repo = %s%.*s` to [git %s] (%s:%u)", e->host, len,
		    (const char *)repo.ptr, v->rule, v->file, v->line);
	else
		hint(e,
		    "add an [allow NAME] rule with `host = %s` and a path: "
		    "[git %s] (%s:%u) lets nothing through but git's smart "
		    "HTTP requests",
		    e->host, v->rule, v->file, v->line);
}

/* What a rule of a preset misses goes into a rule of one's own. */
static void
hint_preset(struct explanation *e, const struct target *t, const char *method)
{
	const struct verdict *v = &e->verdict;
	int len = t->path.len < 128 ? (int)t->path.len : 128;

	hint(e,
	    "add a rule of your own, [allow NAME] with `host = %s`, `method = "
	    "%s` and `path = %.*s`: [%s %s] is of %s, which does not change",
	    e->host, method, len, (const char *)t->path.ptr, verdict_section(v),
	    v->rule, v->file);
}

static bool
is_of_preset(const struct verdict *v)
{
	return strncmp(v->file, "preset:", 7) == 0 &&
	    (v->reason == REASON_METHOD || v->reason == REASON_QUERY ||
		v->reason == REASON_PATH);
}

static void
give_hint(struct explanation *e, const struct target *t, const char *method)
{
	const struct verdict *v = &e->verdict;
	int query_len = t->query.len < 128 ? (int)t->query.len : 128;

	if (v->reason == REASON_NO_RULE)
		hint(e, "add to %s: [allow NAME] with `host = %s`", v->file,
		    e->host);
	else if (v->reason == REASON_DENIED_BY_RULE)
		hint(e,
		    "remove or narrow [deny %s] (%s:%u): no allow rule "
		    "stands against it",
		    v->rule, v->file, v->line);
	else if (v->reason == REASON_PORT)
		hint(e,
		    "add `port = %u` (with `scheme = %s`) to a rule for "
		    "this host: [%s %s] (%s:%u) names others",
		    e->port, scheme_name(e->scheme), verdict_section(v),
		    v->rule, v->file, v->line);
	else if (is_of_preset(v) && !path_read(t->path).is_ambiguous)
		hint_preset(e, t, method);
	else if (v->is_git && v->action == ACTION_DENY)
		hint_git(e, t);
	else if (v->reason == REASON_METHOD)
		hint(e, "add `method = %s` to [%s %s] (%s:%u)", method,
		    verdict_section(v), v->rule, v->file, v->line);
	else if (v->reason == REASON_PATH)
		hint_path(e, t);
	else if (v->reason == REASON_QUERY)
		hint(e, "add `query = %.*s` to [%s %s] (%s:%u)", query_len,
		    (const char *)t->query.ptr, verdict_section(v), v->rule,
		    v->file, v->line);
	else if (v->reason == REASON_WEBSOCKET)
		hint(e, "add `websocket = yes` to [%s %s] (%s:%u)",
		    verdict_section(v), v->rule, v->file, v->line);
	else if (v->reason == REASON_UNTIL)
		hint(e, "give %s a later `until` (%s:%u)",
		    v->rule[0] == '-' ? "[policy]" : v->rule, v->file, v->line);
	else if (v->reason == REASON_NO_POLICY)
		hint(e,
		    "give a policy that compiles: `tapward check` says "
		    "what is wrong with one");
}

/* The policy's own line, of what the ceiling alone lets through. */
static void
hint_learned(struct explanation *e, const struct target *t, const char *method)
{
	struct explanation own = *e;
	const struct verdict_learned *l = &e->verdict.learned;

	own.verdict = (struct verdict){ .action = ACTION_DENY,
		.reason = l->reason,
		.rule = l->rule,
		.file = l->file,
		.line = l->line,
		.is_git = l->is_git,
		.say = "",
		.credential = "" };
	give_hint(&own, t, method);
	memcpy(e->hint, own.hint, sizeof(e->hint));
}

/* --- the questions ----------------------------------------------------------
 */

/* The request, and of a push whose commands are read the one that is asked. */
static struct verdict
judge_request(const struct policy_pair *pair, const struct policy_request *req,
    const struct policy_command *cmd)
{
	struct verdict v = policy_judge_request(pair, req);

	if (cmd == NULL || v.action == ACTION_DENY || !v.reads_push)
		return v;
	return policy_judge_push(pair, req, cmd);
}

/* Would an update of the same reference pass? Then a key is what is missing. */
static const char *
find_missing_key(const struct policy_pair *pair,
    const struct policy_request *req, const struct policy_command *cmd)
{
	struct policy_command update = { .operation = GIT_UPDATE,
		.ref = cmd->ref };

	if (cmd->operation != GIT_DELETE && cmd->operation != GIT_FORCE)
		return NULL;
	if (judge_request(pair, req, &update).action == ACTION_DENY)
		return NULL;
	return git_operation_name(cmd->operation);
}

/* It is of LFS, and what is missing is not the repository. */
static bool
lacks_lfs(const struct policy_pair *pair, const struct policy_request *req)
{
	struct policy_request fetch = *req;
	struct span repo;
	uint8_t path[1024];
	struct wr w = wr_init(path, sizeof(path));

	if (!git_service_is_read(git_service_of(req->path, &repo)))
		return false;
	wr_bytes(&w, repo.ptr, repo.len);
	wr_text(&w, "/git-upload-pack");
	fetch.method = span_of("POST");
	fetch.path = (struct span){ path, w.len };
	return wr_ok(&w) &&
	    policy_judge_request(pair, &fetch).action != ACTION_DENY;
}

static void
judge(const struct policy_pair *pair, struct target *t, const char *method,
    struct explanation *e)
{
	struct path_reading reading = path_read(t->path);
	struct policy_request req = { .host = e->host,
		.port = e->port,
		.scheme = e->scheme,
		.method = span_of(method),
		.path = t->path,
		.query = t->query,
		.has_query = t->has_query,
		.is_websocket = t->is_websocket,
		.is_ambiguous = reading.is_ambiguous,
		.has_encoded_slash = reading.has_encoded_slash };
	const struct verdict *v = &e->verdict;

	e->verdict = policy_judge_connect(pair, e->host, e->port);
	e->is_connection_denied = v->action == ACTION_DENY;
	if (e->is_connection_denied)
		return;
	e->is_inside_seen =
	    v->scheme != SCHEME_TCP && v->tls == TLS_MODE_INSPECT;
	if (e->is_request && e->is_inside_seen) {
		e->verdict = judge_request(pair, &req, t->cmd);
		if (v->reason == REASON_PATH && lacks_lfs(pair, &req))
			t->missing_key = "lfs";
		if (t->cmd != NULL && v->reason == REASON_GIT_REF)
			t->missing_key = find_missing_key(pair, &req, t->cmd);
	} else if (t->has_scheme && v->scheme != e->scheme) {
		/* what the policy names there is something else */
		e->verdict.action = ACTION_DENY;
		e->verdict.reason = REASON_PORT;
	}
}

static int
explain_target(const struct policy_pair *pair, const char *target,
    const char *method, const struct policy_command *cmd,
    struct explanation *ret, struct err *err)
{
	struct target t = { .scheme = SCHEME_HTTPS, .cmd = cmd };
	struct explanation e = { .is_request = false };
	const char *m = method != NULL ? method : "GET";
	int rc = explain_net(pair, target, ret, err);

	if (rc != EXPLAIN_NET_OTHER)
		return rc;
	rc = split(target, &t, err);

	if (rc == 0)
		rc = name_target(&t, &e, err);
	if (rc == 0 && t.is_websocket && strcmp(m, "GET") != 0)
		rc = err_at(err, NULL, 0, "a WebSocket begins with GET");
	if (rc != 0)
		return rc;
	e.is_websocket = t.is_websocket;
	e.is_request = t.scheme != SCHEME_TCP &&
	    (t.has_path || t.is_websocket || method != NULL);
	judge(pair, &t, m, &e);
	(void)verdict_code(&e.verdict, e.code);
	if (e.verdict.learned.reason != REASON_NONE)
		hint_learned(&e, &t, m);
	else
		give_hint(&e, &t, m);
	*ret = e;
	return 0;
}

int
explain(const struct policy_pair *pair, const char *target, const char *method,
    struct explanation *ret, struct err *err)
{
	return explain_target(pair, target, method, NULL, ret, err);
}

int
explain_push(const struct policy_pair *pair, const char *repo, const char *ref,
    enum git_operation operation, struct explanation *ret, struct err *err)
{
	struct policy_command cmd = {
		.operation =
		    operation == GIT_OPERATION_NONE ? GIT_UPDATE : operation,
		.ref = span_of(ref),
	};
	const char *fault = git_ref_fault(cmd.ref);
	size_t len = strlen(repo);
	char target[1024];

	if (fault != NULL)
		return err_at(err, NULL, 0, "%s: %s", ref, fault);
	if (strchr(repo, '?') != NULL || len > sizeof(target) / 2)
		return err_at(err, NULL, 0,
		    "a repository is HOST/OWNER/NAME, without a query");
	while (len > 0 && repo[len - 1] == '/')
		len--;
	(void)snprintf(target, sizeof(target), "%.*s/git-receive-pack",
	    (int)len, repo);
	return explain_target(pair, target, "POST", &cmd, ret, err);
}

int
explain_status(const struct explanation *e)
{
	switch (e->verdict.action) {
	case ACTION_ALLOW:
		return 0;
	case ACTION_DENY:
		return 1;
	case ACTION_ASK:
		return 2;
	}
	return 1;
}

/* What a person should know beside the verdict. */
static void
write_notes(struct wr *w, const struct explanation *e)
{
	const struct verdict *v = &e->verdict;

	if (v->action != ACTION_DENY && !e->is_inside_seen && !e->is_name)
		wr_fmt(w,
		    "note:    %s: only the name and the port are "
		    "judged, nothing inside is seen\n",
		    v->scheme == SCHEME_TCP ? "tcp" : "passthrough");
	if (v->action != ACTION_DENY && e->is_websocket && e->is_inside_seen)
		wr_fmt(w,
		    "note:    the request that opens the WebSocket is judged, "
		    "what is sent then is not%s\n",
		    v->credential[0] == '\0'
			? ""
			: "; the host's definition of the credential must say "
			  "`websocket = yes`, too");
	if (v->action != ACTION_DENY && e->is_inside_seen && !e->is_request)
		wr_fmt(w,
		    "note:    the connection only; add a path to ask "
		    "for a request\n");
	if (v->action != ACTION_DENY && v->reads_lfs)
		wr_text(w,
		    "note:    what is asked for in its body is judged, too: to "
		    "write needs push, and a reference that it allows\n");
	if (v->action == ACTION_ASK)
		wr_text(w,
		    "note:    held until somebody answers: tapward ask list\n");
	explain_net_write(w, e);
}

void
explain_write(struct wr *w, const struct explanation *e)
{
	const struct verdict *v = &e->verdict;

	wr_fmt(w, "verdict: %s\n", action_name(v->action));
	if (e->code[0] != '\0')
		wr_fmt(w, "reason:  %s (%s%s)\n", e->code,
		    v->by_ceiling ? "in the ceiling, " : "",
		    reason_text(v->reason));
	wr_fmt(w, "rule:    %s\n", v->rule);
	wr_fmt(w, "at:      %s:%u\n", v->file, v->line);
	if (v->learned.reason != REASON_NONE)
		wr_fmt(w,
		    "learned: %s (%s) by %s:%u; the ceiling alone says "
		    "this\n",
		    reason_code(v->learned.reason),
		    reason_text(v->learned.reason), v->learned.file,
		    v->learned.line);
	if (v->credential[0] != '\0')
		wr_fmt(w, "credential: %s\n", v->credential);
	if (v->say[0] != '\0' && v->action != ACTION_ALLOW)
		wr_fmt(w, "say:     %s\n", v->say);
	write_notes(w, e);
	if (e->hint[0] != '\0')
		wr_fmt(w, "hint:    %s\n", e->hint);
}
