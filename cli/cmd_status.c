/*
 * status: how the daemon is.
 */
#include <getopt.h>
#include <stdio.h>

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

static void
status_print(const json_t *s)
{
	const json_t *ceiling = json_object_get(s, "ceiling");
	size_t i;
	json_t *p;

	(void)printf("tapwardd %s, pid %lld, since %s\n",
	    status_text(s, "version"), status_number(s, "pid"),
	    status_text(s, "started"));
	(void)printf("sandboxes  %lld, %lld of %lld prepared\n",
	    status_number(s, "sandboxes"), status_number(s, "pool_ready"),
	    status_number(s, "pool_size"));
	if (json_is_string(ceiling))
		(void)printf("ceiling    %s (%.12s)\n",
		    json_string_value(ceiling),
		    status_text(s, "ceiling_digest"));
	else
		(void)printf("ceiling    none: policies alone decide\n");
	(void)printf("audit      %s\n",
	    json_is_true(json_object_get(s, "audit_can_write"))
		? "writes"
		: "CANNOT WRITE: new exchanges are refused");
	(void)printf("roots      %lld\n", status_number(s, "roots"));
	if (json_is_string(json_object_get(s, "credential_fault")))
		(void)printf("credential FAULT: %s\n",
		    status_text(s, "credential_fault"));
	json_array_foreach(json_object_get(s, "processes"), i, p)(void)
	    printf("%-10s pid %lld, %lld restarts\n", status_text(p, "role"),
		status_number(p, "pid"), status_number(p, "restarts"));
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
