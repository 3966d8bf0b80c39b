/*
 * Workers. Each takes one text: whatever a text does to its worker, the next
 * one meets a fresh process.
 */
#include "daemon/compiler.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "base/message_compile.h"
#include "daemon/proc.h"
#include "daemon/supervisor.h"

struct compile_job {
	TAILQ_ENTRY(compile_job) entry;
	int fd;
	struct message_compile message;
	ask_done *done;
	void *arg;
};

struct compile_worker {
	LIST_ENTRY(compile_worker) entry;
	struct compiler *compiler;
	struct proc *proc;
	struct compile_job *job; /* NULL: it waits for one, or is spent */
	bool is_spent;           /* has had its one text */
};

static void dispatch(struct compiler *c);

static void
job_free(struct compile_job *job)
{
	if (job == NULL)
		return;
	fd_close(&job->fd);
	free(job);
}

/* The job's owner hears; then there is no job. */
static void
job_end(struct compile_job *job, int rc, const struct answer *a)
{
	if (job->done != NULL)
		job->done(job->arg, rc, a);
	job_free(job);
}

static void
fail_waiting(struct compiler *c, int rc)
{
	const struct answer a = {
		.text = "tapward-compile cannot be started",
		.digest = "",
	};
	struct compile_job *job;

	log_err("compiler", "start: %s", strerror(-rc));
	while ((job = TAILQ_FIRST(&c->waiting)) != NULL) {
		TAILQ_REMOVE(&c->waiting, job, entry);
		c->waiting_count--;
		job_end(job, rc, &a);
	}
}

static void
worker_free(struct compile_worker *w)
{
	LIST_REMOVE(w, entry);
	w->compiler->worker_count--;
	proc_free(w->proc);
	job_free(w->job);
	free(w);
}

static void
on_worker_gone(struct proc *p, void *arg)
{
	struct compile_worker *w = arg;
	struct compiler *c = w->compiler;
	struct compile_job *job = w->job;
	bool was_spent = w->is_spent;
	const struct answer a = {
		.text = "the compiler ended on this text; it may be hostile",
		.digest = "",
	};

	(void)p;
	w->job = NULL;
	worker_free(w);
	if (job != NULL)
		job_end(job, -EIO, &a);
	/* One that cannot even wait would be started again without an end. */
	if (was_spent)
		dispatch(c);
	else
		fail_waiting(c, -EIO);
}

static void
on_worker_hello(struct proc *p, const struct message_hello *hello, void *arg)
{
	struct compile_worker *w = arg;

	(void)p;
	(void)hello;
	dispatch(w->compiler);
}

static int
on_compiled(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct compile_worker *w = proc_arg(arg);
	struct compile_job *job = w->job;
	struct message_compiled m;
	struct answer a = { .text = "" };
	int rc = message_compiled_decode(&msg->body, &m);

	(void)c;
	if (rc != 0 || job == NULL || m.ok != (msg->fd_count == 1) ||
	    (m.ok && !fd_is_sealed(msg->fds[0])))
		return -EBADMSG;
	a.findings = m.text;
	a.digest = m.digest;
	a.fds = msg->fds;
	a.fd_count = msg->fd_count;
	w->job = NULL;
	proc_kill(w->proc);
	job_end(job, m.ok ? 0 : -EINVAL, &a);
	return 0;
}

static const struct chan_rule worker_rules[] = {
	PROC_HELLO_RULE,
	{ MSG_COMPILED, MESSAGE_LARGE_BYTES, 0, 1, on_compiled },
};

static int
worker_start(struct compiler *c)
{
	const struct proc_spec spec = {
		.program = "tapward-compile",
		.role = "compile",
		.uid = uids_role(&c->sv->uids, UID_COMPILE),
		.root_fd = c->sv->root_fd,
		.netns_fd = -1,
		.limits = c->sv->config->service_process,
		.rules = worker_rules,
		.rule_count = sizeof(worker_rules) / sizeof(worker_rules[0]),
		.on_hello = on_worker_hello,
		.on_gone = on_worker_gone,
	};
	struct compile_worker *w = calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return -ENOMEM;
	rc = proc_start(c->sv->base, &spec, &w->proc);
	if (rc != 0) {
		free(w);
		return rc;
	}
	proc_set_arg(w->proc, w);
	w->compiler = c;
	LIST_INSERT_HEAD(&c->workers, w, entry);
	c->worker_count++;
	return 0;
}

/* False: the worker cannot take it, and will be seen to be gone. */
static bool
worker_take(struct compile_worker *w, struct compile_job *job)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));

	message_compile_encode(&body, &job->message);
	if (proc_send(w->proc, MSG_COMPILE, proc_next_id(w->proc), &body,
		&job->fd, 1) != 0)
		return false;
	w->job = job;
	w->is_spent = true;
	return true;
}

