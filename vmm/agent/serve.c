/*
 * See serve.h. One thread and poll(2): what is waited for is gathered anew each
 * turn from the state of the commands, so nothing has to be kept in step.
 *
 * Commands have their turns: a chunk of output each, while the host's link has
 * room, and none is read that the host has not given a window for. Nothing is
 * buffered but that link and the input of commands.
 */
#include "vmm/agent/serve.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "vmm/agent/command.h"
#include "vmm/frame_link.h"

/* Output of one command before the next one's turn. */
#define CHUNK_BYTES 32768
/* Room for any frame but DATA. */
#define CONTROL_BYTES (FRAME_HEAD_BYTES + 64 + FRAME_TEXT_MAX)
/* Killed processes that are not gone by then are stuck in the kernel. */
#define KILL_MS 5000
/* The link, signals, and four descriptors of each command. */
#define POLL_MAX (2 + 4 * FRAME_STREAMS_MAX)
/* Reads of the host's end before commands have their turn. */
#define READS_MAX 32
/* Input is given back in pieces of this size, or when none is left. */
#define GIVE_BACK_BYTES (FRAME_WINDOW / 4)

enum source {
	SOURCE_INPUT,
	SOURCE_REPORT,
	SOURCE_STDOUT,
	SOURCE_STDERR,
};

struct waiting {
	struct command *c;
	enum source source;
};

struct loop {
	struct serve *s;
	struct frame_link link;
	int signal_fd;
	struct command *commands[FRAME_STREAMS_MAX];
	uint32_t last_id;
	unsigned int turn;
	bool has_hello;
	bool is_over;
	enum serve_end end;
	struct pollfd fds[POLL_MAX];
	struct waiting waiting[POLL_MAX];
	nfds_t count;
};

static void
stop(struct loop *l, enum serve_end why)
{
	l->is_over = true;
	l->end = why;
}

/* The host does not keep the rules: one of us is not what it should be. */
static void
refuse(struct loop *l, const struct frame *f, enum frame_fault fault)
{
	log_err("agent", "the host sent %s: %s", frame_type_text(f->head.type),
	    frame_fault_text(fault));
	stop(l, SERVE_LOST);
}

/* One frame of c that is in w: it keeps the rules, or that is our bug. */
static void
send_frame(struct loop *l, struct command *c, const struct wr *w)
{
	struct frame f;
	size_t used;
	enum frame_fault fault;

	assert(wr_ok(w));
	fault = frame_decode((struct span){ w->buf, w->len }, &f, &used);
	assert(fault == FRAME_OK && used == w->len);
	fault = frame_stream_pass(&c->rules, FRAME_GUEST, &f);
	assert(fault == FRAME_OK);
	frame_link_put(&l->link, w);
}

static bool
has_room(const struct loop *l)
{
	return frame_link_room(&l->link) >= CONTROL_BYTES;
}

static bool
send_started(struct loop *l, struct command *c)
{
	struct wr w = frame_link_writer(&l->link);

	if (!c->start_due)
		return false;
	c->start_due = false;
	frame_started_encode(&w, c->id, (uint32_t)c->pid);
	send_frame(l, c, &w);
	return true;
}

static bool
send_window(struct loop *l, struct command *c)
{
	struct wr w = frame_link_writer(&l->link);

	if (c->give_back < GIVE_BACK_BYTES &&
	    (c->give_back == 0 || c->input.len > 0))
		return false;
	frame_window_encode(&w, c->id, FRAME_INPUT, c->give_back);
	send_frame(l, c, &w);
	c->give_back = 0;
	return true;
}

static uint8_t
channel_of(enum command_output i)
{
	return i == COMMAND_STDOUT ? FRAME_OUTPUT : FRAME_ERROR;
}

/* Its process is over, and has said what it had to say. */
static bool
is_ending(const struct command *c)
{
	return c->is_reaped && c->report_fd == -1 && !c->start_due;
}

/* There is output that may be read: it is open, its time has come, a window. */
static bool
has_output(const struct command *c, enum command_output i)
{
	return c->out_fds[i] != -1 &&
	    (c->rules.started || c->rules.kind != FRAME_EXEC) &&
	    c->rules.credit[channel_of(i)] > 0;
}

