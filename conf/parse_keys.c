/*
 * The keys of the policy language, a row each. A key whose enforcement is not
 * built has a row too, and is an error: what is accepted is enforced.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "conf/glob.h"
#include "conf/parse.h"
#include "conf/public_suffix.h"
#include "conf/words.h"
#include "wire/authority.h"
#include "wire/path.h"

enum {
	IN_POLICY = 1 << 0,
	IN_RULE = 1 << 1,
	IN_GIT = 1 << 2,
	IN_BUDGET = IN_POLICY | IN_RULE | IN_GIT,
};

/*
 * Takes one value; NULL, or what is wrong with it. Memory that runs short is
 * noted in p->rc.
 */
typedef const char *take_fn(struct parse *p, struct span v, uint32_t line);

struct key_row {
	const char *name;
	unsigned int in;
	bool is_list;  /* repeats, and takes commas */
	take_fn *take; /* NULL: not supported by this version */
};

/* Counts one more item of the rule in run; what is wrong, or NULL. */
static const char *
count_item(struct image_run *run, const struct vec *in, uint32_t max)
{
	if (run->count >= max)
		return "too many values of this key in one rule: write a "
		       "second rule";
	if (run->count == 0)
		run->at = (uint32_t)in->count;
	run->count++;
	return NULL;
}

const char *
parse_add_item(struct parse *p, struct image_run *run, struct vec *to,
    struct span v)
{
	const char *fault = count_item(run, to, IMAGE_PATTERNS_MAX);
	uint32_t off;

	if (fault == NULL &&
	    (model_add_string(p->m, v, &off) != 0 || vec_push(to, &off) != 0))
		p->rc = -ENOMEM;
	return fault;
}

static const char *
take_version(struct parse *p, struct span v, uint32_t line)
{
	p->version_line = line;
	if (!span_is(v, "1"))
		return "the only version is 1";
	return NULL;
}

static const char *
take_preset(struct parse *p, struct span v, uint32_t line)
{
	struct preset_use use = { .line = line };

	if (p->is_preset)
		return "a preset cannot name presets";
	if (!words_is_name(v))
		return "not a name of a preset";
	if (p->presets.count >= PARSE_PRESETS_MAX)
		return "more than 128 presets";
	for (size_t i = 0; i < p->presets.count; i++) {
		const struct preset_use *other = vec_at(&p->presets, i);

		if (span_is(v, model_string(p->m, other->name)))
			return "this preset is named twice";
	}
	if (model_add_string(p->m, v, &use.name) != 0 ||
	    vec_push(&p->presets, &use) != 0)
		p->rc = -ENOMEM;
	return NULL;
}

const char *
parse_add_host(struct parse *p, const struct host_pattern *pattern,
    uint32_t line)
{
	struct model_host host = { .rule = (uint32_t)p->m->rules.count - 1,
		.kind = pattern->kind };
	const char *fault = pattern->kind == PATTERN_EXACT
	    ? NULL
	    : public_suffix_fault(pattern->name);

	if (fault != NULL)
		return fault;
	if (pattern->kind != PATTERN_EXACT && p->wildcard_line == 0)
		p->wildcard_line = line;
	if (pattern->kind == PATTERN_ANY_DEPTH && p->any_depth_line == 0)
		p->any_depth_line = line;
	if (pattern->kind != PATTERN_EXACT && !p->is_preset &&
	    public_suffix_is_below(pattern->name))
		finding_review(p->ret, parse_at(p, line), "user-content",
		    "below %s anybody can get a name: name the hosts you need",
		    pattern->name);
	if (model_add_string(p->m, span_of(pattern->name), &host.name) != 0 ||
	    vec_push(&p->m->hosts, &host) != 0)
		p->rc = -ENOMEM;
	parse_rule(p)->hosts++;
	return NULL;
}

static const char *
take_host(struct parse *p, struct span v, uint32_t line)
{
	struct host_pattern pattern;
	const char *fault = host_pattern_parse(v, &pattern);

	return fault != NULL ? fault : parse_add_host(p, &pattern, line);
}

static const char *
take_port(struct parse *p, struct span v, uint32_t line)
{
	struct image_run *run = &parse_rule(p)->ports;
	const char *fault;
	uint16_t port;

	(void)line;
	if (!authority_parse_port(v, &port))
		return "a port is a number from 1 to 65535; ranges are not "
		       "taken, list the ports";
	for (uint32_t i = 0; i < run->count; i++) {
		const uint16_t *other = vec_at(&p->m->ports, run->at + i);

		if (*other == port)
			return "this port is named twice";
	}
	fault = count_item(run, &p->m->ports, IMAGE_PORTS_MAX);
	if (fault == NULL && vec_push(&p->m->ports, &port) != 0)
		p->rc = -ENOMEM;
	return fault;
}

