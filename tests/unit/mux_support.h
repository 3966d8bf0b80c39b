/*
 * A mux with a scripted agent and scripted sessions, each at the other end of
 * a socketpair. Frames are written and read one by one; waiting means running
 * the mux's event loop until what is awaited is there, with a deadline.
 */
#ifndef TAPWARD_TESTS_UNIT_MUX_SUPPORT_H
#define TAPWARD_TESTS_UNIT_MUX_SUPPORT_H

#include "wire_rows.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "vmm/frame_link.h"
#include "vmm/mux.h"

#define DEADLINE_MS 20000
#define ANSWER_MS 300
#define STALL_MS 300
#define BEGIN_MS 200

struct fixture {
	struct event_base *base;
	struct mux *mux;
	struct frame_link agent;
	struct frame_link sessions[MUX_SESSIONS_MAX + 1];
	unsigned int ready, faults, drained, records;
	char fault[FRAME_TEXT_MAX + 1];
	struct mux_record record; /* the last; its command in command */
	char command[MUX_COMMAND_MAX];
};

static struct fixture fx;
/* 0, which is longer than any test: for those that are not about it. */
static uint32_t mux_begin_ms;
static uint8_t mux_zeros[FRAME_PAYLOAD_MAX];

static void
on_ready(void *arg)
{
	(void)arg;
	fx.ready++;
}

static void
on_fault(const char *reason, void *arg)
{
	(void)arg;
	fx.faults++;
	(void)snprintf(fx.fault, sizeof(fx.fault), "%s", reason);
}

static void
on_record(const struct mux_record *r, void *arg)
{
	(void)arg;
	fx.records++;
	fx.record = *r;
	if (r->command.len > 0)
		memcpy(fx.command, r->command.ptr, r->command.len);
	fx.record.command.ptr = (const uint8_t *)fx.command;
}

static void
on_drained(void *arg)
{
	(void)arg;
	fx.drained++;
}

static int
mux_setup(void **state)
{
	const struct mux_hooks hooks = { .on_ready = on_ready,
		.on_fault = on_fault,
		.on_record = on_record,
		.on_drained = on_drained,
		.begin_ms = mux_begin_ms,
		.answer_ms = ANSWER_MS,
		.stall_ms = STALL_MS };
	int fds[2];

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	fx = (struct fixture){ .base = event_base_new() };
	for (size_t i = 0; i < ROWS(fx.sessions); i++)
		fx.sessions[i].fd = -1;
	fx.mux = mux_new(fx.base, &hooks, NULL);
	assert_non_null(fx.mux);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			     fds),
	    0);
	assert_int_equal(mux_set_agent(fx.mux, fds[0]), 0);
	return frame_link_init(&fx.agent, fds[1]);
}

static int
mux_teardown(void **state)
{
	(void)state;
	mux_free(fx.mux);
	frame_link_done(&fx.agent);
	for (size_t i = 0; i < ROWS(fx.sessions); i++)
		frame_link_done(&fx.sessions[i]);
	event_base_free(fx.base);
	return 0;
}

static inline void
turn(void)
{
	(void)event_base_loop(fx.base, EVLOOP_NONBLOCK);
}

