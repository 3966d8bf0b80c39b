/* What `tapward top` shows, as JSON. */
#include "base/message_top.h"
#include "daemon/api_json.h"

static json_t *
api_json_number(uint64_t v)
{
	return json_integer((json_int_t)v);
}

/* Another user's has no numbers. */
static json_t *
api_json_top_entry(const struct message_top_entry *e)
{
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "connections", e->connections },
		{ "asks", e->asks },
		{ "accepted", e->accepted },
		{ "requests", e->requests },
		{ "refused", e->denied },
		{ "dropped", e->dropped },
		{ "up", e->up },
		{ "down", e->down },
	};
	json_t *json = json_pack("{s:s, s:s, s:I, s:I, s:o, s:b}", "name",
	    e->name, "state", api_state_name(e->state), "owner",
	    (json_int_t)e->owner_uid, "generation", (json_int_t)e->generation,
	    "created", api_json_time(e->created_wall_ms), "learning",
	    (int)e->learns);

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)json_object_set_new(json, numbers[i].key,
		    e->is_shown ? api_json_number(numbers[i].value)
				: json_null());
	return json;
}

/* As a line of the audit log has it, and how often. */
static json_t *
api_json_refusal(const struct message_refusal *r)
{
	json_t *json = json_pack("{s:o, s:I, s:s, s:s, s:s+, s:s, s:s}", "time",
	    api_json_time(r->wall_ms), "count", (json_int_t)r->count, "sandbox",
	    r->sandbox, "event", audit_event_name((enum audit_event)r->event),
	    "reason", r->by_ceiling ? "ceiling-" : "", reason_code(r->reason),
	    "rule", r->rule, "host", r->host);

	if (r->port != 0)
		(void)json_object_set_new(json, "port", json_integer(r->port));
	if (r->method[0] != '\0')
		(void)json_object_set_new(json, "method",
		    json_string(r->method));
	if (r->path[0] != '\0')
		(void)json_object_set_new(json, "path", json_string(r->path));
	return json;
}

static json_t *
api_json_recent_host(const struct message_recent_host *h)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "host", h->host,
	    "last", api_json_time(h->wall_ms), "allowed",
	    api_json_number(h->allowed), "refused", api_json_number(h->denied),
	    "up", api_json_number(h->up), "down", api_json_number(h->down));
}

json_t *
api_json_top(const struct message_api_status *status,
    const struct message_top *top)
{
	json_t *sandboxes = json_array();
	json_t *refusals = top->has_recent ? json_array() : json_null();
	json_t *hosts = top->has_recent ? json_array() : json_null();

	for (size_t i = 0; i < top->count; i++)
		(void)json_array_append_new(sandboxes,
		    api_json_top_entry(&top->entries[i]));
	for (size_t i = 0; top->has_recent && i < top->recent.refusal_count;
	     i++)
		(void)json_array_append_new(refusals,
		    api_json_refusal(&top->recent.refusals[i]));
	for (size_t i = 0; top->has_recent && i < top->recent.host_count; i++)
		(void)json_array_append_new(hosts,
		    api_json_recent_host(&top->recent.hosts[i]));
	return json_pack("{s:I, s:o, s:o, s:b, s:o, s:o}", "sample_ms",
	    (json_int_t)top->mono_ms, "status", api_json_status(status),
	    "sandboxes", sandboxes, "more", (int)top->has_more, "refusals",
	    refusals, "hosts", hosts);
}
