/* The control socket and who serves it. */
#include "daemon/link_api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "daemon/api_requests.h"
#include "daemon/jobs.h"
#include "daemon/notify.h"
#include "daemon/supervisor.h"

static struct service *
api_of(struct supervisor *sv)
{
	return &sv->services[SERVICE_API];
}

/* 0660 for the group from the first moment: bind() takes the umask. */
static int
listen_control(struct supervisor *sv, const char *path, int *ret_fd)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd == -1)
		return -errno;
	if (strlen(path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	memcpy(sun.sun_path, path, strlen(path) + 1);
	if (unlink(path) == -1 && errno != ENOENT)
		return -errno;
	if (fchmod(fd, 0600) == -1 ||
	    bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    lchown(path, 0, sv->config->group) == -1 ||
	    chmod(path, 0660) == -1 || listen(fd, SOMAXCONN) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

/*
 * What the service manager listens on for us must be where everybody looks;
 * its group is ours to say.
 */
static int
check_given(const struct supervisor *sv, const char *path, struct err *err)
{
	struct sockaddr_un sun = { 0 };
	socklen_t len = sizeof(sun);

	if (getsockname(sv->control_fd, (struct sockaddr *)&sun, &len) == -1)
		return err_os(err, -errno, "%s", path);
	if (sun.sun_family != AF_UNIX ||
	    strncmp(sun.sun_path, path, sizeof(sun.sun_path)) != 0)
		return err_at(err, sv->config_path, 0,
		    "[daemon] run-dir: the service manager listens on %.100s, "
		    "not on %s; say the same in a drop-in of tapward.socket "
		    "(systemctl edit tapward.socket)",
		    sun.sun_family == AF_UNIX ? sun.sun_path : "another family",
		    path);
	if (lchown(path, 0, sv->config->group) == -1 || chmod(path, 0660) == -1)
		return err_os(err, -errno, "%s", path);
	return 0;
}

static int
open_control(struct supervisor *sv, struct err *err)
{
	char path[SUPERVISOR_PATH_SIZE];
	int rc;

	supervisor_run_path(sv, path, "control.sock");
	sv->is_control_given = notify_take_socket("control", &sv->control_fd);
	if (sv->is_control_given)
		return check_given(sv, path, err);
	rc = listen_control(sv, path, &sv->control_fd);
	return rc == 0 ? 0 : err_os(err, rc, "%s", path);
}

int
link_api_listen(struct supervisor *sv, struct err *err)
{
	int rc = open_control(sv, err);

	if (rc != 0)
		return rc;
	if (!sv->config->host->has_metrics)
		return 0;
	rc = config_listen_metrics(sv->config, &sv->metrics_fd);
	if (rc == -EADDRINUSE)
		return err_at(err, sv->config_path, 0,
		    "[daemon] metrics-listen: port %u is in use by another "
		    "program; choose another or end that one",
		    sv->config->host->metrics_port);
	return rc == 0 ? 0 : err_os(err, rc, "metrics-listen");
}

void
link_api_answer(struct supervisor *sv, const struct sandbox_request *to,
    const struct message_api_answer *answer, int fd)
{
	struct service *s = api_of(sv);
	AUTO_FREE uint8_t *buf = malloc(MESSAGE_LARGE_BYTES);
	struct wr w = wr_init(buf, buf == NULL ? 0 : MESSAGE_LARGE_BYTES);
	int rc;

	/* Another api numbers its requests anew. */
	if (to->id == 0 || to->api_serial != s->restarts || !service_is_up(s))
		return;
	message_api_answer_encode(&w, answer);
	rc = proc_send(s->proc, MSG_API_ANSWER, to->id, &w, &fd,
	    fd == -1 ? 0 : 1);
	if (rc != 0)
		log_warn("api", "answer: %s", strerror(-rc));
}

void
link_api_refuse(struct supervisor *sv, const struct sandbox_request *to,
    enum api_result result, const char *text)
{
	const struct message_api_answer a = {
		.result = (uint8_t)result,
		.payload = API_PAYLOAD_NONE,
		.text = text,
	};

	link_api_answer(sv, to, &a, -1);
}

void
link_api_event(const struct sandbox *s, const char *what)
{
	struct message_api_event m = {
		.wall_ms = clock_wall_ms(),
		.generation = s->state.generation,
		.owner_uid = s->state.owner_uid,
	};
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	memcpy(m.name, s->state.name, sizeof(m.name));
	(void)snprintf(m.what, sizeof(m.what), "%s", what);
	message_api_event_encode(&w, &m);
	/* Nobody follows while it is down. */
	(void)service_tell(api_of(s->sv), MSG_API_EVENT, &w, NULL, 0);
}

static int
on_request(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct service *s = proc_arg(arg);
	struct message_api_request m;
	int rc = message_api_request_decode(&msg->body, &m);

	(void)c;
	if (rc != 0 || msg->id == 0)
		return -EBADMSG;
	api_request_take(s->sv, &m,
	    (struct sandbox_request){ msg->id, s->restarts }, msg->fds,
	    msg->fd_count);
	return 0;
}

static const struct chan_rule rules[] = {
	PROC_HELLO_RULE,
	{ MSG_API_REQUEST, MESSAGE_SMALL_BYTES, 0, API_VM_FILES, on_request },
};

static void
on_up(struct service *s)
{
	const int fds[] = { s->sv->control_fd, s->sv->metrics_fd };
	int rc = service_tell(s, MSG_API_LISTENER, NULL, fds,
	    s->sv->metrics_fd == -1 ? 1 : 2);

	if (rc != 0)
		log_err("api", "listeners: %s", strerror(-rc));
	startup_progress(s->sv);
}

static void
on_down(struct service *s)
{
	(void)s;
}

const struct service_spec link_api_spec = {
	.role = "api",
	.program = "tapward-api",
	.uid = UID_API,
	.rules = rules,
	.rule_count = sizeof(rules) / sizeof(rules[0]),
	.on_up = on_up,
	.on_down = on_down,
};