/* Runs the loop until claim holds. */
#define until(claim)                                                           \
	do {                                                                   \
		const uint64_t end_ms = clock_mono_ms() + DEADLINE_MS;         \
                                                                               \
		while (!(claim)) {                                             \
			if (clock_mono_ms() > end_ms)                          \
				fail_msg("%s: not in time", #claim);           \
			turn();                                                \
		}                                                              \
	} while (0)

/* Reads what there is; true if a frame has come. */
static inline bool
has_frame(struct frame_link *l)
{
	struct frame f;
	bool has;

	assert_int_equal(frame_link_peek(l, &f, &has), FRAME_OK);
	if (!has && frame_link_read(l) == 0)
		assert_int_equal(frame_link_peek(l, &f, &has), FRAME_OK);
	return has;
}

static inline struct frame
next_frame(struct frame_link *l)
{
	struct frame f = { .head = { .type = 0 } };
	bool has;

	until(has_frame(l));
	assert_int_equal(frame_link_next(l, &f, &has), FRAME_OK);
	return f;
}

/* The type of the next frame of l. */
static inline uint8_t
next_type(struct frame_link *l)
{
	return next_frame(l).head.type;
}

/* The next frame of l, which must be of this type. */
static inline struct frame
expect(struct frame_link *l, uint8_t type)
{
	const struct frame f = next_frame(l);

	if (f.head.type != type)
		fail_msg("got %s, want %s", frame_type_text(f.head.type),
		    frame_type_text(type));
	return f;
}

/* As expect(), of a stream and channel too. */
static inline struct frame
expect_on(struct frame_link *l, uint8_t type, uint32_t stream, uint8_t channel)
{
	const struct frame f = expect(l, type);

	assert_int_equal(f.head.stream, stream);
	assert_int_equal(f.head.channel, channel);
	return f;
}

static inline bool
is_closed(struct frame_link *l)
{
	int rc;

	/* what came before the end does not matter */
	while ((rc = frame_link_read(l)) == 0 || rc == -ENOBUFS) {
		l->in_at = 0;
		l->in_len = 0;
	}
	return rc == -EPIPE || rc == -ECONNRESET;
}

/* Writes all that was put on l. */
static inline void
flush(struct frame_link *l)
{
	until(frame_link_write(l) != -EAGAIN);
}

/* Puts one frame by an encoder of frame.h and writes it. */
#define say(l, encoder, ...)                                                   \
	do {                                                                   \
		struct wr say_w = frame_link_writer(l);                        \
                                                                               \
		encoder(&say_w, __VA_ARGS__);                                  \
		assert_true(wr_ok(&say_w));                                    \
		frame_link_put(l, &say_w);                                     \
		flush(l);                                                      \
	} while (0)

static inline void
say_hello(struct frame_link *l)
{
	say(l, frame_hello_encode, &(struct frame_hello){ FRAME_VERSION, 0 });
}

static inline void
say_data(struct frame_link *l, uint32_t stream, uint8_t channel, size_t len)
{
	say(l, frame_data_encode, stream, channel,
	    (struct span){ mux_zeros, len });
}

static inline void
agent_is_ready(void)
{
	say_hello(&fx.agent);
	(void)expect(&fx.agent, FRAME_HELLO);
	until(fx.ready == 1);
}

/* A session that has said HELLO and heard it, and the state. */
static inline struct frame_link *
add_session(unsigned int i)
{
	struct frame_link *l = &fx.sessions[i];
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			     fds),
	    0);
	assert_int_equal(mux_add_session(fx.mux, fds[0], 100 + i), 0);
	assert_int_equal(frame_link_init(l, fds[1]), 0);
	say_hello(l);
	(void)expect(l, FRAME_HELLO);
	(void)expect(l, FRAME_STATE);
	return l;
}

static inline struct frame_exec
make_exec(void)
{
	return (struct frame_exec){ .argc = 2, .envc = 1, .args_bytes = 14 };
}

#define ARGS ((struct span)BYTES("echo\0hi\0A=env\0"))

/* EXEC and its arguments, and what the agent is asked. Its number there. */
static inline uint32_t
exec_as(struct frame_link *l, uint32_t stream, const struct frame_exec *e)
{
	uint32_t id;

	say(l, frame_exec_encode, stream, e);
	say(l, frame_data_encode, stream, FRAME_ARGS, ARGS);
	id = expect(&fx.agent, FRAME_EXEC).head.stream;
	(void)expect_on(&fx.agent, FRAME_DATA, id, FRAME_ARGS);
	return id;
}

/* A command that has started, at both ends. */
static inline uint32_t
start(struct frame_link *l, uint32_t stream)
{
	const struct frame_exec e = make_exec();
	const uint32_t id = exec_as(l, stream, &e);

	say(&fx.agent, frame_started_encode, id, 7);
	(void)expect_on(l, FRAME_STARTED, stream, 0);
	return id;
}

static inline uint32_t
start_put(struct frame_link *l, uint32_t stream)
{
	const struct frame_copy c = { .path = span_of("/x") };

	say(l, frame_copy_encode, FRAME_PUT, stream, &c);
	return expect(&fx.agent, FRAME_PUT).head.stream;
}

static inline void
say_exit(uint32_t id, enum frame_end end, uint32_t value)
{
	say(&fx.agent, frame_exit_encode, id,
	    &(struct frame_exit){ .end = end, .value = value });
}

static inline struct frame_exit
expect_exit(struct frame_link *l, uint32_t stream)
{
	const struct frame f = expect_on(l, FRAME_EXIT, stream, 0);
	struct frame_exit m;

	assert_int_equal(frame_exit_decode(f.body, &m), FRAME_OK);
	return m;
}

#endif
