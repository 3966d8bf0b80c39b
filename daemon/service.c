/*
 * Services. What each is told when it comes up is in its link_*.c; here is
 * only that it is there, and what happens when it is not.
 */
#include "daemon/service.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/log_event.h"
#include "base/message_done.h"
#include "daemon/files.h"
#include "daemon/jobs.h"
#include "daemon/supervisor.h"
#include "daemon/unit.h"

static void on_restart(evutil_socket_t fd, short what, void *arg);

int
service_init(struct service *s, struct supervisor *sv,
    const struct service_spec *spec)
{
	*s = (struct service){
		.sv = sv,
		.spec = spec,
		.pause_ms = SERVICE_PAUSE_MIN_MS,
	};
	if (spec->unit_variable != NULL)
		s->unit = getenv(spec->unit_variable);
	asks_init(&s->asks);
	s->restart = evtimer_new(sv->base, on_restart, s);
	return s->restart == NULL ? -ENOMEM : 0;
}

/* run-dir/service/ROLE: "pid start", see service_note_same(). */
static void
note_path(const struct service *s, char buf[SUPERVISOR_PATH_SIZE])
{
	(void)snprintf(buf, SUPERVISOR_PATH_SIZE, "%s/service/%s",
	    s->sv->config->host->run_dir, s->spec->role);
}

/* That of a unit is in its own folder, which the manager makes. */
static void
peer_path(const struct service *s, char buf[SUPERVISOR_PATH_SIZE])
{
	if (s->unit != NULL)
		(void)snprintf(buf, SUPERVISOR_PATH_SIZE, "%s/%s/socket",
		    s->sv->config->host->run_dir, s->spec->role);
	else
		(void)snprintf(buf, SUPERVISOR_PATH_SIZE, "%s/peer/%s",
		    s->sv->config->host->run_dir, s->spec->role);
}

static void
note_text(const struct service *s, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%d %" PRIu64 "\n", (int)proc_pid(s->proc),
	    proc_start_ticks(s->proc));
}

void
service_note_same(struct service *s)
{
	char path[SUPERVISOR_PATH_SIZE], text[64];
	int rc;

	if (!s->spec->outlives_us || !service_is_up(s))
		return;
	note_path(s, path);
	note_text(s, text, sizeof(text));
	rc = files_write_atomic(path, text, strlen(text));
	if (rc != 0)
		log_warn("service", "role=%s note: %s", s->spec->role,
		    strerror(-rc));
}

static bool
is_noted(const struct service *s)
{
	char path[SUPERVISOR_PATH_SIZE], text[64], found[64];

	note_path(s, path);
	note_text(s, text, sizeof(text));
	return files_read_text(path, found, sizeof(found)) == 0 &&
	    strcmp(text, found) == 0;
}

static void
tell(const struct service *s, enum log_event e, pid_t pid, const char *what)
{
	const struct log_about about = { .role = s->spec->role };

	log_event(e, &about, "service", "role=%s pid=%d %s", s->spec->role,
	    (int)pid, what);
}

static void
on_hello(struct proc *p, const struct message_hello *hello, void *arg)
{
	struct service *s = arg;

	(void)hello;
	tell(s, LOG_EVENT_PROCESS_UP, proc_pid(p),
	    s->was_adopted ? "up adopted" : "up");
	s->is_same = s->was_adopted && is_noted(s);
	s->spec->on_up(s);
}

static void
schedule_restart(struct service *s)
{
	const unsigned int max_ms =
	    s->unit == NULL ? SERVICE_PAUSE_MAX_MS : SERVICE_UNIT_PAUSE_MAX_MS;
	const struct timeval tv = {
		.tv_sec = (time_t)(s->pause_ms / 1000),
		.tv_usec = (suseconds_t)(s->pause_ms % 1000) * 1000,
	};

	s->pause_ms *= 2;
	if (s->pause_ms > max_ms)
		s->pause_ms = max_ms;
	if (event_add(s->restart, &tv) == -1)
		die("service", "no memory for a timer");
}

static void
remove_traces(const struct service *s)
{
	char path[SUPERVISOR_PATH_SIZE];

	note_path(s, path);
	(void)unlink(path);
	/* A unit's is its own, and the next one's may be there by now. */
	if (s->unit != NULL)
		return;
	peer_path(s, path);
	(void)unlink(path);
}

static void
on_gone(struct proc *p, void *arg)
{
	struct service *s = arg;

	tell(s, LOG_EVENT_PROCESS_GONE, proc_pid(p), "gone");
	proc_free(p);
	s->proc = NULL;
	s->restarts++;
	remove_traces(s);
	if (clock_mono_ms() - s->started_ms > SERVICE_STABLE_MS)
		s->pause_ms = SERVICE_PAUSE_MIN_MS;
	asks_fail(&s->asks, -EAGAIN, "a part of tapward is being restarted");
	s->spec->on_down(s);
	schedule_restart(s);
	/* Which does not wait for a unit. */
	startup_progress(s->sv);
}

