/*
 * Running helpers, see helper.h. A process of ours each, tapward-helper, which
 * gives up what it has and becomes the program.
 */
#include "daemon/helper.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "base/paths.h"
#include "base/process.h"
#include "daemon/proc.h"
#include "daemon/supervisor.h"

#define AREA "helper"
#define ARGS_MAX 32
#define END_MS 2000

struct run {
	LIST_ENTRY(run) link;
	struct service *broker;
	uint32_t id; /* of the question */
	pid_t pid;
	int pidfd;
	struct event *ended, *late;
	char credential[CREDENTIAL_NAME_SIZE];
};

static LIST_HEAD(runs, run) runs = LIST_HEAD_INITIALIZER(runs);
static unsigned int run_count;

static void
answer(struct service *s, uint32_t id, enum helper_outcome outcome,
    uint8_t status)
{
	const struct message_helper_ran m = { (uint8_t)outcome, status };
	uint8_t buf[16];
	struct wr w = wr_init(buf, sizeof(buf));

	message_helper_ran_encode(&w, &m);
	if (service_is_up(s))
		(void)proc_send(s->proc, MSG_BROKER_RAN, id, &w, NULL, 0);
}

static void
run_free(struct run *r)
{
	LIST_REMOVE(r, link);
	run_count--;
	if (r->ended != NULL)
		event_free(r->ended);
	if (r->late != NULL)
		event_free(r->late);
	fd_close(&r->pidfd);
	free(r);
}

static void
on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct run *r = arg;
	int status = 0;

	(void)fd;
	(void)what;
	if (waitpid(r->pid, &status, WNOHANG) != r->pid)
		return;
	log_info(AREA, "credential=%s exit=%d", r->credential,
	    WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	answer(r->broker, r->id, WIFEXITED(status) ? HELPER_RAN : HELPER_KILLED,
	    WIFEXITED(status) ? (uint8_t)WEXITSTATUS(status) : 0);
	run_free(r);
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
	struct run *r = arg;

	(void)fd;
	(void)what;
	log_warn(AREA, "credential=%s killed: not done within %d s",
	    r->credential, HELPER_TIMEOUT_MS / 1000);
	(void)process_end(r->pidfd, END_MS);
	answer(r->broker, r->id, HELPER_LATE, 0);
	run_free(r);
}

void
helper_end_all(void)
{
	while (!LIST_EMPTY(&runs)) {
		struct run *r = LIST_FIRST(&runs);

		(void)process_end(r->pidfd, END_MS);
		run_free(r);
	}
}

static const struct message_broker_credential *
find_credential(const struct supervisor *sv, const char *name)
{
	const struct hostconf *h = sv->config->host;

	for (size_t i = 0; i < h->credential_count; i++)
		if (strcmp(h->credentials[i].def->name, name) == 0)
			return h->credentials[i].def;
	return NULL;
}

static const char *
setting(const struct message_broker_credential *d, const char *name)
{
	for (unsigned int i = 0; i < d->setting_count; i++)
		if (strcmp(d->settings[i].name, name) == 0)
			return d->settings[i].text;
	return NULL;
}

/* What a helper is started with; texts of which argv and env are made. */
struct start {
	char program[SUPERVISOR_PATH_SIZE], uid[16], gid[16], home[256];
	char command[BROKER_SETTING_SIZE];
	const char *argv[ARGS_MAX + 6];
	const char *env[4];
};

/* The user that the definition names, or one that nobody else has. */
static bool
find_user(const struct supervisor *sv, const char *name, struct start *st)
{
	unsigned long uid = uids_role(&sv->uids, UID_HELPER), gid = uid;
	const char *home = "/";

	if (name != NULL) {
		const struct passwd *pw = getpwnam(name);

		if (pw == NULL || pw->pw_uid == 0)
			return false;
		uid = pw->pw_uid;
		gid = pw->pw_gid;
		home = pw->pw_dir;
	}
	(void)snprintf(st->uid, sizeof(st->uid), "%lu", uid);
	(void)snprintf(st->gid, sizeof(st->gid), "%lu", gid);
	(void)snprintf(st->home, sizeof(st->home), "HOME=%s", home);
	return true;
}

