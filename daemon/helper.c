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

struct helper_run {
	pid_t pid;
	int pidfd;
	struct event *ended, *late;
	helper_done *done;
	void *arg;
	uint32_t timeout_ms;
	char name[CREDENTIAL_NAME_SIZE];
};

static void
run_free(struct helper_run *r)
{
	if (r->ended != NULL)
		event_free(r->ended);
	if (r->late != NULL)
		event_free(r->late);
	fd_close(&r->pidfd);
	free(r);
}

static void
finish(struct helper_run *r, enum helper_outcome how, uint8_t status)
{
	helper_done *done = r->done;
	void *arg = r->arg;

	run_free(r);
	done(how, status, arg);
}

static void
on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct helper_run *r = arg;
	int status = 0;

	(void)fd;
	(void)what;
	if (waitpid(r->pid, &status, WNOHANG) != r->pid)
		return;
	log_info(AREA, "name=%s exit=%d", r->name,
	    WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	finish(r, WIFEXITED(status) ? HELPER_RAN : HELPER_KILLED,
	    WIFEXITED(status) ? (uint8_t)WEXITSTATUS(status) : 0);
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
	struct helper_run *r = arg;

	(void)fd;
	(void)what;
	log_warn(AREA, "name=%s killed: not done within %u ms", r->name,
	    r->timeout_ms);
	(void)process_end(r->pidfd, END_MS);
	finish(r, HELPER_LATE, 0);
}

void
helper_cancel(struct helper_run *r)
{
	if (r == NULL)
		return;
	(void)process_end(r->pidfd, END_MS);
	run_free(r);
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

/* Blanks part the words of the command; there is no shell and no quoting. */
static bool
fill(const struct supervisor *sv, const struct helper_program *p,
    struct start *st)
{
	unsigned int n = 0;
	char *rest = NULL, *word;

	if (!find_user(sv, p->run_as, st) ||
	    paths_libexec("tapward-helper", st->program, sizeof(st->program)) !=
		0)
		return false;
	(void)snprintf(st->command, sizeof(st->command), "%s", p->command);
	st->argv[n++] = st->program;
	st->argv[n++] = st->uid;
	st->argv[n++] = st->gid;
	for (word = strtok_r(st->command, " ", &rest);
	     word != NULL && n < ARGS_MAX + 4;
	     word = strtok_r(NULL, " ", &rest))
		st->argv[n++] = word;
	st->argv[n] = p->argument;
	st->env[0] = "PATH=/usr/local/bin:/usr/bin:/bin";
	st->env[1] = st->home;
	st->env[2] = "LANG=C.UTF-8";
	return word == NULL;
}

static int
watch(struct helper_run *r, struct event_base *base)
{
	const struct timeval limit = { (time_t)(r->timeout_ms / 1000),
		(suseconds_t)(r->timeout_ms % 1000) * 1000 };

	r->ended = event_new(base, r->pidfd, EV_READ | EV_PERSIST, on_ended, r);
	r->late = evtimer_new(base, on_late, r);
	return r->ended == NULL || r->late == NULL ||
		event_add(r->ended, NULL) == -1 ||
		event_add(r->late, &limit) == -1
	    ? -ENOMEM
	    : 0;
}

int
helper_start(struct supervisor *sv, const struct helper_program *p,
    helper_done *done, void *arg, struct helper_run **ret)
{
	struct start st = { .program = "" };
	const struct process_spec spec = { .path = st.program,
		.argv = st.argv,
		.env = st.env,
		.fds = p->fds,
		.fd_count = HELPER_FDS,
		.netns_fd = -1,
		.stderr_fd = -1 };
	struct helper_run *r;
	int rc;

	if (!fill(sv, p, &st))
		return -ENOENT;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return -ENOMEM;
	r->pidfd = -1;
	r->done = done;
	r->arg = arg;
	r->timeout_ms = p->timeout_ms;
	(void)snprintf(r->name, sizeof(r->name), "%s", p->name);
	rc = process_spawn(&spec, &r->pid, &r->pidfd);
	if (rc == 0)
		rc = watch(r, sv->base);
	if (rc == 0) {
		*ret = r;
		return 0;
	}
	if (r->pidfd != -1)
		(void)process_end(r->pidfd, END_MS);
	run_free(r);
	return rc;
}

/* --- those of credentials, for the broker --- */

struct broker_run {
	LIST_ENTRY(broker_run) link;
	struct service *broker;
	uint32_t id; /* of the question */
	struct helper_run *run;
};

static LIST_HEAD(, broker_run) runs = LIST_HEAD_INITIALIZER(runs);
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
forget(struct broker_run *b)
{
	LIST_REMOVE(b, link);
	run_count--;
	free(b);
}

static void
on_done(enum helper_outcome how, uint8_t status, void *arg)
{
	struct broker_run *b = arg;

	answer(b->broker, b->id, how, status);
	forget(b);
}

void
helper_end_all(void)
{
	while (!LIST_EMPTY(&runs)) {
		struct broker_run *b = LIST_FIRST(&runs);

		helper_cancel(b->run);
		forget(b);
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

static int
start_for(struct service *s, const char *credential, struct chan_msg *msg)
{
	const struct message_broker_credential *d =
	    find_credential(s->sv, credential);
	struct helper_program p = { .name = credential,
		.command = d == NULL ? NULL : setting(d, "command"),
		.timeout_ms = HELPER_TIMEOUT_MS,
		.fds = msg->fds };
	struct broker_run *b;
	int rc;

	/* Only kinds that run one have it (conf/hostconf_setting.c). */
	if (p.command == NULL)
		return -ENOENT;
	p.run_as = setting(d, "run-as");
	p.argument = argument_of(setting(d, "protocol"));
	b = run_count == HELPERS_MAX ? NULL : calloc(1, sizeof(*b));
	if (b == NULL)
		return -EAGAIN;
	b->broker = s;
	b->id = msg->id;
	LIST_INSERT_HEAD(&runs, b, link);
	run_count++;
	rc = helper_start(s->sv, &p, on_done, b, &b->run);
	if (rc != 0)
		forget(b);
	return rc;
}

int
helper_on_run(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct service *s = proc_arg(arg);
	struct message_helper_run m = { { 0 } };
	int rc = message_helper_run_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	for (unsigned int i = 0; i < msg->fd_count; i++)
		if (msg->fds[i] == -1)
			return -EPROTO;
	rc = start_for(s, m.credential, msg);
	if (rc != 0) {
		log_err(AREA, "credential=%s not run: %s", m.credential,
		    strerror(-rc));
		answer(s, msg->id, HELPER_NOT_STARTED, 0);
	}
	return 0;
}
