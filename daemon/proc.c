/*
 * A process and its channel are one: when either goes, the other is ended,
 * and the owner hears of it once, when the process is really dead.
 */
#include "daemon/proc.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "base/paths.h"
#include "daemon/unit.h"

/* A process that was sent SIGKILL: the kernel takes its memory apart. */
#define PROC_END_MS 5000
/* A unit that closed its channel: to be gone by itself. */
#define PROC_UNIT_END_MS 2000

struct proc {
	struct proc_spec spec;
	uid_t uid;
	pid_t pid;
	int pidfd;
	uint64_t start_ticks;
	struct chan *chan;
	struct event *death;
	struct event *late; /* its hello, or the end of a unit */
	bool is_ready;
	bool is_ended_by_us;
};

/* How it ended, for the log; of one that is not our child nobody knows. */
static void
log_end(const struct proc *p)
{
	siginfo_t info = { 0 };

	if (p->is_ended_by_us ||
	    waitid(P_PIDFD, (id_t)p->pidfd, &info,
		WEXITED | WNOHANG | WNOWAIT) == -1 ||
	    info.si_pid == 0)
		return;
	log_info("proc", "role=%s pid=%d %s=%d", p->spec.role, (int)p->pid,
	    info.si_code == CLD_EXITED ? "status" : "signal", info.si_status);
}

static void
on_death(evutil_socket_t fd, short what, void *arg)
{
	struct proc *p = arg;

	(void)fd;
	(void)what;
	log_end(p);
	/* Reaps it, if it is our child. */
	(void)process_end(p->pidfd, PROC_END_MS);
	if (p->chan != NULL)
		chan_free(p->chan);
	p->chan = NULL;
	p->is_ready = false;
	p->spec.on_gone(p, p->spec.arg);
}

static void
on_closed(struct chan *c, void *arg)
{
	const struct timeval tv = { .tv_sec = PROC_UNIT_END_MS / 1000 };
	struct proc *p = arg;

	chan_free(c);
	p->chan = NULL;
	p->is_ready = false;
	/*
	 * It may be ending by itself: how is then told by log_end(). One that
	 * a service manager stops has its time for that, or has failed.
	 */
	if (p->spec.unit == NULL || event_add(p->late, &tv) == -1)
		(void)process_signal(p->pidfd, SIGKILL);
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
	struct proc *p = arg;

	(void)fd;
	(void)what;
	log_warn("proc", "role=%s pid=%d: %s", p->spec.role, (int)p->pid,
	    p->chan == NULL ? "it does not end" : "no hello in time");
	proc_kill(p);
}

int
proc_on_hello(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct proc *p = arg;
	struct message_hello hello;
	int rc = message_hello_decode(&msg->body, &hello);

	(void)c;
	if (rc != 0)
		return rc;
	if (p->is_ready || strcmp(hello.role, p->spec.role) != 0)
		return -EPROTO;
	if (hello.protocol != MESSAGE_PROTOCOL) {
		log_warn("proc", "role=%s pid=%d protocol=%u: replaced",
		    p->spec.role, (int)p->pid, hello.protocol);
		return -EPROTO;
	}
	(void)event_del(p->late);
	p->is_ready = true;
	p->spec.on_hello(p, &hello, p->spec.arg);
	return 0;
}

/* Watches the process p->pidfd and speaks over fd, which is taken. */
static int
proc_watch(struct proc *p, struct event_base *base, int fd)
{
	const struct timeval tv = { .tv_sec = PROC_HELLO_MS / 1000 };
	int rc = process_start_time(p->pid, &p->start_ticks);

	if (rc != 0) {
		(void)close(fd);
		return rc;
	}
	p->chan =
	    chan_new(base, fd, p->spec.rules, p->spec.rule_count, on_closed, p);
	p->death = event_new(base, p->pidfd, EV_READ, on_death, p);
	p->late = evtimer_new(base, on_late, p);
	if (p->chan == NULL || p->death == NULL || p->late == NULL ||
	    event_add(p->death, NULL) == -1 || event_add(p->late, &tv) == -1)
		return -ENOMEM;
	return 0;
}

static struct proc *
proc_new(const struct proc_spec *spec)
{
	struct proc *p = calloc(1, sizeof(*p));

	assert(spec->rules[0].type == MSG_HELLO);
	if (p == NULL)
		return NULL;
	p->spec = *spec;
	p->uid = spec->uid;
	p->pidfd = -1;
	return p;
}

#define ENV_MAX 4

/* What of our environment a child sees: how to log, how to sanitize. */
static void
make_env(char buf[ENV_MAX][128], const char *ret_env[ENV_MAX + 1])
{
	static const char *const names[ENV_MAX] = { "TAPWARD_LOG",
		"TAPWARD_SECCOMP", "ASAN_OPTIONS", "UBSAN_OPTIONS" };
	size_t n = 0;

	for (size_t i = 0; i < ENV_MAX; i++) {
		const char *value = getenv(names[i]);

		if (value == NULL || strlen(value) > 80)
			continue;
		(void)snprintf(buf[n], 128, "%s=%s", names[i], value);
		ret_env[n] = buf[n];
		n++;
	}
	ret_env[n] = NULL;
}