/* A chunk of one output, read straight into the link. */
static bool
send_output(struct loop *l, struct command *c, enum command_output i)
{
	const uint32_t credit = c->rules.credit[channel_of(i)];
	struct wr w = frame_link_writer(&l->link);
	size_t size = w.size - FRAME_HEAD_BYTES;
	ssize_t n;

	if (!has_output(c, i))
		return false;
	if (size > CHUNK_BYTES)
		size = CHUNK_BYTES;
	if (size > credit)
		size = credit;
	n = command_read_output(c, i, w.buf + FRAME_HEAD_BYTES, size);
	if (n <= 0) {
		/* what it left running may write on, to nobody */
		if (n == -EAGAIN && is_ending(c))
			fd_close(&c->out_fds[i]);
		return false;
	}
	frame_head_encode(&w,
	    &(struct frame_head){ .len = (uint32_t)n,
		.type = FRAME_DATA,
		.channel = channel_of(i),
		.stream = c->id });
	w.len += (size_t)n;
	send_frame(l, c, &w);
	return true;
}

static bool
send_outputs(struct loop *l, struct command *c)
{
	for (unsigned int n = 0; n < COMMAND_OUTPUTS; n++) {
		const unsigned int i = (c->output_turn + n) % COMMAND_OUTPUTS;
		struct wr w;

		if (send_output(l, c, (enum command_output)i)) {
			c->output_turn = i + 1;
			return true;
		}
		if (!c->eof_due[i])
			continue;
		c->eof_due[i] = false;
		w = frame_link_writer(&l->link);
		frame_bare_encode(&w, FRAME_EOF, c->id,
		    channel_of((enum command_output)i));
		send_frame(l, c, &w);
		return true;
	}
	return false;
}

/* EXIT, if that is all that is left; c is then gone. */
static bool
send_exit(struct loop *l, struct command **slot)
{
	struct command *c = *slot;
	struct wr w;

	if (is_ending(c) && (c->report_len > 0 || !command_has_outputs(c)))
		command_settle(c);
	if (!c->is_over || (c->pid != 0 && !c->is_reaped))
		return false;
	w = frame_link_writer(&l->link);
	frame_exit_encode(&w, c->id, &c->end);
	send_frame(l, c, &w);
	group_leave(&l->s->groups, c->id);
	command_free(c);
	*slot = NULL;
	return true;
}

/* One frame of the command in slot, if it has one. */
static bool
send_one(struct loop *l, struct command **slot)
{
	return *slot != NULL && has_room(l) &&
	    (send_started(l, *slot) || send_window(l, *slot) ||
		send_outputs(l, *slot) || send_exit(l, slot));
}

static void
send_all(struct loop *l)
{
	bool sent = true;

	while (sent && has_room(l)) {
		const unsigned int first = l->turn;

		sent = false;
		for (unsigned int i = 0; i < FRAME_STREAMS_MAX; i++) {
			const unsigned int at = (first + i) % FRAME_STREAMS_MAX;

			if (!send_one(l, &l->commands[at]))
				continue;
			l->turn = (at + 1) % FRAME_STREAMS_MAX;
			sent = true;
		}
	}
}

static struct command **
find_slot(struct loop *l, uint32_t id)
{
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++)
		if (id == 0
			? l->commands[i] == NULL
			: l->commands[i] != NULL && l->commands[i]->id == id)
			return &l->commands[i];
	return NULL;
}

static void
start_if_whole(struct loop *l, struct command *c)
{
	if (command_is_whole(c))
		command_start(c, &l->s->defaults, &l->s->groups);
}

static void
take_opening(struct loop *l, const struct frame *f)
{
	struct command **slot = find_slot(l, 0), *c;
	enum frame_fault fault;

	if (slot == NULL || f->head.stream <= l->last_id) {
		refuse(l, f, FRAME_BAD_STREAM);
		return;
	}
	l->last_id = f->head.stream;
	group_sweep(&l->s->groups);
	fault = command_new(f, &c);
	if (fault != FRAME_OK) {
		refuse(l, f, fault);
		return;
	}
	if (c == NULL) { /* nothing can be said of it: begin anew */
		log_err("agent", "no memory for a command");
		stop(l, SERVE_LOST);
		return;
	}
	*slot = c;
	start_if_whole(l, c);
}