static const char *
take_method(struct parse *p, struct span v, uint32_t line)
{
	(void)line;
	if (!words_is_method(v))
		return "a method is written in capitals: GET, HEAD, POST "
		       "(without the key every method matches)";
	return parse_add_item(p, &parse_rule(p)->methods, &p->m->methods, v);
}

static const char *
take_path(struct parse *p, struct span v, uint32_t line)
{
	const char *fault = path_pattern_fault(v);

	(void)line;
	if (v.ptr[0] != '/')
		return "a path starts with '/'; a comma parts two paths, so "
		       "write * for one within a path";
	if (fault != NULL)
		return fault;
	return parse_add_item(p, &parse_rule(p)->paths, &p->m->paths, v);
}

static const char *
take_query(struct parse *p, struct span v, uint32_t line)
{
	(void)line;
	if (v.ptr[0] == '?')
		return "write the query without its '?'";
	for (size_t i = 0; i < v.len; i++) {
		if (v.ptr[i] <= ' ' || v.ptr[i] == '#' || v.ptr[i] == '"')
			return "a query holds no blanks, quotes or '#': write "
			       "it as it is sent";
		if (i >= 2 && memcmp(v.ptr + i - 2, "***", 3) == 0)
			return "three stars in a row: * stays within a "
			       "parameter, ** crosses '&'";
	}
	return parse_add_item(p, &parse_rule(p)->queries, &p->m->queries, v);
}

static const char *
take_credential(struct parse *p, struct span v, uint32_t line)
{
	uint32_t off;

	(void)line;
	if (!words_is_name(v))
		return "not a name of a credential: the host's configuration "
		       "defines it as [credential NAME]";
	if (model_add_string(p->m, v, &off) != 0)
		p->rc = -ENOMEM;
	else
		parse_rule(p)->credential = off;
	return NULL;
}

static const char *
take_tls(struct parse *p, struct span v, uint32_t line)
{
	(void)line;
	if (!span_is(v, "inspect") && !span_is(v, "passthrough"))
		return "tls is `inspect` or `passthrough`";
	if (span_is(v, "passthrough"))
		parse_rule(p)->tls = TLS_MODE_PASSTHROUGH;
	return NULL;
}

static const char *
take_scheme(struct parse *p, struct span v, uint32_t line)
{
	static const enum scheme all[] = { SCHEME_HTTPS, SCHEME_HTTP,
		SCHEME_TCP };

	(void)line;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (span_is(v, scheme_name(all[i]))) {
			parse_rule(p)->scheme = all[i];
			return NULL;
		}
	}
	return "scheme is `https`, `http` or `tcp`";
}

static const char *
take_widen(struct parse *p, struct span v, uint32_t bit)
{
	bool yes;

	if (!words_parse_yes(v, &yes))
		return "write `yes` or `no`";
	if (yes)
		parse_rule(p)->widen |= bit;
	return NULL;
}

static const char *
take_encoded_slash(struct parse *p, struct span v, uint32_t line)
{
	(void)line;
	return take_widen(p, v, WIDEN_ENCODED_SLASH);
}

static const char *
take_websocket(struct parse *p, struct span v, uint32_t line)
{
	(void)line;
	return take_widen(p, v, WIDEN_WEBSOCKET);
}

static const char *
take_say(struct parse *p, struct span v, uint32_t line)
{
	uint32_t off;

	(void)line;
	if (v.len > PARSE_SAY_MAX)
		return "a text of more than 120 bytes: a guest gets one line";
	if (memchr(v.ptr, '\t', v.len) != NULL)
		return "a tab in a text that is shown on one line";
	if (model_add_string(p->m, v, &off) != 0)
		p->rc = -ENOMEM;
	else
		parse_rule(p)->say = off;
	return NULL;
}