/* In the order of enum child_fd, then those of this program alone. */
static void
fill_fds(const struct proc *p, int chan_fd, int peer_fd,
    int ret[PROCESS_FDS_MAX])
{
	assert(CHILD_FD_COUNT + p->spec.more_count <= PROCESS_FDS_MAX);
	ret[0] = chan_fd;
	ret[1] = p->spec.root_fd;
	ret[2] = peer_fd;
	for (unsigned int i = 0; i < p->spec.more_count; i++)
		ret[CHILD_FD_COUNT + i] = p->spec.more_fds[i];
}

static int
spawn(struct proc *p, int chan_fd, int peer_fd)
{
	int fds[PROCESS_FDS_MAX];
	char path[512], id[16], env_buf[ENV_MAX][128];
	const char *env[ENV_MAX + 1];
	const char *const argv[] = { path, id, id, NULL };
	const struct process_spec spec = {
		.path = path,
		.argv = argv,
		.env = env,
		.fds = fds,
		.fd_count = CHILD_FD_COUNT + p->spec.more_count,
		.netns_fd = p->spec.netns_fd,
		.stderr_fd = -1,
		.limits = p->spec.limits,
		.jail = p->spec.jail,
		.cgroup_fds = p->spec.cgroup_fds,
		.cgroup_count = p->spec.cgroup_count,
	};
	int rc = paths_libexec(p->spec.program, path, sizeof(path));

	if (rc != 0)
		return rc;
	fill_fds(p, chan_fd, peer_fd, fds);
	(void)snprintf(id, sizeof(id), "%u", p->uid);
	make_env(env_buf, env);
	return process_spawn(&spec, &p->pid, &p->pidfd);
}

int
proc_start(struct event_base *base, const struct proc_spec *spec,
    struct proc **ret)
{
	AUTO_CLOSE int ours = -1, theirs = -1, peer = -1;
	struct proc *p = proc_new(spec);
	int pair[2];
	int rc = p == NULL ? -ENOMEM : chan_pair(pair);

	if (rc != 0) {
		free(p);
		return rc;
	}
	ours = pair[0];
	theirs = pair[1];
	if (spec->peer_path != NULL)
		rc = chan_listen(spec->peer_path, &peer);
	if (rc == 0)
		rc = spawn(p, theirs, peer);
	if (rc == 0)
		rc = proc_watch(p, base, steal_fd(&ours));
	if (rc != 0) {
		proc_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

/* The process that listens at the other end of fd (base/child.c). */
static int
identify(struct proc *p, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int rc;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		return -errno;
	if (cred.uid == 0 || (p->spec.uid != 0 && cred.uid != p->spec.uid))
		return -EPERM;
	p->uid = cred.uid;
	p->pid = cred.pid;
	rc = process_open(cred.pid, &p->pidfd);
	if (rc == 0 && p->spec.unit != NULL && !unit_has(p->spec.unit, p->pid))
		rc = -EPERM;
	return rc;
}

int
proc_adopt(struct event_base *base, const struct proc_spec *spec,
    struct proc **ret)
{
	AUTO_CLOSE int fd = -1;
	struct proc *p;
	int rc = chan_connect(spec->peer_path, &fd);

	if (rc != 0)
		return rc;
	p = proc_new(spec);
	if (p == NULL)
		return -ENOMEM;
	rc = identify(p, fd);
	if (rc == 0)
		rc = proc_watch(p, base, steal_fd(&fd));
	if (rc != 0) {
		proc_leave(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void
proc_await(const struct proc *p, int ms)
{
	struct pollfd pfd = { .fd = p->pidfd, .events = POLLIN };

	while (poll(&pfd, 1, ms) == -1 && errno == EINTR)
		;
}

void
proc_kill(struct proc *p)
{
	p->is_ended_by_us = true;
	(void)process_signal(p->pidfd, SIGKILL);
}

void
proc_term(struct proc *p)
{
	(void)process_signal(p->pidfd, SIGTERM);
	proc_leave(p);
}

void
proc_leave(struct proc *p)
{
	if (p == NULL)
		return;
	if (p->chan != NULL)
		chan_free(p->chan);
	if (p->death != NULL)
		event_free(p->death);
	if (p->late != NULL)
		event_free(p->late);
	fd_close(&p->pidfd);
	free(p);
}

void
proc_free(struct proc *p)
{
	if (p != NULL && p->pidfd != -1) {
		int rc = process_end(p->pidfd, PROC_END_MS);

		if (rc != 0)
			log_err("proc", "role=%s pid=%d end: %s", p->spec.role,
			    (int)p->pid, strerror(-rc));
	}
	proc_leave(p);
}

void *
proc_arg(const struct proc *p)
{
	return p->spec.arg;
}

void
proc_set_arg(struct proc *p, void *arg)
{
	p->spec.arg = arg;
}

pid_t
proc_pid(const struct proc *p)
{
	return p->pid;
}

uid_t
proc_uid(const struct proc *p)
{
	return p->uid;
}

uint64_t
proc_start_ticks(const struct proc *p)
{
	return p->start_ticks;
}

bool
proc_is_ready(const struct proc *p)
{
	return p != NULL && p->is_ready;
}

uint32_t
proc_next_id(struct proc *p)
{
	return chan_next_id(p->chan);
}

int
proc_send(struct proc *p, uint16_t type, uint32_t id, const struct wr *body,
    const int *fds, unsigned int fd_count)
{
	if (!proc_is_ready(p))
		return -ENOTCONN;
	return chan_send(p->chan, type, id, body, fds, fd_count);
}