static void
take_stream_frame(struct loop *l, const struct frame *f)
{
	struct command **slot = find_slot(l, f->head.stream);
	enum frame_fault fault;

	if (slot == NULL && f->head.stream > l->last_id)
		refuse(l, f, FRAME_BAD_STREAM);
	if (slot == NULL) /* it is over, which the host did not know */
		return;
	fault = frame_stream_pass(&(*slot)->rules, FRAME_HOST, f);
	if (fault != FRAME_OK) {
		refuse(l, f, fault);
		return;
	}
	command_take(*slot, f, &l->s->groups);
	start_if_whole(l, *slot);
}

static void
take_clock(struct loop *l, const struct frame *f)
{
	struct timespec ts;
	uint64_t us;
	const enum frame_fault fault = frame_clock_decode(f->body, &us);

	if (fault != FRAME_OK) {
		refuse(l, f, fault);
		return;
	}
	ts.tv_sec = (time_t)(us / 1000000);
	ts.tv_nsec = (long)(us % 1000000) * 1000;
	if (l->s->is_init)
		(void)clock_settime(CLOCK_REALTIME, &ts);
}

static void
take_hello(struct loop *l, const struct frame *f)
{
	struct frame_hello hello;
	enum frame_fault fault = FRAME_BAD_ORDER;

	if (!l->has_hello && f->head.type == FRAME_HELLO)
		fault = frame_hello_decode(f->body, &hello);
	if (fault != FRAME_OK)
		refuse(l, f, fault);
	l->has_hello = true;
}

static void
take_frame(struct loop *l, const struct frame *f)
{
	if (!l->has_hello || f->head.type == FRAME_HELLO) {
		take_hello(l, f);
		return;
	}
	switch (f->head.type) {
	case FRAME_CLOCK:
		take_clock(l, f);
		break;
	case FRAME_POWEROFF:
		stop(l, SERVE_POWEROFF);
		break;
	case FRAME_STATE:
		refuse(l, f, FRAME_BAD_TYPE);
		break;
	case FRAME_EXEC:
	case FRAME_PUT:
	case FRAME_GET:
		take_opening(l, f);
		break;
	default:
		take_stream_frame(l, f);
		break;
	}
}

/* A virtio-serial port gives a page at a time: a frame is many. */
static int
fill_link(struct loop *l)
{
	int rc = frame_link_read(&l->link);

	for (unsigned int i = 0; i < READS_MAX && rc == 0; i++)
		rc = frame_link_read(&l->link);
	return rc == -EAGAIN || rc == -ENOBUFS ? 0 : rc;
}

static void
read_link(struct loop *l)
{
	const int rc = fill_link(l);
	enum frame_fault fault = FRAME_OK;
	struct frame f;
	bool has = true;

	while (has && fault == FRAME_OK && !l->is_over) {
		fault = frame_link_next(&l->link, &f, &has);
		if (fault == FRAME_OK && has)
			take_frame(l, &f);
	}
	if (fault != FRAME_OK)
		log_err("agent", "the host sent no frame: %s",
		    frame_fault_text(fault));
	if (!l->is_over && (fault != FRAME_OK || rc != 0))
		stop(l, SERVE_LOST);
}

static void
reap(struct loop *l)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (size_t i = 0; i < FRAME_STREAMS_MAX; i++) {
			struct command *c = l->commands[i];

			if (c != NULL && c->pid == pid && !c->is_reaped)
				command_reap(c, status, &l->s->groups);
		}
}

