/*
 * The program tapward-api. It ends with its supervisor: a new one starts a
 * new api, and callers see a refused connection meanwhile.
 */
#include <jansson.h>
#include <string.h>

#include "base/child.h"
#include "base/log.h"
#include "base/message.h"
#include "daemon/api.h"

static const struct confine_call api_calls[] = {
	{ "accept4", "callers" },
	{ "getsockopt", "SO_PEERCRED: who calls" },
	{ "pipe2", "what the recorder streams to a caller" },
	{ "memfd_create", "a policy's text for the supervisor" },
	{ "fcntl", "seals of that memfd, O_NONBLOCK" },
};

static const struct confine_profile api_profile = {
	.program = "tapward-api",
	.calls = api_calls,
	.call_count = sizeof(api_calls) / sizeof(*api_calls),
};

struct api_main {
	struct child child;
	struct api api;
};

static int
on_listener(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct api_main *m = arg;
	int control = msg->fds[0];
	int metrics = msg->fd_count > 1 ? msg->fds[1] : -1;

	(void)c;
	for (unsigned int i = 0; i < msg->fd_count; i++)
		msg->fds[i] = -1;
	return api_listen(&m->api, control, metrics);
}

static int
on_answer(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct api_main *m = arg;

	(void)c;
	return api_on_answer(&m->api, msg->id, &msg->body, msg->fds,
	    msg->fd_count);
}

static int
on_event(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct api_main *m = arg;
	struct message_api_event event;
	int rc = message_api_event_decode(&msg->body, &event);

	(void)c;
	if (rc == 0)
		api_on_event(&m->api, &event);
	return rc;
}

static const struct chan_rule api_rules[] = {
	{ MSG_API_LISTENER, 0, 1, 2, on_listener },
	{ MSG_API_ANSWER, MESSAGE_LARGE_BYTES, 0, 1, on_answer },
	{ MSG_API_EVENT, MESSAGE_SMALL_BYTES, 0, 0, on_event },
};

static void
api_say_hello(struct message_hello *ret, void *arg)
{
	(void)arg;
	memcpy(ret->role, "api", sizeof("api"));
}

static void
api_meet_supervisor(struct child *c, bool adopted, void *arg)
{
	struct api_main *m = arg;

	(void)adopted;
	m->api.supervisor = c->supervisor;
}

static const struct child_spec api_spec = {
	.profile = &api_profile,
	.rules = api_rules,
	.rule_count = sizeof(api_rules) / sizeof(*api_rules),
	.hello = api_say_hello,
	.on_supervisor = api_meet_supervisor,
};

int
main(int argc, char **argv)
{
	struct api_main m;
	int rc;

	child_init(&m.child, argc, argv);
	/* jansson reads /dev/urandom for its hash tables: before sealing. */
	json_object_seed(0);
	api_init(&m.api, m.child.base);
	rc = child_serve(&m.child, &api_spec, &m);
	api_done(&m.api);
	return rc;
}
