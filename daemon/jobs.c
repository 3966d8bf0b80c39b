/* How jobs and sandboxes bear what happens to gates and services. */
#include "daemon/jobs.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "daemon/connect.h"
#include "daemon/counters.h"
#include "daemon/learning.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"

static void
mend(const struct service *by, struct sandbox *s, unsigned int which)
{
	if (which == WIRES_RECORDER && s->net != NULL &&
	    s->phase != SANDBOX_ADOPTING && link_recorder_nflog(s) == 0)
		counters_begin(s);
	if (sandbox_has_gate(s))
		wires_mend(s, which);
	/* Those on their way do not wait for a unit: see jobs_after(). */
	else if (by->unit == NULL &&
	    (s->phase == SANDBOX_CREATING || s->phase == SANDBOX_RESTARTING))
		steps_resume(&s->job, -EAGAIN, "a part was restarted");
}

void
jobs_on_service_up(struct service *s, unsigned int which)
{
	struct supervisor *sv = s->sv;

	/* At our start the sandboxes are told as they are taken up. */
	if (sv->is_serving) {
		struct sandbox *sandbox;

		LIST_FOREACH(sandbox, &sv->sandboxes, entry)
		mend(s, sandbox, which);
		s->is_same = true;
		service_note_same(s);
	}
	startup_progress(sv);
}

void
jobs_on_service_down(struct service *s)
{
	struct sandbox *sandbox;

	LIST_FOREACH(sandbox, &s->sv->sandboxes, entry)
	if (sandbox->phase == SANDBOX_CREATING ||
	    sandbox->phase == SANDBOX_RESTARTING)
		steps_resume(&sandbox->job, -EAGAIN,
		    "a part of tapward is being restarted; try again");
}

/* False: it may learn no longer, and had to end. */
static bool
take_ceiling(struct sandbox *s)
{
	s->has_missed_ceiling = false;
	if (!learning_settle(s)) {
		remove_sandbox(s, "ended: it may not learn any longer");
		return false;
	}
	if (sandbox_has_gate(s))
		reload_push(s);
	return true;
}

void
jobs_on_ceiling(struct sandbox *s)
{
	/* A job may have told of the one before already. */
	if (s->job.is_running)
		s->has_missed_ceiling = true;
	else
		(void)take_ceiling(s);
}

void
jobs_after(struct sandbox *s)
{
	/* Which has come meanwhile; if not, it is mended when it does. */
	if (s->lacks_broker && sandbox_has_gate(s))
		wires_mend(s, WIRES_BROKER);
	s->lacks_broker = false;
	if (s->is_remove_wanted)
		remove_sandbox(s, "removed");
	else if (s->has_missed_ceiling && !take_ceiling(s))
		return;
	else if (!reload_waiting_start(s) && s->gate == NULL)
		replace_after_death(s);
}

static void
on_hello(const struct message_hello *hello, void *arg)
{
	struct sandbox *s = arg;

	if (s->phase == SANDBOX_ADOPTING) {
		/* It must be what the state file says, or it is replaced. */
		if (strcmp(hello->sandbox, s->state.name) != 0 ||
		    hello->generation != s->state.generation)
			gate_kill(s->gate);
		return;
	}
	if (steps_waits_at(&s->job, STEP_GATE))
		steps_resume(&s->job, 0, NULL);
}

static void
on_started(void *arg)
{
	struct sandbox *s = arg;

	if (steps_waits_at(&s->job, STEP_START))
		steps_resume(&s->job, 0, NULL);
}

static void
on_policy(const char *digest, void *arg)
{
	reload_on_gate(arg, digest);
}

static void
on_sockets(int fds[GATE_SOCKET_COUNT], void *arg)
{
	struct sandbox *s = arg;

	for (size_t i = 0; i < GATE_SOCKET_COUNT; i++) {
		fd_close(&s->gate_fds[i]);
		s->gate_fds[i] = steal_fd(&fds[i]);
	}
	if (steps_waits_at(&s->job, STEP_GATE))
		steps_resume(&s->job, 0, NULL);
}

static int
on_ask(uint32_t number, const struct message_ask *m, void *arg)
{
	return question_ask(arg, number, m);
}

static void
on_ask_cancel(uint32_t number, void *arg)
{
	question_cancel(arg, number);
}

static void
on_gone(void *arg)
{
	struct sandbox *s = arg;

	log_event(LOG_EVENT_GATE_GONE,
	    &(const struct log_about){ .sandbox = s->state.name,
		.reason = "gate-restart",
		.role = "gate" },
	    "gate", "sandbox=%s pid=%d gone", s->state.name,
	    (int)gate_pid(s->gate));
	questions_forget(s);
	gate_free(s->gate);
	s->gate = NULL;
	if (s->phase == SANDBOX_ADOPTING) {
		s->is_gate_lost = true;
		if (steps_waits_at(&s->job, STEP_GATE))
			steps_resume(&s->job, 0, NULL);
		return;
	}
	if (s->is_kept)
		link_recorder_event(s->sv, s, "gate-restart",
		    REASON_GATE_RESTART);
	/* A reload goes on without it: a gate cannot stop one by dying. */
	if (steps_waits_at(&s->job, STEP_GATE_POLICY))
		steps_resume(&s->job, 0, NULL);
	else if (s->job.is_running && !reload_is_on(s))
		steps_resume(&s->job, -EPIPE, "the gate ended");
	else if (!s->job.is_running)
		replace_after_death(s);
}

const struct gate_owner jobs_gate_owner = {
	.on_hello = on_hello,
	.on_started = on_started,
	.on_policy = on_policy,
	.on_sockets = on_sockets,
	.on_ask = on_ask,
	.on_ask_cancel = on_ask_cancel,
	.on_gone = on_gone,
};
