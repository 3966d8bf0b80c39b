/*
 * tapward-vm's half of frame.h: relays the streams of many sessions (each a
 * connected socket, the other end held by `tapward`) to one guest agent.
 *
 * The guest may send anything: a frame that frame.h does not allow, a window
 * that is overrun, silence where an answer is due (MUX_ANSWER_MS) or a port
 * that is never read (MUX_STALL_MS) end the VM, with a reason. What is not
 * begun in time (MUX_BEGIN_MS) is reset, and that wants an answer. A session
 * that breaks the format ends alone, and what it had running is reset; one that
 * does not read stops its own streams only, by their windows.
 *
 * Memory: at most FRAME_STREAMS_MAX * 2 * FRAME_WINDOW bytes (32 MiB) of output
 * that sessions have not read, while they have not, and two FRAME_LINK_BYTES
 * (256 KiB) for each session and the agent, whatever either does.
 *
 * Fair: each session, then each stream, sends one frame in turn; each
 * descriptor is read for at most MUX_TURN_BYTES before others have theirs.
 */
#ifndef TAPWARD_VMM_MUX_H
#define TAPWARD_VMM_MUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vmm/frame.h"

struct event_base;
struct mux;

/* Sessions of one VM: one for each command line that is running. */
#define MUX_SESSIONS_MAX 16
#define MUX_TURN_BYTES 262144
/*
 * From a request to the first sign that the agent has begun: it forks, or opens
 * a file, in a guest that may be short of memory and CPU.
 */
#define MUX_BEGIN_MS 30000
/* From RESET to the agent's EXIT: it kills, and reaps what was killed. */
#define MUX_ANSWER_MS 10000
/* The agent reads its port at all times: it has windows for all it gets. */
#define MUX_STALL_MS 30000
/* Bytes of a command's arguments that its record keeps. */
#define MUX_COMMAND_MAX 512

/* One stream that is over: for the record of what ran in a VM. */
struct mux_record {
	uint32_t session;   /* the tag of mux_add_session() */
	uint8_t kind;       /* FRAME_EXEC, FRAME_PUT or FRAME_GET */
	enum frame_end end; /* as `tapward` was told */
	uint32_t value;
	enum frame_limit limit;
	uint64_t elapsed_ms;
	uint64_t bytes_in;  /* DATA to the guest, without FRAME_ARGS */
	uint64_t bytes_out; /* DATA from it */
	/*
	 * The first MUX_COMMAND_MAX bytes of argv, a NUL after each; of PUT
	 * and GET the path. The caller's bytes: quote them.
	 */
	struct span command;
};

/*
 * From the event loop, never from inside a call of this header. The mux may be
 * freed from on_fault only.
 */
struct mux_hooks {
	/* The agent's HELLO is there; sessions are served from now on. */
	void (*on_ready)(void *arg);
	/*
	 * The guest broke the rules, or its end is closed: the VM is to be
	 * ended. reason is for people, printable, one line; borrowed. Sessions
	 * have been told nothing: call mux_state(). Called once.
	 */
	void (*on_fault)(const char *reason, void *arg);
	/* A stream is over. May be NULL. */
	void (*on_record)(const struct mux_record *r, void *arg);
	/*
	 * After FRAME_VM_ENDED: all that sessions were to be told has gone.
	 * Those that do not read keep it from coming: have a deadline. Called
	 * once; may be NULL.
	 */
	void (*on_drained)(void *arg);
	/* 0: MUX_BEGIN_MS, ... For tests, which do not wait. */
	uint32_t begin_ms;
	uint32_t answer_ms;
	uint32_t stall_ms;
};

/*
 * Hooks are copied. NULL when memory is short. SIGPIPE must be ignored.
 */
struct mux *mux_new(struct event_base *base, const struct mux_hooks *hooks,
    void *arg);
/* Closes all; sessions just see the end. */
void mux_free(struct mux *m);

/*
 * Takes fd, the agent's end, once: a connected stream socket. HELLO goes out at
 * once. 0 or -errno; fd is closed on an error.
 */
int mux_set_agent(struct mux *m, int fd);

/*
 * Takes fd, a connected SOCK_STREAM socket. tag is the caller's. HELLO and the
 * present STATE go out at once; what the session asks waits until the agent is
 * ready. It ends when the other end is closed or shut down: what runs for it is
 * then reset. 0, -EUSERS when there are MUX_SESSIONS_MAX, or another -errno; fd
 * is closed on an error.
 */
int mux_add_session(struct mux *m, int fd, uint32_t tag);
unsigned int mux_session_count(const struct mux *m);
unsigned int mux_stream_count(const struct mux *m);

/*
 * The state of the VM, told to every session. FRAME_VM_READY is the mux's own
 * to set. At FRAME_VM_ENDED each open stream ends with FRAME_END_FAILED, text
 * and limit, and sessions take nothing more. text is printable ASCII of at most
 * FRAME_TEXT_MAX bytes.
 */
void mux_state(struct mux *m, enum frame_vm_state state, enum frame_limit limit,
    const char *text);
/* To the agent; nothing before it is ready. */
void mux_clock(struct mux *m, uint64_t us);
void mux_poweroff(struct mux *m);

#endif
