/*
 * A dead gate is replaced in its namespace: the new one gets duplicates of the
 * sockets that we keep, so what a guest sent meanwhile waits and is served.
 */
#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/connect.h"
#include "daemon/jobs.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"

static int
start_gate(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	int rc = gate_start(s->sv, s->net, &jobs_gate_owner, s, &s->gate);

	return rc == 0 ? 0 : err_os(err, rc, "starting tapward-gate");
}

static int
keep(void *arg, struct err *err)
{
	int rc = sandbox_keep(arg);

	return rc == 0 ? 0 : err_os(err, rc, "state file");
}

static const struct step replace_steps[] = {
	{ "start gate", start_gate, connect_gate_undo },
	{ STEP_GATE, connect_gate, NULL },
	{ "recorder", connect_recorder, connect_start_undo },
	{ "dialler", connect_dialler, connect_dialler_undo },
	{ "broker", connect_broker, connect_broker_undo },
	{ STEP_START, connect_start, connect_start_undo },
	{ "state", keep, NULL },
};

static const struct steps_plan replace_plan = {
	.table = replace_steps,
	.count = sizeof(replace_steps) / sizeof(replace_steps[0]),
	.timeout_ms = JOB_REPLACE_MS,
};

static void
on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct sandbox *s = arg;

	(void)fd;
	(void)what;
	/* A reload; what comes after it is begun by jobs_after(). */
	if (!s->job.is_running)
		replace_start(s);
}

static void
retry_later(struct sandbox *s)
{
	const struct timeval tv = {
		.tv_sec = (time_t)(s->retry_ms / 1000),
		.tv_usec = (suseconds_t)(s->retry_ms % 1000) * 1000,
	};

	s->retry_ms *= 2;
	if (s->retry_ms > JOB_RETRY_MAX_MS)
		s->retry_ms = JOB_RETRY_MAX_MS;
	if (s->retry == NULL)
		s->retry = evtimer_new(s->sv->base, on_retry, s);
	if (s->retry == NULL || event_add(s->retry, &tv) == -1)
		die("replace", "no memory for a timer");
}

static void
on_done(void *arg, int rc, const struct err *err)
{
	struct sandbox *s = arg;

	if (rc == 0) {
		s->phase = SANDBOX_RUNNING;
		s->gate_restarts++;
		s->replaced_ms = clock_mono_ms();
		sandbox_say(s, "gate replaced");
	} else {
		log_warn("sandbox", "name=%s gate: %s", s->state.name,
		    err->text);
	}
	jobs_after(s);
}

void
replace_start(struct sandbox *s)
{
	s->phase = SANDBOX_RESTARTING;
	if (steps_start(&s->job, &replace_plan, s->sv->base, on_done, s) != 0)
		retry_later(s);
}

void
replace_after_death(struct sandbox *s)
{
	uint64_t lived_ms = clock_mono_ms() - s->replaced_ms;

	if (s->retry != NULL && evtimer_pending(s->retry, NULL))
		return;
	if (lived_ms < REPLACE_STABLE_MS) {
		s->phase = SANDBOX_RESTARTING;
		retry_later(s);
		return;
	}
	s->retry_ms = JOB_RETRY_MIN_MS;
	replace_start(s);
}
