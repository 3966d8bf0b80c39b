/* The watchdog, see watchdog.h. */
#include "daemon/watchdog.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "daemon/jobs.h"
#include "daemon/link_broker.h"
#include "daemon/link_dialler.h"
#include "daemon/link_recorder.h"
#include "daemon/notify.h"
#include "daemon/supervisor.h"
#include "netfilter/netns.h"

#define HTTP_PORT 80
/* Rounds in the time that the manager gives us. */
#define ROUNDS 3

/* Nothing is allowed, so nothing is dialled. */
static const char policy_text[] = "[policy]\nversion = 1\n";
static const char policy_name[] = "watchdog";

static const char request_text[] =
    "GET / HTTP/1.1\r\nHost: watchdog.invalid\r\n"
    "Connection: close\r\n\r\n";
static const char answer_start[] = "HTTP/1.1 403 ";
#define ANSWER_BYTES (sizeof(answer_start) - 1)

enum part { PART_GATE, PART_DIALLER, PART_BROKER, PART_RECORDER, PARTS };

static const enum service_id part_services[PARTS] = {
	[PART_DIALLER] = SERVICE_DIALLER,
	[PART_BROKER] = SERVICE_BROKER,
	[PART_RECORDER] = SERVICE_RECORDER,
};

static const char *const part_names[PARTS] = { "gate", "dialler", "broker",
	"recorder" };

struct watchdog;

/* Whom an answer is for. */
struct part_ask {
	struct watchdog *w;
	enum part part;
};

struct watchdog {
	struct supervisor *sv;
	struct event *round, *deadline;
	unsigned int open; /* a bit for each part that has not answered */
	struct part_ask asks[PARTS];
	int guest_fd; /* the namespace of a guest that is ours, or -1 */
	int fd;       /* to the gate, or -1 */
	struct event *io;
	char answer[ANSWER_BYTES];
	size_t answer_len;
};

static struct timeval
fraction(uint64_t us, unsigned int n)
{
	us /= n;
	return (struct timeval){ .tv_sec = (time_t)(us / 1000000),
		.tv_usec = (suseconds_t)(us % 1000000) };
}

static void
hang_up(struct watchdog *w)
{
	if (w->io != NULL)
		event_free(w->io);
	w->io = NULL;
	fd_close(&w->fd);
}

static void
answered(struct watchdog *w, enum part part)
{
	w->open &= ~(1u << part);
	if (w->open != 0)
		return;
	(void)event_del(w->deadline);
	notify_watchdog();
}

static void
on_answer(void *arg, int rc, const struct answer *a)
{
	struct part_ask *ask = arg;

	(void)a;
	/* One that died is being replaced: the round fails, the next may not.
	 */
	if (rc == 0)
		answered(ask->w, ask->part);
}

static void
on_gate(evutil_socket_t fd, short what, void *arg)
{
	struct watchdog *w = arg;
	ssize_t n;

	(void)what;
	n = recv(fd, w->answer + w->answer_len, ANSWER_BYTES - w->answer_len,
	    MSG_DONTWAIT);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		w->answer_len += (size_t)n;
	if (n > 0 && w->answer_len < ANSWER_BYTES)
		return;
	hang_up(w);
	if (n > 0 && memcmp(w->answer, answer_start, ANSWER_BYTES) == 0)
		answered(w, PART_GATE);
}

