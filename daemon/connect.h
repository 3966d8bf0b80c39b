/*
 * The steps by which a sandbox gets its gate and the gate its peers, shared by
 * create, replace and remove. Each is a row of a struct step with a struct
 * sandbox as argument; undo bears whatever state.
 */
#ifndef TAPWARD_DAEMON_CONNECT_H
#define TAPWARD_DAEMON_CONNECT_H

#include "daemon/sandbox.h"

/* The gate that was started has said MSG_HELLO; it gets the sandbox's name. */
int connect_gate(void *arg, struct err *err);
void connect_gate_undo(void *arg);
/* Pairs are made; the recorder gets its ends and the packet log. */
int connect_recorder(void *arg, struct err *err);
void connect_recorder_undo(void *arg);
int connect_dialler(void *arg, struct err *err);
void connect_dialler_undo(void *arg);
int connect_broker(void *arg, struct err *err);
void connect_broker_undo(void *arg);
/* MSG_GATE_START, and wait for MSG_GATE_READY. */
int connect_start(void *arg, struct err *err);
void connect_start_undo(void *arg);

/* Names of the steps, which answers are matched with (jobs_gate_owner). */
#define STEP_GATE "gate"
#define STEP_START "start"

#endif