static void
fill_spec(struct service *s, const char *peer_path, struct proc_spec *ret)
{
	const struct supervisor *sv = s->sv;

	*ret = (struct proc_spec){
		.program = s->spec->program,
		.role = s->spec->role,
		.uid = uids_role(&sv->uids, s->spec->uid),
		.root_fd = sv->root_fd,
		.netns_fd = -1,
		.peer_path = s->spec->outlives_us ? peer_path : NULL,
		.unit = s->unit,
		.limits = sv->config->service_process,
		.rules = s->spec->rules,
		.rule_count = s->spec->rule_count,
		.on_hello = on_hello,
		.on_gone = on_gone,
		.arg = s,
	};
	if (!s->spec->keeps_secrets)
		ret->limits.memlock_bytes = 0;
	if (s->unit != NULL)
		ret->uid = unit_user(s->unit, ret->uid);
}

/* One that an earlier supervisor had as its child: gates go to the unit. */
static void
end_child(struct service *s)
{
	char path[SUPERVISOR_PATH_SIZE];
	struct proc_spec spec;
	struct proc *p;

	supervisor_run_path(s->sv, path, "peer/%s", s->spec->role);
	fill_spec(s, path, &spec);
	spec.uid = uids_role(&s->sv->uids, s->spec->uid);
	spec.unit = NULL;
	if (proc_adopt(s->sv->base, &spec, &p) == 0)
		proc_free(p);
	(void)unlink(path);
}

/* Whether somebody mends it or it is just being started: it is looked for. */
static int
unit_start(struct service *s)
{
	char path[SUPERVISOR_PATH_SIZE];
	struct proc_spec spec;
	int rc;

	if (!s->sv->is_serving)
		end_child(s);
	peer_path(s, path);
	fill_spec(s, path, &spec);
	rc = proc_adopt(s->sv->base, &spec, &s->proc);
	if (rc == 0) {
		s->was_adopted = true;
		s->is_missed = false;
		s->pause_ms = SERVICE_PAUSE_MIN_MS;
		s->started_ms = clock_mono_ms();
		return 0;
	}
	if (!s->is_missed)
		log_warn("service",
		    "role=%s unit=%s is not there: %s; systemctl status %s",
		    s->spec->role, s->unit, strerror(-rc), s->unit);
	s->is_missed = true;
	schedule_restart(s);
	return 0;
}

int
service_start(struct service *s)
{
	char peer[SUPERVISOR_PATH_SIZE];
	struct proc_spec spec;
	int rc = -ENOENT;

	if (s->unit != NULL)
		return unit_start(s);
	peer_path(s, peer);
	fill_spec(s, peer, &spec);
	if (s->spec->outlives_us)
		rc = proc_adopt(s->sv->base, &spec, &s->proc);
	s->was_adopted = rc == 0;
	if (rc != 0)
		rc = proc_start(s->sv->base, &spec, &s->proc);
	s->started_ms = clock_mono_ms();
	return rc;
}

static void
on_restart(evutil_socket_t fd, short what, void *arg)
{
	struct service *s = arg;
	int rc;

	(void)fd;
	(void)what;
	/* Sandboxes that are being taken up do not wait for a unit. */
	if (s->unit != NULL && !s->sv->is_serving) {
		schedule_restart(s);
		return;
	}
	rc = service_start(s);
	if (rc == 0)
		return;
	log_event(LOG_EVENT_PROCESS_FAILED,
	    &(const struct log_about){ .role = s->spec->role }, "service",
	    "role=%s start: %s", s->spec->role, strerror(-rc));
	schedule_restart(s);
}

void
service_stop(struct service *s, bool is_leaving)
{
	if (s->restart != NULL)
		event_free(s->restart);
	s->restart = NULL;
	if (is_leaving && s->spec->outlives_us) {
		proc_leave(s->proc);
	} else if (s->unit != NULL && s->proc != NULL) {
		proc_term(s->proc);
		remove_traces(s);
	} else {
		proc_free(s->proc);
		remove_traces(s);
	}
	s->proc = NULL;
	asks_fail(&s->asks, -ECANCELED, "tapwardd ends");
}

bool
service_is_up(const struct service *s)
{
	return proc_is_ready(s->proc);
}

bool
service_is_away(const struct service *s)
{
	return s->unit != NULL && s->proc == NULL;
}

int
service_tell(struct service *s, uint16_t type, const struct wr *body,
    const int *fds, unsigned int fd_count)
{
	if (!service_is_up(s))
		return -EAGAIN;
	return proc_send(s->proc, type, 0, body, fds, fd_count);
}

int
service_ask(struct service *s, uint16_t type, const struct wr *body,
    const int *fds, unsigned int fd_count, struct asker who)
{
	uint32_t id;
	int rc;

	if (!service_is_up(s))
		return -EAGAIN;
	id = proc_next_id(s->proc);
	rc = asks_add(&s->asks, id, who.done, who.arg);
	if (rc != 0)
		return rc;
	rc = proc_send(s->proc, type, id, body, fds, fd_count);
	if (rc != 0)
		asks_cancel(&s->asks, who.arg);
	return rc;
}

int
service_on_done(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct service *s = proc_arg(arg);
	struct message_done done;
	struct answer a = { .digest = "" };
	int rc = message_done_decode(&msg->body, &done);

	(void)c;
	if (rc != 0)
		return rc;
	a.text = done.text;
	return asks_answer(&s->asks, msg->id, done.ok ? 0 : -EINVAL, &a)
	    ? 0
	    : -EPROTO;
}
