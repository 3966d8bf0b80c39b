/*
 * create, list, show, rm, reload: the life of a sandbox.
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
#include "cli/duration.h"
#include "cli/policy_file.h"
#include "conf/policy.h"

struct create_options {
	const char *name;
	const char *policy;
	const char *device;
	const char *netns;
	const char *owner;
	const char *ca;
	const char *ttl;
	bool json;
};

static void
print_json(const json_t *json)
{
	(void)json_dumpf(json, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

static const char *
member(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text == NULL ? "-" : text;
}

/* A namespace by its path, or by the name that ip-netns(8) knows it by. */
static int
open_netns(const char *name, int *ret_fd, struct err *err)
{
	char path[512];
	int fd;

	if (strchr(name, '/') != NULL)
		(void)snprintf(path, sizeof(path), "%s", name);
	else
		(void)snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return err_os(err, -errno,
		    "%s (--netns takes a path, or a name of `ip netns`)", path);
	*ret_fd = fd;
	return 0;
}

static int
add_number(json_t *body, const char *key, const char *text, struct err *err)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || v >= UINT32_MAX)
		return err_at(err, NULL, 0, "--%s takes a number", key);
	(void)json_object_set_new(body, key, json_integer((json_int_t)v));
	return 0;
}

static int
add_ttl(json_t *body, const char *text, struct err *err)
{
	uint32_t ttl_s;

	if (!duration_parse(text, &ttl_s))
		return err_at(err, NULL, 0,
		    "--ttl takes a duration: 90s, 30m, 12h, 7d");
	(void)json_object_set_new(body, "ttl", json_integer(ttl_s));
	return 0;
}

/* The policy's text and name into body. JSON wants UTF-8; the compiler ASCII.
 */
static int
add_policy(json_t *body, const char *path, struct err *err)
{
	struct policy_file file;
	json_t *text;
	int rc = policy_file_read(path, POLICY_TEXT_MAX_BYTES, &file, err);

	if (rc != 0)
		return rc;
	text = json_stringn(file.text, file.len);
	if (text == NULL || strlen(file.text) != file.len)
		rc = err_at(err, file.path, 0,
		    "holds bytes that are not text: write it in ASCII");
	else
		(void)json_object_set(body, "policy", text);
	(void)json_object_set_new(body, "policy_name",
	    json_string(policy_file_name(&file)));
	json_decref(text);
	policy_file_done(&file);
	return rc;
}

static int
create_body(const struct create_options *o, json_t *body, int *ret_fd,
    struct err *err)
{
	int rc = add_policy(body, o->policy, err);

	(void)json_object_set_new(body, "name", json_string(o->name));
	if (o->device != NULL)
		(void)json_object_set_new(body, "device",
		    json_string(o->device));
	if (o->ca != NULL)
		(void)json_object_set_new(body, "ca", json_string(o->ca));
	if (rc == 0 && o->owner != NULL)
		rc = add_number(body, "owner", o->owner, err);
	if (rc == 0 && o->ttl != NULL)
		rc = add_ttl(body, o->ttl, err);
	if (rc == 0 && o->netns != NULL)
		rc = open_netns(o->netns, ret_fd, err);
	return rc;
}

static void
print_created(const json_t *s)
{
	(void)printf("%s is ready: %s in namespace %s\n"
		     "  guest  %s  mac %s\n"
		     "  gateway and DNS %s, proxy %s\n"
		     "  CA     %s\n"
		     "next: tapward env %s; tapward attach %s -- VMM...\n",
	    member(s, "name"), member(s, "device"), member(s, "netns"),
	    member(s, "guest_ip"), member(s, "guest_mac"), member(s, "gateway"),
	    member(s, "proxy"), member(s, "ca"), member(s, "name"),
	    member(s, "name"));
}

static int
create(const struct cli *cli, const struct create_options *o)
{
	AUTO_CLOSE int netns = -1;
	struct err err = { "" };
	struct reply reply;
	json_t *body = json_object();
	int rc = create_body(o, body, &netns, &err);

	if (rc != 0) {
		json_decref(body);
		return cli_fail(&err, CLI_FAILED);
	}
	rc =
	    call_or_complain(cli, "POST", "/v1/sandboxes", body, netns, &reply);
	json_decref(body);
	if (rc != 0)
		return rc;
	if (o->json)
		print_json(reply.json);
	else
		print_created(reply.json);
	reply_done(&reply);
	return 0;
}

int
cmd_create(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "device", required_argument, NULL, 'd' },
		{ "netns", required_argument, NULL, 'n' },
		{ "owner", required_argument, NULL, 'o' },
		{ "ca", required_argument, NULL, 'c' },
		{ "ttl", required_argument, NULL, 't' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	struct create_options o = { .name = NULL };
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'p':
			o.policy = optarg;
			break;
		case 'd':
			o.device = optarg;
			break;
		case 'n':
			o.netns = optarg;
			break;
		case 'o':
			o.owner = optarg;
			break;
		case 'c':
			o.ca = optarg;
			break;
		case 't':
			o.ttl = optarg;
			break;
		case 'j':
			o.json = true;
			break;
		default:
			return cli_usage("create", "see tapward(1)");
		}
	}
	o.name = cli_only_name("create", argc, argv, optind);
	return o.name == NULL ? CLI_USAGE : create(cli, &o);
}

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
	    printf("%-40s %-10s %-5s %10lld  %s\n", member(s, "name"),
		member(s, "state"), member(s, "kind"),
		(long long)json_integer_value(json_object_get(s, "owner")),
		member(s, "created"));
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
		int rc = call_or_complain(cli, "GET", path, NULL, -1, &reply);

		if (rc != 0)
			return rc;
		page = json_object_get(reply.json, "sandboxes");
		(void)json_array_extend(all,
		    json_object_get(reply.json, "sandboxes"));
		last = member(json_array_get(page, json_array_size(page) - 1),
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
		print_json(all);
	else if (rc == 0)
		print_list(all);
	json_decref(all);
	return rc;
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
	json_array_foreach(json_object_get(s, "credentials"), i, c)(void)
	    printf("%-14s %s\n", "credential", member(c, "name"));
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
	rc = call_or_complain(cli, "GET", path, NULL, -1, &reply);
	if (rc != 0)
		return rc;
	if (json)
		print_json(reply.json);
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
		rc = call_or_complain(cli, "DELETE", path, NULL, -1, &reply);
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
	int rc = add_policy(body, policy, &err);

	if (rc != 0) {
		json_decref(body);
		return cli_fail(&err, CLI_FAILED);
	}
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/policy", name);
	rc = call_or_complain(cli, "PUT", path, body, -1, &reply);
	json_decref(body);
	if (rc != 0)
		return rc;
	if (json)
		print_json(reply.json);
	else
		(void)printf("%s now follows %s (%.12s)\n", name,
		    member(reply.json, "policy"),
		    member(reply.json, "policy_digest"));
	reply_done(&reply);
	return 0;
}

int
cmd_reload(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	const char *policy = NULL, *name;
	bool json = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'p')
			policy = optarg;
		else if (opt == 'j')
			json = true;
		else
			return cli_usage("reload", "see tapward(1)");
	}
	name = cli_only_name("reload", argc, argv, optind);
	return name == NULL ? CLI_USAGE : reload(cli, name, policy, json);
}
