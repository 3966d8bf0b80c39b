/*
 * The relay between an agent and a session that may each send anything. The
 * input: u16 n, then n bytes of the session, the rest of the agent; a command
 * runs already, as stream 1 of both. They are written in pieces, in turn.
 *
 * Holds: the agent's fault is told once, in printable text, and only if the
 * agent has sent something; what each is sent are whole frames that the rules
 * allow; no more streams or sessions are kept than there are; all are gone
 * when the VM has ended.
 */
#include "fuzz_wire.h"

#include <event2/event.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "vmm/frame_link.h"
#include "vmm/frame_stream.h"
#include "vmm/mux.h"

struct world {
	struct event_base *base;
	struct mux *m;
	struct frame_link agent, session;
	struct frame_stream told; /* stream 1 as its session sees it */
	bool told_exit;
	unsigned int faults, records, drained;
};

static void
on_ready(void *arg)
{
	(void)arg;
}

static void
on_fault(const char *reason, void *arg)
{
	struct world *w = arg;

	HOLDS(w->faults++ == 0);
	HOLDS(*reason != '\0' && strlen(reason) <= FRAME_TEXT_MAX);
	for (const char *p = reason; *p != '\0'; p++)
		HOLDS(*p >= 0x20 && *p < 0x7f);
}

static void
on_record(const struct mux_record *r, void *arg)
{
	struct world *w = arg;

	w->records++;
	HOLDS(r->session == 7 && r->command.len <= MUX_COMMAND_MAX);
}

static void
on_drained(void *arg)
{
	struct world *w = arg;

	HOLDS(w->drained++ == 0);
}

static void
turn(struct world *w)
{
	(void)event_base_loop(w->base, EVLOOP_NONBLOCK);
}

/* What stream 1 of the session is told keeps the rules. */
static void
hear_session(struct world *w)
{
	struct frame f;
	bool has = true;

	while (frame_link_read(&w->session) == 0) {
		for (;;) {
			HOLDS(
			    frame_link_next(&w->session, &f, &has) == FRAME_OK);
			if (!has)
				break;
			if (f.head.stream != 1)
				continue;
			HOLDS(!w->told_exit);
			w->told_exit = f.head.type == FRAME_EXIT;
			if (f.head.type != FRAME_WINDOW_ADD)
				HOLDS(frame_stream_pass(&w->told, FRAME_GUEST,
					  &f) == FRAME_OK);
			w->told.credit[f.head.channel] = FRAME_WINDOW;
		}
	}
}

static void
hear_agent(struct world *w)
{
	struct frame f;
	bool has;

	while (frame_link_read(&w->agent) == 0) {
		do
			HOLDS(frame_link_next(&w->agent, &f, &has) == FRAME_OK);
		while (has);
	}
}

static void
say(struct frame_link *l, const struct wr *w)
{
	HOLDS(wr_ok(w));
	frame_link_put(l, w);
	HOLDS(frame_link_write(l) == 0);
}

static void
open_pair(int fds[2])
{
	HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
}

/* The rules of stream 1, whose opening and arguments have gone. */
static void
open_rules(struct world *w, const struct frame_exec *e)
{
	uint8_t bytes[64];
	struct wr out = wr_init(bytes, sizeof(bytes));
	struct frame f;
	size_t used;

	frame_exec_encode(&out, 1, e);
	HOLDS(frame_decode((struct span){ bytes, out.len }, &f, &used) ==
	    FRAME_OK);
	HOLDS(frame_stream_open(&w->told, &f) == FRAME_OK);
	w->told.args_left = 0;
}

static void
say_beginning(struct world *w)
{
	const struct frame_exec e = { .argc = 1, .args_bytes = 2 };
	const struct frame_hello hello = { FRAME_VERSION, 0 };
	struct wr out = frame_link_writer(&w->agent);

	frame_hello_encode(&out, &hello);
	say(&w->agent, &out);
	out = frame_link_writer(&w->session);
	frame_hello_encode(&out, &hello);
	frame_exec_encode(&out, 1, &e);
	frame_data_encode(&out, 1, FRAME_ARGS,
	    (struct span){ (const uint8_t *)"a", 2 });
	say(&w->session, &out);
	open_rules(w, &e);
	for (unsigned int i = 0; i < 8; i++)
		turn(w);
	HOLDS(mux_stream_count(w->m) == 1);
	hear_agent(w);
}

static void
begin(struct world *w)
{
	static const struct mux_hooks hooks = { .on_ready = on_ready,
		.on_fault = on_fault,
		.on_record = on_record,
		.on_drained = on_drained };
	int fds[2];

	(void)signal(SIGPIPE, SIG_IGN);
	log_init("fuzz_mux", LOG_LEVEL_ERR);
	w->base = event_base_new();
	HOLDS(w->base != NULL);
	w->m = mux_new(w->base, &hooks, w);
	open_pair(fds);
	HOLDS(mux_set_agent(w->m, fds[0]) == 0);
	HOLDS(frame_link_init(&w->agent, fds[1]) == 0);
	open_pair(fds);
	HOLDS(mux_add_session(w->m, fds[0], 7) == 0);
	HOLDS(frame_link_init(&w->session, fds[1]) == 0);
	say_beginning(w);
}

/* The next piece of in, if the other end still takes it. */
static void
feed(struct frame_link *l, struct span *in, uint32_t *seed)
{
	size_t len = next_piece(seed) * 40;

	if (len > in->len)
		len = in->len;
	if (len == 0)
		return;
	(void)send(l->fd, in->ptr, len, MSG_DONTWAIT);
	in->ptr += len;
	in->len -= len;
}

static void
finish(struct world *w, bool agent_spoke)
{
	HOLDS(w->faults == 0 || agent_spoke);
	HOLDS(mux_stream_count(w->m) <= FRAME_STREAMS_MAX);
	HOLDS(mux_session_count(w->m) <= 1);
	mux_state(w->m, FRAME_VM_ENDED, FRAME_LIMIT_NONE, "over");
	for (unsigned int i = 0; i < 100 && w->drained == 0; i++) {
		turn(w);
		hear_session(w);
	}
	HOLDS(w->drained == 1 && mux_stream_count(w->m) == 0);
	mux_free(w->m);
	frame_link_done(&w->agent);
	frame_link_done(&w->session);
	event_base_free(w->base);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = { .told_exit = false };
	struct rd r = rd_init(data, size);
	const size_t n = rd_u16(&r);
	struct span session = rd_take(&r, n < rd_left(&r) ? n : rd_left(&r));
	struct span agent = rd_take(&r, rd_left(&r));
	const bool agent_speaks = agent.len > 0;
	uint32_t seed = (uint32_t)size;

	if (!rd_ok(&r) || size > 60000)
		return 0;
	begin(&w);
	while (session.len > 0 || agent.len > 0) {
		feed(&w.session, &session, &seed);
		feed(&w.agent, &agent, &seed);
		turn(&w);
		hear_session(&w);
		hear_agent(&w);
	}
	finish(&w, agent_speaks);
	return 0;
}
