/*
 * attach: runs a VMM as the caller, with the tap of a sandbox on a descriptor
 * of its choice, or inside the sandbox's namespace.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/names.h"
#include "cli/call.h"
#include "cli/cli.h"

#define ATTACH_FD 3
#define ATTACH_FD_MAX 1023

/* Asks for the tap or the namespace; -1 after an error was printed. */
static int
attach_get_fd(const struct cli *cli, const char *name, bool in_netns)
{
	char path[SANDBOX_NAME_SIZE + 32];
	struct reply reply;
	json_t *body = json_pack("{s:b}", "netns", (int)in_netns);
	const struct call q = { .method = "POST", .path = path, .body = body };
	int fd = -1;

	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/attach", name);
	if (call_or_complain(cli, &q, &reply) == 0) {
		fd = steal_fd(&reply.fd);
		if (fd == -1)
			(void)fprintf(stderr,
			    "tapward: tapwardd sent no descriptor\n");
		reply_done(&reply);
	}
	json_decref(body);
	return fd;
}

/* Leaves the tap on descriptor want, without close-on-exec. */
static int
attach_place_fd(int fd, int want)
{
	if (fd == want)
		return fd_set_cloexec(fd, false);
	if (dup2(fd, want) == -1)
		return -errno;
	(void)close(fd);
	return 0;
}

static int
attach(const struct cli *cli, const char *name, int want, bool in_netns,
    char **argv)
{
	struct err err = { "" };
	int fd = attach_get_fd(cli, name, in_netns);
	int rc;

	if (fd == -1)
		return CLI_FAILED;
	if (in_netns) {
		rc = setns(fd, CLONE_NEWNET) == -1 ? -errno : 0;
		(void)close(fd);
	} else {
		rc = attach_place_fd(fd, want);
	}
	if (rc == -EPERM)
		(void)err_at(&err, NULL, 0,
		    "only root may enter a namespace: use --fd, or run it"
		    " with sudo");
	else if (rc != 0)
		(void)err_os(&err, rc, "attach");
	if (rc != 0)
		return cli_fail(&err, CLI_FAILED);
	(void)execvp(argv[0], argv);
	(void)err_os(&err, -errno, "%s", argv[0]);
	return cli_fail(&err, 127);
}

struct attach_options {
	long fd;
	bool in_netns;
};

/*
 * Reads options up to the first word that is none, which optind then names.
 * They may stand before the sandbox's name and behind it.
 */
static bool
attach_read_options(int argc, char **argv, struct attach_options *o)
{
	static const struct option options[] = {
		{ "fd", required_argument, NULL, 'f' },
		{ "in-netns", no_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};
	char *end;
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (opt == 'n') {
			o->in_netns = true;
			continue;
		}
		if (opt != 'f')
			return false;
		o->fd = strtol(optarg, &end, 10);
		if (*end != '\0' || o->fd < 3 || o->fd > ATTACH_FD_MAX)
			return false;
	}
	return true;
}

int
cmd_attach(const struct cli *cli, int argc, char **argv)
{
	struct attach_options o = { .fd = ATTACH_FD };
	const char *name;

	if (!attach_read_options(argc, argv, &o))
		return cli_usage("attach", "--fd takes a number from 3 to %d",
		    ATTACH_FD_MAX);
	if (optind == argc || !sandbox_name_is_valid(argv[optind]))
		return cli_usage("attach", "name a sandbox");
	name = argv[optind];
	argc -= optind;
	argv += optind;
	if (!attach_read_options(argc, argv, &o))
		return cli_usage("attach", "--fd takes a number from 3 to %d",
		    ATTACH_FD_MAX);
	if (optind == argc)
		return cli_usage("attach", "-- and the command are missing");
	return attach(cli, name, (int)o.fd, o.in_netns, argv + optind);
}
