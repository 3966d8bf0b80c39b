/*
 * Making a sandbox, and starting a virtual machine in it: what `create` and
 * `run` share.
 */
#ifndef TAPWARD_CLI_CREATE_H
#define TAPWARD_CLI_CREATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"
#include "cli/call.h"
#include "cli/cli.h"

/* As they were given; NULL: not given. */
struct create_options {
	const char *name;
	const char *policy;
	const char *device;
	const char *netns;
	const char *owner;
	const char *ca;
	const char *ttl;
	bool learns;
	int hold_fd; /* -1; or what ends it when its other end is closed */
};

/* The policy's text and name into body. 0, -ENOENT or -EINVAL. */
int create_add_policy(json_t *body, const char *path, struct err *err);
/* Errors are printed. 0, or the exit status. */
int create_sandbox(const struct cli *cli, const struct create_options *o,
    struct reply *ret);

/* Ends it, without a word: for one that the caller made for this command. */
void remove_sandbox(const struct cli *cli, const char *name);

/* Of a virtual machine. */
struct guest_options {
	const char *image; /* NULL: none is wanted; for `run` the default */
	const char *driver, *cpus, *memory, *disk, *max_duration;
	const char *commit; /* of what runs in it, for the log; NULL: none */
	bool needs_kvm;
};

/* For getopt_long(3), and the cases of its results. */
enum guest_option {
	GUEST_IMAGE = 256,
	GUEST_DRIVER,
	GUEST_CPUS,
	GUEST_MEMORY,
	GUEST_DISK,
	GUEST_MAX_DURATION,
	GUEST_KVM,
	GUEST_COMMIT,
};
#define GUEST_OPTIONS                                                          \
	{ "image", required_argument, NULL, GUEST_IMAGE },                     \
	    { "driver", required_argument, NULL, GUEST_DRIVER },               \
	    { "cpus", required_argument, NULL, GUEST_CPUS },                   \
	    { "memory", required_argument, NULL, GUEST_MEMORY },               \
	    { "disk", required_argument, NULL, GUEST_DISK },                   \
	    { "max-duration", required_argument, NULL, GUEST_MAX_DURATION },   \
	    { "commit", required_argument, NULL, GUEST_COMMIT },               \
	{                                                                      \
		"require-kvm", no_argument, NULL, GUEST_KVM                    \
	}

/* False: opt is none of them. */
bool guest_take_option(struct guest_options *g, int opt, const char *arg);
/* Any of them that makes no sense without an image was given. */
bool guest_has_options(const struct guest_options *g);

/*
 * Starts it in the sandbox; returns when its monitor runs. Errors are printed.
 * *ret_about, what the daemon says of the sandbox now, is the caller's; NULL:
 * not wanted. 0, or the exit status.
 */
int guest_start(const struct cli *cli, const char *name,
    const struct guest_options *g, json_t **ret_about);

#endif
