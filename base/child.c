/*
 * The frame of every long-lived child: descriptors, confinement, loop, and the
 * way back for a later supervisor. Until confine_enter() has returned this is
 * root, so nothing but the arguments is read before it.
 */
#include "base/child.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/log.h"
#include "base/manager.h"
#include "base/message.h"

static uint32_t
child_parse_id(const char *text)
{
	uint64_t v = 0;

	for (const char *p = text; *p != '\0'; p++) {
		if (!ascii_is_digit((uint8_t)*p))
			die("child", "bad id in arguments");
		v = v * 10 + (uint64_t)(*p - '0');
		if (v >= UINT32_MAX)
			die("child", "id out of range in arguments");
	}
	if (v == 0)
		die("child", "id 0 in arguments");
	return (uint32_t)v;
}

static const char *
child_program_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* It is confined: what comes next may be said and read. */
static void
child_begin(struct child *c)
{
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		die("child", "SIGPIPE: %s", strerror(errno));
	*c = (struct child){ .base = event_base_new(),
		.peer_fd = CHILD_FD_PEER };
	if (c->base == NULL)
		die("child", "no event loop");
}

static void
child_init_in(struct child *c, int root_fd, int argc, char **argv)
{
	if (argc != 3)
		die("child", "started by hand; tapwardd starts this program");
	log_init(child_program_name(argv[0]), log_level_from_env());
	confine_enter(root_fd, child_parse_id(argv[1]),
	    child_parse_id(argv[2]));
	child_begin(c);
}

void
child_init(struct child *c, int argc, char **argv)
{
	child_init_in(c, CHILD_FD_ROOT, argc, argv);
}

void
child_init_jailed(struct child *c, int argc, char **argv)
{
	/* Process 1 of its namespace: whoever starts it by hand is not. */
	if (getpid() != 1)
		die("child", "started by hand; tapwardd starts this program");
	child_init_in(c, -1, argc, argv);
	/* It was started by a descriptor, whose number it bears as a name. */
	(void)prctl(PR_SET_NAME, child_program_name(argv[0]));
}

bool
child_is_unit(int argc, char **argv)
{
	return argc == 2 && strcmp(argv[1], "--unit") == 0;
}

void
child_init_unit(struct child *c, char **argv)
{
	const char *folder = getenv("RUNTIME_DIRECTORY");
	char path[128];
	int rc;

	log_init(child_program_name(argv[0]), log_level_from_env());
	confine_enter_given();
	child_begin(c);
	c->is_unit = true;
	if (folder == NULL || strlen(folder) >= sizeof(path) - 8)
		die("child",
		    "--unit: no RUNTIME_DIRECTORY; a service manager "
		    "starts this");
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	rc = chan_listen(path, &c->peer_fd);
	if (rc != 0)
		die("child", "%s: %s", path, strerror(-rc));
}

static void
on_supervisor_closed(struct chan *chan, void *arg)
{
	struct child *c = arg;

	chan_free(chan);
	c->supervisor = NULL;
	if (c->spec->on_supervisor_gone == NULL) {
		child_stop(c);
		return;
	}
	log_info("child", "supervisor=gone");
	c->spec->on_supervisor_gone(c, c->arg);
}

static int
child_say_hello(struct child *c)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct message_hello hello = { .protocol = MESSAGE_PROTOCOL };

	c->spec->hello(&hello, c->arg);
	message_hello_encode(&w, &hello);
	return chan_send(c->supervisor, MSG_HELLO, 0, &w, NULL, 0);
}

/* Takes fd. */
static void
child_meet_supervisor(struct child *c, int fd, bool adopted)
{
	int rc;

	c->supervisor = chan_new(c->base, fd, c->rules, c->spec->rule_count,
	    on_supervisor_closed, c);
	if (c->supervisor == NULL) {
		log_err("child", "no memory for the supervisor's channel");
		return;
	}
	rc = child_say_hello(c);
	if (rc != 0) {
		log_warn("child", "hello: %s", strerror(-rc));
		return;
	}
	c->spec->on_supervisor(c, adopted, c->arg);
}

/*
 * A channel gives one argument to all its callbacks; this hands a message on
 * with the child's own.
 */
static int
on_message(struct chan *chan, struct chan_msg *msg, void *arg)
{
	struct child *c = arg;

	for (size_t i = 0; i < c->spec->rule_count; i++)
		if (c->spec->rules[i].type == msg->type)
			return c->spec->rules[i].handler(chan, msg, c->arg);
	return -EPROTO;
}

static void
child_make_rules(struct child *c)
{
	size_t count = c->spec->rule_count;

	c->rules = calloc(count == 0 ? 1 : count, sizeof(c->rules[0]));
	if (c->rules == NULL)
		die("child", "no memory");
	for (size_t i = 0; i < count; i++) {
		c->rules[i] = c->spec->rules[i];
		c->rules[i].handler = on_message;
	}
}

/* Only root may take over: whoever else reaches the socket is turned away. */
static bool
child_peer_is_root(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	    cred.uid == 0;
}

static void
on_peer(evutil_socket_t listener, short what, void *arg)
{
	struct child *c = arg;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (fd == -1)
		return;
	if (!child_peer_is_root(fd)) {
		log_warn("child", "peer=refused");
		(void)close(fd);
		return;
	}
	/* The one before may have died without our having seen it yet. */
	if (c->supervisor != NULL)
		chan_free(c->supervisor);
	c->supervisor = NULL;
	child_meet_supervisor(c, fd, true);
}

/* Without a socket there descriptor 5 is /dev/null. */
static void
child_listen(struct child *c)
{
	struct stat st;

	if (fstat(c->peer_fd, &st) == -1 || !S_ISSOCK(st.st_mode))
		return;
	/*
	 * Once more than the supervisor did: SO_PEERCRED at the other end of
	 * a connection shows who called listen(), and now that is us.
	 */
	if (listen(c->peer_fd, SOMAXCONN) == -1 ||
	    evutil_make_socket_nonblocking(c->peer_fd) == -1)
		die("child", "peer socket: %s", strerror(errno));
	c->peer_event =
	    event_new(c->base, c->peer_fd, EV_READ | EV_PERSIST, on_peer, c);
	if (c->peer_event == NULL || event_add(c->peer_event, NULL) == -1)
		die("child", "peer socket: no memory");
}

int
child_serve(struct child *c, const struct child_spec *spec, void *arg)
{
	c->spec = spec;
	c->arg = arg;
	child_make_rules(c);
	child_listen(c);
	/* Before the seal: what says it wants a socket. */
	if (c->is_unit)
		manager_tell("READY=1");
	confine_seal(spec->profile);
	if (!c->is_unit) {
		child_meet_supervisor(c, CHILD_FD_SUPERVISOR, false);
		if (c->supervisor == NULL)
			return EXIT_FAILURE;
	}
	if (event_base_dispatch(c->base) == -1)
		return EXIT_FAILURE;
	if (c->supervisor != NULL)
		chan_free(c->supervisor);
	if (c->peer_event != NULL)
		event_free(c->peer_event);
	free(c->rules);
	event_base_free(c->base);
	return EXIT_SUCCESS;
}

void
child_stop(struct child *c)
{
	(void)event_base_loopbreak(c->base);
}
