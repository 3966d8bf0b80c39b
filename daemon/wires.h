/*
 * The channels between a sandbox's gate and the dialler, the broker and the
 * recorder, and of those two to the recorder: pairs that we make and hand out.
 */
#ifndef TAPWARD_DAEMON_WIRES_H
#define TAPWARD_DAEMON_WIRES_H

#include <stdbool.h>

#include "daemon/asks.h"

struct sandbox;

enum wire_end {
	WIRE_GATE_TO_DIALLER,
	WIRE_DIALLER_TO_GATE,
	WIRE_DIALLER_TO_RECORDER,
	WIRE_RECORDER_TO_DIALLER,
	WIRE_GATE_TO_BROKER,
	WIRE_BROKER_TO_GATE,
	WIRE_BROKER_TO_RECORDER,
	WIRE_RECORDER_TO_BROKER,
	WIRE_GATE_TO_RECORDER,
	WIRE_RECORDER_TO_GATE,
	WIRE_COUNT
};

struct wires {
	int fd[WIRE_COUNT]; /* -1: not open, or handed out */
};

#define WIRES_NONE                                                             \
	((struct wires){ { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 } })

/* Which of the pairs. */
enum {
	WIRES_DIALLER = 1 << 0, /* the gate's and the recorder's to it */
	WIRES_BROKER = 1 << 1,
	WIRES_RECORDER = 1 << 2, /* the gate's to it */
	WIRES_ALL = WIRES_DIALLER | WIRES_BROKER | WIRES_RECORDER,
};

/* Makes the pairs anew; what was open there is closed. 0 or -errno. */
int wires_open(struct wires *w, unsigned int which);
void wires_close(struct wires *w);

/*
 * Each hands the ends of s->wires to one process and closes our copy. 0, or
 * -EAGAIN while it is being restarted; the first tells, the others ask.
 */
int wires_to_recorder(struct sandbox *s);
int wires_to_dialler(struct sandbox *s, ask_done *done, void *arg);
int wires_to_broker(struct sandbox *s, ask_done *done, void *arg);

/*
 * A process was started anew and knows nothing of the sandbox: connects it
 * again. For WIRES_RECORDER all three pairs are made anew, since each of the
 * others holds a channel to the recorder. Failures are logged: whoever is
 * down is connected when it comes up.
 */
void wires_mend(struct sandbox *s, unsigned int which);

#endif
