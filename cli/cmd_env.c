/*
 * env: what a guest's shell wants to know, and files for its programs.
 */
#include <errno.h>
#include <getopt.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/names.h"
#include "base/paths.h"
#include "cli/call.h"
#include "cli/cli.h"
#include "cli/guest_env.h"
#include "cli/output.h"
#include "wire/host.h"

#define PROGRAM "tapward-trust"
/* Beside those that the script knows. */
#define GIT_HOSTS_MAX 16

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

struct env_options {
	bool proxy;
	const char *ca;        /* where the guest has it; NULL: as the host */
	const char *directory; /* to make for the guest; NULL: none */
	const char *at;        /* where the guest has that */
	const char *git[GIT_HOSTS_MAX];
	size_t git_count;
};

/*
 * The files that a guest's programs read, by the script that an image without
 * us is changed by, too: it knows what each program wants.
 */
static int
make_kit(const struct env_options *o, const char *ca, struct err *err)
{
	char program[4096];
	const char *argv[6 + GIT_HOSTS_MAX] = { program, "kit", ca,
		o->directory, o->at };
	union {
		const char **ours;
		char *const *spawns;
	} args = { .ours = argv };
	pid_t pid = -1;
	int status, rc = paths_libexec(PROGRAM, program, sizeof(program));

	for (size_t i = 0; i < o->git_count; i++)
		argv[5 + i] = o->git[i];
	if (rc == 0)
		rc = -posix_spawn(&pid, program, NULL, NULL, args.spawns,
		    environ);
	if (rc != 0)
		return err_os(err, rc, PROGRAM);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return err_os(err, -errno, PROGRAM);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0
	    ? 0
	    : err_at(err, NULL, 0, "%s was not made", o->directory);
}

static int
print_all(const struct env_options *o, const json_t *s)
{
	const char *host_ca = output_member(s, "ca");
	const char *ca = o->ca == NULL ? host_ca : o->ca;
	struct err err = { "" };

	if (o->directory == NULL) {
		guest_env_each(s, ca, ca, o->proxy, env_print, NULL);
		return 0;
	}
	if (make_kit(o, host_ca, &err) != 0)
		return cli_fail(&err, CLI_FAILED);
	guest_env_each(s, NULL, NULL, o->proxy, env_print, NULL);
	(void)printf(". '%s/env.sh'\n", o->at);
	return 0;
}

/* A path that a shell and every program reads in one way, from the root on. */
static bool
is_plain_path(const char *path)
{
	for (const char *p = path; *p != '\0'; p++)
		if (!ascii_is_alnum((uint8_t)*p) && strchr("/._+-", *p) == NULL)
			return false;
	return *path == '/';
}

static bool
take_option(int opt, struct env_options *o)
{
	switch (opt) {
	case 'p':
		o->proxy = true;
		return true;
	case 'c':
		o->ca = optarg;
		return true;
	case 'd':
		o->directory = optarg;
		return true;
	case 'a':
		o->at = optarg;
		return true;
	case 'g':
		if (o->git_count == GIT_HOSTS_MAX)
			return false;
		o->git[o->git_count++] = optarg;
		return true;
	default:
		return false;
	}
}

/* 0, or CLI_USAGE with the error printed. */
static int
check_options(struct env_options *o)
{
	char host[HOST_SIZE];

	if (o->directory == NULL)
		return o->at == NULL && o->git_count == 0
		    ? 0
		    : cli_usage("env", "--at and --git go with --directory");
	if (o->ca != NULL)
		return cli_usage("env", "--ca goes without --directory");
	o->at = o->at == NULL ? o->directory : o->at;
	if (!is_plain_path(o->at))
		return cli_usage("env",
		    "name the directory from the root on, in letters, digits "
		    "and ./_+-, or where the guest has it with --at");
	for (size_t i = 0; i < o->git_count; i++)
		if (host_parse(span_of(o->git[i]), host) != HOST_NAME)
			return cli_usage("env", "\"%s\" is no host name",
			    o->git[i]);
	return 0;
}

int
cmd_env(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "proxy", no_argument, NULL, 'p' },
		{ "ca", required_argument, NULL, 'c' },
		{ "directory", required_argument, NULL, 'd' },
		{ "at", required_argument, NULL, 'a' },
		{ "git", required_argument, NULL, 'g' },
		{ NULL, 0, NULL, 0 },
	};
	char path[SANDBOX_NAME_SIZE + 32];
	struct env_options o = { .proxy = false };
	const char *name;
	struct reply reply;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!take_option(opt, &o))
			return cli_usage("env", "see tapward(1)");
	name = cli_only_name("env", argc, argv, optind);
	if (name == NULL || check_options(&o) != 0)
		return CLI_USAGE;
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", name);
	rc = call_simply(cli, "GET", path, &reply);
	if (rc != 0)
		return rc;
	rc = print_all(&o, reply.json);
	reply_done(&reply);
	return rc;
}
