/*
 * What `run`, `exec`, `put` and `get` share: options of a command in a guest,
 * its environment, and how its end is told.
 */
#ifndef TAPWARD_CLI_GUEST_H
#define TAPWARD_CLI_GUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"
#include "cli/session.h"

/* When tapward itself failed, as timeout(1) and docker(1) have it. */
#define GUEST_STATUS_OURS 125

/* Where the agent puts them (vmm/agent/boot_files.c). */
#define GUEST_CA_BUNDLE "/etc/ssl/certs/ca-certificates.crt"
#define GUEST_CA "/usr/local/share/ca-certificates/tapward.crt"

struct command_options {
	const char *cwd, *user;
	const char *timeout;    /* NULL: none */
	const char *max_output; /* NULL: no limit */
	const char **env;       /* NAME=VALUE, NULL-terminated; owned */
	size_t env_count;
	bool has_tty, no_input;
};

enum command_option {
	COMMAND_WORKDIR = 300,
	COMMAND_USER,
	COMMAND_TIMEOUT,
	COMMAND_MAX_OUTPUT,
	COMMAND_ENV,
	COMMAND_TTY,
	COMMAND_NO_INPUT,
};
#define COMMAND_OPTIONS                                                        \
	{ "workdir", required_argument, NULL, COMMAND_WORKDIR },               \
	    { "user", required_argument, NULL, COMMAND_USER },                 \
	    { "timeout", required_argument, NULL, COMMAND_TIMEOUT },           \
	    { "max-output", required_argument, NULL, COMMAND_MAX_OUTPUT },     \
	    { "env", required_argument, NULL, COMMAND_ENV },                   \
	    { "tty", no_argument, NULL, COMMAND_TTY },                         \
	{                                                                      \
		"no-input", no_argument, NULL, COMMAND_NO_INPUT                \
	}

/* False: opt is none of them. */
bool command_take_option(struct command_options *o, int opt, const char *arg);
void command_options_done(struct command_options *o);
/* A command, and what it borrows from. */
struct guest_command {
	struct session_command c;
	char **env; /* owned */
	char *cwd;  /* owned */
};

/*
 * What s, what the daemon says of the sandbox, its image, if the caller has
 * it, and o make of a command; argv is borrowed. 0 or -EINVAL.
 */
int command_make(const struct command_options *o, const json_t *s,
    const char *const *argv, struct guest_command *ret, struct err *err);
/* A zeroed one is fine. */
void command_done(struct guest_command *c);

/* Why it ended, where its status does not say it; or NULL. Borrows from end. */
const char *command_reason(const struct session_end *end);
/*
 * Tells on stderr why a command ended, where its status does not. Returns the
 * status to exit with.
 */
int command_tell(const struct session_end *end, const char *what);

#endif
