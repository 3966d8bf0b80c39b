/*
 * A job of several steps that is done whole or not at all: each row does one
 * thing and knows how to undo it. A step may wait for a child's answer; the
 * loop runs on meanwhile.
 */
#ifndef TAPWARD_DAEMON_STEPS_H
#define TAPWARD_DAEMON_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct event;
struct event_base;

/* From step.go: steps_resume() will tell how it went. */
#define STEP_WAIT 1

struct step {
	const char *name;
	/*
	 * 0: done; STEP_WAIT; or a -errno, with a text in err where there is
	 * more to say than the errno does.
	 */
	int (*go)(void *arg, struct err *err);
	/*
	 * NULL: nothing to undo. Called for every step that was begun, the
	 * failed one included, so it must bear a half-done one.
	 */
	void (*undo)(void *arg);
};

/* What a job does, in order, and how long it may take in all. */
struct steps_plan {
	const struct step *table;
	size_t count;
	unsigned int timeout_ms;
};

struct steps;
/*
 * Called once: rc 0, or -errno when all is undone, err saying which step
 * failed and why. It may free what holds the steps.
 */
typedef void steps_done(void *arg, int rc, const struct err *err);

struct steps {
	const struct step *table;
	size_t count;
	size_t at; /* the one that runs or waits */
	bool is_running;
	bool is_resumed;
	int resumed_rc;
	struct err err;
	struct event *turn;
	struct event *deadline;
	steps_done *on_done;
	void *arg;
};

/*
 * Runs until a step waits or all is over; on_done may be called from inside.
 * A job that waits for longer than its time-out fails with -ETIMEDOUT.
 * 0, or -ENOMEM with nothing begun.
 */
int steps_start(struct steps *s, const struct steps_plan *plan,
    struct event_base *base, steps_done *on_done, void *arg);
/*
 * The step that waits is over: rc 0 or -errno, text NULL or what happened. A
 * failure undoes all. What follows runs in a turn of the loop of its own,
 * never inside this call: a step may free the channel whose handler calls it.
 */
void steps_resume(struct steps *s, int rc, const char *text);
/* The step of that name waits now. */
bool steps_waits_at(const struct steps *s, const char *name);

#endif