static const struct key_row rows[] = {
	[KEY_VERSION] = { "version", IN_POLICY, false, take_version },
	[KEY_PRESET] = { "preset", IN_POLICY, true, take_preset },
	[KEY_HOST] = { "host", IN_RULE, true, take_host },
	[KEY_PORT] = { "port", IN_RULE, true, take_port },
	[KEY_METHOD] = { "method", IN_RULE, true, take_method },
	[KEY_PATH] = { "path", IN_RULE, true, take_path },
	[KEY_QUERY] = { "query", IN_RULE, true, take_query },
	[KEY_CREDENTIAL] = { "credential", IN_RULE | IN_GIT, false,
	    take_credential },
	[KEY_TLS] = { "tls", IN_RULE, false, take_tls },
	[KEY_SCHEME] = { "scheme", IN_RULE, false, take_scheme },
	[KEY_ENCODED_SLASH] = { "encoded-slash", IN_RULE, false,
	    take_encoded_slash },
	[KEY_SAY] = { "say", IN_RULE | IN_GIT, false, take_say },
	[KEY_WEBSOCKET] = { "websocket", IN_RULE, false, take_websocket },
	[KEY_REDIRECT] = { "redirect", IN_RULE, true, parse_take_redirect },
	[KEY_UNTIL] = { "until", IN_BUDGET, false, parse_take_until },
	[KEY_MAX_REQUESTS] = { "max-requests", IN_BUDGET, false,
	    parse_take_max_requests },
	[KEY_MAX_UPLOAD] = { "max-upload", IN_BUDGET, false,
	    parse_take_max_upload },
	[KEY_MAX_DOWNLOAD] = { "max-download", IN_BUDGET, false,
	    parse_take_max_download },
	[KEY_RATE] = { "rate", IN_BUDGET, false, parse_take_rate },
	[KEY_REPO] = { "repo", IN_GIT, true, parse_take_repo },
	[KEY_PUSH] = { "push", IN_GIT, true, parse_take_push },
	[KEY_DELETE] = { "delete", IN_GIT, false, parse_take_delete },
	[KEY_FORCE] = { "force", IN_GIT, false, parse_take_force },
	[KEY_PUSH_OPTIONS] = { "push-options", IN_GIT, false,
	    parse_take_push_options },
	[KEY_MAX_PUSH] = { "max-push", IN_GIT, false, parse_take_max_push },
	[KEY_LFS] = { "lfs", IN_GIT, false, parse_take_lfs },
	[KEY_LFS_HOST] = { "lfs-host", IN_GIT, true, parse_take_lfs_host },
	[KEY_MAX_CONNECTIONS] = { "max-connections", IN_BUDGET, false,
	    parse_take_max_connections },
};
static_assert(sizeof(rows) / sizeof(rows[0]) == KEYS, "a row for each key");

static const struct key_row *
find_row(const char *key)
{
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(rows[i].name, key) == 0)
			return &rows[i];
	}
	return NULL;
}

static void
refuse_key(struct parse *p, const struct ini_entry *e)
{
	const char *near =
	    words_nearest(e->key, &rows[0].name, KEYS, sizeof(rows[0]));

	if (near != NULL)
		finding_error(p->ret, parse_at(p, e->line),
		    "unknown key %s: did you mean %s?", e->key, near);
	else
		finding_error(p->ret, parse_at(p, e->line),
		    "unknown key %s: remove it or see the manual for the keys "
		    "of [%s]",
		    e->key, e->kind);
}

/* Can the key stand here, once more? Says so when it cannot. */
static bool
key_fits(struct parse *p, const struct key_row *row, const struct ini_entry *e)
{
	static const unsigned int places[] = { [SECTION_NONE] = 0,
		[SECTION_POLICY] = IN_POLICY,
		[SECTION_RULE] = IN_RULE,
		[SECTION_GIT] = IN_GIT };
	unsigned int here = places[p->section];
	uint32_t *first = &p->key_line[row - rows];
	struct place at = parse_at(p, e->line);

	if ((row->in & here) == 0) {
		finding_error(p->ret, at, "%s does not belong into [%s]",
		    e->key, e->kind);
		return false;
	}
	if (p->is_preset && p->section == SECTION_POLICY &&
	    (row->in & IN_RULE) != 0) {
		finding_error(p->ret, at,
		    "a preset says nothing but its version in [policy]");
		return false;
	}
	if (row->take == NULL) {
		finding_error(p->ret, at,
		    "%s is not supported by this version, and what is not "
		    "enforced is not accepted: remove it",
		    e->key);
		return false;
	}
	if (*first != 0 && !row->is_list) {
		finding_error(p->ret, at,
		    "%s is given twice (first on line %u): keep one", e->key,
		    *first);
		return false;
	}
	if (*first == 0)
		*first = e->line;
	return true;
}

void
parse_take_key(struct parse *p, const struct ini_entry *e)
{
	const struct key_row *row = find_row(e->key);
	struct span list = span_of(e->value), v = list;

	if (row == NULL) {
		refuse_key(p, e);
		return;
	}
	if (!key_fits(p, row, e))
		return;
	while (p->rc == 0 &&
	    (row->is_list ? words_next_item(&list, &v) : v.ptr != NULL)) {
		const char *fault = v.len > 0
		    ? row->take(p, v, e->line)
		    : "an empty item: remove the comma";

		if (fault != NULL)
			finding_error(p->ret, parse_at(p, e->line),
			    "%s = %.*s: %s", e->key, (int)v.len,
			    (const char *)v.ptr, fault);
		if (!row->is_list)
			return;
	}
}
