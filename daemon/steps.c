/* Running a table of steps, forwards and, after a failure, backwards. */
#include "daemon/steps.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static void
free_events(struct steps *s)
{
	if (s->turn != NULL)
		event_free(s->turn);
	if (s->deadline != NULL)
		event_free(s->deadline);
	s->turn = NULL;
	s->deadline = NULL;
}

static void
finish(struct steps *s, int rc)
{
	struct err err = s->err;

	s->is_running = false;
	free_events(s);
	s->on_done(s->arg, rc, &err);
}

static void
fail(struct steps *s, int rc)
{
	if (s->err.text[0] == '\0')
		(void)err_os(&s->err, rc, "%s", s->table[s->at].name);
	else
		(void)err_wrap(&s->err, rc, "%s", s->table[s->at].name);
	for (size_t i = s->at + 1; i > 0; i--)
		if (s->table[i - 1].undo != NULL)
			s->table[i - 1].undo(s->arg);
	finish(s, rc);
}

/*
 * Debug builds only: the named step fails instead of running, so that every
 * way back is taken by a test.
 */
static bool
is_made_to_fail(const struct step *step)
{
#ifdef TAPWARD_FAULTS
	const char *name = getenv("TAPWARD_FAIL_STEP");

	return name != NULL && strcmp(name, step->name) == 0;
#else
	(void)step;
	return false;
#endif
}

static int
run_one(struct steps *s)
{
	const struct step *step = &s->table[s->at];
	int rc;

	s->is_resumed = false;
	rc = step->go(s->arg, &s->err);
	/* An answer that came at once, to a step that did not wait for it. */
	if (rc != STEP_WAIT)
		(void)event_del(s->turn);
	if (rc == 0 && is_made_to_fail(step))
		return err_at(&s->err, NULL, 0, "made to fail");
	return rc;
}

static void
run(struct steps *s)
{
	while (s->at < s->count) {
		int rc = run_one(s);

		if (rc == STEP_WAIT)
			return;
		if (rc != 0) {
			fail(s, rc);
			return;
		}
		s->at++;
	}
	finish(s, 0);
}

static void
on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct steps *s = arg;

	(void)fd;
	(void)what;
	if (s->resumed_rc == 0 && is_made_to_fail(&s->table[s->at]))
		s->resumed_rc = err_at(&s->err, NULL, 0, "made to fail");
	if (s->resumed_rc != 0) {
		fail(s, s->resumed_rc);
		return;
	}
	s->at++;
	run(s);
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	steps_resume(arg, -ETIMEDOUT, "no answer in time");
}

int
steps_start(struct steps *s, const struct steps_plan *plan,
    struct event_base *base, steps_done *on_done, void *arg)
{
	const struct timeval tv = {
		.tv_sec = (time_t)(plan->timeout_ms / 1000),
		.tv_usec = (suseconds_t)(plan->timeout_ms % 1000) * 1000,
	};

	assert(!s->is_running && plan->count > 0);
	*s = (struct steps){
		.table = plan->table,
		.count = plan->count,
		.is_running = true,
		.on_done = on_done,
		.arg = arg,
	};
	s->turn = evtimer_new(base, on_turn, s);
	s->deadline = evtimer_new(base, on_deadline, s);
	if (s->turn == NULL || s->deadline == NULL ||
	    event_add(s->deadline, &tv) == -1) {
		free_events(s);
		s->is_running = false;
		return -ENOMEM;
	}
	run(s);
	return 0;
}

void
steps_resume(struct steps *s, int rc, const char *text)
{
	if (!s->is_running || (s->is_resumed && rc == 0))
		return;
	if (rc != 0 && text != NULL)
		(void)err_at(&s->err, NULL, 0, "%s", text);
	s->is_resumed = true;
	s->resumed_rc = rc;
	event_active(s->turn, EV_TIMEOUT, 0);
}

bool
steps_waits_at(const struct steps *s, const char *name)
{
	return s->is_running && !s->is_resumed && s->at < s->count &&
	    strcmp(s->table[s->at].name, name) == 0;
}
