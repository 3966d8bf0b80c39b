/*
 * env: what a guest's shell wants to know.
 */
#include <getopt.h>
#include <stdio.h>

#include "base/names.h"
#include "cli/call.h"
#include "cli/cli.h"
#include "cli/guest_env.h"
#include "cli/output.h"

/* One export; the value between single quotes, as sh(1) reads it. */
static void
env_print(const char *variable, const char *value, void *arg)
{
	(void)arg;
	(void)printf("export %s='", variable);
	for (const char *p = value; *p != '\0'; p++) {
		if (*p == '\'')
			(void)fputs("'\\''", stdout);
		else
			(void)putchar(*p);
	}
	(void)puts("'");
}

int
cmd_env(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "proxy", no_argument, NULL, 'p' },
		{ "ca", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	char path[SANDBOX_NAME_SIZE + 32];
	const char *ca = NULL, *name;
	bool proxy = false;
	struct reply reply;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'p')
			proxy = true;
		else if (opt == 'c')
			ca = optarg;
		else
			return cli_usage("env", "see tapward(1)");
	}
	name = cli_only_name("env", argc, argv, optind);
	if (name == NULL)
		return CLI_USAGE;
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", name);
	rc = call_simply(cli, "GET", path, &reply);
	if (rc != 0)
		return rc;
	if (ca == NULL)
		ca = output_member(reply.json, "ca");
	guest_env_each(reply.json, ca, ca, proxy, env_print, NULL);
	reply_done(&reply);
	return 0;
}