/* What a protocol wants to be asked by. */
struct argument {
	const char *protocol, *text;
};

static const struct argument arguments[] = {
	{ "git", "get" },
	{ "docker", "get" },
	{ "cargo", "--cargo-plugin" },
};

static const char *
argument_of(const char *protocol)
{
	for (size_t i = 0;
	     protocol != NULL && i < sizeof(arguments) / sizeof(arguments[0]);
	     i++)
		if (strcmp(arguments[i].protocol, protocol) == 0)
			return arguments[i].text;
	return NULL;
}

/* Blanks part the words of the command; there is no shell and no quoting. */
static bool
fill(const struct supervisor *sv, const struct message_broker_credential *d,
    struct start *st)
{
	const char *command = d == NULL ? NULL : setting(d, "command");
	unsigned int n = 0;
	char *rest = NULL, *word;

	/* Only kinds that run one have it (conf/hostconf_setting.c). */
	if (command == NULL || !find_user(sv, setting(d, "run-as"), st) ||
	    paths_libexec("tapward-helper", st->program, sizeof(st->program)) !=
		0)
		return false;
	(void)snprintf(st->command, sizeof(st->command), "%s", command);
	st->argv[n++] = st->program;
	st->argv[n++] = st->uid;
	st->argv[n++] = st->gid;
	for (word = strtok_r(st->command, " ", &rest);
	     word != NULL && n < ARGS_MAX + 4;
	     word = strtok_r(NULL, " ", &rest))
		st->argv[n++] = word;
	st->argv[n] = argument_of(setting(d, "protocol"));
	st->env[0] = "PATH=/usr/local/bin:/usr/bin:/bin";
	st->env[1] = st->home;
	st->env[2] = "LANG=C.UTF-8";
	return word == NULL;
}

static int
watch(struct run *r, struct event_base *base)
{
	static const struct timeval limit = { HELPER_TIMEOUT_MS / 1000,
		HELPER_TIMEOUT_MS % 1000 * 1000 };

	r->ended = event_new(base, r->pidfd, EV_READ | EV_PERSIST, on_ended, r);
	r->late = evtimer_new(base, on_late, r);
	return r->ended == NULL || r->late == NULL ||
		event_add(r->ended, NULL) == -1 ||
		event_add(r->late, &limit) == -1
	    ? -ENOMEM
	    : 0;
}

static int
start(struct service *s, const struct start *st, struct chan_msg *msg,
    const char *credential)
{
	struct run *r = run_count == HELPERS_MAX ? NULL : calloc(1, sizeof(*r));
	const struct process_spec spec = { .path = st->program,
		.argv = st->argv,
		.env = st->env,
		.fds = msg->fds,
		.fd_count = HELPER_FDS,
		.netns_fd = -1,
		.stderr_fd = -1 };
	int rc;

	if (r == NULL)
		return -EAGAIN;
	r->broker = s;
	r->id = msg->id;
	r->pidfd = -1;
	(void)snprintf(r->credential, sizeof(r->credential), "%s", credential);
	LIST_INSERT_HEAD(&runs, r, link);
	run_count++;
	rc = process_spawn(&spec, &r->pid, &r->pidfd);
	if (rc == 0)
		rc = watch(r, s->sv->base);
	if (rc == 0)
		return 0;
	if (r->pidfd != -1)
		(void)process_end(r->pidfd, END_MS);
	run_free(r);
	return rc;
}

int
helper_on_run(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct service *s = proc_arg(arg);
	struct message_helper_run m = { { 0 } };
	struct start st = { .program = "" };
	int rc = message_helper_run_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	for (unsigned int i = 0; i < msg->fd_count; i++)
		if (msg->fds[i] == -1)
			return -EPROTO;
	rc = fill(s->sv, find_credential(s->sv, m.credential), &st)
	    ? start(s, &st, msg, m.credential)
	    : -ENOENT;
	if (rc != 0) {
		log_err(AREA, "credential=%s not run: %s", m.credential,
		    strerror(-rc));
		answer(s, msg->id, HELPER_NOT_STARTED, 0);
	}
	return 0;
}
