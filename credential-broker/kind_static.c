/*
 * `kind = static`: the value is what a file holds, read once when the
 * configuration is taken over. file:, credential: (systemd) and env: all come
 * as a descriptor that the supervisor opened.
 */
#include "credential-broker/credential.h"
#include "credential-broker/kind.h"

static int
static_load(struct credential *c, struct err *err)
{
	const char *fault = kind_value_fault(secret_span(&c->value));

	return fault == NULL
	    ? 0
	    : err_at(err, NULL, 0, "%s %s", c->definition.source, fault);
}

static const struct secret *
static_held(const struct credential *c)
{
	return &c->value;
}

const struct kind kind_static = {
	.name = "static",
	.needs_value = true,
	.load = static_load,
	.held = static_held,
};
