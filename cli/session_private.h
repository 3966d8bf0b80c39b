/* What cli/session*.c share. For nobody else. */
#ifndef TAPWARD_CLI_SESSION_PRIVATE_H
#define TAPWARD_CLI_SESSION_PRIVATE_H

#include <signal.h>

#include "cli/session.h"
#include "vmm/frame_stream.h"

#define SESSION_OUT_MAX ((size_t)2 * FRAME_BYTES_MAX)

struct session {
	int fd;
	int signal_fd;
	sigset_t signals_before;
	unsigned int interrupts; /* SIGINT so far */
	uint8_t *in;             /* of 2 * FRAME_BYTES_MAX */
	size_t in_len;
	uint8_t *out; /* of SESSION_OUT_MAX */
	size_t out_at, out_len;
	bool has_hello;
	enum frame_vm_state state; /* 0: not told yet */
	char state_text[FRAME_TEXT_MAX + 1];
	session_on_state *on_state;
	void *on_state_arg;

	/* the stream that runs */
	uint32_t stream_id; /* 0: none ever */
	struct frame_stream stream;
	const struct session_flow *flow;
	bool is_over;
	struct session_end end;
};

/* What goes in and out of a stream. */
struct session_flow {
	/* Waited for before fill() is called; -1: always ready. */
	int in_fd;
	/* NULL: no input. *ret_len 0: the end. */
	int (*fill)(void *arg, uint8_t *buf, size_t size, size_t *ret_len,
	    struct err *err);
	int (*take)(void *arg, uint8_t channel, struct span data,
	    struct err *err);
	/* A signal that came; NULL: it ends the wait. */
	int (*on_signal)(struct session *s, int signo, void *arg);
	void *arg;
};

/* Queues a whole frame, made by one of the encoders, and notes it. */
int session_send(struct session *s, struct wr *w, struct err *err);
/* Room for a frame at the end of what is to be sent. */
struct wr session_room(struct session *s);
/* Moves bytes until the stream is over. */
int session_flow(struct session *s, const struct session_flow *flow,
    struct err *err);
/*
 * Waits until fd can be written to, and hears signals meanwhile: -EINTR when
 * one ends the wait, else 0 or another -errno. Reads nothing, so callbacks of a
 * flow may call it.
 */
int session_await_room(struct session *s, int fd, struct err *err);
/* Reads and writes once, waiting for at most timeout_ms (-1: for ever). */
int session_turn(struct session *s, int in_fd, int timeout_ms,
    bool *ret_in_ready, struct err *err);

#endif
