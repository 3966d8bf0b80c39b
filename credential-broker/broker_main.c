/*
 * tapward-broker: see broker.h. Started by tapwardd with an empty root. It
 * opens nothing: sources of secrets come as descriptors.
 */
#include <string.h>

#include "base/child.h"
#include "base/log.h"
#include "credential-broker/broker.h"

#define AREA "broker"

static const struct confine_call calls[] = {
	{ "accept4", "a later supervisor, at our own socket" },
};

static const struct confine_profile profile = {
	.program = "tapward-broker",
	.calls = calls,
	.call_count = sizeof(calls) / sizeof(calls[0]),
};

static void
fill_hello(struct message_hello *ret, void *arg)
{
	(void)arg;
	(void)strncpy(ret->role, "broker", sizeof(ret->role) - 1);
}

/* It sends the credentials and attaches sandboxes anew by itself. */
static void
on_supervisor(struct child *c, bool adopted, void *arg)
{
	struct broker *b = arg;

	(void)c;
	broker_forget_next(b);
	log_info(AREA, "supervisor=%s", adopted ? "back" : "there");
}

/* Gates go on under the policies and credentials we have. */
static void
on_supervisor_gone(struct child *c, void *arg)
{
	(void)c;
	broker_forget_next(arg);
}

static const struct child_spec spec = {
	.profile = &profile,
	.rules = broker_rules,
	.rule_count = BROKER_RULE_COUNT,
	.hello = fill_hello,
	.on_supervisor = on_supervisor,
	.on_supervisor_gone = on_supervisor_gone,
};

int
main(int argc, char **argv)
{
	struct child child;
	struct broker *b;
	int rc;

	child_init(&child, argc, argv);
	rc = broker_new(child.base, &b);
	if (rc != 0)
		die(AREA, "start: %s", strerrorname_np(-rc));
	/* What b holds goes with the process: its event loop is gone by then.
	 */
	return child_serve(&child, &spec, b);
}
