/*
 * Finds the command and the daemon's socket.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "cli/cli.h"

#define CLI_SOCKET "/run/tapward/control.sock"

static const struct cli_command commands[] = {
	{ "check", "[--json] FILE...", "lint policy files", cmd_check },
	{ "test", "[--ceiling FILE] [--json] [FILE...]",
	    "ask a policy what its [expect] sections expect", cmd_test },
	{ "diff", "[--ceiling] [--json] OLD NEW",
	    "what a change of a policy opens and closes", cmd_diff },
	{ "explain",
	    "[--policy FILE] [--ceiling FILE] [--learn] [--config FILE]"
	    " [--method M] [--json] URL\n"
	    "           | ... --push REF [--operation "
	    "create|update|delete|force]"
	    " REPOSITORY",
	    "verdict, reason and rule for a URL or a push", cmd_explain },
	{ "preset", "list [--json] | show NAME [--json]",
	    "what is shipped to start from", cmd_preset },
	{ "create",
	    "NAME [--policy FILE] [--device tap|veth] [--netns NS]"
	    " [--owner UID] [--ca ID] [--ttl 30m] [--learn] [--json]\n"
	    "           [--image I [GUEST OPTIONS]]",
	    "make a sandbox, with a virtual machine in it or without",
	    cmd_create },
	{ "run",
	    "[--policy FILE] [--image I] [--name NAME] [--upload A[:B]]\n"
	    "           [--download B[:A]] [--git] [--patch FILE] [--keep]"
	    " [--learn[=FILE]]\n           [--json]"
	    " [GUEST OPTIONS] [COMMAND OPTIONS] -- CMD...",
	    "run a command in a virtual machine of its own", cmd_run },
	{ "exec", "NAME [COMMAND OPTIONS] -- CMD...",
	    "run a command in a sandbox's virtual machine", cmd_exec },
	{ "put", "NAME [--merge] [--git] [--user U] FROM TO",
	    "copy a file or folder into the guest", cmd_put },
	{ "get", "NAME [--merge] [--user U] FROM TO",
	    "copy a file or folder out of the guest", cmd_get },
	{ "image",
	    "build [--from host|debian[:SUITE]|oci:REF|dir:PATH]"
	    " [--kernel installed|debian|PATH]\n"
	    "           [--tag NAME] [PACKAGE...] | list [--json] | rm NAME...",
	    "what guests are started from", cmd_image },
	{ "mcp",
	    "[--policy FILE] [--image I] [--max-sandboxes N] [--disable TOOL]\n"
	    "           [--read-only --sandbox NAME] [GUEST OPTIONS]"
	    " [COMMAND OPTIONS]",
	    "offer sandboxes to an agent on this host, on stdio", cmd_mcp },
	{ "forward", "NAME [ADDRESS:]PORT:GUESTPORT",
	    "let a port of this host lead to one of the guest", cmd_forward },
	{ "verify", "[NAME] [--json] [--image I] [GUEST OPTIONS]",
	    "try to get out of a guest, and tell what came of it", cmd_verify },
	{ "stop", "NAME", "power the guest off; the sandbox goes on",
	    cmd_stop },
	{ "attach", "NAME [--fd N | --in-netns] -- CMD...",
	    "run a VMM with the sandbox's tap", cmd_attach },
	{ "list", "[--json]", "all sandboxes", cmd_list },
	{ "show", "NAME [--json]", "one sandbox", cmd_show },
	{ "rm", "NAME...", "end sandboxes", cmd_rm },
	{ "reload", "NAME [--policy FILE] [--json] | --host",
	    "give a sandbox another policy, or read the host's files again",
	    cmd_reload },
	{ "env",
	    "NAME [--proxy] [--ca PATH | --directory DIR [--at PATH]"
	    " [--git HOST]...]",
	    "shell exports for a guest, and files for its programs", cmd_env },
	{ "log",
	    "[NAME] [--follow] [--denied] [--json]"
	    " | --verify [--head HASH] [--anchor FILE] [FILE...]",
	    "what was decided", cmd_log },
	{ "report",
	    "NAME -o FILE|- [--force] [--json] [--policy FILE]..."
	    " [--file LOG]...\n           [--generation N]",
	    "a page about what a sandbox did, for whoever reviews it",
	    cmd_report },
	{ "ask",
	    "list [NAME] [--json]\n"
	    "           | allow|deny ID [--for 1h] [--remember] [--json]",
	    "answer what rules of [ask] hold", cmd_ask },
	{ "learn", "NAME", "a policy that lets through what it asked for",
	    cmd_learn },
	{ "status", "[--json]", "how the daemon is", cmd_status },
	{ "top", "[NAME] [--once] [--json] [--interval 1s] [--sort COLUMN]",
	    "what sandboxes do now", cmd_top },
	{ "doctor", "[--config FILE] [--json]",
	    "what keeps this host from working, and what mends it",
	    cmd_doctor },
	{ "completion", "bash|zsh|fish", "what a shell needs to complete these",
	    cmd_completion },
};

static const struct cli_option_group groups[] = {
	{ "GUEST OPTIONS",
	    "[--cpus N] [--memory 2G] [--disk 10G] [--max-duration 1h]\n"
	    "  [--driver qemu|firecracker|cloud-hypervisor] [--require-kvm]"
	    " [--commit ID]" },
	{ "COMMAND OPTIONS",
	    "[--timeout 10m] [--max-output 16M] [--workdir D] [--user U]\n"
	    "  [--env NAME[=VALUE]] [--tty] [--no-input]" },
};

#define GROUP_COUNT (sizeof(groups) / sizeof(*groups))

#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

const struct cli_command *
cli_commands(size_t *ret_count)
{
	*ret_count = COMMAND_COUNT;
	return commands;
}

const struct cli_option_group *
cli_option_groups(size_t *ret_count)
{
	*ret_count = GROUP_COUNT;
	return groups;
}

int
cli_usage(const char *command, const char *fmt, ...)
{
	va_list ap;

	(void)fprintf(stderr, "tapward %s: ", command);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, command) == 0)
			(void)fprintf(stderr, "usage: tapward %s %s\n", command,
			    commands[i].usage);
	return CLI_USAGE;
}

int
cli_fail(const struct err *err, int status)
{
	(void)fprintf(stderr, "tapward: %s\n", err->text);
	return status;
}

const char *
cli_only_name(const char *command, int argc, char **argv, int at)
{
	if (argc - at != 1) {
		(void)cli_usage(command, "name one sandbox");
		return NULL;
	}
	if (!sandbox_name_is_valid(argv[at])) {
		(void)cli_usage(command,
		    "that is not the name of a sandbox: lower-case letters,"
		    " digits and '-', at most %d",
		    SANDBOX_NAME_SIZE - 1);
		return NULL;
	}
	return argv[at];
}

static int
print_help(FILE *out)
{
	(void)fprintf(out,
	    "usage: tapward [--socket PATH] COMMAND ...\n\n"
	    "A ward on the tap: sandboxes whose only way out is a proxy that"
	    " denies by default.\n\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		(void)fprintf(out, "  %-8s %s\n           %s\n",
		    commands[i].name, commands[i].usage, commands[i].does);
	(void)fputc('\n', out);
	for (size_t i = 0; i < GROUP_COUNT; i++)
		(void)fprintf(out, "%s: %s\n", groups[i].name,
		    groups[i].options);
	(void)fprintf(out,
	    "\n--socket, or TAPWARD_SOCKET, names another daemon than %s.\n"
	    "See tapward(1) and tapward.ini(5).\n",
	    CLI_SOCKET);
	return out == stdout ? 0 : CLI_USAGE;
}

static const char *
default_socket(void)
{
	const char *env = getenv("TAPWARD_SOCKET");

	return env != NULL && *env != '\0' ? env : CLI_SOCKET;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct cli cli = { default_socket(), argv[0] };
	int opt;

	/* '+': options after the command are the command's. */
	while ((opt = getopt_long(argc, argv, "+hV", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			cli.socket = optarg;
			break;
		case 'h':
			return print_help(stdout);
		case 'V':
			(void)printf("tapward %s\n", TAPWARD_VERSION);
			return 0;
		default:
			return print_help(stderr);
		}
	}
	if (optind == argc)
		return print_help(stderr);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		char **rest = argv + optind;
		int count = argc - optind;

		if (strcmp(commands[i].name, rest[0]) != 0)
			continue;
		optind = 0; /* getopt(3): start anew on another vector */
		return commands[i].run(&cli, count, rest);
	}
	(void)fprintf(stderr,
	    "tapward: there is no command \"%s\"; tapward --help lists them\n",
	    argv[optind]);
	return CLI_USAGE;
}
