/*
 * exec, put, get, stop: the virtual machine of a sandbox that goes on.
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
#include "cli/copy.h"
#include "cli/guest.h"

static int
ask_about(const struct cli *cli, const char *name, struct reply *ret)
{
	char path[SANDBOX_NAME_SIZE + 32];

	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", name);
	return call_simply(cli, "GET", path, ret);
}

/* A session that is ready; errors are printed. */
static int
open_ready(const struct cli *cli, const char *name, struct session **ret)
{
	struct err err = { "" };
	int rc = session_open(cli, name, ret);

	if (rc != 0)
		return GUEST_STATUS_OURS;
	rc = session_await_ready(*ret, NULL, NULL, &err);
	if (rc == 0)
		return 0;
	session_close(*ret);
	return cli_fail(&err, GUEST_STATUS_OURS);
}

static int
run_in(const struct cli *cli, const char *name, const struct command_options *o,
    const json_t *about, const char *const *argv)
{
	struct guest_command c;
	struct session_end end;
	struct session *s = NULL;
	struct err err = { "" };
	int rc = command_make(o, about, argv, &c, &err);

	if (rc != 0)
		return cli_fail(&err, GUEST_STATUS_OURS);
	rc = open_ready(cli, name, &s);
	if (rc == 0) {
		rc = session_run(s, &c.c, &end, &err);
		session_close(s);
		if (rc == 0)
			rc = command_tell(&end, argv[0]);
		else
			rc = rc == -EINTR ? 130
					  : cli_fail(&err, GUEST_STATUS_OURS);
	}
	command_done(&c);
	return rc;
}

/* argv of a command is never changed, only its type is older than const. */
static const char *const *
strings(char **v)
{
	return (const char *const *)v;
}

/*
 * Reads options up to the first word that is none, which optind then names.
 * They may stand before the sandbox's name and behind it.
 */
static bool
read_options(int argc, char **argv, struct command_options *o)
{
	static const struct option options[] = {
		COMMAND_OPTIONS,
		{ NULL, 0, NULL, 0 },
	};
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+", options, NULL)) != -1)
		if (!command_take_option(o, opt, optarg))
			return false;
	return true;
}

static int
exec_in(const struct cli *cli, struct command_options *o, int argc, char **argv)
{
	struct reply about;
	const char *name;
	int rc;

	if (!read_options(argc, argv, o))
		return cli_usage("exec", "see tapward(1)");
	if (optind == argc || !sandbox_name_is_valid(argv[optind]))
		return cli_usage("exec", "name a sandbox");
	name = argv[optind];
	argc -= optind;
	argv += optind;
	if (!read_options(argc, argv, o))
		return cli_usage("exec", "see tapward(1)");
	if (optind == argc)
		return cli_usage("exec", "-- and the command are missing");
	rc = ask_about(cli, name, &about);
	if (rc != 0)
		return rc;
	rc = run_in(cli, name, o, about.json, strings(argv + optind));
	reply_done(&about);
	return rc;
}

int
cmd_exec(const struct cli *cli, int argc, char **argv)
{
	struct command_options o = { .cwd = NULL };
	int rc = exec_in(cli, &o, argc, argv);

	command_options_done(&o);
	return rc;
}

static int
copy(const struct cli *cli, const char *name, struct copy *c)
{
	struct session *s = NULL;
	int rc = copy_check(c);

	if (rc == 0)
		rc = open_ready(cli, name, &s);
	if (rc != 0)
		return rc;
	rc = c->is_upload ? copy_up(s, c) : copy_down(s, c);
	session_close(s);
	return rc;
}

static int
cmd_copy(const struct cli *cli, int argc, char **argv, bool is_upload)
{
	static const struct option options[] = {
		{ "merge", no_argument, NULL, 'm' },
		{ "user", required_argument, NULL, 'u' },
		{ "git", no_argument, NULL, 'g' },
		{ NULL, 0, NULL, 0 },
	};
	struct copy c = COPY_NONE;
	const char *verb = is_upload ? "put" : "get";
	int opt, rc;

	c.is_upload = is_upload;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'm')
			c.merge = true;
		else if (opt == 'u')
			c.user = optarg;
		else if (opt == 'g' && is_upload)
			c.is_git = true;
		else
			return cli_usage(verb, "see tapward(1)");
	}
	if (argc - optind != 3 || !sandbox_name_is_valid(argv[optind]))
		return cli_usage(verb, "name a sandbox, then from and to");
	c.from = argv[optind + 1];
	c.to = argv[optind + 2];
	rc = copy(cli, argv[optind], &c);
	copy_done(&c);
	return rc;
}

int
cmd_put(const struct cli *cli, int argc, char **argv)
{
	return cmd_copy(cli, argc, argv, true);
}

int
cmd_get(const struct cli *cli, int argc, char **argv)
{
	return cmd_copy(cli, argc, argv, false);
}

int
cmd_stop(const struct cli *cli, int argc, char **argv)
{
	char path[SANDBOX_NAME_SIZE + 32];
	const char *name = cli_only_name("stop", argc, argv, 1);
	struct reply reply;
	int rc;

	if (name == NULL)
		return CLI_USAGE;
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/vm", name);
	rc = call_simply(cli, "DELETE", path, &reply);
	if (rc == 0)
		reply_done(&reply);
	return rc;
}
