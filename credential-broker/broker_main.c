/*
 * tapward-broker: see broker.h. Started by tapwardd with an empty root, or by
 * systemd as a unit of its own (packaging/systemd/tapward-broker.service.in).
 * It opens no file once it is sealed: sources of secrets come as descriptors,
 * or from the unit's own credentials. Sockets it opens to issuers and to
 * resolvers.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/log.h"
#include "credential-broker/broker.h"
#include "credential-broker/given.h"
#include "credential-broker/wipe.h"

#define AREA "broker"
#define INT_MASK 0xffffffffULL

static const struct confine_call calls[] = {
	{ "accept4", "a later supervisor, at our own socket" },
	{ "connect", "issuers, resolvers" },
	{ "setsockopt", "libcurl: TCP_NODELAY, keep-alive" },
	{ "shutdown", "a connection to a resolver by TLS ends in order" },
	{ "getsockname", "libcurl: the two ends of a connection" },
	{ "getpeername", "libcurl: its connection; which resolver answered" },
	{ "poll", "libcurl: is a connection that it kept alive still?" },
	{ "pipe2", "helper programs" },
	{ "fdatasync", "the journal" },
	{ "ftruncate", "the journal" },
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

	broker_meet(b, c->supervisor);
	log_info(AREA, "supervisor=%s", adopted ? "back" : "there");
}

/* Gates go on under the policies and credentials we have. */
static void
on_supervisor_gone(struct child *c, void *arg)
{
	(void)c;
	broker_meet(arg, NULL);
}

static const struct child_spec spec = {
	.profile = &profile,
	.rules = broker_rules,
	.rule_count = BROKER_RULE_COUNT,
	.hello = fill_hello,
	.on_supervisor = on_supervisor,
	.on_supervisor_gone = on_supervisor_gone,
};

/* How long issuers may take to be given back what is theirs. */
#define LEAVE_MS 8000
#define LEAVE_LOOK_MS 20L

struct leaving {
	struct child *child;
	struct broker *broker;
	struct event *look;
	uint64_t until_ms;
};

static void
on_look(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval pause = { 0, LEAVE_LOOK_MS * 1000 };
	struct leaving *l = arg;

	(void)fd;
	(void)what;
	if (broker_has_left(l->broker) || clock_mono_ms() >= l->until_ms)
		child_stop(l->child);
	else
		(void)evtimer_add(l->look, &pause);
}

static void
on_term(evutil_socket_t signo, short what, void *arg)
{
	struct leaving *l = arg;

	(void)signo;
	(void)what;
	if (l->until_ms != 0)
		return;
	l->until_ms = clock_mono_ms() + LEAVE_MS;
	log_info(AREA, "leaving: what was minted is given back");
	broker_leave(l->broker);
	event_active(l->look, EV_TIMEOUT, 0);
}

static void
begin(struct child *child, int argc, char **argv, struct broker **ret)
{
	const bool is_unit = child_is_unit(argc, argv);
	int rc;

	if (is_unit)
		child_init_unit(child, argv);
	else
		child_init(child, argc, argv);
	rc = broker_new(child->base, ret);
	if (rc == 0 && is_unit)
		rc = given_new(getenv("CREDENTIALS_DIRECTORY"), &(*ret)->given);
	if (rc != 0)
		die(AREA, "start: %s", strerrorname_np(-rc));
}

int
main(int argc, char **argv)
{
	struct child child;
	struct leaving leaving = { .child = &child };
	struct event *term;
	struct broker *b;
	int rc;

	/* Before any of these libraries has allocated: see wipe.h. */
	rc = wipe_install();
	if (rc != 0)
		die(AREA, "start: %s", strerrorname_np(-rc));
	begin(&child, argc, argv, &b);
	leaving.look = evtimer_new(child.base, on_look, &leaving);
	term = evsignal_new(child.base, SIGTERM, on_term, &leaving);
	if (leaving.look == NULL || term == NULL || event_add(term, NULL) == -1)
		die(AREA, "start: no memory for a signal");
	leaving.broker = b;
	/* What b holds goes with the process: its event loop is gone by then.
	 */
	return child_serve(&child, &spec, b);
}