static struct compile_worker *
find_idle(struct compiler *c)
{
	struct compile_worker *w;

	LIST_FOREACH(w, &c->workers, entry)
	if (!w->is_spent && proc_is_ready(w->proc))
		return w;
	return NULL;
}

/* One that waits, or is on its way to; the others are at work or ending. */
static bool
has_spare(const struct compiler *c)
{
	const struct compile_worker *w;

	LIST_FOREACH(w, &c->workers, entry)
	if (!w->is_spent)
		return true;
	return false;
}

static void
warm_later(struct compiler *c)
{
	const struct timeval tv = { .tv_usec = COMPILER_WARM_MS * 1000L };

	if (!has_spare(c) && !evtimer_pending(c->warm, NULL) &&
	    event_add(c->warm, &tv) == -1)
		log_err("compiler", "no memory for a timer");
}

static void
dispatch(struct compiler *c)
{
	struct compile_worker *w;
	struct compile_job *job;
	int rc = 0;

	while ((job = TAILQ_FIRST(&c->waiting)) != NULL &&
	    (w = find_idle(c)) != NULL) {
		if (!worker_take(w, job))
			break;
		TAILQ_REMOVE(&c->waiting, job, entry);
		c->waiting_count--;
	}
	if (job == NULL)
		warm_later(c);
	else if (!has_spare(c) && c->worker_count < COMPILER_WORKERS_MAX)
		rc = worker_start(c);
	if (rc != 0)
		fail_waiting(c, rc);
}

static void
on_warm(evutil_socket_t fd, short what, void *arg)
{
	struct compiler *c = arg;
	int rc;

	(void)fd;
	(void)what;
	/* An exec takes the loop for milliseconds, and somebody waits. */
	if (c->sv->creating > 0) {
		warm_later(c);
		return;
	}
	rc = compiler_warm(c);
	if (rc != 0)
		log_err("compiler", "start: %s", strerror(-rc));
}

int
compiler_init(struct compiler *c, struct supervisor *sv)
{
	*c = (struct compiler){ .sv = sv };
	TAILQ_INIT(&c->waiting);
	LIST_INIT(&c->workers);
	c->warm = evtimer_new(sv->base, on_warm, c);
	return c->warm == NULL ? -ENOMEM : 0;
}

int
compiler_warm(struct compiler *c)
{
	return has_spare(c) ? 0 : worker_start(c);
}

void
compiler_done(struct compiler *c)
{
	struct compile_job *job;

	if (c->warm != NULL)
		event_free(c->warm);
	c->warm = NULL;
	while ((job = TAILQ_FIRST(&c->waiting)) != NULL) {
		TAILQ_REMOVE(&c->waiting, job, entry);
		job_free(job);
	}
	while (!LIST_EMPTY(&c->workers))
		worker_free(LIST_FIRST(&c->workers));
}

int
compiler_ask(struct compiler *c, const struct compile_text *text,
    ask_done *done, void *arg)
{
	struct compile_job *job;

	if (c->waiting_count >= COMPILER_JOBS_MAX)
		return -EBUSY;
	job = calloc(1, sizeof(*job));
	if (job == NULL)
		return -ENOMEM;
	job->fd = fcntl(text->fd, F_DUPFD_CLOEXEC, 0);
	if (job->fd == -1) {
		int rc = -errno;

		free(job);
		return rc;
	}
	(void)snprintf(job->message.display_name,
	    sizeof(job->message.display_name), "%s", text->display_name);
	job->message.is_ceiling = text->is_ceiling;
	job->message.learns = text->learns;
	job->done = done;
	job->arg = arg;
	TAILQ_INSERT_TAIL(&c->waiting, job, entry);
	c->waiting_count++;
	dispatch(c);
	return 0;
}

static void
forget_waiting(struct compiler *c, struct compile_job *job)
{
	TAILQ_REMOVE(&c->waiting, job, entry);
	c->waiting_count--;
	job_free(job);
}

void
compiler_cancel(struct compiler *c, const void *arg)
{
	struct compile_job *job = TAILQ_FIRST(&c->waiting);
	struct compile_worker *w;

	while (job != NULL) {
		struct compile_job *next = TAILQ_NEXT(job, entry);

		if (job->arg == arg)
			forget_waiting(c, job);
		job = next;
	}
	/* One at work is ended: its text may be made to take long. */
	LIST_FOREACH(w, &c->workers, entry)
	if (w->job != NULL && w->job->arg == arg) {
		w->job->done = NULL;
		proc_kill(w->proc);
	}
}
