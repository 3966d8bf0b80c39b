/*
 * status: how the daemon is.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/call.h"
#include "cli/cli.h"

static long long
status_number(const json_t *json, const char *key)
{
	return (long long)json_integer_value(json_object_get(json, key));
}

static const char *
status_text(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text == NULL ? "-" : text;
}

/* "3 d 4 h" of two units at most; "-" when the time cannot be read. */
static const char *
uptime(const json_t *s, char *buf, size_t size)
{
	const char *started = status_text(s, "started");
	struct tm tm = { 0 };
	const char *end = strptime(started, "%Y-%m-%dT%H:%M:%S", &tm);
	long long now = (long long)(clock_wall_ms() / 1000);
	long long up = end == NULL ? -1 : now - (long long)timegm(&tm);

	if (up < 0)
		(void)snprintf(buf, size, "-");
	else if (up < 60)
		(void)snprintf(buf, size, "%lld s", up);
	else if (up < 3600)
		(void)snprintf(buf, size, "%lld min", up / 60);
	else if (up < 86400)
		(void)snprintf(buf, size, "%lld h %lld min", up / 3600,
		    up / 60 % 60);
	else
		(void)snprintf(buf, size, "%lld d %lld h", up / 86400,
		    up / 3600 % 24);
	return buf;
}

static void
print_sandboxes(const json_t *s)
{
	const char *state;
	json_t *count;

	(void)printf("sandboxes  %lld", status_number(s, "sandboxes"));
	json_object_foreach(json_object_get(s, "states"), state, count)
	{
		if (json_integer_value(count) != 0)
			(void)printf(", %lld %s",
			    (long long)json_integer_value(count), state);
	}
	if (status_number(s, "learning") != 0)
		(void)printf(", %lld learning", status_number(s, "learning"));
	(void)printf(", %lld with a machine\n", status_number(s, "machines"));
	(void)printf("pool       %lld of %lld prepared\n",
	    status_number(s, "pool_ready"), status_number(s, "pool_size"));
}

static void
print_policies(const json_t *s)
{
	const json_t *ceiling = json_object_get(s, "ceiling");
	long long others = status_number(s, "other_policies");
	size_t i;
	json_t *p;

	if (json_is_string(ceiling))
		(void)printf("ceiling    %s (%.12s)\n",
		    json_string_value(ceiling),
		    status_text(s, "ceiling_digest"));
	else
		(void)printf("ceiling    none: policies alone decide\n");
	json_array_foreach(json_object_get(s, "policies"), i, p)
	{
		(void)printf("policy     %.12s, %lld sandboxes\n",
		    status_text(p, "digest"), status_number(p, "sandboxes"));
	}
	if (others != 0)
		(void)printf("policy     others, %lld sandboxes\n", others);
}

static void
print_audit(const json_t *s)
{
	const json_t *recorder = json_object_get(s, "recorder");

	(void)printf("audit      %s\n",
	    json_is_true(json_object_get(s, "audit_can_write"))
		? "writes"
		: "CANNOT WRITE: new exchanges are refused");
	if (json_is_object(recorder))
		(void)printf("recorder   %lld records, %lld lost, head %.12s\n",
		    status_number(recorder, "seq"),
		    status_number(recorder, "lost"),
		    status_text(recorder, "head"));
	else
		(void)printf("recorder   DOES NOT ANSWER\n");
}

static void
print_resolver(const json_t *r)
{
	const char *state = status_text(r, "state");
	const bool is_tls = json_is_true(json_object_get(r, "tls"));

	(void)printf("resolver   %s", status_text(r, "name"));
	if (strcmp(state, "down") == 0)
		(void)printf(" DOWN: %s", status_text(r, "text"));
	else if (strcmp(state, "up") != 0)
		(void)printf(" %s: nobody has asked it for a name yet", state);
	else if (is_tls)
		(void)printf(" up, %s, %lld answers, %lld handshakes",
		    status_text(r, "text"), status_number(r, "answers"),
		    status_number(r, "handshakes"));
	else
		(void)printf(" up, %lld answers", status_number(r, "answers"));
	if (strcmp(status_text(r, "broker"), "down") == 0)
		(void)printf("; DOWN for the broker: %s",
		    status_text(r, "broker_text"));
	(void)printf("\n");
}

static void
print_upstream(const json_t *s)
{
	const json_t *all = json_object_get(s, "resolver_states");
	size_t i;
	json_t *r;

	json_array_foreach(all, i, r)
	{
		print_resolver(r);
	}
	if (json_array_size(all) == 0)
		(void)printf("resolver   NONE: nothing can be resolved\n");
	(void)printf("roots      %lld\n", status_number(s, "roots"));
	if (json_is_string(json_object_get(s, "credential_fault")))
		(void)printf("credential FAULT: %s\n",
		    status_text(s, "credential_fault"));
	else
		(void)printf("credential %lld, usable\n",
		    status_number(s, "credentials"));
}

static void
status_print(const json_t *s)
{
	char up[64];
	size_t i;
	json_t *p;

	(void)printf("tapwardd %s, pid %lld, up %s, since %s\n",
	    status_text(s, "version"), status_number(s, "pid"),
	    uptime(s, up, sizeof(up)), status_text(s, "started"));
	print_sandboxes(s);
	print_policies(s);
	print_audit(s);
	print_upstream(s);
	json_array_foreach(json_object_get(s, "processes"), i, p)
	{
		if (status_number(p, "pid") == 0)
			(void)printf("%-10s DOWN, %lld restarts\n",
			    status_text(p, "role"),
			    status_number(p, "restarts"));
		else
			(void)printf("%-10s pid %lld, %lld restarts\n",
			    status_text(p, "role"), status_number(p, "pid"),
			    status_number(p, "restarts"));
	}
	json_array_foreach(json_object_get(s, "errors"), i, p)
	{
		(void)printf("last said  %s %s\n", status_text(p, "time"),
		    status_text(p, "text"));
	}
}

int
cmd_status(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	struct reply reply;
	bool json = false;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt != 'j')
			return cli_usage("status", "see tapward(1)");
		json = true;
	}
	if (optind != argc)
		return cli_usage("status", "takes no name");
	rc = call_simply(cli, "GET", "/v1/status", &reply);
	if (rc != 0)
		return rc;
	if (json) {
		(void)json_dumpf(reply.json, stdout, JSON_INDENT(2));
		(void)putchar('\n');
	} else {
		status_print(reply.json);
	}
	reply_done(&reply);
	return 0;
}
