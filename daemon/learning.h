/*
 * Sandboxes that learn (policy_pair_learns()): who may have one, and that it
 * ends when the host no longer permits it.
 */
#ifndef TAPWARD_DAEMON_LEARNING_H
#define TAPWARD_DAEMON_LEARNING_H

#include <stdbool.h>
#include <stdint.h>

struct sandbox;
struct supervisor;

/*
 * May a sandbox of that name and owner learn? NULL, or what stands against it
 * and who can mend that.
 */
const char *learning_fault(const struct supervisor *sv, const char *name,
    uint32_t owner_uid);
bool learning_may(const struct sandbox *s);
/*
 * s learns and no longer may: then its policy is what counts, from now on.
 * Whoever judges is still to be told (reload_push()). False: it could not be
 * done, and the sandbox has to end.
 */
bool learning_settle(struct sandbox *s);

#endif
