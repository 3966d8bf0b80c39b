/*
 * What the files of the mux share; nobody else includes it. mux.c owns the
 * event loop's callbacks and settles after each; mux_agent.c takes the guest's
 * frames, mux_session.c those of sessions and writes to them, mux_stream.c
 * keeps streams.
 *
 * Nothing waits in a list: what a stream or a session is still to be told is a
 * flag or a sum in it, so that whoever causes it cannot make it grow. Only
 * output waits as bytes, and its window bounds it.
 *
 * An object is freed in mux_settle() only, when no callback is in it.
 */
#ifndef TAPWARD_VMM_MUX_CORE_H
#define TAPWARD_VMM_MUX_CORE_H

#include <event2/event.h>
#include <sys/time.h>

#include "vmm/frame_link.h"
#include "vmm/frame_queue.h"
#include "vmm/frame_stream.h"
#include "vmm/mux.h"

struct mux_session {
	struct mux *m;
	struct frame_link link;
	struct event *readable, *writable, *closed;
	uint32_t tag;
	uint32_t last_id;  /* the highest that it has opened */
	bool has_hello;    /* its HELLO has come */
	bool state_due;    /* it has not been told the VM's state */
	bool is_dead;      /* it is freed when callbacks are done */
	unsigned int turn; /* the stream that is told next */
};

/* The two channels that wait for a session. */
enum mux_output { MUX_STDOUT, MUX_STDERR, MUX_OUTPUTS };

struct mux_stream {
	struct mux *m;
	struct mux_session *session; /* NULL: gone; output is dropped */
	uint32_t session_id, agent_id;
	struct frame_stream rules;
	struct event *timer; /* timeout_ms, or the answer to RESET */
	struct event *begin; /* the agent's first sign of it is due */
	bool has_begun;
	bool is_late;   /* it was reset for that */
	bool is_cut;    /* we reset it: what its session says is nothing */
	bool reset_due; /* RESET has not gone yet */
	enum frame_limit limit; /* why we reset it */
	/* what its session has not been told */
	bool started_due, eof_due[MUX_OUTPUTS], exit_due;
	uint32_t window_due; /* bytes of FRAME_INPUT */
	uint32_t pid;
	struct frame_queue queue[MUX_OUTPUTS];
	unsigned int output_turn; /* the queue that is told of next */
	struct frame_exit exit;   /* with its text in exit_text */
	char exit_text[FRAME_TEXT_MAX];
	uint64_t output_left;
	/* for its record */
	uint32_t tag; /* of its session */
	uint64_t opened_ms, bytes_in, bytes_out;
	unsigned int argc_left; /* strings of argv still to come */
	char command[MUX_COMMAND_MAX];
	size_t command_len;
};

struct mux {
	struct event_base *base;
	struct mux_hooks hooks;
	void *arg;
	struct event *kick; /* settles, after a call from outside */
	uint64_t created_ms;

	struct frame_link agent; /* fd is -1 before and after it is there */
	struct event *agent_readable, *agent_writable;
	bool is_ready;          /* its HELLO has come */
	uint32_t last_agent_id; /* the highest that we have opened there */
	bool clock_due, poweroff_due;
	uint64_t clock_us;

	struct mux_session *sessions[MUX_SESSIONS_MAX];
	unsigned int turn; /* the session that is heard next */
	struct mux_stream *streams[FRAME_STREAMS_MAX];

	enum frame_vm_state state;
	enum frame_limit state_limit;
	char state_text[FRAME_TEXT_MAX + 1];
	bool streams_ended; /* after FRAME_VM_ENDED: each has its EXIT */
	bool is_drained;    /* told */
	char fault[FRAME_TEXT_MAX + 1]; /* not empty: there was one */
	bool fault_told;
};

/* mux.c. The guest's fault, once: no more of it is read. */
__attribute__((format(printf, 2, 3))) void mux_fail(struct mux *m,
    const char *fmt, ...);

/*
 * mux_agent.c. Frames that have come from the agent. mux_agent_put() writes as
 * much as there is room for: ours first, then a frame of each session in turn.
 * True if it put any.
 */
void mux_agent_take(struct mux *m);
bool mux_agent_put(struct mux *m);

/* mux_session.c */
struct mux_session *mux_session_new(struct mux *m, int fd, uint32_t tag);
void mux_session_free(struct mux_session *s);
/* It is over; what runs for it is reset. why is for the log, or NULL. */
void mux_session_end(struct mux_session *s, const char *why);
/*
 * Takes one frame if there is one that can be taken now: the agent's link has
 * room for it. True if it did.
 */
bool mux_session_take(struct mux_session *s);
/* Puts what the session is to be told and there is room for. */
void mux_session_put(struct mux_session *s);
bool mux_session_has_streams(const struct mux_session *s);
/* All that it was to be told has been written. */
bool mux_session_is_drained(const struct mux_session *s);

/* mux_stream.c */
/*
 * A stream for the opening frame f of s, which is checked. FRAME_OK with *ret
 * NULL: there is no room for one more, or no memory.
 */
enum frame_fault mux_stream_new(struct mux_session *s, const struct frame *f,
    struct mux_stream **ret);
void mux_stream_free(struct mux_stream *st);
struct mux_stream *mux_stream_of_agent(struct mux *m, uint32_t id);
struct mux_stream *mux_stream_of_session(struct mux_session *s, uint32_t id);
/* Its session is gone: no more is kept for it, and the guest is to end it. */
void mux_stream_orphan(struct mux_stream *st);
/* The guest is to end it, because of limit. */
void mux_stream_cut(struct mux_stream *st, enum frame_limit limit);
/*
 * A frame of its session has gone to the agent, which has MUX_BEGIN_MS for a
 * sign once it has what it needs to begin.
 */
void mux_stream_await_begin(struct mux_stream *st);
/* The agent has said something of it. */
void mux_stream_begun(struct mux_stream *st);
/* RESET has gone, of whomever: the answer has its time. */
void mux_stream_await_exit(struct mux_stream *st);
/* Its end, which is recorded, and told to the session in its turn. */
void mux_stream_end(struct mux_stream *st, const struct frame_exit *m);
/* FRAME_ARGS that went to the guest, for the record. */
void mux_stream_note_args(struct mux_stream *st, struct span args);

struct timeval mux_timeval(uint32_t ms);

#endif
