/*
 * The keys of [git], and what must hold within such a rule.
 */
#include <errno.h>

#include "conf/limits.h"
#include "conf/parse.h"
#include "conf/words.h"
#include "wire/authority.h"
#include "wire/git.h"
#include "wire/path.h"

#define PORT_HTTP 80
#define PORT_HTTPS 443

/* The port of "host:port", which is cut off; what is wrong, or NULL. */
static const char *
take_port(struct span *host, uint16_t *ret_port)
{
	const uint8_t *colon = memchr(host->ptr, ':', host->len);
	struct span port;

	*ret_port = PORT_HTTPS;
	if (colon == NULL)
		return NULL;
	port = (struct span){ colon + 1,
		host->len - (size_t)(colon + 1 - host->ptr) };
	host->len = (size_t)(colon - host->ptr);
	if (!authority_parse_port(port, ret_port))
		return "a port is a number from 1 to 65535; write "
		       "HOST[:PORT]/OWNER/NAME, without https:// or a user";
	if (*ret_port == PORT_HTTP)
		return "port 80 is not TLS, and git over it can be answered by "
		       "anybody on the way";
	return NULL;
}

/* Where it is: as the rule's first one, so that each path is meant there. */
static const char *
take_place(struct parse *p, struct span host, uint32_t line)
{
	struct host_pattern pattern = { .kind = PATTERN_EXACT };
	uint16_t port;
	struct model_rule *r = parse_rule(p);
	const char *fault = take_port(&host, &port);

	if (fault == NULL)
		fault = host_pattern_parse(host, &pattern);
	if (fault != NULL)
		return fault;
	if (p->repo_port == 0) {
		p->repo_host = pattern;
		p->repo_port = port;
		r->ports.at = (uint32_t)p->m->ports.count;
		r->ports.count = 1;
		if (vec_push(&p->m->ports, &port) != 0)
			p->rc = -ENOMEM;
		return parse_add_host(p, &pattern, line);
	}
	if (p->repo_port != port || p->repo_host.kind != pattern.kind ||
	    !span_is(span_of(pattern.name), p->repo_host.name))
		return "another host than the rule's first repository: write "
		       "a second [git] rule for it";
	return NULL;
}

const char *
parse_take_repo(struct parse *p, struct span v, uint32_t line)
{
	static const char how[] =
	    "a repository is HOST[:PORT]/PATH, as in github.com/acme/widget: "
	    "without a scheme, a user or a slash at its end";
	const uint8_t *slash = memchr(v.ptr, '/', v.len);
	struct span host, path;
	const char *fault;

	if (slash == NULL || slash == v.ptr)
		return how;
	host = (struct span){ v.ptr, (size_t)(slash - v.ptr) };
	path = (struct span){ slash, v.len - host.len };
	if (path.len < 2 || path.ptr[path.len - 1] == '/' || path.ptr[1] == '/')
		return how;
	/* With and without it are one. */
	if (path.len > 5 &&
	    span_is((struct span){ path.ptr + path.len - 4, 4 }, ".git"))
		path.len -= 4;
	fault = path_pattern_fault(path);
	if (fault == NULL)
		fault = take_place(p, host, line);
	if (fault != NULL)
		return fault;
	return parse_add_item(p, &parse_rule(p)->paths, &p->m->paths, path);
}

const char *
parse_take_push(struct parse *p, struct span v, uint32_t line)
{
	struct model_rule *r = parse_rule(p);
	const char *fault = git_ref_pattern_fault(v);

	(void)line;
	if (fault != NULL)
		return fault;
	r->git.flags |= IMAGE_GIT_PUSH;
	return parse_add_item(p, &r->git.refs, &p->m->refs, v);
}

static const char *
take_flag(struct parse *p, struct span v, uint32_t flag)
{
	bool yes;

	if (!words_parse_yes(v, &yes))
		return "write `yes` or `no`";
	if (yes)
		parse_rule(p)->git.flags |= flag;
	return NULL;
}

const char *
parse_take_delete(struct parse *p, struct span v, uint32_t line)
{
	(void)line;
	return take_flag(p, v, IMAGE_GIT_DELETE);
}

const char *
parse_take_force(struct parse *p, struct span v, uint32_t line)
{
	(void)line;
	return take_flag(p, v, IMAGE_GIT_FORCE);
}

const char *
parse_take_push_options(struct parse *p, struct span v, uint32_t line)
{
	(void)line;
	return take_flag(p, v, IMAGE_GIT_OPTIONS);
}

const char *
parse_take_max_push(struct parse *p, struct span v, uint32_t line)
{
	uint64_t max;

	(void)line;
	if (!limit_parse(UNIT_BYTES, v, &max) || max == 0)
		return "a size is written as 65536, 10MB or 64MiB";
	parse_rule(p)->git.max_push = max;
	return NULL;
}

const char *
parse_take_lfs(struct parse *p, struct span v, uint32_t line)
{
	(void)line;
	return take_flag(p, v, IMAGE_GIT_LFS);
}

/* For as long as an answer says, and the host's [limits] let it. */
const char *
parse_take_lfs_host(struct parse *p, struct span v, uint32_t line)
{
	(void)line;
	return parse_add_redirect(p, v, IMAGE_REDIRECT_S_MAX);
}

void
parse_finish_git(struct parse *p)
{
	static const char fetch_only[] =
	    "the rule has no push, so nothing is pushed: add "
	    "`push = refs/heads/...` or remove this";

	if (p->key_line[KEY_REPO] == 0)
		finding_error(p->ret, parse_at(p, p->line),
		    "[git %s] names no repository: add "
		    "`repo = HOST/OWNER/NAME`",
		    model_string(p->m, parse_rule(p)->name));
	if (p->key_line[KEY_PUSH] == 0) {
		parse_refuse_if(p, KEY_DELETE, fetch_only);
		parse_refuse_if(p, KEY_FORCE, fetch_only);
		parse_refuse_if(p, KEY_PUSH_OPTIONS, fetch_only);
		parse_refuse_if(p, KEY_MAX_PUSH, fetch_only);
	}
	if ((parse_rule(p)->git.flags & IMAGE_GIT_LFS) == 0)
		parse_refuse_if(p, KEY_LFS_HOST,
		    "the rule has no `lfs = yes`, so nobody is told of an "
		    "object: add it or remove this");
	parse_check_credential(p);
}
