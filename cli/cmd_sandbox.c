/*
 * list, show, rm, reload: the life of a sandbox after its create.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/names.h"
#include "cli/call.h"
#include "cli/cli.h"
#include "cli/create.h"
#include "cli/output.h"

/* Only --json; false after an error was printed. */
static bool
read_json_option(const char *command, int argc, char **argv, bool *ret_json)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	int opt;

	*ret_json = false;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt != 'j') {
			(void)cli_usage(command, "see tapward(1)");
			return false;
		}
		*ret_json = true;
	}
	return true;
}

static void
print_list(const json_t *all)
{
	size_t i;
	json_t *s;

	(void)printf("%-40s %-10s %-5s %10s  %s\n", "NAME", "STATE", "KIND",
	    "OWNER", "CREATED");
	json_array_foreach(all, i, s)(void)
	    printf("%-40s %-10s %-5s %10lld  %s%s\n", output_member(s, "name"),
		output_member(s, "state"), output_member(s, "kind"),
		(long long)json_integer_value(json_object_get(s, "owner")),
		output_member(s, "created"),
		json_is_true(json_object_get(s, "learning")) ? "  learning"
							     : "");
}

/* Gathers the pages of the list into one array. */
static int
read_list(const struct cli *cli, json_t *all)
{
	char path[SANDBOX_NAME_SIZE + 32] = "/v1/sandboxes";
	bool has_more = true;

	while (has_more) {
		struct reply reply;
		const json_t *page;
		const char *last;
		int rc = call_simply(cli, "GET", path, &reply);

		if (rc != 0)
			return rc;
		page = json_object_get(reply.json, "sandboxes");
		(void)json_array_extend(all,
		    json_object_get(reply.json, "sandboxes"));
		last = output_member(json_array_get(page,
					 json_array_size(page) - 1),
		    "name");
		has_more = json_is_true(json_object_get(reply.json, "more")) &&
		    json_array_size(page) > 0;
		(void)snprintf(path, sizeof(path), "/v1/sandboxes?after=%s",
		    last);
		reply_done(&reply);
	}
	return 0;
}

int
cmd_list(const struct cli *cli, int argc, char **argv)
{
	json_t *all = json_array();
	bool json;
	int rc;

	if (!read_json_option("list", argc, argv, &json) || argc != optind) {
		json_decref(all);
		return cli_usage("list", "takes no name");
	}
	rc = read_list(cli, all);
	if (rc == 0 && json)
		output_json(all);
	else if (rc == 0)
		print_list(all);
	json_decref(all);
	return rc;
}

static void
print_count(const json_t *b, const char *name)
{
	const json_t *c = json_object_get(b, name);

	if (c != NULL)
		(void)printf(" %s %lld/%lld", name,
		    (long long)json_integer_value(json_object_get(c, "used")),
		    (long long)json_integer_value(json_object_get(c, "max")));
}

/* What is used of each limit, and what a rate has left. */
static void
print_budget(const json_t *b)
{
	static const char *const counts[] = { "requests", "upload", "download",
		"connections" };
	const json_t *rate = json_object_get(b, "rate");
	const json_t *until = json_object_get(b, "until");

	(void)printf("%-14s %s (%s:%lld)", "budget", output_member(b, "rule"),
	    output_member(b, "file"),
	    (long long)json_integer_value(json_object_get(b, "line")));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		print_count(b, counts[i]);
	if (rate != NULL)
		(void)printf(" rate %s (%lld left)", output_member(rate, "max"),
		    (long long)json_integer_value(
			json_object_get(rate, "left")));
	if (until != NULL)
		(void)printf(" until %s", json_string_value(until));
	(void)printf("\n");
}