static void
read_signals(struct loop *l)
{
	struct signalfd_siginfo info;

	while (read(l->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			stop(l, SERVE_POWEROFF);
	reap(l);
}

static void
await(struct loop *l, int fd, short events, struct command *c,
    enum source source)
{
	l->fds[l->count] = (struct pollfd){ .fd = fd, .events = events };
	l->waiting[l->count++] = (struct waiting){ c, source };
}

static void
await_command(struct loop *l, struct command *c)
{
	static const enum source sources[] = { SOURCE_STDOUT, SOURCE_STDERR };

	if (c->input.len > 0 && c->in_fd != -1)
		await(l, c->in_fd, POLLOUT, c, SOURCE_INPUT);
	if (c->report_fd != -1)
		await(l, c->report_fd, POLLIN, c, SOURCE_REPORT);
	for (size_t i = 0; i < COMMAND_OUTPUTS; i++)
		if (has_output(c, (enum command_output)i) && has_room(l))
			await(l, c->out_fds[i], POLLIN, c, sources[i]);
}

static void
await_all(struct loop *l)
{
	l->count = 0;
	await(l, l->link.fd,
	    (short)(POLLIN | (frame_link_waiting(&l->link) > 0 ? POLLOUT : 0)),
	    NULL, SOURCE_INPUT);
	await(l, l->signal_fd, POLLIN, NULL, SOURCE_INPUT);
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++)
		if (l->commands[i] != NULL)
			await_command(l, l->commands[i]);
}

static void
on_ready(const struct waiting *w, short events)
{
	if (events == 0)
		return;
	switch (w->source) {
	case SOURCE_INPUT:
		if ((events & (POLLERR | POLLHUP)) != 0)
			command_drop_input(w->c);
		else
			command_write_input(w->c);
		break;
	case SOURCE_REPORT:
		command_read_report(w->c);
		break;
	case SOURCE_STDOUT:
	case SOURCE_STDERR:
		break; /* read when they have their turn */
	}
}

static void
turn(struct loop *l)
{
	int rc;

	await_all(l);
	if (poll(l->fds, l->count, -1) == -1)
		return;
	/* commands before the link: its frames may end some of them */
	for (nfds_t i = 2; i < l->count; i++)
		on_ready(&l->waiting[i], l->fds[i].revents);
	if (l->fds[1].revents != 0)
		read_signals(l);
	if ((l->fds[0].revents & ~POLLOUT) != 0)
		read_link(l);
	if (l->is_over)
		return;
	send_all(l);
	rc = frame_link_write(&l->link);
	if (rc != 0 && rc != -EAGAIN)
		stop(l, SERVE_LOST);
}

/* Kills all that runs and waits until it is gone. */
static void
end_all(struct loop *l)
{
	const uint64_t end_ms = clock_mono_ms() + KILL_MS;
	struct pollfd pfd = { .fd = l->signal_fd, .events = POLLIN };
	bool runs = true;

	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++)
		if (l->commands[i] != NULL)
			group_kill(&l->s->groups, l->commands[i]->id,
			    l->commands[i]->is_reaped ? 0
						      : l->commands[i]->pid);
	while (runs && clock_mono_ms() < end_ms) {
		runs = false;
		read_signals(l);
		for (size_t i = 0; i < FRAME_STREAMS_MAX; i++)
			runs = runs ||
			    (l->commands[i] != NULL &&
				l->commands[i]->pid != 0 &&
				!l->commands[i]->is_reaped);
		if (runs)
			(void)poll(&pfd, 1, 100);
	}
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++) {
		if (l->commands[i] != NULL)
			group_leave(&l->s->groups, l->commands[i]->id);
		command_free(l->commands[i]);
	}
}

int
serve_signals(int *ret_fd)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
	    sigprocmask(SIG_BLOCK, &set, NULL) == -1)
		return -errno;
	*ret_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return *ret_fd == -1 ? -errno : 0;
}

enum serve_end
serve_run(struct serve *s, int fd, int signal_fd)
{
	struct loop *l = calloc(1, sizeof(*l));
	enum serve_end end;
	struct wr w;

	if (l == NULL || frame_link_init(&l->link, fd) != 0) {
		free(l);
		return SERVE_LOST;
	}
	l->s = s;
	l->signal_fd = signal_fd;
	w = frame_link_writer(&l->link);
	frame_hello_encode(&w, &(struct frame_hello){ FRAME_VERSION, 0 });
	frame_link_put(&l->link, &w);
	while (!l->is_over)
		turn(l);
	end_all(l);
	end = l->end;
	frame_link_done(&l->link);
	free(l);
	return end;
}
