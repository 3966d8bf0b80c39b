/*
 * The command line `tapward`: what its commands share.
 */
#ifndef TAPWARD_CLI_CLI_H
#define TAPWARD_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Exit statuses beside 0 and those a command documents. */
enum {
	CLI_FAILED = 1,
	CLI_USAGE = 64,     /* EX_USAGE of sysexits.h */
	CLI_NO_DAEMON = 69, /* EX_UNAVAILABLE */
};

struct cli {
	const char *socket; /* control socket of the daemon */
	const char *program;
};

/* One command. argv[0] is its name. Returns the exit status. */
struct cli_command {
	const char *name;
	const char *usage; /* what follows the name */
	const char *does;  /* one line */
	int (*run)(const struct cli *cli, int argc, char **argv);
};

/* Options that several commands share, as their usage names them. */
struct cli_option_group {
	const char *name;    /* "GUEST OPTIONS" */
	const char *options; /* as in a usage */
};

/* The tables behind --help, for completion. */
const struct cli_command *cli_commands(size_t *ret_count);
const struct cli_option_group *cli_option_groups(size_t *ret_count);

int cmd_completion(const struct cli *cli, int argc, char **argv);
int cmd_run(const struct cli *cli, int argc, char **argv);
int cmd_exec(const struct cli *cli, int argc, char **argv);
int cmd_put(const struct cli *cli, int argc, char **argv);
int cmd_get(const struct cli *cli, int argc, char **argv);
int cmd_image(const struct cli *cli, int argc, char **argv);
int cmd_mcp(const struct cli *cli, int argc, char **argv);
int cmd_forward(const struct cli *cli, int argc, char **argv);
int cmd_verify(const struct cli *cli, int argc, char **argv);
int cmd_stop(const struct cli *cli, int argc, char **argv);
int cmd_create(const struct cli *cli, int argc, char **argv);
int cmd_attach(const struct cli *cli, int argc, char **argv);
int cmd_list(const struct cli *cli, int argc, char **argv);
int cmd_show(const struct cli *cli, int argc, char **argv);
int cmd_rm(const struct cli *cli, int argc, char **argv);
int cmd_reload(const struct cli *cli, int argc, char **argv);
int cmd_top(const struct cli *cli, int argc, char **argv);
int cmd_status(const struct cli *cli, int argc, char **argv);
int cmd_doctor(const struct cli *cli, int argc, char **argv);
int cmd_env(const struct cli *cli, int argc, char **argv);
int cmd_ask(const struct cli *cli, int argc, char **argv);
int cmd_learn(const struct cli *cli, int argc, char **argv);
int cmd_report(const struct cli *cli, int argc, char **argv);
int cmd_log(const struct cli *cli, int argc, char **argv);
int cmd_check(const struct cli *cli, int argc, char **argv);
int cmd_preset(const struct cli *cli, int argc, char **argv);
int cmd_test(const struct cli *cli, int argc, char **argv);
int cmd_diff(const struct cli *cli, int argc, char **argv);
int cmd_explain(const struct cli *cli, int argc, char **argv);

/* Prints "tapward COMMAND: text" and returns CLI_USAGE. */
__attribute__((format(printf, 2, 3))) int cli_usage(const char *command,
    const char *fmt, ...);
/* Prints what err holds and returns status. */
int cli_fail(const struct err *err, int status);
/*
 * The NAME of a sandbox, which must be the only argument left; NULL, with the
 * error printed, when it is not there or not one.
 */
const char *cli_only_name(const char *command, int argc, char **argv, int at);

#endif
