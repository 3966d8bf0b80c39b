/* See refusals.h. */
#include "cli/refusals.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/bytes.h"
#include "base/names.h"
#include "base/reason.h"
#include "cli/call.h"
#include "cli/output.h"

/* Distinct ones that are told; a scan of a thousand hosts says no more. */
#define REFUSALS_MAX 64
#define CEILING "ceiling-"

/* A record of the log that is about a host. */
struct record {
	const char *host, *reason, *method, *path, *at;
	json_int_t port;
};

/* "api.github.com" as the name of a rule: "api-github-com". */
static void
write_name(struct wr *w, const char *host)
{
	for (const char *p = host; *p != '\0'; p++)
		wr_u8(w, ascii_is_alnum((uint8_t)*p) ? (uint8_t)*p : '-');
}

/*
 * The rule that allows it, or the key that its rule lacks. False where a
 * policy of the repo cannot: the host's ceiling, an origin, a limit.
 */
static bool
write_rule(struct wr *w, const struct record *r)
{
	enum reason reason;

	if (strncmp(r->reason, CEILING, strlen(CEILING)) == 0 ||
	    !reason_find(r->reason, &reason))
		return false;
	switch ((int)reason) {
	case REASON_NO_RULE:
	case REASON_PORT:
		wr_text(w, "[allow ");
		write_name(w, r->host);
		wr_fmt(w, "] host = %s", r->host);
		if (r->port != 443)
			wr_fmt(w, ", port = %lld", (long long)r->port);
		if (r->port == 80)
			wr_text(w, ", scheme = http");
		return true;
	case REASON_METHOD:
		wr_fmt(w, "method = %s in the rule at %s", r->method, r->at);
		return true;
	case REASON_PATH:
		wr_fmt(w, "path = %s in the rule at %s", r->path, r->at);
		return true;
	default:
		return false;
	}
}

static json_t *
find(const json_t *all, const struct record *r)
{
	json_t *one;
	size_t i;

	json_array_foreach(all, i, one)
	{
		if (strcmp(output_member(one, "host"), r->host) == 0 &&
		    strcmp(output_member(one, "reason"), r->reason) == 0 &&
		    json_integer_value(json_object_get(one, "port")) == r->port)
			return one;
	}
	return NULL;
}

static void
add(json_t *all, const struct record *r)
{
	char rule[HOST_NAME_SIZE * 2 + 256];
	struct wr w = wr_init(rule, sizeof(rule));
	json_t *one = find(all, r);
	bool has_rule;

	if (one != NULL) {
		json_int_t n =
		    json_integer_value(json_object_get(one, "count"));

		(void)json_object_set_new(one, "count", json_integer(n + 1));
		return;
	}
	if (json_array_size(all) == REFUSALS_MAX)
		return;
	has_rule = write_rule(&w, r) && wr_ok(&w);
	one = json_pack("{s:s, s:I, s:s, s:i}", "host", r->host, "port",
	    r->port, "reason", r->reason, "count", 1);
	(void)json_object_set_new(one, "rule",
	    has_rule ? json_stringn(rule, w.len) : json_null());
	(void)json_array_append_new(all, one);
}

static int
on_line(char *line, size_t len, void *arg)
{
	json_t *json = json_loadb(line, len, 0, NULL);
	const struct record r = {
		.host = json_string_value(json_object_get(json, "host")),
		.reason = output_member(json, "reason"),
		.method = output_member(json, "method"),
		.path = output_member(json, "path"),
		.at = output_member(json, "at"),
		.port = json_integer_value(json_object_get(json, "port")),
	};

	/*
	 * Packets have no host; they are counted by `show`. Questions of DNS
	 * have no port: what came of them is a record of its own.
	 */
	if (r.host != NULL && *r.host != '\0' && r.port != 0)
		add(arg, &r);
	json_decref(json);
	return 0;
}

json_t *
refusals_read(const struct cli *cli, const char *name)
{
	char path[SANDBOX_NAME_SIZE + 48];
	json_t *all = json_array();

	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/log?denied=1",
	    name);
	if (call_stream(cli, path, false, on_line, all) == 0)
		return all;
	json_decref(all);
	return NULL;
}

void
refusals_tell(const json_t *refusals)
{
	json_t *one;
	size_t i;

	json_array_foreach(refusals, i, one)
	{
		const char *code = output_member(one, "reason");
		bool is_ceiling = strncmp(code, CEILING, strlen(CEILING)) == 0;
		const json_t *rule = json_object_get(one, "rule");
		json_int_t count =
		    json_integer_value(json_object_get(one, "count"));

		(void)fprintf(stderr, "tapward: refused: %s:%lld (%s",
		    output_member(one, "host"),
		    (long long)json_integer_value(json_object_get(one, "port")),
		    code);
		if (count > 1)
			(void)fprintf(stderr, ", %lld times", (long long)count);
		if (is_ceiling)
			(void)fputs("); the host's ceiling does not permit it",
			    stderr);
		else if (json_is_string(rule))
			(void)fprintf(stderr, "); to allow it: %s",
			    json_string_value(rule));
		else
			(void)fputc(')', stderr);
		(void)fputc('\n', stderr);
	}
}