static int
open_socket(const struct watchdog *w, int *ret_fd)
{
	int fd, rc = netns_enter(w->guest_fd);

	if (rc != 0)
		return rc;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	netns_leave(w->sv->host.home_fd);
	if (fd == -1)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int
await(struct watchdog *w, short what, event_callback_fn fn)
{
	if (w->io != NULL)
		event_free(w->io);
	w->io = event_new(w->sv->base, w->fd, what, fn, w);
	return w->io == NULL || event_add(w->io, NULL) == -1 ? -ENOMEM : 0;
}

/* It is connected, or is not to be. */
static void
on_connected(evutil_socket_t fd, short what, void *arg)
{
	const size_t len = sizeof(request_text) - 1;
	struct watchdog *w = arg;

	(void)what;
	if (send(fd, request_text, len, MSG_NOSIGNAL | MSG_DONTWAIT) !=
		(ssize_t)len ||
	    await(w, EV_READ | EV_PERSIST, on_gate) != 0) {
		log_warn("watchdog", "part=gate: %s", strerror(errno));
		hang_up(w);
	}
}

/* As a guest asks for a site: an address that a name could have. */
static int
ask_gate(struct watchdog *w)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(HTTP_PORT),
		.sin_addr = { htonl(w->sv->plan.synthetic_net + 1) },
	};
	int rc;

	hang_up(w);
	w->answer_len = 0;
	rc = open_socket(w, &w->fd);
	if (rc != 0)
		return rc;
	if (connect(w->fd, (const struct sockaddr *)&to, sizeof(to)) == -1 &&
	    errno != EINPROGRESS)
		return -errno;
	return await(w, EV_WRITE, on_connected);
}

/* Their own sandbox's policy once more: an answer, and nothing changes. */
static int
ask_part(struct watchdog *w, const struct sandbox *s, enum part part)
{
	struct part_ask *who = &w->asks[part];

	switch (part) {
	case PART_GATE:
		/* One that is being replaced waits for the others, maybe. */
		return s->phase == SANDBOX_RUNNING ? ask_gate(w) : -EAGAIN;
	case PART_DIALLER:
		return link_dialler_policy(s, &s->policy, on_answer, who);
	case PART_BROKER:
		return link_broker_policy(s, &s->policy, on_answer, who);
	case PART_RECORDER:
		return link_recorder_status(w->sv, on_answer, who);
	case PARTS:
		break;
	}
	return -EINVAL;
}

static void
end_part(struct watchdog *w, enum part part)
{
	struct sandbox *s = sandbox_find(w->sv, WATCHDOG_SANDBOX);
	struct service *service = &w->sv->services[part_services[part]];

	log_event(LOG_EVENT_WATCHDOG,
	    &(const struct log_about){ .role = part_names[part] }, "watchdog",
	    "part=%s: no answer in time; it is replaced", part_names[part]);
	if (part != PART_GATE && service_is_up(service))
		proc_kill(service->proc);
	else if (part == PART_GATE && s != NULL && s->gate != NULL &&
	    s->phase == SANDBOX_RUNNING)
		gate_kill(s->gate);
}

static void
cancel_asks(struct watchdog *w)
{
	for (unsigned int i = 0; i < PARTS; i++)
		if (i != PART_GATE)
			asks_cancel(&w->sv->services[part_services[i]].asks,
			    &w->asks[i]);
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct watchdog *w = arg;
	const unsigned int open = w->open;

	(void)fd;
	(void)what;
	hang_up(w);
	cancel_asks(w);
	for (unsigned int i = 0; i < PARTS; i++)
		if ((open & (1u << i)) != 0)
			end_part(w, (enum part)i);
}

static void
begin_round(struct watchdog *w, const struct sandbox *s)
{
	const struct timeval tv = fraction(notify_watchdog_us(), 2 * ROUNDS);

	cancel_asks(w);
	w->open = (1u << PARTS) - 1;
	for (unsigned int i = 0; i < PARTS; i++) {
		int rc;

		/* A unit that is stopped is not ours to mend. */
		if (i != PART_GATE &&
		    service_is_away(&w->sv->services[part_services[i]])) {
			answered(w, (enum part)i);
			continue;
		}
		rc = ask_part(w, s, (enum part)i);
		if (rc != 0)
			log_warn("watchdog", "part=%s: %s", part_names[i],
			    strerror(-rc));
	}
	if (event_add(w->deadline, &tv) == -1)
		log_err("watchdog", "no memory for a timer");
}

