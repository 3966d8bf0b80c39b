/*
 * tapward-dialler: see dialler.h. Started by tapwardd with a root that holds
 * /dev/urandom and nothing else.
 */
#include <string.h>
#include <sys/socket.h>

#include "base/child.h"
#include "base/log.h"
#include "proxy/dialler.h"

#define AREA "dialler"
#define INT_MASK 0xffffffffULL

static const struct confine_call calls[] = {
	{ "connect", "origins, resolvers" },
	{ "setsockopt", "TCP_NODELAY" },
	{ "shutdown", "a connection to a resolver by TLS ends in order" },
	{ "getpeername", "which resolver an answer came from" },
	{ "accept4", "a later supervisor, at our own socket" },
};

/* No raw, packet, netlink or unix sockets: IP only. */
static const struct confine_limited limited[] = {
	{ "socket", 0, INT_MASK, AF_INET, "origins, resolvers" },
	{ "socket", 0, INT_MASK, AF_INET6, "origins, resolvers" },
};

static const struct confine_profile profile = {
	.program = "tapward-dialler",
	.calls = calls,
	.call_count = sizeof(calls) / sizeof(calls[0]),
	.limited = limited,
	.limited_count = sizeof(limited) / sizeof(limited[0]),
};

static void
fill_hello(struct message_hello *ret, void *arg)
{
	(void)arg;
	(void)strncpy(ret->role, "dialler", sizeof(ret->role) - 1);
}

/* It sends the configuration and attaches sandboxes anew by itself. */
static void
on_supervisor(struct child *c, bool adopted, void *arg)
{
	dialler_meet(arg, c->supervisor);
	log_info(AREA, "supervisor=%s", adopted ? "back" : "there");
}

/* Gates go on under the policies we have. */
static void
on_supervisor_gone(struct child *c, void *arg)
{
	(void)c;
	dialler_meet(arg, NULL);
}

static const struct child_spec spec = {
	.profile = &profile,
	.rules = dialler_rules,
	.rule_count = DIALLER_RULE_COUNT,
	.hello = fill_hello,
	.on_supervisor = on_supervisor,
	.on_supervisor_gone = on_supervisor_gone,
};

int
main(int argc, char **argv)
{
	struct child child;
	struct dialler *d;
	int rc;

	child_init(&child, argc, argv);
	rc = dialler_new(child.base, &d);
	if (rc != 0)
		die(AREA, "start: %s", strerrorname_np(-rc));
	/* What d holds goes with the process: its event loop is gone by then.
	 */
	return child_serve(&child, &spec, d);
}
