/*
 * One virtual machine while it runs: its monitor's death, its console, its
 * agent, the clocks and the hold that end it. What it is told comes from the
 * supervisor; what it becomes is told to the supervisor and to each session.
 */
#ifndef TAPWARD_VMM_MACHINE_H
#define TAPWARD_VMM_MACHINE_H

#include "base/err.h"
#include "base/message_vm.h"
#include "vmm/console.h"
#include "vmm/driver.h"
#include "vmm/frame.h"

struct event;
struct event_base;
struct mux;
struct vsock_dial;

/* What the guest's end is told to, and when all has been said. */
struct machine_owner {
	/* Its state is another: machine_describe() has it. */
	void (*on_state)(void *arg);
	/* A command or a copy is over. */
	void (*on_record)(const struct message_vm_record *r, void *arg);
	/* Nothing is left to do: the process may end. */
	void (*on_over)(void *arg);
};

struct machine {
	struct event_base *base;
	const struct machine_owner *owner;
	void *arg;
	struct message_vm_spec spec;
	struct monitor monitor;
	struct console console;
	struct vsock_dial *vsock; /* while the agent is not reached */
	struct mux *mux;
	enum vm_state state;
	char text[VM_TEXT_SIZE]; /* why it ended */
	uint32_t session_count;  /* ever */
	struct event *console_event, *death_event, *hold_event;
	struct event *duration_event, *boot_event, *over_event, *stop_event;
};

/* Zeroes m; 0 or -ENOMEM. owner and arg are borrowed. */
int machine_init(struct machine *m, struct event_base *base,
    const struct message_vm_spec *spec, const struct machine_owner *owner,
    void *arg);
/*
 * Starts the monitor: blocks until it runs, so before the process is sealed.
 * Whatever goes wrong is the machine's end (VM_STATE_ENDED).
 */
void machine_start(struct machine *m);
/*
 * From here on the loop keeps its limits, and its hold. Once, before the loop
 * runs; on_state comes at once.
 */
void machine_watch(struct machine *m);

/* Takes fd: a stream that speaks vmm/frame.h. */
void machine_add_session(struct machine *m, int fd);
/* Ends it in order: the guest is asked to power off. */
void machine_stop(struct machine *m);
/* Ends it at once, and says why. */
void machine_end(struct machine *m, enum frame_limit limit, const char *text);
void machine_describe(const struct machine *m, struct message_vm_state *ret);
/* Frees all; the monitor is ended. */
void machine_done(struct machine *m);

#endif
