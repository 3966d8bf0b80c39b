/*
 * The environment that clients in a guest want: which CA to trust, the proxy,
 * placeholders of credentials. For `env`, which prints it, and for commands
 * that are run in a guest.
 */
#ifndef TAPWARD_CLI_GUEST_ENV_H
#define TAPWARD_CLI_GUEST_ENV_H

#include <jansson.h>
#include <stdbool.h>

/* Called for each variable, in a fixed order. */
typedef void guest_env_take(const char *variable, const char *value, void *arg);

/*
 * s is what the daemon says of the sandbox. bundle: a file of all roots that a
 * client trusts, ours among them; ca: a file with ours, for those that add it
 * to their own; bundle NULL: neither is told. proxy: also the variables that
 * name the explicit proxy.
 */
void guest_env_each(const json_t *s, const char *bundle, const char *ca,
    bool proxy, guest_env_take *take, void *arg);

#endif
