/*
 * Reads the model that the compiler reads, so that no rule can be shown other
 * than it is.
 */
#include "conf/describe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/model.h"
#include "conf/parse.h"

static const char *const stars[PATTERN_KINDS] = { [PATTERN_EXACT] = "",
	[PATTERN_ONE_LABEL] = "*.",
	[PATTERN_ANY_DEPTH] = "**." };

static void
write_pattern(struct json *j, const struct model *m, enum pattern_kind kind,
    uint32_t name)
{
	char text[IMAGE_STRING_SIZE + 4];

	(void)snprintf(text, sizeof(text), "%s%s", stars[kind],
	    model_string(m, name));
	json_str(j, NULL, text);
}

static void
write_hosts(struct json *j, const struct model *m, size_t rule)
{
	json_open_array(j, "hosts");
	for (size_t i = 0; i < m->hosts.count; i++) {
		const struct model_host *h = vec_at(&m->hosts, i);

		if (h->rule == rule)
			write_pattern(j, m, h->kind, h->name);
	}
	json_close_array(j);
}

static void
write_ports(struct json *j, const struct model *m, const struct model_rule *r)
{
	json_open_array(j, "ports");
	for (uint32_t i = 0; i < r->ports.count; i++) {
		const uint16_t *port = vec_at(&m->ports, r->ports.at + i);

		json_u64(j, NULL, *port);
	}
	json_close_array(j);
}

static void
write_run(struct json *j, const char *key, const struct model *m,
    const struct vec *v, const struct image_run *run)
{
	json_open_array(j, key);
	for (uint32_t i = 0; i < run->count; i++) {
		const uint32_t *off = vec_at(v, run->at + i);

		json_str(j, NULL, model_string(m, *off));
	}
	json_close_array(j);
}

static void
write_lfs_hosts(struct json *j, const struct model *m, uint32_t rule)
{
	json_open_array(j, "lfs-hosts");
	for (size_t i = 0; i < m->redirects.count; i++) {
		const struct image_redirect *r = vec_at(&m->redirects, i);

		if (r->rule == rule)
			write_pattern(j, m, r->kind, r->name);
	}
	json_close_array(j);
}

static void
write_rule(struct json *j, const struct model *m, size_t i)
{
	const struct model_rule *r = model_rule_at(m, i);

	json_open_object(j, NULL);
	json_str(j, "name", model_string(m, r->name));
	json_str(j, "section", r->is_git ? "git" : action_name(r->action));
	json_str(j, "action", action_name(r->action));
	json_u64(j, "line", r->line);
	write_hosts(j, m, i);
	write_ports(j, m, r);
	json_str(j, "scheme", scheme_name(r->scheme));
	json_str(j, "tls",
	    r->tls == TLS_MODE_PASSTHROUGH ? "passthrough" : "inspect");
	write_run(j, "methods", m, &m->methods, &r->methods);
	write_run(j, "paths", m, &m->paths, &r->paths);
	write_run(j, "queries", m, &m->queries, &r->queries);
	json_bool(j, "encoded-slash", (r->widen & WIDEN_ENCODED_SLASH) != 0);
	json_bool(j, "websocket", (r->widen & WIDEN_WEBSOCKET) != 0);
	json_str(j, "credential", model_string(m, r->credential));
	if (r->is_git) {
		write_run(j, "push", m, &m->refs, &r->git.refs);
		json_bool(j, "lfs", (r->git.flags & IMAGE_GIT_LFS) != 0);
		write_lfs_hosts(j, m, (uint32_t)i);
	}
	json_close_object(j);
}

int
describe_policy(const struct compile_input *in, struct json *j)
{
	struct compile_result *ret = calloc(1, sizeof(*ret));
	struct model m;
	int rc;

	if (ret == NULL)
		return -ENOMEM;
	rc = model_init(&m);
	if (rc == 0)
		rc = parse_policy(in, &m, ret);
	if (rc == 0 && ret->error_count > 0)
		rc = -EINVAL;
	if (rc == 0) {
		json_open_array(j, "rules");
		for (size_t i = 0; i < m.rules.count; i++)
			write_rule(j, &m, i);
		json_close_array(j);
	}
	model_done(&m);
	free(ret);
	return rc;
}
