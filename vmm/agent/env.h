/*
 * An environment that is put together: what is set later counts.
 */
#ifndef TAPWARD_VMM_AGENT_ENV_H
#define TAPWARD_VMM_AGENT_ENV_H

#include <stddef.h>

#include "base/bytes.h"

/* Zeroed: empty. vars ends with a NULL once there is one. */
struct env {
	char **vars; /* NAME=VALUE */
	size_t count;
	size_t size;
};

/* A copy of NAME=VALUE instead of what NAME has. 0, -EINVAL or -ENOMEM. */
int env_put(struct env *e, struct span var);
/* NAME and VALUE apart. */
int env_set(struct env *e, const char *name, const char *value);
/* Each line of text that is NAME=VALUE; others are left out. 0 or -ENOMEM. */
int env_put_lines(struct env *e, struct span text);
int env_put_all(struct env *e, const struct env *from);
/* The value of name; NULL without one. Borrows. */
const char *env_get(const struct env *e, const char *name);
void env_done(struct env *e);

#endif