/* Of root, by the way that every sandbox is made, with a guest of ours. */
static int
make_sandbox(struct watchdog *w)
{
	struct message_api_request m = {
		.op = API_CREATE,
		.name = WATCHDOG_SANDBOX,
		.device = API_DEVICE_VETH,
		.owner_uid = API_OWNER_PEER,
	};
	const struct sandbox_request nobody = { 0 };
	struct create_fds fds = { -1, -1, -1 };
	int rc;

	fd_close(&w->guest_fd);
	rc = netns_create(w->sv->host.home_fd, &w->guest_fd);
	if (rc == 0)
		rc = fd_memfd_sealed("tapward-policy-text", policy_text,
		    sizeof(policy_text) - 1, &fds.text);
	if (rc != 0)
		return rc;
	fds.netns = fcntl(w->guest_fd, F_DUPFD_CLOEXEC, 0);
	if (fds.netns == -1) {
		rc = -errno;
		fd_close(&fds.text);
		return rc;
	}
	(void)snprintf(m.display_name, sizeof(m.display_name), "%s",
	    policy_name);
	create_start(w->sv, &m, &nobody, &fds);
	return 0;
}

/* One that somebody else made under this name is not asked. */
static bool
is_ours(const struct sandbox *s)
{
	return s->state.owner_uid == 0 &&
	    strcmp(s->state.display_name, policy_name) == 0;
}

/* Nobody has the other end of what an earlier supervisor made. */
static void
take_stock(struct watchdog *w, struct sandbox *s)
{
	int rc = 0;

	if (s == NULL)
		rc = make_sandbox(w);
	else if (s->phase == SANDBOX_RUNNING && !s->job.is_running)
		remove_sandbox(s, "made anew");
	if (rc != 0)
		log_err("watchdog", "%s", strerror(-rc));
}

static void
on_round(evutil_socket_t fd, short what, void *arg)
{
	struct watchdog *w = arg;
	struct sandbox *s = sandbox_find(w->sv, WATCHDOG_SANDBOX);

	(void)fd;
	(void)what;
	if (s != NULL && !is_ours(s)) {
		log_warn("watchdog",
		    "sandbox " WATCHDOG_SANDBOX " is another's; only that we "
		    "run is told: end it");
		notify_watchdog();
		return;
	}
	if (s != NULL && w->guest_fd == -1) {
		take_stock(w, s);
		s = sandbox_find(w->sv, WATCHDOG_SANDBOX);
	}
	if (s == NULL)
		take_stock(w, NULL);
	else if (s->phase != SANDBOX_CREATING && s->phase != SANDBOX_ADOPTING)
		begin_round(w, s);
}

void
watchdog_start(struct supervisor *sv)
{
	const uint64_t us = notify_watchdog_us();
	const struct timeval tv = fraction(us, ROUNDS);
	struct watchdog *w;

	if (us == 0)
		return;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		die("watchdog", "no memory");
	w->sv = sv;
	w->fd = -1;
	w->guest_fd = -1;
	for (unsigned int i = 0; i < PARTS; i++)
		w->asks[i] = (struct part_ask){ w, (enum part)i };
	w->round = event_new(sv->base, -1, EV_PERSIST, on_round, w);
	w->deadline = evtimer_new(sv->base, on_deadline, w);
	if (w->round == NULL || w->deadline == NULL ||
	    event_add(w->round, &tv) == -1)
		die("watchdog", "no memory");
	sv->watchdog = w;
	on_round(-1, 0, w);
}

void
watchdog_stop(struct supervisor *sv)
{
	struct watchdog *w = sv->watchdog;

	if (w == NULL)
		return;
	sv->watchdog = NULL;
	hang_up(w);
	fd_close(&w->guest_fd);
	cancel_asks(w);
	event_free(w->round);
	event_free(w->deadline);
	free(w);
}