static void
print_show(const json_t *s)
{
	const char *key;
	json_t *value;
	size_t i;
	json_t *c;

	json_object_foreach((json_t *)(uintptr_t)s, key, value)
	{
		if (json_is_string(value))
			(void)printf("%-14s %s\n", key,
			    json_string_value(value));
		else if (json_is_integer(value))
			(void)printf("%-14s %lld\n", key,
			    (long long)json_integer_value(value));
	}
	if (json_is_true(json_object_get(s, "learning")))
		(void)printf("%-14s what no rule of its policy decides is let "
			     "through by the ceiling\n",
		    "learning");
	json_array_foreach(json_object_get(s, "credentials"), i, c)(void)
	    printf("%-14s %s\n", "credential", output_member(c, "name"));
	json_array_foreach(json_object_get(s, "budgets"), i, c) print_budget(c);
	json_object_foreach(json_object_get(s, "dropped"), key, value)(void)
	    printf("%-14s %s %lld\n", "dropped", key,
		(long long)json_integer_value(value));
}

int
cmd_show(const struct cli *cli, int argc, char **argv)
{
	char path[SANDBOX_NAME_SIZE + 32];
	struct reply reply;
	const char *name;
	bool json;
	int rc;

	if (!read_json_option("show", argc, argv, &json))
		return CLI_USAGE;
	name = cli_only_name("show", argc, argv, optind);
	if (name == NULL)
		return CLI_USAGE;
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", name);
	rc = call_simply(cli, "GET", path, &reply);
	if (rc != 0)
		return rc;
	if (json)
		output_json(reply.json);
	else
		print_show(reply.json);
	reply_done(&reply);
	return 0;
}

int
cmd_rm(const struct cli *cli, int argc, char **argv)
{
	int worst = 0;

	if (argc < 2)
		return cli_usage("rm", "name the sandboxes to end");
	for (int i = 1; i < argc; i++) {
		char path[SANDBOX_NAME_SIZE + 32];
		struct reply reply;
		int rc;

		if (!sandbox_name_is_valid(argv[i]))
			return cli_usage("rm", "\"%s\" is no name", argv[i]);
		(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", argv[i]);
		rc = call_simply(cli, "DELETE", path, &reply);
		if (rc == 0)
			reply_done(&reply);
		else
			worst = rc;
	}
	return worst;
}

static int
reload(const struct cli *cli, const char *name, const char *policy, bool json)
{
	char path[SANDBOX_NAME_SIZE + 32];
	struct err err = { "" };
	struct reply reply;
	json_t *body = json_object();
	struct call q = { .method = "PUT", .path = path, .body = body };
	int rc = create_add_policy(body, policy, &err);

	if (rc != 0) {
		json_decref(body);
		return cli_fail(&err, CLI_FAILED);
	}
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/policy", name);
	rc = call_or_complain(cli, &q, &reply);
	json_decref(body);
	if (rc != 0)
		return rc;
	if (json)
		output_json(reply.json);
	else
		(void)printf("%s now follows %s (%.12s)%s\n", name,
		    output_member(reply.json, "policy"),
		    output_member(reply.json, "policy_digest"),
		    json_is_true(json_object_get(reply.json, "learning"))
			? ", and goes on learning"
			: "");
	reply_done(&reply);
	return 0;
}

/* The daemon's own files; its answer comes when all were looked at. */
static int
reload_host(const struct cli *cli)
{
	struct reply reply;
	int rc = call_simply(cli, "POST", "/v1/reload", &reply);

	if (rc != 0)
		return rc;
	(void)puts("configuration, ceiling and credentials are the new ones");
	reply_done(&reply);
	return 0;
}

int
cmd_reload(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ "host", no_argument, NULL, 'H' },
		{ NULL, 0, NULL, 0 },
	};
	const char *policy = NULL, *name;
	bool json = false, host = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'p')
			policy = optarg;
		else if (opt == 'j')
			json = true;
		else if (opt == 'H')
			host = true;
		else
			return cli_usage("reload", "see tapward(1)");
	}
	if (host && (policy != NULL || json || optind != argc))
		return cli_usage("reload", "--host stands alone");
	if (host)
		return reload_host(cli);
	name = cli_only_name("reload", argc, argv, optind);
	return name == NULL ? CLI_USAGE : reload(cli, name, policy, json);
}
