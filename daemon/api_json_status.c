/* How the daemon is, as JSON. */
#include "daemon/api_json.h"

#include <string.h>

static json_t *
api_json_children(const struct message_api_status *s)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < s->child_count; i++) {
		const struct message_api_child *c = &s->children[i];

		(void)json_array_append_new(all,
		    json_pack("{s:s, s:i, s:i}", "role", c->role, "pid",
			(int)c->pid, "restarts", (int)c->restarts));
	}
	return all;
}

static json_t *
api_json_states(const struct message_api_status *s)
{
	json_t *all = json_object();

	for (unsigned int i = 0; i < API_STATE_COUNT; i++)
		(void)json_object_set_new(all, api_state_name((uint8_t)i),
		    json_integer(s->states[i]));
	return all;
}

static json_t *
api_json_resolvers(const struct message_api_status *s)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < s->resolver_count; i++)
		(void)json_array_append_new(all, json_string(s->resolvers[i]));
	return all;
}

/* In the order of "resolvers". */
static json_t *
api_json_resolver_states(const struct message_api_status *s)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < s->resolver_count; i++) {
		const struct message_resolver_state *m = &s->resolver_states[i];
		const struct message_resolver_state *b = &s->broker_states[i];

		(void)json_array_append_new(all,
		    json_pack("{s:s, s:b, s:s, s:s, s:I, s:I, s:s, s:s}",
			"name", s->resolvers[i], "tls",
			strchr(s->resolvers[i], '#') != NULL, "state",
			resolver_state_name(m->state), "text", m->text,
			"handshakes", (json_int_t)m->handshakes, "answers",
			(json_int_t)m->answers, "broker",
			resolver_state_name(b->state), "broker_text", b->text));
	}
	return all;
}

/* null: it did not answer. */
static json_t *
api_json_recorder(const struct message_api_status *s)
{
	return s->has_recorder
	    ? json_pack("{s:I, s:s, s:I}", "seq", (json_int_t)s->audit_seq,
		  "head", s->audit_head, "lost", (json_int_t)s->audit_lost)
	    : json_null();
}

static json_t *
api_json_policies(const struct message_api_status *s)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < s->policy_count; i++)
		(void)json_array_append_new(all,
		    json_pack("{s:s, s:I}", "digest", s->policies[i].digest,
			"sandboxes", (json_int_t)s->policies[i].sandboxes));
	return all;
}

static json_t *
api_json_errors(const struct message_api_status *s)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < s->error_count; i++)
		(void)json_array_append_new(all,
		    json_pack("{s:o, s:s}", "time",
			api_json_time(s->errors[i].wall_ms), "text",
			s->errors[i].text));
	return all;
}

json_t *
api_json_status(const struct message_api_status *s)
{
	json_t *json = json_pack("{s:s, s:i, s:o, s:i, s:i, s:i, s:b, s:i}",
	    "version", s->version, "pid", (int)s->pid, "started",
	    api_json_time(s->started_wall_ms), "sandboxes", (int)s->sandboxes,
	    "pool_ready", (int)s->pool_ready, "pool_size", (int)s->pool_size,
	    "audit_can_write", (int)s->audit_can_write, "roots", (int)s->roots);
	json_t *more = json_pack("{s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:o,"
				 " s:o, s:i, s:o, s:i, s:o}",
	    "ceiling",
	    s->has_ceiling ? json_string(s->ceiling_file) : json_null(),
	    "ceiling_digest",
	    s->has_ceiling ? json_string(s->ceiling_digest) : json_null(),
	    "credential_fault",
	    s->credential_fault[0] == '\0' ? json_null()
					   : json_string(s->credential_fault),
	    "states", api_json_states(s), "machines", (int)s->machines,
	    "credentials", (int)s->credentials, "resolvers",
	    api_json_resolvers(s), "recorder", api_json_recorder(s), "policies",
	    api_json_policies(s), "other_policies", (int)s->other_policies,
	    "errors", api_json_errors(s), "learning", (int)s->learning,
	    "resolver_states", api_json_resolver_states(s));

	if (json_object_update(json, more) != 0) {
		json_decref(json);
		json = NULL;
	}
	json_decref(more);
	if (json != NULL)
		(void)json_object_set_new(json, "processes",
		    api_json_children(s));
	return json;
}
