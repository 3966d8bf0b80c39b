/*
 * tapward-broker: see broker.h. Started by tapwardd with an empty root. It
 * opens no file: sources of secrets come as descriptors. Sockets it opens to
 * issuers and to resolvers.
 */
#include <string.h>
#include <sys/socket.h>

#include "base/child.h"
#include "base/log.h"
#include "credential-broker/broker.h"
#include "credential-broker/wipe.h"

#define AREA "broker"
#define INT_MASK 0xffffffffULL

static const struct confine_call calls[] = {
	{ "accept4", "a later supervisor, at our own socket" },
	{ "connect", "issuers, resolvers" },
	{ "setsockopt", "libcurl: TCP_NODELAY, keep-alive" },
	{ "getsockname", "libcurl: the two ends of a connection" },
	{ "getpeername", "libcurl: the two ends of a connection" },
	{ "poll", "libcurl: is a connection that it kept alive still?" },
};

/* No raw, packet, netlink or unix sockets: IP only. */
static const struct confine_limited limited[] = {
	{ "socket", 0, INT_MASK, AF_INET, "issuers, resolvers" },
	{ "socket", 0, INT_MASK, AF_INET6, "issuers, resolvers" },
};

static const struct confine_profile profile = {
	.program = "tapward-broker",
	.calls = calls,
	.call_count = sizeof(calls) / sizeof(calls[0]),
	.limited = limited,
	.limited_count = sizeof(limited) / sizeof(limited[0]),
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

	/* Before any of these libraries has allocated: see wipe.h. */
	rc = wipe_install();
	if (rc != 0)
		die(AREA, "start: %s", strerrorname_np(-rc));
	child_init(&child, argc, argv);
	rc = broker_new(child.base, &b);
	if (rc != 0)
		die(AREA, "start: %s", strerrorname_np(-rc));
	/* What b holds goes with the process: its event loop is gone by then.
	 */
	return child_serve(&child, &spec, b);
}
